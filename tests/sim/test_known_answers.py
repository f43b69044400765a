"""A simulated model that knows answers: which questions, how they are written, right or wrong, and the bytes."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wholecurve.datasets import salted
from wholecurve.model.errors import InputError
from wholecurve.model.sample import Sample
from wholecurve.sim import PROFILES, RunningSim, SimOptions, profile_named, read_answers, read_truth, start
from wholecurve.sim.answer import Answer, PieceKind, decide_answer, piece
from wholecurve.sim.ask import Ask, read_ask
from wholecurve.sim.known import Known, answer_pieces, known_answers, question_key
from wholecurve.sim.words import split_tokens, word_sequence

CAPITALS = {"Capital of France?": "Paris", "Capital of Argentina?": "Buenos Aires", "Capital of the USA?": "Washington"}
ENGINE = PROFILES["small"]
CHAT, TEXT = "/v1/chat/completions", "/v1/completions"


def asked(question: str, *, chat: bool = True, **fields: Any) -> Ask:
    start: dict[str, Any] = {"model": "sim"}
    start |= {"messages": [{"role": "user", "content": question}]} if chat else {"prompt": question}
    return read_ask(json.dumps(start | fields).encode(), chat=chat, models=("sim",), engine=ENGINE)


def said(answer: Answer) -> str:
    pieces = [piece(answer, place, word_sequence(0)) for place in range(answer.tokens)]
    return "".join(text for kind, text in pieces if kind is PieceKind.TEXT)


# -- pieces and matching -----------------------------------------------------------------------------------------------


@given(st.text(max_size=60))
def test_pieces_are_the_answer_and_as_many_as_the_engine_counts(text: str) -> None:
    pieces = answer_pieces(text)
    assert "".join(pieces) == text.strip()
    assert len(pieces) == len(split_tokens(text))


def test_pieces_of_a_long_word() -> None:
    assert answer_pieces(" Washington\nD.C. ") == ("Washingt", "on", "\nD.C.")


def test_the_last_text_of_the_user_is_the_question() -> None:
    messages = [
        {"role": "system", "content": "be short"},
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "one"},
        {"role": "user", "content": [{"type": "text", "text": "second"}]},
        {"role": "assistant", "content": None},
    ]
    assert asked("", messages=messages).question == "second"
    assert asked("", messages=[{"role": "system", "content": "alone"}]).question is None
    assert asked("third", chat=False).question == "third"
    assert asked("", chat=False, prompt=[1, 2, 3]).question is None


def test_a_salt_line_and_white_space_do_not_matter() -> None:
    prompt = salted(Sample(0, prompt="Capital  of\nFrance?"), "0123456789abcdef").prompt
    assert prompt is not None
    assert prompt != "Capital  of\nFrance?"
    assert question_key(prompt) == question_key("Capital of France?") == "Capital of France?"
    assert question_key("[note] keep this") == "[note] keep this"
    assert question_key("[abc]\nshort") != question_key("short")


# -- right and wrong ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "wrong"), [(0.0, 0), (0.25, 5), (0.5, 10), (1.0, 20)])
def test_just_that_share_is_wrong(share: float, wrong: int) -> None:
    known = known_answers({f"what is {n}": f"number {n}" for n in range(20)}, wrong_share=share, seed=3)
    assert sum(not one.right for one in known.values()) == wrong
    for question, one in known.items():
        assert ("".join(one.pieces) == f"number {question.split()[-1]}") is one.right
        assert "".join(one.pieces) in {f"number {n}" for n in range(20)}


def test_which_ones_are_wrong_follows_from_seed_and_question_alone() -> None:
    answers = {f"what is {n}": str(n) for n in range(20)}
    one = known_answers(answers, wrong_share=0.5, seed=1)
    assert one == known_answers(dict(reversed(answers.items())), wrong_share=0.5, seed=1)
    other = known_answers(answers, wrong_share=0.5, seed=2)
    assert {key for key, known in one.items() if known.right} != {key for key, known in other.items() if known.right}


def test_a_wrong_answer_is_never_the_right_one_written_otherwise() -> None:
    known = known_answers({"a": "Paris", "b": "paris.", "c": "**PARIS**"}, wrong_share=1, seed=0)
    assert {one.pieces for one in known.values()} == {("none", " of", " them")}
    (alone,) = known_answers({"a": "None of them!"}, wrong_share=1, seed=0).values()
    assert alone == Known(("somethin", "g", " else"), False)


# -- the answer --------------------------------------------------------------------------------------------------------


def test_a_known_answer_is_said_and_ends() -> None:
    answer = decide_answer(asked("q"), ENGINE, seed=0, to_limit=False, spoken=("Buenos", " Aires"))
    assert (answer.tokens, answer.reasoning, answer.tool, answer.finish_reason) == (2, 0, None, "stop")
    assert said(answer) == "Buenos Aires"


def test_a_limit_cuts_it() -> None:
    answer = decide_answer(asked("q", max_tokens=1), ENGINE, seed=0, to_limit=False, spoken=("Buenos", " Aires"))
    assert (answer.tokens, answer.finish_reason, said(answer)) == (1, "length", "Buenos")


@pytest.mark.parametrize("fields", [{"ignore_eos": True}, {}])
def test_an_answer_that_may_not_end_goes_on_with_words(fields: dict[str, Any]) -> None:
    to_limit = not fields
    ask = asked("q", max_tokens=9, **fields)
    answer = decide_answer(ask, ENGINE, seed=0, to_limit=to_limit, spoken=("Buenos", " Aires"))
    assert (answer.tokens, answer.finish_reason) == (9, "length")
    assert said(answer).startswith("Buenos Aires ")
    assert len(said(answer).split()) == 9


def test_least_tokens_are_kept() -> None:
    answer = decide_answer(asked("q", min_tokens=5), ENGINE, seed=0, to_limit=False, spoken=("Paris",))
    assert (answer.tokens, answer.finish_reason) == (5, "stop")
    assert said(answer).split()[0] == "Paris"


def test_reasoning_comes_before_it_and_leaves_it_whole() -> None:
    engine = PROFILES["agentic"]
    answer = decide_answer(asked("q"), engine, seed=0, to_limit=False, spoken=("Buenos", " Aires"))
    assert answer.reasoning > 0
    assert answer.tokens == answer.reasoning + 2
    assert said(answer) == "Buenos Aires"
    text = decide_answer(asked("q", chat=False), engine, seed=0, to_limit=False, spoken=("Paris",))
    assert (text.reasoning, said(text)) == (0, "Paris")


def test_only_a_tool_that_must_be_called_comes_before_it() -> None:
    tools = [{"type": "function", "function": {"name": "look_up", "parameters": {}}}]
    engine = PROFILES["agentic"]
    for seed in range(5):
        free = decide_answer(asked("q", tools=tools), engine, seed=seed, to_limit=False, spoken=("Paris",))
        assert (free.tool, said(free)) == (None, "Paris")
    forced = asked("q", tools=tools, tool_choice="required")
    must = decide_answer(forced, engine, seed=0, to_limit=False, spoken=("Paris",))
    assert (must.tool, must.spoken, must.finish_reason) == ("look_up", (), "tool_calls")


@pytest.mark.parametrize("profile", PROFILES)
def test_reasoning_of_what_is_not_known_stays_a_share_of_the_answer(profile: str) -> None:
    engine = PROFILES[profile]
    for number in range(20):
        answer = decide_answer(asked(f"question {number}", max_tokens=50), engine, seed=4, to_limit=False)
        assert answer.reasoning == min(answer.tokens - 1, round(answer.tokens * engine.reasoning_share))


# -- files and options -------------------------------------------------------------------------------------------------


def test_a_file_of_answers(tmp_path: Path) -> None:
    path = tmp_path / "quiz.jsonl"
    rows = [
        {"prompt": "two and two", "answer": 4},
        {"messages": [{"role": "system", "content": "x"}, {"role": "user", "content": "sky?"}], "answer": "blue"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read_answers(str(path)) == {"two and two": "4", "sky?": "blue"}


def test_two_answers_to_one_question_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "quiz.jsonl"
    path.write_text('{"prompt": "sky?", "answer": "blue"}\n{"prompt": "sky?", "answer": "grey"}\n')
    with pytest.raises(InputError, match="one answer to a question"):
        read_answers(str(path))
    path.write_text('{"input_ids": [1, 2], "answer": "blue"}\n')
    with pytest.raises(InputError, match="question in text"):
        read_answers(str(path))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"wrong_share": 1.5, "answers": CAPITALS}, "between 0 and 1"),
        ({"wrong_share": float("nan"), "answers": CAPITALS}, "between 0 and 1"),
        ({"wrong_share": 0.5}, "answers that the model knows"),
        ({"answers": {"sky?": " "}}, "in every question and every answer"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SimOptions(**options)


def test_options_travel_and_come_back() -> None:
    options = SimOptions(answers=CAPITALS, wrong_share=0.5)
    again = SimOptions.from_json(json.loads(json.dumps(options.to_json())))
    assert again == options


# -- over HTTP ---------------------------------------------------------------------------------------------------------


@contextmanager
def capitals(**changes: Any) -> Iterator[RunningSim]:
    with start(SimOptions(profile=profile_named("flash"), answers=CAPITALS, **changes)) as sim:
        yield sim


def call(sim: RunningSim, path: str, **fields: Any) -> bytes:
    body = json.dumps({"model": "sim"} | fields).encode()
    with urlopen(Request(f"{sim.url}{path}", body, {"Content-Type": "application/json"}), timeout=5) as answer:
        data: bytes = answer.read()
        return data


def streamed(raw: bytes) -> tuple[str, dict[str, Any], int]:
    """Text, usage and events with text of a stream."""
    events = [json.loads(line[6:]) for line in raw.splitlines() if line.startswith(b"data: {")]
    deltas = [choice for event in events for choice in event["choices"]]
    texts = [one.get("text") or one.get("delta", {}).get("content") or "" for one in deltas]
    return "".join(texts), events[-1]["usage"], sum(bool(text) for text in texts)


@pytest.mark.parametrize("path", [CHAT, TEXT])
def test_known_questions_are_answered_token_by_token(path: str) -> None:
    with capitals() as sim:
        for question, answer in CAPITALS.items():
            content = {"prompt": question} if path == TEXT else {"messages": [{"role": "user", "content": question}]}
            text, usage, events = streamed(
                call(sim, path, stream=True, stream_options={"include_usage": True}, **content)
            )
            whole = json.loads(call(sim, path, **content))
            choice = whole["choices"][0]
            assert text == answer == (choice["text"] if path == TEXT else choice["message"]["content"])
            assert usage["completion_tokens"] == events == len(split_tokens(answer))
            assert usage == whole["usage"] | {"prompt_tokens_details": usage["prompt_tokens_details"]}
            assert choice["finish_reason"] == "stop"
        other = {"prompt": "Capital of Peru?"} if path == TEXT else {"messages": [{"role": "user", "content": "Peru?"}]}
        text, usage, events = streamed(call(sim, path, stream=True, stream_options={"include_usage": True}, **other))
        assert usage["completion_tokens"] == events == len(text.split()) > 3


def test_the_truth_log_tells_right_from_wrong(tmp_path: Path) -> None:
    log = tmp_path / "truth.jsonl"
    with capitals(truth_log=str(log), wrong_share=1 / 3) as sim:
        texts = {
            question: json.loads(call(sim, TEXT, prompt=question))["choices"][0]["text"]
            for question in [*CAPITALS, "Capital of Peru?"]
        }
        assert sum(texts[question] == answer for question, answer in CAPITALS.items()) == 2
    lines = list(read_truth(log))
    assert [line.knew for line in lines] == [
        None if question not in CAPITALS else "right" if texts[question] == CAPITALS[question] else "wrong"
        for question in texts
    ]
    assert [line.output_tokens for line in lines[:3]] == [len(split_tokens(texts[question])) for question in CAPITALS]
    assert [line.finish_reason for line in lines[:3]] == ["stop"] * 3


def test_the_command_takes_a_file_of_answers(tmp_path: Path) -> None:
    path = tmp_path / "quiz.jsonl"
    path.write_text('{"prompt": "sky?", "answer": "blue"}\n')
    flags = ["--port", "0", "--profile", "flash", "--answers", str(path), "--ramp-s", "1", "--drift", "0.5"]
    with subprocess.Popen([sys.executable, "-m", "wholecurve", "sim", *flags], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            url = child.stdout.readline().decode().strip()
            body = json.dumps({"model": "sim", "prompt": "sky?"}).encode()
            with urlopen(Request(f"{url}{TEXT}", body), timeout=5) as answer:
                assert json.loads(answer.read())["choices"][0]["text"] == "blue"
        finally:
            child.terminate()
    assert child.returncode == 0


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--wrong-share", "0.5"], "name a file of them: --answers FILE"),
        (["--answers", "none.jsonl"], "none.jsonl"),
        (["--ramp-s", "nan"], "--ramp-s: wanted 0 to 3600"),
        (["--drift", "1e9"], "drift must be"),
    ],
)
def test_the_command_refuses_what_makes_no_sense(flags: list[str], said: str) -> None:
    command = [sys.executable, "-m", "wholecurve", "sim", "--port", "0", *flags]
    done = subprocess.run(command, capture_output=True, timeout=20, check=False)
    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()
