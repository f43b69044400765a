"""Byte transcripts for the tests of wire/: recorded answers of real engines, made-up ones, and how to cut them."""

from __future__ import annotations

import json
import random
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from wholecurve.wire import DIALECTS, Answer, AnswerReader

CAPTURES = Path(__file__).parent / "captures"
MAX_EVENT = 1 << 20
STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunked(parts: Iterable[bytes], *, last: bytes = b"0\r\n\r\n") -> bytes:
    """Each part a chunk of its own."""
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts if part) + last


def events_of(body: bytes) -> list[bytes]:
    """A recorded body cut behind each blank line."""
    parts = body.split(b"\n\n")
    return [part + b"\n\n" for part in parts[:-1]] + parts[-1:]


def capture(name: str) -> bytes:
    """A recorded answer; where chunked coding was undone in the recording, each event is a chunk again.

    Two error bodies had a path of the recording machine in them, which was shortened: their length is set right here.
    """
    raw = (CAPTURES / f"{name}.sse").read_bytes()
    head, _, body = raw.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" in head.lower():
        return head + b"\r\n\r\n" + chunked(events_of(body))
    head = re.sub(rb"(?i)(content-length: )\d+", lambda match: match[1] + b"%d" % len(body), head)
    return head + b"\r\n\r\n" + body


def capture_names() -> list[str]:
    """All recorded answers."""
    return sorted(path.name.removesuffix(".sse") for path in CAPTURES.glob("*.sse"))


def recorded_reads(name: str) -> list[bytes]:
    """The socket reads of a recorded answer, chunked coding as it was."""
    lines = (CAPTURES / f"{name}.reads.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["bytes"].encode("latin-1") for line in lines]


def dialect_of(name: str) -> str:
    """The dialect that a recorded answer speaks."""
    return "openai-completions" if ".completions" in name else "openai-chat"


def sse(*payloads: object, end: str = "\n") -> list[bytes]:
    """Events: a string stands as it is, anything else as JSON."""
    texts = [item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in payloads]
    return [f"data: {text}{end}{end}".encode() for text in texts]


def content(text: str | None, **more: Any) -> dict[str, Any]:
    """A chat event with text."""
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None} | more]}


def finish(reason: str = "stop") -> dict[str, Any]:
    """A chat event with a finish reason only."""
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


def stream(*parts: bytes, last: bytes = b"0\r\n\r\n") -> bytes:
    """A streamed 200 answer, a chunk for each part."""
    return STREAM_HEAD + chunked(parts, last=last)


