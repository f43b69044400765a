"""Known pitfalls of streams and of timing, over real sockets: what a server sends, and the figures that come of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from run_build import Load, phase, run_load
from run_figures import figures

from wholecurve.model.plan import Limits, StopRule
from wholecurve.testing import (
    At,
    Close,
    Hang,
    ScriptedServer,
    Send,
    Step,
    chunk,
    head_bytes,
    in_turn,
    sse_answer,
    sse_event,
    stream_answer,
)

HEAD = Send(head_bytes(200, [("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")]))
END = Send(b"0\r\n\r\n")
DONE = sse_event("[DONE]")
MS = 1_000_000


def delta(**fields: Any) -> bytes:
    return sse_event({"choices": [{"index": 0, "delta": fields}]})


def finish() -> bytes:
    return sse_event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})


def usage(output: int, prompt: int = 7, **more: Any) -> bytes:
    return sse_event({"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": output, **more}})


def timed(*parts: tuple[float, bytes]) -> list[Step]:
    """Events at seconds after the arrival of the request; what comes at one time is one write."""
    steps: list[Step] = [HEAD]
    for at, data in parts:
        steps += [At(at), Send(chunk(data))]
    return [*steps, END]


def measured(folder: Path, script: Any, count: int = 1, **more: Any) -> tuple[Load, dict[str, Any]]:
    """The rows and the summary of so many requests, one after another."""
    one = phase(rows=count, concurrency=1, stop=StopRule(min_samples=count, max_samples=count))
    with ScriptedServer(script) as server:
        load = run_load(folder, server.url, one, **more)
    return load, figures(folder, one, state=load.result.state)


def near(found: float | None, seconds: float, slack_s: float = 0.1) -> bool:
    """About that long, never shorter: the machine of a test may be busy."""
    return found is not None and -2e-3 <= found / 1e9 - seconds < slack_s


def short(gap_ns: int) -> bool:
    """A gap of some tens of ms on the server's schedule, which does not move when one event is late."""
    return 0 < gap_ns < 120 * MS


# -- events ------------------------------------------------------------------------------------------------------------


def test_an_event_cut_between_two_reads(tmp_path: Path) -> None:
    """SSE-1: 20 ms between the halves; the event has the stamp of the read that completed it."""
    script = timed(
        (0.02, b"data:"), (0.06, b' {"choices":[{"index":0,"delta":{"content":"a b"}}]}\n\n'), (0.06, finish() + DONE)
    )
    load, _ = measured(tmp_path, script)
    row = load.rows[0]
    assert (row["outcome"], row["output_events"], row["events"]) == ("succeeded", 1, 3)
    assert near(row["first_output_ns"] - row["sent_ns"], 0.06)


def test_several_events_in_one_read(tmp_path: Path) -> None:
    """SSE-2: one write of three events: one stamp for all three, and a latency above zero."""
    load, found = measured(
        tmp_path, timed((0.03, delta(content="a") + delta(content="b") + delta(content="c") + finish() + DONE))
    )
    row = load.rows[0]
    assert (row["outcome"], row["output_events"], row["gaps_ns"]) == ("succeeded", 3, [0, 0])
    assert near(found["latency"]["max"], 0.03)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_line_ends(end: bytes, tmp_path: Path) -> None:
    """SSE-4, SSE-3: the same events and times; without the space after the field name too."""
    parts = [
        (0.02 * place, part.replace(b"\n", end).replace(b"data: ", b"data:"))
        for place, part in enumerate((delta(content="a"), delta(content="b"), finish() + DONE), 1)
    ]
    row = measured(tmp_path, timed(*parts))[0].rows[0]
    assert (row["outcome"], row["output_events"], row["events"]) == ("succeeded", 2, 4)
    assert short(row["gaps_ns"][0])


def test_comments_are_nothing(tmp_path: Path) -> None:
    """SSE-5: pings before the first token, four kilobytes of padding in mid stream."""
    pings = [(0.03 * place, b": ping\n\n") for place in range(1, 8)]
    script = timed(
        *pings, (0.25, delta(content="a")), (0.26, b": " + b"x" * 4092 + b"\n\n"), (0.3, delta(content="b")),
        (0.3, finish() + DONE),
    )  # fmt: skip
    load, found = measured(tmp_path, script)
    row = load.rows[0]
    assert (row["outcome"], row["output_events"], len(row["gaps_ns"])) == ("succeeded", 2, 1)
    assert near(found["ttft"]["max"], 0.25)
    assert short(row["gaps_ns"][0])


