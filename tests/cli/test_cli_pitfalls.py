"""Known pitfalls of whole runs: what the user reads and what is in the folder afterwards."""

from __future__ import annotations

import json
import os
import resource
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_console import FILES, USAGE, begin, console, end, files_of, run_flags, summary, wait_until

from wholecurve.run.files import tool_commit
from wholecurve.testing import At, Request, ScriptedServer, Step, error_answer, sse_answer, sse_event, stream_answer

GOOD = sse_answer(["a", "b"], usage=USAGE)
DEAD = "http://127.0.0.1:9"
TOKENIZER = str(Path(__file__).parents[1] / "assets" / "tokenizer")
KEY = "sk-9f8e7d6c5b4a3210"


def report(folder: Path) -> str:
    """report.txt with its lines joined, so that wrapping does not matter."""
    return " ".join((folder / "report.txt").read_text().split())


def page(folder: Path) -> str:
    return " ".join((folder / "report.html").read_text().split())


def plan(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "plan.json").read_text())
    return found


def rows_file(folder: Path, rows: list[dict[str, Any]]) -> None:
    (folder / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def everything(folder: Path, out: str, err: str) -> dict[str, str]:
    """All that was printed and written, Parquet rows included."""
    import pyarrow.parquet as pq

    texts = {"stdout": out, "stderr": err}
    for path in folder.rglob("*"):
        if path.is_file():
            texts[path.name] = path.read_bytes().decode("latin-1")
    for path in folder.rglob("*.parquet"):
        texts[f"{path.name} rows"] = str(pq.read_table(path).to_pylist())
    return texts


# -- connections -------------------------------------------------------------------------------------------------------


def test_proxy_variables_are_not_obeyed(tmp_path: Path) -> None:
    """NET-8: every proxy variable names a dead port; the connection is direct."""
    names = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    with ScriptedServer(GOOD) as server:
        done = console(*run_flags(server.url, tmp_path), cwd=tmp_path, env=dict.fromkeys(names, DEAD))
        probed = console("probe", server.url, "--model", "m", cwd=tmp_path, env=dict.fromkeys(names, DEAD))
    assert done.code == 0, done.err
    assert summary(tmp_path / "out")["workload"]["endpoint"]["proxy"] is None
    assert probed.code == 0, probed.out


def test_a_proxy_that_was_asked_for_is_in_the_report(tmp_path: Path) -> None:
    """NET-8: an explicit setting, and only that; the report says so."""
    with ScriptedServer(GOOD) as proxy:
        done = console(*run_flags("http://model.invalid:8000", tmp_path, "--proxy", proxy.url), cwd=tmp_path)
        asked = proxy.requests[0].path
    assert done.code == 0, done.err
    assert asked == "http://model.invalid:8000/v1/chat/completions"
    assert summary(tmp_path / "out")["workload"]["endpoint"]["proxy"] == proxy.url
    assert proxy.url in report(tmp_path / "out")


@pytest.mark.slow
def test_1600_at_once_from_the_command(tmp_path: Path) -> None:
    """NET-2, NET-1: asked for and measured stand in the report; the server saw them all at once."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    try:
        with ScriptedServer([At(4.0), *GOOD]) as server:
            flags = run_flags(server.url, tmp_path, rows=1600)
            flags[flags.index("--concurrency") + 1] = "1600"
            done = console(*flags, cwd=tmp_path)
            assert server.peak_requests == 1600
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert done.code == 0, done.err
    held = summary(tmp_path / "out")["concurrency"]
    assert (held["requested"], held["peak"]) == (1600, 1600)
    assert "1,600 asked for, 1,600 at the peak" in report(tmp_path / "out")


def test_clumps_are_told_in_every_report(tmp_path: Path) -> None:
    """NET-10: clumps of 40 events: on the screen, in the text and on the page, with the advice to read TPOT."""
    text = sse_event({"choices": [{"index": 0, "delta": {"content": "x"}}]}) * 40
    finish = sse_event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}) + sse_event("[DONE]")
    with ScriptedServer(stream_answer([text, text, finish], gap_s=0.1)) as server:
        done = console(*run_flags(server.url, tmp_path), cwd=tmp_path)
    for where in (" ".join(done.out.split()), report(tmp_path / "out"), page(tmp_path / "out")):
        assert "events arrive in clumps" in where
        assert "read TPOT" in where


# -- tokens ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1, 5])
def test_a_server_that_counts_the_prompt_otherwise_is_told(factor: int, tmp_path: Path) -> None:
    """TOK-4: both counts are in the report; five times as many is a caution of its own."""
    from wholecurve.tokens import count_prompts, load_tokenizer

    tokenizer = load_tokenizer(TOKENIZER, trust_remote_code=False)

    def script(request: Request) -> list[Step]:
        from wholecurve.model.sample import Sample

        sample = Sample(0, messages=tuple(request.json()["messages"]))
        count = count_prompts([sample], tokenizer).isl[0]
        assert count is not None
        return sse_answer(["a", "b"], usage={"prompt_tokens": factor * count, "completion_tokens": 2})

    with ScriptedServer(script) as server:
        done = console(*run_flags(server.url, tmp_path, "--tokenizer", TOKENIZER), cwd=tmp_path)
    assert done.code == 0, done.err
    found = summary(tmp_path / "out")
    mismatch = found["workload"]["token_mismatch"]["input"]
    assert (mismatch["compared"], mismatch["median_ratio"], mismatch["flagged"]) == (4, float(factor), factor == 5)
    words = "input tokens: the server counts 5 times the reference tokenizer"
    assert [one for one in found["cautions"] if one.startswith(words)] == (found["cautions"][:1] if factor == 5 else [])
    for where in (" ".join(done.out.split()), report(tmp_path / "out"), page(tmp_path / "out")):
        assert (words in where) is (factor == 5)
    ratio = "5.00" if factor == 5 else "1.00"
    assert f"input, usage / reference {ratio} (median of 4 requests counted by both)" in report(tmp_path / "out")


def test_tokens_are_counted_when_the_load_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SCL-2: no token of prompt or answer is counted while anything is timed."""
    from wholecurve.cli.inputs import resolved_run
    from wholecurve.config import RunFlags
    from wholecurve.run import counting, measure
    from wholecurve.run.clock import monotonic_ns

    began: list[int] = []

    def noted(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **options: Any) -> Any:
            began.append(monotonic_ns())
            return function(*arguments, **options)

        return wrapped

    monkeypatch.setattr(counting, "count_answers", noted(counting.count_answers))
    monkeypatch.setattr(counting, "count_prompts", noted(counting.count_prompts))
    rows_file(tmp_path, [{"prompt": f"prompt {row}"} for row in range(8)])
    with ScriptedServer(sse_answer(["a", "b", "c"], gap_s=0.01)) as server:
        flags = RunFlags(
            endpoint=(server.url,), model="m", dataset=str(tmp_path / "prompts.jsonl"), concurrency=2,
            tokenizer=TOKENIZER, workers=1,
        )  # fmt: skip
        result = measure(
            resolved_run(flags, lambda _text: None), tmp_path / "out", show=lambda _live: None, say=lambda _text: None
        )
        ended = max(exchange.sent_ns[-1] for exchange in server.exchanges)
    assert result.summary["token_source"] == "reference"
    assert len(began) >= 2
    assert min(began) > ended


# -- prompts -----------------------------------------------------------------------------------------------------------


def test_repeats_are_in_the_report(tmp_path: Path) -> None:
    """DAT-2: 21 rows, 90 requests: 21 distinct, 69 repeats; without a count every row is sent once."""
    with ScriptedServer(GOOD) as server:
        done = console(*run_flags(server.url, tmp_path, "--requests", "90", rows=21), cwd=tmp_path)
        once = console(*run_flags(server.url, tmp_path, "--out", "once", rows=21, out=None), cwd=tmp_path)
        assert len(server.requests) == 111
    assert (done.code, once.code) == (0, 0)
    text = report(tmp_path / "out")
    assert "distinct prompts sent 21" in text
    assert "requests with a repeat 69" in text
    told = "90 requests use 21 distinct prompts; repeats can be served from a cache"
    assert told in summary(tmp_path / "out")["cautions"]
    for where in (" ".join(done.out.split()), text, page(tmp_path / "out")):
        assert told in where
    assert "requests with a repeat 0" in report(tmp_path / "once")
    assert summary(tmp_path / "once")["n_samples_issued"] == 21


def test_few_distinct_prompts_and_a_long_shared_start_are_in_the_report(tmp_path: Path) -> None:
    """DAT-3: 100 rows with 10 distinct prompts that begin alike."""
    start = "You are a careful assistant. " * 20
    flags = run_flags(DEAD, tmp_path)
    rows_file(tmp_path, [{"prompt": f"{start}{row % 10}"} for row in range(100)])
    with ScriptedServer(GOOD) as server:
        flags[flags.index("--endpoint") + 1] = server.url
        assert console(*flags, cwd=tmp_path).code == 0
    found, text = summary(tmp_path / "out"), report(tmp_path / "out")
    assert (found["workload"]["prompts"]["distinct"], found["workload"]["prompts"]["repeats"]) == (10, 90)
    assert f"longest shared start {len(start)} characters" in text
    assert "prompts in the data set 100, 10 distinct" in text
    assert found["cautions"][0].startswith("100 requests use 10 distinct prompts")
    assert "of the prompt text begins as another prompt does" in found["cautions"][1]


class Remembering:
    """A server with a prompt cache: a prompt that begins as an earlier one did is cached as far as they agree."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, request: Request) -> list[Step]:
        text = request.json()["messages"][-1]["content"]
        known = max((len(os.path.commonprefix([text, old])) for old in self.seen), default=0)  # noqa: RUF071 - texts
        self.seen.append(text)
        usage = {"prompt_tokens": len(text), "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": known}}
        return sse_answer(["a", "b"], usage=usage)


@pytest.mark.parametrize("salted", [False, True])
def test_a_second_run_on_the_same_prompts_is_flagged(salted: bool, tmp_path: Path) -> None:
    """WRM-1: the cached share of each run is shown, and flagged where it is high; a salt for each run avoids it."""
    rows = [{"prompt": f"{row}: " + "word " * 40} for row in range(6)]
    with ScriptedServer(Remembering()) as server:
        for name in ("one", "two"):
            flags = run_flags(server.url, tmp_path, "--out", name, *(["--salt", name] if salted else []), out=None)
            rows_file(tmp_path, rows)
            assert console(*flags, cwd=tmp_path).code == 0
    first, second = summary(tmp_path / "one"), summary(tmp_path / "two")
    assert first["prompt_cache"]["cached_share"] < 0.1
    assert first["prompt_cache"]["cache_reported"] == 6
    flagged = [one for one in second["cautions"] if "came from the endpoint's prompt cache" in one]
    if salted:
        assert second["prompt_cache"]["cached_share"] < 0.1
        assert not flagged
    else:
        assert second["prompt_cache"]["cached_share"] > 0.99
        assert flagged[0].startswith("100.0 % of the prompt tokens")
        assert "prompt tokens from a cache 100" in report(tmp_path / "two")
        assert "prompt cache" in page(tmp_path / "two")


def test_a_long_preparation_gives_a_sign_of_life(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SCL-6: while many prompts are made, the user reads how far it is; a short work says nothing."""
    from importlib import import_module

    from wholecurve.cli.inputs import resolved_run
    from wholecurve.config import RunFlags

    (tmp_path / "run.yaml").write_text(
        "endpoint: {urls: ['http://127.0.0.1:9'], model: m}\n"
        "dataset: {synthetic: {rows: 200, input_tokens: 20, seed: 1}}\nload: {concurrency: 2}\n"
    )
    said: list[str] = []
    flags = RunFlags(config=str(tmp_path / "run.yaml"))
    resolved_run(flags, said.append)
    assert said == []
    monkeypatch.setattr(import_module("wholecurve.datasets.synthetic"), "LARGE_JOB", 1_000)
    resolved_run(flags, said.append)
    assert said[0] == "made 32 of 200 prompts"
    assert said[-1] == "made 192 of 200 prompts"


# -- settings ----------------------------------------------------------------------------------------------------------


def test_settings_are_in_every_body_of_every_phase(tmp_path: Path) -> None:
    """CLI-4, CLI-3: ignore_eos, min_tokens and a seed, warm-up included, with their types; the report has a body."""
    extra = ["--extra-body", "ignore_eos=true", "--extra-body", "min_tokens=3", "--extra-body", "seed=11"]
    with ScriptedServer(GOOD) as server:
        done = console(*run_flags(server.url, tmp_path, *extra, "--warmup", "3"), cwd=tmp_path)
        bodies = [request.json() for request in server.requests]
    assert done.code == 0, done.err
    assert len(bodies) == 7
    assert [(b["ignore_eos"], b["min_tokens"], b["seed"]) for b in bodies] == [(True, 3, 11)] * 7
    shown = page(tmp_path / "out").replace("&#34;", '"')
    assert '"min_tokens": 3' in shown
    assert '"(messages of the data set)"' in shown


def test_no_sampling_is_said_to_be_the_servers_own(tmp_path: Path) -> None:
    """CLI-5: nothing is sent that was not asked for, and the report says whose defaults hold."""
    with ScriptedServer(GOOD) as server:
        assert console(*run_flags(server.url, tmp_path), cwd=tmp_path).code == 0
        body = server.requests[0].json()
    assert not set(body) & {"temperature", "top_p", "top_k", "seed", "ignore_eos", "min_tokens", "max_tokens"}
    assert "no sampling field is sent: the server's defaults hold" in report(tmp_path / "out")


@pytest.mark.parametrize("forced", [True, False])
def test_a_forced_end_that_breaks_a_model(forced: bool, tmp_path: Path) -> None:
    """CLI-6: never set unless asked for; where it breaks, the share of failures heads the result and the code is 1."""
    broken = stream_answer([sse_event({"error": {"message": "ignore_eos is not supported"}})])
    with ScriptedServer(lambda request: broken if "ignore_eos" in request.json() else GOOD) as server:
        more = ["--max-tokens", "5", *(["--extra-body", "ignore_eos=true"] if forced else [])]
        done = console(*run_flags(server.url, tmp_path, *more), cwd=tmp_path)
    assert done.code == (1 if forced else 0)
    assert ("not valid: 4 of 4 requests failed (100.00 %, limit 1.00 %)" in done.errors()) is forced
    assert ("NOT VALID" in done.out) is forced


def test_a_server_that_refuses_everything_has_no_figures(tmp_path: Path) -> None:
    """STA-3, REP-1: no statistic is a number, no file holds NaN, and the exit code is not 0."""
    with ScriptedServer(error_answer(503, "loading")) as server:
        done = console(*run_flags(server.url, tmp_path), cwd=tmp_path)
    assert done.code == 1
    found = summary(tmp_path / "out")
    assert [found[name] for name in ("ttft", "tpot", "latency", "gaps", "output_sequence_lengths")] == [{}] * 5
    assert (found["tps"], found["tps_per_user"], found["qps"]) == (None, None, 0.0)
    for path in (tmp_path / "out").rglob("*.json"):
        json.loads(path.read_text(), parse_constant=lambda word, path=path: pytest.fail(f"{word} in {path.name}"))


# -- files -------------------------------------------------------------------------------------------------------------


def test_the_commit_is_the_tools_and_not_that_of_the_folder(tmp_path: Path) -> None:
    """REP-7: started in another repository; settings, seeds, version and hashes are in the folder."""
    git = tmp_path / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "refs" / "heads" / "main").write_text("f" * 40 + "\n")
    with ScriptedServer(GOOD) as server:
        flags = run_flags(server.url, tmp_path, "--tokenizer", TOKENIZER, "--seed", "77", "--warmup", "2")
        assert console(*flags, cwd=tmp_path).code == 0
    found, asked = summary(tmp_path / "out"), plan(tmp_path / "out")
    assert found["git_sha"] == tool_commit() != "f" * 40
    assert found["run_config"]["dataloader_random_seed"] == 77
    assert found["run_config"]["warmup"]["n_requests"] == 2
    assert {len(one["sha256"]) for one in asked["datasets"]} == {64}
    assert len(asked["tokenizer"]["sha256"]) == 64
    text = report(tmp_path / "out")
    assert asked["tokenizer"]["sha256"] in text
    assert found["version"] in text
    assert "f" * 40 not in " ".join(path.read_text("latin-1") for path in (tmp_path / "out").rglob("*.json"))


