"""The simulated endpoint over real HTTP: one loop over sockets, the engine's steps and timers.

All tokens of one engine step go out together, one send for each event. Just before a send its time is noted.
"""

from __future__ import annotations

import hmac
import itertools
import random
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from wholecurve.model.errors import InputError
from wholecurve.sim.answer import decide_answer
from wholecurve.sim.ask import Refusal, read_ask
from wholecurve.sim.events import LAST_CHUNK, chunk, error_event, role_event, tail_events, whole_body
from wholecurve.sim.faults import FAULT_HEADER, Fault, FaultKind, choose_fault
from wholecurve.sim.http1 import HttpRequest
from wholecurve.sim.http_loop import HasFileno, HttpLoop
from wholecurve.sim.known import known_answers, question_key
from wholecurve.sim.model import Engine, Job, Step
from wholecurve.sim.options import SimOptions
from wholecurve.sim.pages import STREAM_HEAD, error_page, metrics_page, models_page, page
from wholecurve.sim.refusals import refusal_bytes
from wholecurve.sim.stream import Peer, Stream, form_for
from wholecurve.sim.timers import Timers
from wholecurve.sim.truthlog import TruthLine, TruthWriter
from wholecurve.sim.words import word_sequence

BEHIND_NS = 2_000_000
FLUSH_NS = 1_000_000_000
COMMENT = chunk(b": waiting\n\n")
COMMENT_NS = 100_000_000


