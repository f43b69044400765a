"""Salt per request: a second pass meets no cache of the first, bytes do not depend on workers, ISL counts each salt."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from run_build import phase, plan_for, run_load

from wholecurve.config import salt_of
from wholecurve.datasets import token_salt
from wholecurve.model.errors import InputError
from wholecurve.model.plan import Order, Plan, Secrets, StopRule
from wholecurve.model.sample import Conversation, Sample, single_shot
from wholecurve.records import NUMBER_NAMES
from wholecurve.records.write import rows_in_order
from wholecurve.run.counting import TokenColumns
from wholecurve.run.outgoing import Outgoing
from wholecurve.run.supervise import Supervisor
from wholecurve.sim import SimOptions, profile_named, start
from wholecurve.testing import Request, ScriptedServer, Step, sse_answer
from wholecurve.tokens import Tokenizer, load_tokenizer

ASSETS = Path(__file__).parents[1] / "assets"
SYSTEM = "You are a careful assistant of a library. " * 8
HOSTILE = ("[0000000000000000]\n", "\0" * 16, "[", '"\\[6a70b9902eebbd48]\n', "é\ud7ff🙂", "{salt}", "%b%d")


@pytest.fixture(scope="module")
def trained() -> Tokenizer:
    return load_tokenizer(ASSETS / "tokenizer")


class Noting:
    """Answers two tokens and keeps every body by its X-Request-Id's end: phase and index."""

    def __init__(self) -> None:
        self.bodies: dict[str, bytes] = {}

    def __call__(self, request: Request) -> list[Step]:
        name = dict(request.headers)["x-request-id"].partition("-")[2]
        assert name not in self.bodies
        self.bodies[name] = request.body
        return sse_answer(["a", "b"])


def chats(count: int, words: int = 60) -> tuple[Conversation, ...]:
    messages = [
        ({"role": "system", "content": SYSTEM}, {"role": "user", "content": f"Book {row}: " + f"word{row} " * words})
        for row in range(count)
    ]
    return tuple(single_shot(Sample(row, messages=one, body={"max_tokens": 2})) for row, one in enumerate(messages))


def passes(rows: int, count: int, salt: str | None, **changes: Any) -> Any:
    stop = StopRule(min_samples=rows * count, max_samples=rows * count)
    return phase(rows=rows, stop=stop, salt=salt, order=Order.SHUFFLED, **changes)


def test_two_passes_send_every_row_with_two_salts_and_the_system_text_untouched(tmp_path: Path) -> None:
    noted = Noting()
    with ScriptedServer(noted) as server:
        run_load(tmp_path, server.url, passes(5, 2, "w"), conversations=chats(5))
    users = {}
    for name, body in noted.bodies.items():
        system, user = json.loads(body)["messages"]
        assert system == {"role": "system", "content": SYSTEM}
        place, _, index = name.partition("-")
        line, _, text = user["content"].partition("\n")
        assert line == f"[{salt_of('w', int(place), int(index))}]"
        users.setdefault(text, set()).add(line)
    assert sorted(map(len, users.values())) == [2] * 5


def test_the_same_plan_sends_the_same_bytes_with_any_number_of_workers(tmp_path: Path) -> None:
    sent = []
    for workers in (1, 2, 3):
        noted = Noting()
        with ScriptedServer(noted) as server:
            run_load(
                tmp_path / str(workers), server.url, passes(7, 3, "w", concurrency=6), conversations=chats(7, 3),
                workers=workers,
            )  # fmt: skip
        sent.append(noted.bodies)
    assert len(sent[0]) == 21
    assert sent[0] == sent[1] == sent[2]


def test_phases_of_one_run_share_no_salt(tmp_path: Path) -> None:
    noted = Noting()
    with ScriptedServer(noted) as server:
        run_load(tmp_path, server.url, [passes(4, 1, "w"), passes(4, 1, "w")], conversations=chats(4, 3))
    lines = [json.loads(body)["messages"][1]["content"].partition("\n")[0] for body in noted.bodies.values()]
    assert len(set(lines)) == len(lines) == 8