def test_images_are_not_written_into_any_file(tmp_path: Path) -> None:
    """REP-10: ten rows with an image of 100 KB: a report, small files, and a hash for the data set."""
    picture = "data:image/png;base64," + "iVBORw0KGgo" * 9300
    part = [{"type": "text", "text": "what is this?"}, {"type": "image_url", "image_url": {"url": picture}}]
    flags = run_flags(DEAD, tmp_path)
    rows_file(tmp_path, [{"messages": [{"role": "user", "content": part}], "n": row} for row in range(10)])
    with ScriptedServer(GOOD) as server:
        flags[flags.index("--endpoint") + 1] = server.url
        done = console(*flags, cwd=tmp_path)
        sent = server.requests[0].json()["messages"][0]["content"][1]["image_url"]["url"]
    assert done.code == 0, done.err
    assert sent == picture
    assert set(FILES) <= files_of(tmp_path / "out")
    assert "iVBORw0KGgo" not in "".join(everything(tmp_path / "out", done.out, done.err).values())
    assert len(plan(tmp_path / "out")["datasets"][0]["sha256"]) == 64


def test_half_a_run_is_kept_after_an_interrupt(tmp_path: Path) -> None:
    """REP-3: interrupted at half-way: status, code 130, and a line for each request that was answered."""
    with ScriptedServer([At(0.02), *GOOD]) as server:
        child = begin(*run_flags(server.url, tmp_path, rows=400), cwd=tmp_path)
        wait_until(lambda: len(server.requests) >= 60)
        child.send_signal(signal.SIGINT)
        done = end(child)
        asked = len(server.requests)
    assert done.code == 130
    found = summary(tmp_path / "out")
    assert (found["state"], found["complete"]) == ("interrupted", False)
    assert found["outcomes"]["succeeded"] == asked
    assert 60 <= asked < 400