class SimServer(HttpLoop):
    """Serves on `listener` until `stop` is called, or `stop_on` can be read. The engine and all counts are its own."""

    def __init__(self, options: SimOptions, listener: socket.socket, *, stop_on: HasFileno | None = None) -> None:
        super().__init__(listener, stop_on=stop_on)
        shares = {"reasoning_share": options.reasoning_share, "tool_share": options.tool_share}
        given = {name: share for name, share in shares.items() if share is not None}
        self._options = options
        self._profile = replace(options.engine, **given)  # type: ignore[arg-type]
        self._engine = Engine(self._profile, random.Random(f"{options.seed}:engine"), options.pace)
        self._known = known_answers(options.answers, wrong_share=options.wrong_share, seed=options.seed)
        self._fault_draw = random.Random(f"{options.seed}:faults")
        self._words = word_sequence(options.seed)
        self._created = int(time.time())
        self._truth = TruthWriter(Path(options.truth_log)) if options.truth_log else None
        self._streams: dict[int, Stream] = {}
        self._timers = Timers()
        self._numbers = itertools.count()
        self._counts = {"requests": 0, "refused": 0, "prompt_tokens": 0, "cached_tokens": 0, "output_tokens": 0}
        self._late_ns = 0
        self._pages: dict[tuple[str, str], Callable[[], bytes]] = {
            ("GET", "/health"): lambda: page(200, b"", kind="text/plain"),
            ("GET", "/v1/models"): lambda: models_page(options.models, self._created, self._profile.context_limit),
            ("GET", "/metrics"): self._metrics,
        }

    def run(self) -> None:
        """Serve until stopped; then close all connections and the truth log."""
        engine, timers = self._engine, self._timers
        if self._truth is not None:
            self._flush_truth()
        try:
            while not self.stopping:
                dues = [due for due in (engine.next_ns(), timers.next_ns()) if due is not None]
                self.poll(min(dues) if dues else None)
                for step in engine.advance(time.monotonic_ns(), at_most=1, behind_ns=BEHIND_NS):
                    self._emit(step)
                timers.run(time.monotonic_ns())
        finally:
            self.close()
            if self._truth is not None:
                self._truth.close()

    def _flush_truth(self) -> None:
        assert self._truth is not None
        self._truth.flush()
        self._timers.at(time.monotonic_ns() + FLUSH_NS, self._flush_truth)

    def given_up(self, peer: Peer) -> None:
        """The client left: its answer ends, its place in the engine is freed."""
        if peer.stream is not None:
            self._end(peer.stream, "dropped")

    # --- requests -----------------------------------------------------------------------------------------------

    def handle(self, peer: Peer, request: HttpRequest, arrived_ns: int) -> None:
        """Answer one request, or hand it to the engine."""
        path = request.path.rstrip("/")
        if not self._authorised(request, path):
            message = "a valid API key is required: Authorization: Bearer KEY"
            self.send(peer, error_page(401, message, type="authentication_error", code="invalid_api_key"))
            return
        if (request.method, path) in self._pages:
            self.send(peer, self._pages[request.method, path]())
        elif path in ("/v1/chat/completions", "/v1/completions"):
            if request.method == "POST":
                self._ask(peer, request, arrived_ns, chat=path.endswith("/chat/completions"))
            else:
                self.send(peer, error_page(405, f"{request.method} is not allowed here", headers=[("Allow", "POST")]))
        elif any(known == path for _method, known in self._pages):
            self.send(peer, error_page(405, f"{request.method} is not allowed here", headers=[("Allow", "GET")]))
        else:
            self.send(peer, error_page(404, f"no such path: {path}", type="NotFoundError"))

    def _authorised(self, request: HttpRequest, path: str) -> bool:
        key = self._options.api_key
        if key is None or path in ("/health", "/metrics"):
            return True
        return hmac.compare_digest((request.header("authorization") or "").encode(), f"Bearer {key}".encode())

    def _ask(self, peer: Peer, request: HttpRequest, arrived_ns: int, *, chat: bool) -> None:
        number = next(self._numbers)
        self._counts["requests"] += 1
        name = request.header("x-request-id") or f"request-{number}"
        line = TruthLine(name, number, peer.number, arrived_ns, time.monotonic_ns(), stream=False)
        try:
            ask = read_ask(request.body, chat=chat, models=self._options.models, engine=self._profile)
            fault = choose_fault(self._options.faults, request.header(FAULT_HEADER) or ask.fault, self._fault_draw)
        except Refusal as error:
            self._refuse(
                peer, line, error.status, error_page(error.status, error.message, type=error.type, code=error.code)
            )
            return
        except InputError as error:
            self._refuse(peer, line, 400, error_page(400, error.message))
            return
        known = self._known.get(question_key(ask.question)) if self._known and ask.question else None
        spoken = known.pieces if known else ()
        seed, to_limit = self._options.seed, self._options.to_limit
        answer = decide_answer(ask, self._profile, seed=seed, to_limit=to_limit, spoken=spoken)
        line.knew = None if known is None else "right" if known.right else "wrong"
        line.stream, line.prompt_tokens = ask.stream, ask.prompt_tokens
        line.output_tokens, line.finish_reason = answer.tokens, answer.finish_reason
        line.fault = fault.name if fault else None
        form = form_for(self._options, fault)
        stream = Stream(peer, ask, answer, fault, line, form, self._words, self._created)
        if fault is not None and fault.kind is FaultKind.REFUSE:
            self._refuse_by_fault(stream, fault)
            return
        peer.stream = stream
        self._streams[number] = stream
        self._engine.submit(Job(number, ask.prompt_tokens, answer.tokens, ask.prefix), line.read_ns)
        if ask.stream:
            self._start(stream)

    def _start(self, stream: Stream) -> None:
        """Head of a streamed answer, and the role event if it is to come early."""
        stream.line.head_ns = time.monotonic_ns()
        self.send(stream.peer, STREAM_HEAD)
        if stream.peer.open and (self._options.role_early or stream.has("role_early")):
            self._send_role(stream)
        if stream.has("comments"):
            self._comment(stream)

    def _comment(self, stream: Stream) -> None:
        """Comments until the first token comes (SSE keep-alive)."""
        if stream.peer.stream is stream and stream.place == 0:
            self.send(stream.peer, COMMENT)
            self._timers.at(time.monotonic_ns() + COMMENT_NS, lambda: self._comment(stream))

    def _send_role(self, stream: Stream) -> None:
        data = role_event(stream.envelope)
        if data:
            stream.line.role_ns = time.monotonic_ns()
            self.send(stream.peer, data)

    def _refuse(self, peer: Peer, line: TruthLine, status: int, data: bytes) -> None:
        self._counts["refused"] += 1
        line.status, line.outcome, line.end_ns = status, "refused", time.monotonic_ns()
        self._note(line)
        self.send(peer, data)

    def _refuse_by_fault(self, stream: Stream, fault: Fault) -> None:
        """Faults that take the place of an answer."""
        self._refuse(stream.peer, stream.line, fault.status, refusal_bytes(fault, stream.envelope))
        if fault.name in ("reset_early", "close_early"):
            self.drop(stream.peer, reset=fault.name == "reset_early")

    # --- tokens -------------------------------------------------------------------------------------------------

    def _emit(self, step: Step) -> None:
        """Send one token of every sequence in the step."""
        streams = self._streams
        for number, cached in step.cached.items():
            if number in streams:
                streams[number].cached = streams[number].line.cached_tokens = cached
                self._counts["cached_tokens"] += cached
        clock, finished = time.monotonic_ns, step.finished
        for number in step.tokens:
            stream = streams.get(number)
            if stream is None:
                continue
            if stream.place == 0 or stream.apart or number in finished:
                self._edge_token(stream, step.end_ns, done=number in finished)
                continue
            stream.place += 1
            data = next(stream.events)
            peer = stream.peer
            stream.line.event_ns.append(clock())
            if peer.out:
                self.send(peer, data)
                continue
            try:  # as `send` does it; this is the place where the time goes
                sent = peer.sock.send(data)
            except (BlockingIOError, InterruptedError):
                sent = 0
            except OSError:
                self.drop(peer)
                continue
            if sent < len(data):
                self.send_later(peer, data[sent:])
        self._counts["output_tokens"] += len(step.tokens)
        self._late_ns = max(self._late_ns, clock() - step.end_ns)

    def _edge_token(self, stream: Stream, end_ns: int, *, done: bool) -> None:
        """The first and the last token of an answer, and every one of an answer with a form or a fault of its own."""
        if stream.place == 0 or done:
            stream.line.step_ns.append(end_ns)
        if stream.has("slow"):
            stream.place += 1
            due = time.monotonic_ns() + self._options.slow_ns * stream.place
            self._timers.at(due, lambda: self._token_later(stream, done=done))
        elif stream.place == stream.fault_at or (stream.fault_at >= 0 and done):
            self._break(stream)
        else:
            stream.place += 1
            self._token_now(stream, done=done)

    def _token_later(self, stream: Stream, *, done: bool) -> None:
        if stream.peer.stream is stream:
            self._token_now(stream, done=done)

    def _token_now(self, stream: Stream, *, done: bool) -> None:
        if not stream.ask.stream:
            if done:
                self._complete_whole(stream)
            return
        if stream.line.role_ns is None and not stream.line.event_ns:
            self._send_role(stream)
        data = next(stream.events)
        if data and stream.peer.open:
            stream.line.event_ns.append(time.monotonic_ns())
            self.send(stream.peer, data)
        if done and stream.peer.open:
            self._complete(stream)

    def _complete(self, stream: Stream) -> None:
        """The end of a streamed answer."""
        data = tail_events(stream.envelope)
        stream.line.end_ns = time.monotonic_ns()
        self._end(stream, "complete")
        self.send(stream.peer, data)
        self.next_request(stream.peer, time.monotonic_ns())

    def _complete_whole(self, stream: Stream) -> None:
        data = page(200, whole_body(stream.envelope))
        stream.line.end_ns = time.monotonic_ns()
        self._end(stream, "complete")
        self.send(stream.peer, data)
        self.next_request(stream.peer, time.monotonic_ns())

    def _break(self, stream: Stream) -> None:
        """Faults in the middle of an answer."""
        assert stream.fault is not None
        name, peer = stream.fault.name, stream.peer
        stream.line.end_ns = time.monotonic_ns()
        if name == "stalled":
            self._forget(stream)  # the connection keeps its stream: nothing more is read or sent
            stream.line.outcome = "broken"
            return
        self._end(stream, "broken")
        if name == "stream_error":
            data = error_event(stream.envelope, "simulated fault: stream_error")
            self.send(peer, data if stream.ask.stream else error_page(200, "simulated fault: stream_error"))
        elif name == "cut" and stream.ask.stream:
            self.send(peer, LAST_CHUNK)
        else:
            whole = next(stream.events) if stream.ask.stream else page(200, whole_body(stream.envelope))
            self.send(peer, whole[: len(whole) * 2 // 3])
            self.drop(peer, reset=name == "reset")

    def _forget(self, stream: Stream) -> None:
        """Take a stream out of the engine before its end."""
        self._streams.pop(stream.line.number, None)
        self._engine.cancel(stream.line.number)

    def _end(self, stream: Stream, outcome: str) -> None:
        """A request is over, in one way or another."""
        if outcome == "complete":
            self._streams.pop(stream.line.number, None)
        else:
            self._forget(stream)
        stream.peer.stream = None
        if stream.line.outcome == "complete":
            stream.line.outcome = outcome
        self._counts["prompt_tokens"] += stream.ask.prompt_tokens
        self._note(stream.line)

    def _note(self, line: TruthLine) -> None:
        if self._truth is not None:
            self._truth.write(line)

    def _metrics(self) -> bytes:
        engine, counts = self._engine, self._counts
        return metrics_page(
            {
                "sim:num_requests_running": ("gauge", "Sequences in the batch.", engine.running),
                "sim:num_requests_waiting": ("gauge", "Requests without a place yet.", engine.waiting),
                "sim:kv_cache_usage_perc": (
                    "gauge",
                    "Leased share of KV blocks.",
                    engine.pool.leased / engine.pool.total,
                ),
                "sim:engine_steps_total": ("counter", "Steps done.", engine.steps),
                "sim:requests_total": ("counter", "Requests of the model.", counts["requests"]),
                "sim:requests_refused_total": ("counter", "Requests answered with an error.", counts["refused"]),
                "sim:prompt_tokens_total": (
                    "counter",
                    "Prompt tokens of requests that ended.",
                    counts["prompt_tokens"],
                ),
                "sim:cached_tokens_total": ("counter", "Prompt tokens found in the cache.", counts["cached_tokens"]),
                "sim:generation_tokens_total": ("counter", "Tokens made.", counts["output_tokens"]),
                "sim:step_lateness_max_seconds": ("gauge", "Latest end of a step's sends.", self._late_ns / 1e9),
            }
        )