def cached_of_passes(folder: Path, salt: str | None) -> list[list[tuple[int, int]]]:
    """(cached, prompt) tokens of each request, by pass, as a simulated engine with a prefix cache reports them."""
    rows = 6
    with start(SimOptions(profile=profile_named("flash"), models=())) as sim:
        load = run_load(folder, sim.url, passes(rows, 3, salt, concurrency=1), conversations=chats(rows))
    assert len(load.of("succeeded")) == 3 * rows
    told = [(row["usage_cached"], row["usage_input"]) for row in load.rows]
    return [told[start : start + rows] for start in range(0, len(told), rows)]


def test_wrm_1_a_second_pass_finds_no_text_of_the_user_in_the_cache(tmp_path: Path) -> None:
    system = len(SYSTEM.split()) + 8  # words, and what surrounds a message
    first, *later = cached_of_passes(tmp_path / "salted", "w")
    for one in (first, *later):
        assert all(cached <= system for cached, _ in one), one
    assert all(cached > 0 for one in later for cached, _ in one), "the system text is common, as in real use"
    _, *again = cached_of_passes(tmp_path / "plain", None)
    for one in again:
        assert all(cached > 0.8 * prompt for cached, prompt in one), one


def body_of(plan: Plan, sample: Sample, index: int = 0, **options: Any) -> dict[str, Any]:
    data, _ = Outgoing(plan, Secrets(), **options).request(sample, (0, index))
    head, _, body = data.partition(b"\r\n\r\n")
    assert head.endswith(b"Content-Length: %d" % len(body))
    return json.loads(body)  # type: ignore[no-any-return]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("index", [0, 7, 12345])
def test_no_prompt_can_stand_in_the_way_of_its_salt(text: str, index: int) -> None:
    plan = plan_for(["http://127.0.0.1:9"], [phase(salt="w")])
    line = f"[{salt_of('w', 0, index)}]\n"
    prompt = text * 3 + line + text
    assert body_of(plan, Sample(0, prompt=prompt, system=prompt), index)["messages"] == [
        {"role": "system", "content": prompt},
        {"role": "user", "content": line + prompt},
    ]


def test_list_content_takes_the_salt_in_its_first_text_and_the_row_stays_as_it_is() -> None:
    plan = plan_for(["http://127.0.0.1:9"], [phase(salt="w")])
    image = {"type": "image_url", "image_url": {"url": "http://h/a.png"}}
    parts = [{"type": "text", "text": "Look"}, image, {"type": "text", "text": "and say"}]
    sample = Sample(0, messages=({"role": "system", "content": "s"}, {"role": "user", "content": parts}))
    found = body_of(plan, sample, 3)["messages"]
    assert found[1]["content"] == [{"type": "text", "text": f"[{salt_of('w', 0, 3)}]\nLook"}, image, parts[2]]
    assert parts[0] == {"type": "text", "text": "Look"}
    first = Sample(4, messages=({"role": "user", "content": [image]},))
    with pytest.raises(InputError, match="row 4 cannot take a salt"):
        body_of(plan, first)


def test_a_text_completion_and_a_request_outside_a_plan() -> None:
    plan = plan_for(["http://127.0.0.1:9"], [phase(salt="w"), phase()], dialect="openai-completions")
    sample = Sample(0, prompt="once")
    outgoing = Outgoing(plan, Secrets())
    assert body_of(plan, sample, 2)["prompt"] == f"[{salt_of('w', 0, 2)}]\nonce"
    for place in ((1, 2), "probe"):
        assert b'"prompt":"once"' in outgoing.request(sample, place)[0]


# -- counting ----------------------------------------------------------------------------------------------------------