def whole(body: bytes, *, status: str = "200 OK", kind: str = "application/json") -> bytes:
    """An answer with a content length."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def read(
    parts: Iterable[bytes],
    *,
    dialect: str = "openai-chat",
    asked: bool = True,
    eof: bool = False,
    limit: int = MAX_EVENT,
) -> Answer:
    """Feed parts; the stamp of each is the number of bytes fed with it, so a stamp names a place."""
    reader = AnswerReader(DIALECTS[dialect], stream=asked, max_event_bytes=limit)
    fed = 0
    for part in parts:
        fed += len(part)
        reader.feed(part, fed)
    return reader.finish(eof=eof)


def cut(data: bytes, places: Iterable[int]) -> list[bytes]:
    """Cut at places (each from 1 to len - 1)."""
    edges = [0, *sorted(set(places)), len(data)]
    return [data[begin:end] for begin, end in pairwise(edges) if end > begin]


def single(data: bytes) -> list[bytes]:
    """Byte by byte: nothing of it is a whole chunk, so only the general path reads it."""
    return [data[at : at + 1] for at in range(len(data))]


def random_cuts(data: bytes, seed: int, count: int) -> Iterator[list[int]]:
    """Seeded sets of 1 to 40 places."""
    source = random.Random(seed)
    for _ in range(count):
        size = source.choice((1, 2, 5, 40))
        yield sorted(source.randrange(1, len(data)) for _ in range(min(size, len(data) - 1)))


def moved(answer: Answer, parts: list[bytes]) -> dict[str, Any]:
    """What a byte-by-byte answer must look like when the same bytes come in these parts: each time moves to the end
    of the part that holds it; nothing else changes."""
    ends, total = [], 0
    for part in parts:
        total += len(part)
        ends.append(total)
    fields = asdict(answer)
    for name, value in fields.items():
        if name.endswith("_ns") and value is not None:
            fields[name] = ends[bisect_left(ends, value)]
    fields["output_stamps"] = [ends[bisect_left(ends, stamp)] for stamp in answer.output_stamps]
    fields["n_reads"] = len(parts)
    return fields


def shown(answer: Answer) -> dict[str, Any]:
    """An answer as plain values."""
    return asdict(answer) | {"output_stamps": list(answer.output_stamps)}


def cr_only(parts: Iterable[bytes]) -> list[bytes]:
    """The same events with CR line ends."""
    return [part.replace(b"\n", b"\r") for part in parts]


WORDS = sse(content("Grüße"), content(" 世界"), content(" \U0001f600"), content(' "quoted"\n'), finish(), "[DONE]")
TOOLS = sse(
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": None}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f"}}]}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": '{"x":'}}]}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]}}]},
    finish("tool_calls"),
)

# Made-up answers. Each is cut everywhere; what they mean is asserted in the other files.
MADE_UP: dict[str, bytes] = {
    "lf": stream(*WORDS),
    "cr lf": stream(*(part.replace(b"\n", b"\r\n") for part in WORDS)),
    "cr": stream(*cr_only(WORDS)),
    "byte order mark": stream(b"\xef\xbb\xbf" + WORDS[0], *WORDS[1:]),
    "comments": stream(b": ping\n\n", WORDS[0], b":" + b"p" * 90 + b"\n", *WORDS[1:], b":\n\n"),
    "other fields": stream(b"event: message\nid: 7\nretry: 10\nnonsense\n" + WORDS[0], b"data\n\n", *WORDS[1:]),
    "lines of data": stream(b'data: {"choices":\ndata: [{"index":0,"delta":\ndata:{"content":"x"}}]}\n\n', *WORDS[-2:]),
    "lines of data in two chunks": stream(
        WORDS[0], b'data: {"choices":\n', b'data: [{"index":0,"delta":{"content":"x"}}]}\n\n', *WORDS[-2:]
    ),
    "name and data in two chunks": stream(WORDS[0], b"event: error\n", WORDS[1], *WORDS[-2:]),
    "cr inside": stream(WORDS[0], b'data: {"choices":\rdata:[]}\n\n', *WORDS[1:]),
    "late byte order mark": stream(WORDS[0], b"\xef\xbb\xbf" + WORDS[1], *WORDS[2:]),
    "two events a chunk": stream(WORDS[0] + WORDS[1], WORDS[2] + WORDS[3], *WORDS[4:]),
    "half events a chunk": stream(*(half for part in WORDS for half in (part[:9], part[9:]))),
    "tools": stream(*TOOLS),
    "error inside": stream(*WORDS[:3], *sse({"error": {"message": "out of cache", "code": 500}}, "[DONE]")),
    "error event": stream(WORDS[0], b"event: error\ndata: gone\n\n"),
    "not json": stream(WORDS[0], b"data: {broken\n\n", *WORDS[1:]),
    "invalid utf-8": stream(*WORDS[:3], b'data: {"choices":[{"index":0,"delta":{"content":"\xff"}}]}\n\n', *WORDS[4:]),
    "too large": stream(WORDS[0], *sse(content("x" * 700)), *WORDS[1:]),
    "extensions and trailers": STREAM_HEAD
    + b"".join(b"%X;name=value\r\n%b\r\n" % (len(part), part) for part in WORDS)
    + b"000;last\r\nX-Time: 1\r\nX-Other: 2\r\n\r\n",
    "bad chunk end": STREAM_HEAD + chunked(WORDS[:2], last=b"5\r\nhello!\r\n"),
    "bad chunk size": STREAM_HEAD + chunked(WORDS[:2], last=b"0x5\r\nhello\r\n"),
    "surplus": stream(*WORDS) + b"HTTP/1.1 200 OK\r\n",
    "no last blank line": stream(*WORDS[:-1], b"data: [DONE]"),
    "close": b"HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + b"".join(WORDS),
    "no content type": b"HTTP/1.1 200 OK\r\n\r\n\r\n" + b"".join(WORDS),
    "json, no content type": b"HTTP/1.1 200 OK\r\n\r\n" + b' {"choices":[]}',
    "continue first": b"HTTP/1.1 100 Continue\r\n\r\n" + stream(*WORDS),
    "status page": whole(b"<html><body>Bad  gateway</body></html>", status="502 Bad Gateway", kind="text/html"),
    "no answer": b"",
    "half a head": STREAM_HEAD[:40],
    "no http": b"\x15\x03\x01\x00\x02\x02\x16",
    "after done": stream(*WORDS, *sse(content("late"), {"error": "late"})),
}