def test_answers_reach_the_disk_while_the_run_goes_on(tmp_path: Path) -> None:
    """REP-3: kill -9 in full flow: all but the last two seconds can be summarised later."""
    with ScriptedServer([At(0.02), *GOOD]) as server:
        child = begin(*run_flags(server.url, tmp_path, rows=2000), cwd=tmp_path, start_new_session=True)
        wait_until(lambda: len(server.requests) >= 20)
        time.sleep(1.0)
        os.killpg(child.pid, signal.SIGKILL)
        end(child)
        asked = len(server.requests)
    assert console("report", "out", cwd=tmp_path).code == 1, "it is finished, and not valid"
    found = summary(tmp_path / "out")
    assert found["state"] == "interrupted"
    assert found["outcomes"]["succeeded"] >= asked / 3
    assert found["outcomes"]["sent"] <= asked


def test_a_run_is_never_overwritten(tmp_path: Path) -> None:
    """REP-6: a folder that holds a run is refused before anything is sent, and stays as it is."""
    with ScriptedServer(GOOD) as server:
        assert console(*run_flags(server.url, tmp_path), cwd=tmp_path).code == 0
        before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
        done = console(*run_flags(server.url, tmp_path), cwd=tmp_path)
        assert len(server.requests) == 4
    assert done.code == 2
    assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()} == before