@pytest.mark.parametrize("role", [{"content": ""}, {"content": None}, {}], ids=["empty", "null", "absent"])
def test_a_role_is_no_token(role: dict[str, Any], tmp_path: Path) -> None:
    """SSE-6: role at 10 ms, text at 200 ms, then every 20 ms."""
    script = timed(
        (0.01, delta(role="assistant", **role)), (0.2, delta(content="a")), (0.22, delta(content="b")),
        (0.22, finish() + DONE),
    )  # fmt: skip
    load, found = measured(tmp_path, script)
    assert near(found["ttft"]["max"], 0.2)
    assert short(load.rows[0]["gaps_ns"][0])


@pytest.mark.parametrize("before", [0, 3])
def test_an_error_inside_a_200_stream(before: int, tmp_path: Path) -> None:
    """SSE-7: a failure with its message; nothing of it in any latency series, its tokens kept apart."""
    error = sse_event({"error": {"message": "out of cache", "code": 500}})
    script = stream_answer([delta(content="x")] * before + [usage(before), error, DONE])
    load, found = measured(tmp_path, script)
    row = load.rows[0]
    assert (row["outcome"], row["failure"]) == ("failed", "server_stream_error")
    assert "out of cache" in row["detail"]
    assert row["output_events"] == before
    assert [found[name] for name in ("ttft", "tpot", "gaps", "latency")] == [{}] * 4
    assert found["output_sequence_lengths"] == {}
    assert found["n_samples_completed"] == 0


def test_nulls_in_a_delta(tmp_path: Path) -> None:
    """SSE-8: no exception, one output-bearing event."""
    parts = [delta(tool_calls=None, content="a"), delta(content=None), delta(), sse_event({"choices": []}), finish()]
    row = measured(tmp_path, stream_answer([*parts, DONE]))[0].rows[0]
    assert (row["outcome"], row["output_events"]) == ("succeeded", 1)


def test_usage_with_empty_choices(tmp_path: Path) -> None:
    """SSE-9: counts are read; last-token time and gaps do not move."""
    script = timed((0.02, delta(content="a")), (0.04, delta(content="b")), (0.04, finish()), (0.2, usage(3) + DONE))
    row = measured(tmp_path, script)[0].rows[0]
    assert (row["usage_input"], row["usage_output"], len(row["gaps_ns"])) == (7, 3, 1)
    assert near(row["last_output_ns"] - row["sent_ns"], 0.04)


def test_one_very_long_event(tmp_path: Path) -> None:
    """SSE-10: three MiB in one line, then normal events."""
    script = stream_answer([delta(content="x" * (3 << 20)), delta(content="b"), finish(), DONE])
    row = measured(tmp_path, script)[0].rows[0]
    assert (row["outcome"], row["output_events"]) == ("succeeded", 2)


def test_running_usage_totals(tmp_path: Path) -> None:
    """TOK-6: 1, 4, 5, ... 99 on successive events is 99 tokens."""
    totals = [1, 4, 5, 50, 99]
    parts = [
        sse_event({"choices": [{"index": 0, "delta": {"content": "x"}}], "usage": {"prompt_tokens": 7,
                   "completion_tokens": total}}) for total in totals
    ]  # fmt: skip
    _, found = measured(tmp_path, stream_answer([*parts, finish(), DONE]))
    assert (found["tokens"]["output"], found["tokens"]["input"]) == (99, 7)


def test_reasoning_tokens_are_output(tmp_path: Path) -> None:
    """TOK-8: 512 tokens of which 474 are reasoning; TPOT divides by 511."""
    parts = [(0.05, delta(reasoning_content="r")), (0.15, delta(content="x")), (0.15, finish()),
             (0.15, usage(512, completion_tokens_details={"reasoning_tokens": 474}) + DONE)]  # fmt: skip
    load, found = measured(tmp_path, timed(*parts))
    assert (load.rows[0]["usage_output"], load.rows[0]["usage_reasoning"]) == (512, 474)
    assert found["tpot"]["max"] == pytest.approx(load.rows[0]["gaps_ns"][0] / 511)


# -- clocks ------------------------------------------------------------------------------------------------------------


def test_not_measured_is_not_zero(tmp_path: Path) -> None:
    """TIM-2: every second answer has a finish event and usage of 0 tokens only."""
    empty = stream_answer([finish(), usage(0), DONE])
    good = sse_answer(["a", "b"], gap_s=0.01, usage={"prompt_tokens": 1, "completion_tokens": 2})
    load, found = measured(tmp_path, lambda request: empty if request.number % 2 else good, count=20)
    assert found["ttft"]["n"] == found["tpot"]["n"] == 10
    assert found["ttft"]["min"] > 0
    assert found["failures"]["empty_outputs"] == 10
    assert {row["failure"] for row in load.of("failed")} == {"empty_output"}


