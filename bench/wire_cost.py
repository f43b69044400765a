"""What reading an answer costs: microseconds per event, best of several rounds, for AnswerReader and EndFinder.

Run: python bench/wire_cost.py [ROUNDS]. One process, no socket; each event comes in its own read unless it says
otherwise. "same frame" events differ in their text only; "new frame" events differ elsewhere too, so that each of
them goes through the JSON parser; "general" events have CR LF line ends, which only the general path reads.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from wholecurve.wire import DIALECTS, AnswerReader, EndFinder

EVENTS = 128
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")


def chunk(body: str) -> bytes:
    """One chunk."""
    return b"%x\r\n%b\r\n" % (len(body), body.encode())


def event(number: int, *, fresh: bool = False, end: str = "\n") -> bytes:
    """One event of text in a chunk of its own."""
    created = 1_700_000_000 + (number if fresh else 0)
    return chunk(
        f'data: {{"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":{created},"model":"m",'
        f'"choices":[{{"index":0,"delta":{{"content":" {WORDS[number % len(WORDS)]}"}},"logprobs":null,'
        f'"finish_reason":null}}]}}{end}{end}'
    )


LAST = chunk('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n') + chunk("data: [DONE]\n\n")


def reads(events: list[bytes], *, per_read: int = 1) -> list[bytes]:
    """An answer as the reads it comes in."""
    joined = [b"".join(events[at : at + per_read]) for at in range(0, len(events), per_read)]
    return [HEAD, *joined, LAST + b"0\r\n\r\n"]


def pieces(data: bytes, size: int) -> list[bytes]:
    """Reads of equal size, wherever they cut."""
    return [data[at : at + size] for at in range(0, len(data), size)]


def read_answer(parts: list[bytes]) -> None:
    """All of one answer through AnswerReader."""
    reader = AnswerReader(DIALECTS["openai-chat"], stream=True, max_event_bytes=64 << 20)
    for stamp, part in enumerate(parts):
        reader.feed(part, stamp)
    answer = reader.finish(eof=False)
    if answer.failure is not None or answer.n_output_events != EVENTS:
        raise SystemExit(f"wrong answer: {answer.failure} {answer.detail} {answer.n_output_events}")


def find_end(parts: list[bytes]) -> None:
    """All of one answer through EndFinder."""
    finder = EndFinder()
    ended = [finder.feed(part) for part in parts]
    if not ended[-1]:
        raise SystemExit("the end was not found")


def cost_us(work: Callable[[list[bytes]], None], parts: list[bytes], rounds: int) -> float:
    """Best time of a whole answer, per event."""
    best = float("inf")
    for _ in range(rounds):
        begin = time.perf_counter_ns()
        for _ in range(20):
            work(parts)
        best = min(best, (time.perf_counter_ns() - begin) / 20)
    return best / EVENTS / 1000


def main() -> None:
    """Print the table."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    same = [event(number) for number in range(EVENTS)]
    fresh = [event(number, fresh=True) for number in range(EVENTS)]
    general = [event(number, end="\r\n") for number in range(EVENTS)]
    cases = {
        "same frame, an event a read": reads(same),
        "same frame, 16 events a read": reads(same, per_read=16),
        "same frame, reads of 1000 B": [HEAD, *pieces(b"".join([*same, LAST]) + b"0\r\n\r\n", 1000)],
        "new frame, an event a read": reads(fresh),
        "new frame, 16 events a read": reads(fresh, per_read=16),
        "general, an event a read": reads(general),
    }
    print(f"{'us per event':32}{'AnswerReader':>14}{'EndFinder':>12}")
    for name, parts in cases.items():
        print(f"{name:32}{cost_us(read_answer, parts, rounds):14.2f}{cost_us(find_end, parts, rounds):12.2f}")


if __name__ == "__main__":
    main()
