"""plan.yaml, the conditions of a resume, the journal with its crash marks, the lock, the estimate."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from sweep_build import RULES, SETTINGS, FakeBench, FakeTime, Session, campaign, conditions

from wholecurve.model.errors import InputError, MeasureError
from wholecurve.rules import Kind
from wholecurve.sweep import (
    Span,
    Trial,
    Work,
    begin,
    choose_levels,
    differences,
    estimate,
    fact_changes,
    load_plan,
    open_journal,
    plan_from_text,
    plan_text,
    rates_at,
    read_journal,
    resume,
    save_plan,
    seal_plan,
    take_levels,
)


def quiet(_text: str) -> None:
    """Nobody listens."""


# plan.yaml


def test_a_plan_survives_its_file(tmp_path: Path) -> None:
    plan = replace(campaign(repeats=2), knee=4, notes=("ä note: with a colon",))
    save_plan(tmp_path, plan)
    assert load_plan(tmp_path) == plan
    assert [path.name for path in tmp_path.iterdir()] == ["plan.yaml"]
    keys = list(yaml.safe_load((tmp_path / "plan.yaml").read_text()))
    for key in ("schema", "name", "created", "settings", "rules", "endpoint", "datasets", "tokenizer", "c_min", "c_max",
                "c_max_found", "levels", "order", "order_seed", "repeats", "idle_gap_s", "max_extra_s", "seed_set",
                "target_cohort", "estimate_s", "interactivity_key"):  # fmt: skip
        assert key in keys


def test_no_plan_yet(tmp_path: Path) -> None:
    assert load_plan(tmp_path) is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data.update(schema="wholecurve.campaign/2"), "wanted a campaign with schema"),
        (lambda data: data.pop("c_max"), "whole number for `c_max`"),
        (lambda data: data.update(c_max="many"), "whole number for `c_max`"),
        (lambda data: data.update(repeats=0), "1 or more for `repeats`"),
        (lambda data: data.update(repeats=10**12), "every level and repeat once"),
        (lambda data: data["order"].append("r1-" + "9" * 5000), "wanted a point such as r16"),
        (lambda data: data["order"].append("r1-\u0662"), "wanted a point such as r16"),
        (lambda data: data.update(idle_gap_s=-1), "seconds for `idle_gap_s`"),
        (lambda data: data["levels"][0].update(label="../../etc"), "wanted a level such as r16"),
        (lambda data: data["levels"][0].update(concurrency=True), "concurrency"),
        (lambda data: data.update(levels=["r1"]), "list of mappings for `levels`"),
        (lambda data: data.update(levels=[]), "wanted levels, each once, got none"),
        (lambda data: data["order"].pop(), "every level and repeat once"),
        (lambda data: data.update(order=["r1", "r1", "r4", "offline"]), "every level and repeat once"),
        (lambda data: data["order"].append("../x"), "wanted a point such as r16"),
        (lambda data: data.update(settings=None), "a mapping for `settings`"),
    ],
)
def test_a_plan_that_was_edited_is_checked(change: Callable[[dict[str, Any]], object], words: str) -> None:
    data = yaml.safe_load(plan_text(campaign()))
    change(data)
    with pytest.raises(InputError, match=words) as caught:
        plan_from_text(yaml.safe_dump(data))
    assert "plan.yaml" in caught.value.where


@pytest.mark.parametrize("text", ["", "[1]", "a: [", "a: &x [*x]", "!!python/object:os.system {}", "\x00"])
def test_a_file_that_is_no_plan(text: str) -> None:
    with pytest.raises(InputError):
        plan_from_text(text)


# What may differ on another day


def test_nothing_changed() -> None:
    assert differences(conditions(), conditions()) == ()


def test_what_does_not_matter_may_differ() -> None:
    other = yaml.safe_load(yaml.safe_dump(SETTINGS))
    other.update(name="another", workers=7, output={"dir": "elsewhere"})
    other["endpoint"].update(api_key_env="OTHER", ca_file="x.pem")
    other["endpoint"]["headers"]["Authorization"] = "Bearer ${OTHER}"
    other["dataset"]["path"] = "moved/prompts.jsonl"
    other["sweep"]["wait_endpoint"] = "1h"
    found = conditions(settings=other, endpoint={"urls": [], "models": ["tiny"], "server": None})
    assert differences(conditions(), found) == ()
    assert differences(conditions(), conditions(endpoint={"models": None, "server": "engine 1.0"})) == ()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rules": {**conditions().rules, "fingerprint": "f1"}}, "fingerprint of the rules was f0, and is f1 now"),
        ({"rules": {**conditions().rules, "benchmark": None}}, "benchmark of the rules was demo, and is not set now"),
        ({"endpoint": {"models": ["other", "tiny"]}}, "the endpoint's list of models was tiny, and is other, tiny now"),
        (
            {"endpoint": {"models": ["tiny"], "server": "engine 2.0"}},
            "the server was engine 1.0, and is engine 2.0 now",
        ),
        ({"datasets": [{"name": "demo", "rows": 16, "sha256": "ab"}]}, "the data set demo (SHA-256) was aa, and is ab"),
        ({"datasets": [{"name": "demo", "rows": 17, "sha256": "aa"}]}, "the data set demo (rows) was 16, and is 17"),
        ({"datasets": []}, "the data set demo is not there any more"),
        ({"tokenizer": None}, "the tokenizer (SHA-256) was bb, and is not set now"),
        ({"seed_set": None}, "seed set was demo, and is not set now"),
        ({"target_cohort": "2027-01-C0"}, "target cohort was 2026-12-C1, and is 2027-01-C0 now"),
        ({"settings": {**SETTINGS, "request": {"max_tokens": 256}}}, "`request.max_tokens` was 128, and is 256 now"),
        ({"settings": {**SETTINGS, "load": {"salt": "x"}}}, "`load.salt` was not set, and is x now"),
        ({"settings": {**SETTINGS, "sweep": {"offline": "none", "idle_gap": "5s"}}}, "`sweep.offline` was dedicated"),
        (
            {"settings": {**SETTINGS, "endpoint": {**SETTINGS["endpoint"], "headers": {"X-Tier": "a"}}}},
            "`endpoint.headers.X-Tier` was not set, and is set now",
        ),
    ],
)
def test_what_matters_is_named(changes: dict[str, Any], words: str) -> None:
    found = "\n".join(differences(conditions(), conditions(**changes)))
    assert words in found
    assert "KEY" not in found


def test_the_same_rows_under_another_name_are_the_same_data_set() -> None:
    renamed = conditions(datasets=[{"name": "moved", "rows": 16, "sha256": "aa"}])
    assert differences(conditions(), renamed) == ()
    other = conditions(datasets=[{"name": "moved", "rows": 16, "sha256": "ab"}])
    assert differences(conditions(), other) == (
        "the data set demo is not there any more",
        "the data set moved is new",
    )


def test_other_rules_are_told_once() -> None:
    """Not their version, their fingerprint and the setting that names them."""
    settings = {**SETTINGS, "rules": {"version": "v1_0", "edition": "E3"}}
    now = conditions(rules={**conditions().rules, "version": "v1_0", "fingerprint": "f9"}, settings=settings)
    assert differences(conditions(), now) == ("version of the rules was demo, and is v1_0 now",)


def test_a_hostile_model_name_stays_on_its_line() -> None:
    (found,) = differences(conditions(), conditions(endpoint={"models": ["a\x1b[2J\nb" * 50]}))
    assert found.isprintable()
    assert len(found) < 200


def test_facts_that_differ_between_points() -> None:
    points = [("r1", {"tool": "0.2"}), ("r4", {"tool": "0.3", "more": "x"}), ("r16", {"tool": "0.4", "more": "x"})]
    assert fact_changes(points) == ("tool was 0.2 at r1, and 0.3 at r4",)


def test_resume_refuses_other_conditions_and_says_all_of_them(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.run(campaign(), FakeBench())
    other = conditions(
        datasets=[{"name": "demo", "rows": 16, "sha256": "zz"}], rules={**conditions().rules, "fingerprint": "f9"}
    )
    with session.journal() as journal, pytest.raises(InputError) as caught:
        resume(tmp_path, journal, other, tool="wholecurve 0.2")
    assert "fingerprint of the rules" in caught.value.message
    assert "demo (SHA-256)" in caught.value.message
    assert caught.value.exit_code == 2
    (changed,) = session.events("changed")
    assert len(changed["what"]) >= 2
    with session.journal() as journal:
        assert resume(tmp_path, journal, conditions(), tool="wholecurve 0.3") == campaign()
    assert session.events("resumed")[0]["tool"] == "wholecurve 0.3"


def test_resume_of_a_sweep_that_was_killed_in_its_search(tmp_path: Path) -> None:
    session = Session(tmp_path)
    with session.journal() as journal:
        begin(journal, conditions(), tool="wholecurve 0.2")
        journal.note("trial", **Trial(4, 10.0).to_json())
    with session.journal() as journal:
        assert resume(tmp_path, journal, conditions(), tool="wholecurve 0.2") is None
        with pytest.raises(InputError, match="SHA-256"):
            resume(tmp_path, journal, conditions(tokenizer=None), tool="wholecurve 0.2")


def test_a_plan_that_was_changed_by_hand_is_not_resumed(tmp_path: Path) -> None:
    with open_journal(tmp_path, FakeTime().wall, quiet) as journal:
        begin(journal, conditions(), tool="wholecurve 0.2")
        save_plan(tmp_path, campaign())
        seal_plan(tmp_path, journal)
    with open_journal(tmp_path, FakeTime().wall, quiet) as journal:
        assert resume(tmp_path, journal, conditions(), tool="wholecurve 0.2") == campaign()
    text = (tmp_path / "plan.yaml").read_text()
    (tmp_path / "plan.yaml").write_text(text.replace("order_seed: 42", "order_seed: 43"))
    with (
        pytest.raises(InputError, match=r"plan\.yaml was changed since the sweep began"),
        open_journal(tmp_path, FakeTime().wall, quiet) as journal,
    ):
        resume(tmp_path, journal, conditions(), tool="wholecurve 0.2")
    (tmp_path / "plan.yaml").unlink()
    with (
        pytest.raises(InputError, match=r"plan\.yaml is gone since the sweep began"),
        open_journal(tmp_path, FakeTime().wall, quiet) as journal,
    ):
        resume(tmp_path, journal, conditions(), tool="wholecurve 0.2")


def test_a_plan_that_a_kill_left_unsealed_is_sealed(tmp_path: Path) -> None:
    with open_journal(tmp_path, FakeTime().wall, quiet) as journal:
        begin(journal, conditions(), tool="wholecurve 0.2")
        save_plan(tmp_path, campaign())
    with open_journal(tmp_path, FakeTime().wall, quiet) as journal:
        resume(tmp_path, journal, conditions(), tool="wholecurve 0.2")
        assert [entry["event"] for entry in journal.entries] == ["created", "planned", "resumed"]


def test_nothing_to_resume(tmp_path: Path) -> None:
    with Session(tmp_path).journal() as journal, pytest.raises(InputError, match="holds no sweep"):
        resume(tmp_path, journal, conditions(), tool="wholecurve 0.2")


# The journal


def lines(tmp_path: Path) -> Path:
    with open_journal(tmp_path, FakeTime().wall, quiet) as journal:
        journal.note("created", tool="x", text="ä\n\u2028")
        journal.note("probe", models=["tiny"])
    return tmp_path / "journal.jsonl"


def test_a_line_each_and_in_order(tmp_path: Path) -> None:
    path = lines(tmp_path)
    assert path.read_bytes().count(b"\n") == 2
    found = read_journal(path)
    assert [entry["event"] for entry in found.entries] == ["created", "probe"]
    assert found.torn == ""
    assert read_journal(tmp_path / "none.jsonl").entries == ()


def test_a_torn_last_line_is_left_out_said_and_kept(tmp_path: Path) -> None:
    path = lines(tmp_path)
    whole = path.read_bytes()
    for cut in (1, 5, 20):
        path.write_bytes(whole + whole.splitlines()[1][:-cut])
        found = read_journal(path)
        assert len(found.entries) == 2
        assert found.torn
        assert found.whole == len(whole)
    said: list[str] = []
    with open_journal(tmp_path, FakeTime().wall, said.append) as journal:
        journal.note("finished")
    assert "cut by a crash" in said[0]
    entries = read_journal(path).entries
    assert [entry["event"] for entry in entries] == ["created", "probe", "mended", "finished"]
    assert entries[2]["torn"] == found.torn


def test_only_the_end_of_the_last_line_is_missing(tmp_path: Path) -> None:
    path = lines(tmp_path)
    path.write_bytes(path.read_bytes()[:-1])
    with open_journal(tmp_path, FakeTime().wall, quiet) as journal:
        journal.note("finished")
    assert [entry["event"] for entry in read_journal(path).entries] == ["created", "probe", "finished"]


@pytest.mark.parametrize(
    "damage", [b"garbage", b"[1]", b'{"event": "probe"}', b'{"at": 1, "event": "x"}', b"\xff\xfe", b"nul\0"]
)
def test_damage_inside_is_refused_with_its_line(tmp_path: Path, damage: bytes) -> None:
    path = lines(tmp_path)
    first, second = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join((first, damage, second, b"")))
    with pytest.raises(InputError, match="JSON object") as caught:
        read_journal(path)
    assert caught.value.where == "journal.jsonl:2"


def test_a_line_that_does_not_fit_on_the_disk_leaves_the_journal_whole(tmp_path: Path) -> None:
    path = lines(tmp_path)
    whole = path.read_bytes()
    script = (
        "import resource, signal, sys; from pathlib import Path; from wholecurve.sweep import open_journal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({len(whole) + 40}, {len(whole) + 40}))\n"
        "with open_journal(Path(sys.argv[1]), lambda: 'now', print) as journal:\n"
        "    try: journal.note('finished', text='x' * 500)\n"
        "    except Exception as error: print(type(error).__name__, error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, timeout=30)
    assert ran.stdout.startswith("MeasureError journal.jsonl could not be written: File too large"), ran.stderr
    assert path.read_bytes() == whole


def test_figures_that_are_no_numbers_never_enter(tmp_path: Path) -> None:
    with open_journal(tmp_path, FakeTime().wall, quiet) as journal, pytest.raises(ValueError, match="nan"):
        journal.note("finished", figures={"system_tps": float("nan")})
    assert read_journal(tmp_path / "journal.jsonl").entries == ()


# One sweep at a time

FORK = (
    "import os, sys, time; from pathlib import Path; from wholecurve.sweep import open_journal\n"
    "with open_journal(Path(sys.argv[1]), lambda: 'now', print):\n"
    "    child = os.fork()\n"
    "    if child == 0: time.sleep(60)\n"
    "    print(child, flush=True); time.sleep(60)\n"
)

HOLD = (
    "import sys, time; from pathlib import Path; from wholecurve.sweep import open_journal\n"
    "with open_journal(Path(sys.argv[1]), lambda: 'now', print): print('held', flush=True); time.sleep(60)\n"
)


def test_two_sweeps_cannot_share_a_folder_and_a_killed_one_blocks_nobody(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(InputError) as caught, open_journal(tmp_path, FakeTime().wall, quiet):
            pass
        assert f"another sweep is at work in {tmp_path.name} (pid {other.pid})" in caught.value.message
        assert str(tmp_path) not in str(caught.value)
    finally:
        other.kill()
        other.communicate(timeout=10)
    with open_journal(tmp_path, FakeTime().wall, quiet) as journal:
        journal.note("finished")


def test_a_worker_that_outlives_a_killed_sweep_holds_no_lock(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", FORK, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    worker = int(other.stdout.readline())
    try:
        other.kill()
        other.wait(timeout=10)
        os.kill(worker, 0)
        with open_journal(tmp_path, FakeTime().wall, quiet) as journal:
            journal.note("finished")
    finally:
        os.kill(worker, signal.SIGKILL)
        other.communicate(timeout=10)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be used"), open_journal(tmp_path / "none", FakeTime().wall, quiet):
        pass


def test_a_link_in_the_place_of_a_lock_or_of_an_unfinished_file_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    folder = tmp_path / "c"
    folder.mkdir()
    (folder / "sweep.lock").symlink_to(victim)
    with pytest.raises(InputError, match="cannot be used"), open_journal(folder, FakeTime().wall, quiet):
        pass
    (folder / "plan.yaml.part").symlink_to(victim)
    save_plan(folder, campaign())
    assert load_plan(folder) == campaign()
    assert not (folder / "plan.yaml").is_symlink()
    assert victim.read_text() == "precious"


def test_a_plan_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").mkdir()
    with pytest.raises(MeasureError, match=r"plan\.yaml could not be written"):
        save_plan(tmp_path, campaign())


# The estimate

TRIALS = [
    Trial(1, 10.0, requests_per_s=1.0),
    Trial(16, 100.0, requests_per_s=10.0),
    Trial(64, 200.0, requests_per_s=20.0),
]
WORK = Work(rows=100, window_passes=4, lead_passes=1, idle_gap_s=5, start_s=0)


def test_rates_between_and_beyond_trials() -> None:
    assert rates_at(16, TRIALS) == (10, 10)
    assert rates_at(32, TRIALS) == (10, 20)
    assert rates_at(128, TRIALS) == (20, 40)
    assert rates_at(8, TRIALS[1:]) == (5, 10)
    assert rates_at(8, [Trial(8, None, requests_per_s=1.0, invalid=("x",))]) is None


def test_a_point_is_at_least_its_minimum_and_its_passes() -> None:
    levels = take_levels((1, 16, 64), RULES, Kind.SINGLE_TURN, rows=100, offline="none", accuracy=False)
    found = estimate(levels, RULES, Kind.SINGLE_TURN, replace(WORK, max_extra_s=0), TRIALS)
    assert found.levels["r1"].low_s == 5 * 100 + 1  # 5 passes of 100 s and one answer of drain
    assert found.levels["r16"].low_s == 5 * 10 + 1.6
    assert found.levels["r64"].low_s == 5 * 5 + 3.2
    assert found.whole.low_s == pytest.approx(501 + 51.6 + 28.2 + 2 * 5)
    assert found.words.startswith("about")
    extended = estimate(levels, RULES, Kind.SINGLE_TURN, WORK, TRIALS)
    assert extended.whole.high_s == pytest.approx(found.whole.low_s + 3 + 6 + 6)  # once more each region's minimum


def test_the_duration_rule_decides_where_passes_are_fast() -> None:
    levels = take_levels((1, 16), RULES, Kind.SINGLE_TURN, rows=2, offline="none", accuracy=False)
    fast = [Trial(1, 1.0, requests_per_s=1000.0), Trial(16, 1.0, requests_per_s=1000.0)]
    found = estimate(levels, RULES, Kind.SINGLE_TURN, replace(WORK, rows=2, max_extra_s=0), fast)
    assert 3 < found.levels["r1"].low_s < 3.1
    assert 6 < found.levels["r16"].low_s < 6.1


def test_repeats_offline_accuracy_and_warm_up_are_counted() -> None:
    levels = choose_levels(1, 64, RULES, Kind.SINGLE_TURN, rows=100, offline="dedicated")
    one = estimate(levels, RULES, Kind.SINGLE_TURN, WORK, TRIALS).whole.low_s
    twice = estimate(levels, RULES, Kind.SINGLE_TURN, replace(WORK, repeats=2), TRIALS).whole.low_s
    assert twice == pytest.approx(2 * one + 5)
    scored = estimate(levels, RULES, Kind.SINGLE_TURN, replace(WORK, accuracy=50, repeats=2), TRIALS).whole.low_s
    assert twice + 50 < scored < twice + 50 * 5, "accuracy runs once per scored level, not in repeats"
    warm = estimate(levels, RULES, Kind.SINGLE_TURN, replace(WORK, warmup=10), TRIALS).whole.low_s
    assert warm > one + 10


def test_what_is_not_known_is_said() -> None:
    levels = choose_levels(1, 64, RULES, Kind.SINGLE_TURN, rows=100, offline="dedicated")
    found = estimate(levels, RULES, Kind.SINGLE_TURN, WORK)
    assert found.whole.high_s is None
    assert found.words.startswith("at least ")
    assert "not known yet" in found.words
    assert found.to_json()["high"] is None
    assert found.to_json()["levels"]["r1"] == [3.0, None]


@pytest.mark.parametrize(
    ("span", "words"),
    [(Span(600, 640), "about 10.3 min"), (Span(5400, 8100), "90 min to 2.25 h"), (Span(30, None), "at least 30 s")],
)
def test_words_of_a_span(span: Span, words: str) -> None:
    assert span.words() == words