def test_tpot_divides_by_the_tokens_that_came(tmp_path: Path) -> None:
    """TIM-3: a limit of 1,000 and eleven tokens; TIM-5: usage and end marker come long after the last."""
    parts = [(0.02 * place, delta(content="x")) for place in range(1, 12)]
    script = timed(*parts, (0.22, finish()), (0.5, usage(11) + DONE))
    load, found = measured(tmp_path, script)
    row = load.rows[0]
    assert found["tpot"]["max"] == pytest.approx((row["last_output_ns"] - row["first_output_ns"]) / 10)
    assert near(found["time_to_last_output"]["max"], 0.22)
    assert near(found["latency"]["max"], 0.5)


def test_one_token_answers_have_no_tpot(tmp_path: Path) -> None:
    """TIM-4: five answers of one token, five of three."""
    one = sse_answer(["a"], usage={"prompt_tokens": 1, "completion_tokens": 1})
    three = sse_answer(["a", "b", "c"], gap_s=0.01, usage={"prompt_tokens": 1, "completion_tokens": 3})
    _, found = measured(tmp_path, lambda request: three if request.number % 2 else one, count=10)
    assert (found["ttft"]["n"], found["tpot"]["n"], found["n_samples_completed"]) == (10, 5, 10)
    assert found["tpot"]["min"] > 0


def test_an_event_of_four_tokens(tmp_path: Path) -> None:
    """TIM-6: 10 events of 4 tokens, 20 ms apart: TPOT by tokens, the time per event under its own name."""
    parts = [(0.02 * place, delta(content="four tokens of text")) for place in range(1, 11)]
    load, found = measured(tmp_path, timed(*parts, (0.2, finish()), (0.2, usage(40) + DONE)))
    span = load.rows[0]["last_output_ns"] - load.rows[0]["first_output_ns"]
    assert found["tpot"]["max"] == pytest.approx(span / 39)
    assert found["time_per_output_event"]["max"] == pytest.approx(span / 9)
    assert found["delivery"]["tokens_per_event"] == 4.0


def test_streams_that_close_before_any_token(tmp_path: Path) -> None:
    """TIM-7: no value below zero anywhere; those requests have no TTFT."""
    closed: list[Step] = [HEAD, Send(chunk(delta(role="assistant"))), Close()]
    load, found = measured(tmp_path, in_turn(closed, *[sse_answer(["a", "b"])] * 9), count=10)
    assert load.rows[0]["first_output_ns"] is None
    assert found["ttft"]["n"] == 9
    assert all(block["min"] >= 0 for block in found.values() if isinstance(block, dict) and block.get("n"))
    assert found["violations"] == []


def test_reasoning_and_the_first_visible_token(tmp_path: Path) -> None:
    """TIM-9: both clocks."""
    parts = [(0.05, delta(reasoning_content="r")), (0.15, delta(reasoning_content="s")), (0.25, delta(content="x"))]
    _, found = measured(tmp_path, timed(*parts, (0.25, finish() + DONE)))
    assert near(found["ttft"]["max"], 0.05)
    assert near(found["time_to_first_visible"]["max"], 0.25)


def test_clumps_are_flagged_and_tpot_stays_right(tmp_path: Path) -> None:
    """NET-10: 64 events at once, twice, 300 ms apart; identity encoding is asked for."""
    clump = delta(content="x") * 64
    script = timed((0.05, clump), (0.35, clump), (0.35, finish()), (0.35, usage(128) + DONE))
    one = phase(rows=1, concurrency=1, stop=StopRule(min_samples=1, max_samples=1))
    with ScriptedServer(script) as server:
        load = run_load(tmp_path, server.url, one)
        assert server.requests[0].header("accept-encoding") in (None, "identity")
    found = figures(tmp_path, one, state=load.result.state)
    row = load.rows[0]
    assert found["tpot"]["max"] == pytest.approx((row["last_output_ns"] - row["first_output_ns"]) / 127)
    assert found["tpot"]["max"] * 127 > 0.2e9
    assert found["delivery"]["bursty"]
    assert found["delivery"]["zero_gap_share"] > 0.9
    assert found["delivery"]["events_per_read"] > 10
    assert found["cautions"] == [found["delivery"]["bursty_reason"]]
    assert "read TPOT" in found["cautions"][0]


def test_a_hanging_stream_ends_in_the_summary_as_a_cut_value(tmp_path: Path) -> None:
    """NET-5, NET-6: what a limit took out of the series is counted with the limit."""
    hanging = [HEAD, Send(chunk(delta(content="x"))), Hang()]
    limits = Limits(silence_timeout_ns=200 * MS)
    load, found = measured(tmp_path, in_turn(hanging, sse_answer(["a"])), count=3, limits=limits)
    assert [row["failure"] for row in load.rows] == ["idle_timeout", None, None]
    cut = {one["limit_name"]: one["values_cut"] for one in found["failures"]["cut"]}
    assert cut == {"request_timeout": 0, "silence_timeout": 1, "drain_timeout": 0}
    assert found["n_samples_completed"] == 2