# -- secrets -----------------------------------------------------------------------------------------------------------

ECHOES: dict[str, Callable[[Request], list[Step]]] = {
    "error body": lambda request: error_answer(
        401, {"error": {"message": f"Incorrect key: {request.header('authorization')}"}}
    ),
    "cut": lambda request: error_answer(401, "x" * 270 + f" {KEY} is not known here"),
    "html": lambda request: error_answer(
        403, f"<html><b>{request.header('x-token')}</b></html>", [("Content-Type", "text/html")]
    ),
    "stream": lambda request: stream_answer(
        [sse_event({"error": {"message": f"no such tenant {request.header('x-token')}, key {KEY}"}})]
    ),
    "wrong type": lambda request: error_answer(200, {"hello": KEY}),
}


@pytest.mark.parametrize("echo", ECHOES)
def test_a_key_that_the_server_repeats_is_not_kept(echo: str, tmp_path: Path) -> None:
    """SEC-2: the excerpt of an error says everything but the key, in a run and in a probe."""
    env = {"MY_KEY": KEY, "MY_TOKEN": "tok-en/42+xyz"}
    hidden = ["--api-key-env", "MY_KEY", "--header", "X-Token: ${MY_TOKEN}"]
    with ScriptedServer(ECHOES[echo]) as server:
        done = console(*run_flags(server.url, tmp_path, *hidden), cwd=tmp_path, env=env)
        probed = console(
            "probe", server.url, "--model", "m", "--dialect", "openai-chat", *hidden, cwd=tmp_path, env=env
        )
    assert done.code == 1
    assert probed.code == 3
    texts = everything(tmp_path / "out", done.out + probed.out, done.err + probed.err)
    for secret in (KEY, KEY[:10], env["MY_TOKEN"]):
        assert not [name for name, text in texts.items() if secret in text]
    assert "(hidden)" in done.err