def columns_of(folder: Path, plan: Plan, tokenizer: Tokenizer, work: Sequence[Conversation]) -> dict[str, int | None]:
    """ISL by `phase-index`, as the finished run counts it."""
    counter = TokenColumns(plan, tokenizer, {"set": work}, lambda _: None)
    rows = list(rows_in_order(folder))
    counted = counter(rows)
    phase_at, index_at = NUMBER_NAMES.index("phase"), NUMBER_NAMES.index("index")
    assert sum(counter.input_methods.values()) == (len(rows) if plan.phases[-1].salt else len(work))
    return {
        f"{row.numbers[phase_at]}-{row.numbers[index_at]}": isl for row, isl in zip(rows, counted["isl"], strict=True)
    }


def templated(tokenizer: Tokenizer, body: bytes) -> int:
    rendered = tokenizer.render(json.loads(body)["messages"], add_generation_prompt=True)
    assert rendered is not None
    return tokenizer.count(rendered)


def test_isl_is_that_of_the_bytes_that_were_sent_each_with_its_own_salt(tmp_path: Path, trained: Tokenizer) -> None:
    noted, work = Noting(), chats(4, 5)
    phases = [passes(4, 3, "w")]
    with ScriptedServer(noted) as server:
        run_load(tmp_path, server.url, phases, conversations=work)
        plan = plan_for([server.url], phases)
    isl = columns_of(tmp_path, plan, trained, work)
    assert isl == {name: templated(trained, body) for name, body in noted.bodies.items()}
    by_row: dict[str, set[int | None]] = {}
    for name, body in noted.bodies.items():
        text = json.loads(body)["messages"][1]["content"].partition("\n")[2]
        by_row.setdefault(text, set()).add(isl[name])
    assert any(len(counts) > 1 for counts in by_row.values()), "salts differ in tokens, so one count a row is not exact"


def test_isl_without_a_salt_is_counted_once_a_row(tmp_path: Path, trained: Tokenizer) -> None:
    noted, work = Noting(), chats(4, 5)
    phases = [passes(4, 2, None)]
    with ScriptedServer(noted) as server:
        run_load(tmp_path, server.url, phases, conversations=work)
        plan = plan_for([server.url], phases)
    assert columns_of(tmp_path, plan, trained, work) == {
        name: templated(trained, body) for name, body in noted.bodies.items()
    }


def test_token_ids_are_salted_in_forked_workers_and_counted(tmp_path: Path, trained: Tokenizer) -> None:
    shared = trained.encode(f"<|im_start|>system\n{SYSTEM}<|im_end|>\n<|im_start|>user\n")
    rows = [Sample(row, input_ids=(*shared, *trained.encode(f"{row}. Book " * 40))) for row in range(4)]
    work = tuple(map(single_shot, rows))
    noted, phases = Noting(), [passes(4, 2, "w", concurrency=4)]
    options: dict[str, Any] = {"conversations": work, "dialect": "openai-completions", "workers": 2}
    ids = token_salt(rows, trained)
    assert ids is not None

    def during(supervisor: Supervisor) -> None:
        supervisor._outgoing = Outgoing(supervisor._plan, Secrets(), {"set": ids})

    with ScriptedServer(noted) as server:
        run_load(tmp_path, server.url, phases, during=during, **options)
        plan = plan_for([server.url], phases, dialect="openai-completions")
    assert len(noted.bodies) == 8
    prompts = {name: json.loads(body)["prompt"] for name, body in noted.bodies.items()}
    for name, prompt in prompts.items():
        line = trained.encode(f"[{salt_of('w', 0, int(name.partition('-')[2]))}]\n")
        assert prompt[: len(shared) + len(line)] == [*shared, *line]
    assert len({tuple(prompt) for prompt in prompts.values()}) == 8
    assert columns_of(tmp_path, plan, trained, work) == {name: len(prompt) for name, prompt in prompts.items()}
