"""A server whose timings are known: tokens at scheduled times, and a record of when each was really sent.

A run's figures are held against `TruthServer.truth()`: whatever the schedule wanted, a record holds the monotonic
nanosecond just before each send, keyed by the request's `x-request-id`.
"""

from __future__ import annotations

import random
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wholecurve.testing.answers import chunk, head_bytes, json_answer, sse_events
from wholecurve.testing.scripted import ScriptedServer
from wholecurve.testing.steps import At, Exchange, Request, Script, Send, Step

WORDS = ("alpha", "bravo", "delta", "hotel", "india", "lemma", "metro", "north")


@dataclass(frozen=True, slots=True)
class TruthRecord:
    """One request: arrival (kernel stamp), the instants just before each send, all CLOCK_MONOTONIC ns.

    `token_ns` is empty for an answer that was not streamed; `end_ns` is the send of the last bytes, None if the client
    went away before it; `role_ns` is None if no role event was sent on its own.
    """

    request_id: str
    arrived_ns: int
    role_ns: int | None
    token_ns: tuple[int, ...]
    end_ns: int | None

    @property
    def ttft_ns(self) -> int | None:
        """First token minus arrival."""
        return self.token_ns[0] - self.arrived_ns if self.token_ns else None

    @property
    def gaps_ns(self) -> tuple[int, ...]:
        """Times between neighbouring tokens."""
        return tuple(b - a for a, b in zip(self.token_ns, self.token_ns[1:]))

    @property
    def tpot_ns(self) -> float | None:
        """(last token - first token) / (tokens - 1); None below two tokens."""
        count = len(self.token_ns)
        return (self.token_ns[-1] - self.token_ns[0]) / (count - 1) if count > 1 else None


class TruthServer(ScriptedServer):
    """Streams `max_tokens` (or `tokens`) words: the first `first_s` after arrival, then one every `gap_s`.

    The schedule is absolute from the arrival. `jitter_s` moves each token by a seeded uniform amount (order is kept).
    `role_at_once` sends the role event with the head; otherwise it goes just before the first token, as its own send.
    """

    def __init__(
        self,
        *,
        first_s: float = 0.02,
        gap_s: float = 0.005,
        tokens: int = 16,
        jitter_s: float = 0.0,
        seed: int = 0,
        role_at_once: bool = True,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(self._script, tls=tls)
        self.first_s, self.gap_s, self.tokens, self.jitter_s = first_s, gap_s, tokens, jitter_s
        self.seed, self.role_at_once = seed, role_at_once
        self._layout: dict[int, tuple[int, int]] = {}

    def truth(self) -> dict[str, TruthRecord]:
        """The records so far, by `x-request-id` (or `request-N` for a request without one)."""
        found = [self._record(exchange) for exchange in list(self.exchanges)]
        return {record.request_id: record for record in found}

    def times_s(self, number: int, count: int) -> list[float]:
        """When the tokens of request `number` are due, in seconds after its arrival."""
        draw = random.Random(f"{self.seed}:{number}")
        wanted = [self.first_s + place * self.gap_s + draw.uniform(0, self.jitter_s) for place in range(count)]
        return sorted(wanted)

    def _script(self, request: Request) -> Script:
        body: Mapping[str, Any] = request.json() if request.body else {}
        count = int(body.get("max_completion_tokens") or body.get("max_tokens") or self.tokens)
        texts = [f" {WORDS[place % len(WORDS)]}" for place in range(count)]
        completions = not request.path.partition("?")[0].endswith("/chat/completions")
        model = str(body.get("model", "truth"))
        usage = {"prompt_tokens": 1, "completion_tokens": count, "total_tokens": count + 1}
        times = self.times_s(request.number, count)
        if not body.get("stream"):
            answer = json_answer("".join(texts), usage=usage, model=model, completions=completions)
            return [At(times[-1] if times else self.first_s), *answer]
        asked = (body.get("stream_options") or {}).get("include_usage")
        events = sse_events(texts, usage=usage if asked else None, model=model, completions=completions)
        return self._streamed(request.number, [chunk(event) for event in events], times, completions)

    def _streamed(self, number: int, events: list[bytes], times: list[float], completions: bool) -> list[Step]:
        lead = 0 if completions else 1
        self._layout[number] = (lead, len(times))
        head = head_bytes(200, [("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")])
        steps: list[Step] = [Send(head)]
        role: list[Step] = [Send(event) for event in events[:lead]]
        if self.role_at_once:
            steps += role
        elif times:
            steps += [At(times[0]), *role]
        for due, event in zip(times, events[lead:]):
            steps += [At(due), Send(event)]
        return [*steps, Send(b"".join(events[lead + len(times) :]) + b"0\r\n\r\n")]

    def _record(self, exchange: Exchange) -> TruthRecord:
        request = exchange.request
        name = request.header("x-request-id") or f"request-{request.number}"
        sent = list(exchange.sent_ns)
        if request.number not in self._layout:
            return TruthRecord(name, request.arrived_ns, None, (), sent[0] if sent else None)
        lead, count = self._layout[request.number]
        whole = len(sent) == 1 + lead + count + 1
        role = sent[1] if lead and len(sent) > 1 else None
        return TruthRecord(
            name, request.arrived_ns, role, tuple(sent[1 + lead : 1 + lead + count]), sent[-1] if whole else None
        )