def test_a_refused_body_is_told_without_what_was_sent(tmp_path: Path) -> None:
    """SEC-5: servers repeat the request under `input` of a 422; the fault is told, the prompt is not."""

    def script(request: Request) -> list[Step]:
        fault = {"type": "missing", "loc": ["body", "model_id"], "msg": "Field required", "input": request.json()}
        return error_answer(422, {"detail": [fault]})

    flags = run_flags(DEAD, tmp_path)
    rows_file(tmp_path, [{"prompt": "marker-4711"}])
    with ScriptedServer(script) as server:
        flags[flags.index("--endpoint") + 1] = server.url
        done = console(*flags, cwd=tmp_path)
    assert done.code == 1
    assert "422 Unprocessable Content: body.model_id: Field required" in done.err
    texts = everything(tmp_path / "out", done.out, done.err)
    assert not [name for name, text in texts.items() if "marker-4711" in text]


def test_a_killed_run_keeps_no_key_either(tmp_path: Path) -> None:
    """SEC-2: a run that is finished later does not know its keys; what looks like one is hidden all the same."""
    with ScriptedServer(lambda request: [At(0.05), *ECHOES["error body"](request)]) as server:
        flags = run_flags(server.url, tmp_path, "--api-key-env", "MY_KEY", rows=500)
        child = begin(*flags, cwd=tmp_path, env={"MY_KEY": KEY}, start_new_session=True)
        wait_until(lambda: len(server.requests) >= 20)
        time.sleep(0.6)
        os.killpg(child.pid, signal.SIGKILL)
        end(child)
    done = console("report", "out", cwd=tmp_path)
    assert done.code in (0, 1)
    texts = everything(tmp_path / "out", done.out, done.err)
    assert not [name for name, text in texts.items() if KEY in text]
    assert [name for name, text in texts.items() if "(hidden)" in text]
