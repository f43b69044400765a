"""Is the endpoint there, and what does it speak? Asks what a run would ask, and tells the causes of failures apart.

Requests are made by the same code as those of a run (`Outgoing`), and answers are read by the same reader, so what
the probe says holds for the run. The steps, each of which may end the probe: name, connection, TLS, list of models,
dialects, and then the details of the dialect that answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wholecurve.model.errors import InputError, WholecurveError
from wholecurve.model.plan import EndpointPlan, Limits, Plan, RequestOptions, Secrets
from wholecurve.model.record import FailureKind
from wholecurve.model.sample import Sample
from wholecurve.model.units import NS_PER_MS, show_duration
from wholecurve.run.addresses import resolve_addresses
from wholecurve.run.conn import Address
from wholecurve.run.diagnosis import MODELS_PATH, explain, listed, model_rows, models_request
from wholecurve.run.examination import Finding, Grade
from wholecurve.run.exchange import Link, Unreachable
from wholecurve.run.hide import Hide
from wholecurve.run.outgoing import Outgoing
from wholecurve.wire import DIALECTS, Answer, AnswerReader, endpoint_url

CONNECTS = 5
OUTPUT_TOKENS = 16
PROMPT = "Count from one to twenty."


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked about. `dialect` None: the first that answers. `model` None: the first one that is served."""

    endpoint: EndpointPlan
    secrets: Secrets
    model: str | None
    dialect: str | None
    timeout_ns: int


@dataclass(slots=True)
class Report:
    """What was found: findings for people, facts for programs. `ready` when no finding is a problem."""

    findings: list[Finding] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    hide: Hide = field(default_factory=Hide)

    @property
    def ready(self) -> bool:
        """Whether a run could start."""
        return all(finding.grade is not Grade.PROBLEM for finding in self.findings)

    def ok(self, name: str, figure: str) -> None:
        """A good finding."""
        self.findings.append(Finding(name, Grade.OK, self.hide(figure), ""))

    def warn(self, name: str, figure: str, remedy: str) -> None:
        """Something a run should know about."""
        self.findings.append(Finding(name, Grade.WARNING, self.hide(figure), "", self.hide(remedy)))

    def problem(self, name: str, figure: str, remedy: str, code: str) -> None:
        """Something that keeps a run from working; `code` is for programs, the first one counts."""
        self.findings.append(Finding(name, Grade.PROBLEM, self.hide(figure), "", self.hide(remedy)))
        self.facts.setdefault("problem", code)


def probe(wanted: Wanted, say: Callable[[str], None] = lambda _text: None) -> Report:
    """Ask the first URL of the endpoint everything. Raises InputError for what cannot be asked at all."""
    return _Probe(wanted, say).run()


def glance(wanted: Wanted) -> Report:
    """Is the endpoint still there, which models does it list, and does one small request get an answer?

    For use between two measurements: four requests at most. The dialect must be given.
    """
    return _Probe(wanted, lambda _text: None).glance()


class _Probe:
    """The steps, in order, over one report."""

    def __init__(self, wanted: Wanted, say: Callable[[str], None]) -> None:
        self._wanted = wanted
        self._say = say
        self._report = Report(hide=Hide(wanted.secrets))
        self._link: Link | None = None
        self._address: Address | None = None
        self._step = "connection"
        self._model = wanted.model or ""
        self._models: list[str] | None = None
        self._base = replace(wanted.endpoint, urls=wanted.endpoint.urls[:1])

    def run(self) -> Report:
        """All steps, as far as they go."""
        dialects = self._possible_dialects()
        outgoing = self._outgoing(dialects[0], RequestOptions())
        self._report.facts["url"] = self._base.urls[0].partition("?")[0]
        try:
            if self._reach(outgoing) and self._list_models(outgoing):
                self._try_dialects(dialects)
        except Unreachable as error:
            self._report.problem(self._step, error.message, error.hint, error.code)
        finally:
            if self._link is not None:
                self._link.close()
        return self._report

    def glance(self) -> Report:
        """The first steps, and one request in the dialect of the endpoint."""
        name = self._wanted.dialect or self._base.dialect
        outgoing = self._outgoing(name, RequestOptions(max_tokens=1))
        try:
            if self._reach(outgoing) and self._list_models(outgoing):
                self._step = "answer"
                answer, _sent = self._ask(name, self._outgoing(name, _options(include_usage=False)), stream=True)
                if answer.failure is not None and not self._other_ways(name, answer):
                    self._explain(name, answer)
                else:
                    self._report.facts["server"] = self._server(answer)
        except Unreachable as error:
            self._report.problem(self._step, error.message, error.hint, error.code)
        finally:
            if self._link is not None:
                self._link.close()
        return self._report

    # -- what is sent --------------------------------------------------------------------------------------------------

    def _possible_dialects(self) -> list[str]:
        """The dialect that was asked for, else all whose path goes with the URL."""
        url = self._base.urls[0]
        if self._wanted.dialect is not None:
            endpoint_url(url, DIALECTS[self._wanted.dialect].path)
            return [self._wanted.dialect]
        found: list[str] = []
        fault: InputError | None = None
        for name, dialect in DIALECTS.items():
            try:
                endpoint_url(url, dialect.path)
                found.append(name)
            except InputError as error:
                fault = fault or error
        if fault is not None and not found:
            raise fault
        return found

    def _outgoing(self, dialect: str, options: RequestOptions) -> Outgoing:
        endpoint = replace(self._base, dialect=dialect, model=self._model)
        plan = Plan("probe", endpoint, options, (), (), Limits(), workers=1, seed=0)
        return Outgoing(plan, self._wanted.secrets)

    def _connect(self, outgoing: Outgoing) -> Link:
        assert self._address is not None
        return Link(self._address, outgoing.tls, self._wanted.timeout_ns, outgoing.proxy_authorization)

    # -- steps ---------------------------------------------------------------------------------------------------------

    def _reach(self, outgoing: Outgoing) -> bool:
        """Name, connections, TLS."""
        report = self._report
        self._say("resolving and connecting")
        try:
            addresses = resolve_addresses(outgoing.targets, outgoing.proxy)
        except WholecurveError as error:
            report.problem("name", error.message, "check the host name and the name server", "unresolvable")
            return False
        report.facts["addresses"] = [address.shown for address in addresses]
        report.ok("name", ", ".join(address.shown for address in addresses))
        self._address = addresses[0]
        times: list[int] = []
        for _ in range(CONNECTS):
            if self._link is not None:
                self._link.close()
            self._link = self._connect(outgoing)
            times.append(self._link.connect_ns)
        typical, late = _percentile(times, 50), _percentile(times, 90)
        report.facts["connect_ms"] = {"p50": typical / NS_PER_MS, "p90": late / NS_PER_MS, "n": len(times)}
        what = "to the proxy" if outgoing.proxy else "one network round trip each"
        figure = f"P50 {show_duration(typical)}, P90 {show_duration(late)} of {len(times)}, {what}"
        report.ok("connection", figure)
        assert self._link is not None
        if self._link.tls_ns is not None:
            report.facts["tls"] = {"version": self._link.tls_version, "handshake_ms": self._link.tls_ns / NS_PER_MS}
            words = f"{self._link.tls_version}, handshake {show_duration(self._link.tls_ns)}"
            if self._base.tls.verify:
                report.ok("TLS", words)
            else:
                report.warn("TLS", f"{words}, the certificate is not verified", "every result says so")
        return True

    def _list_models(self, outgoing: Outgoing) -> bool:
        """GET /v1/models: an optional list, except that a refused key ends the probe."""
        self._say("asking for the models")
        report = self._report
        link = self._fresh_link(outgoing)
        try:
            whole = link.fetch(models_request(outgoing, self._base.urls[0]))
        except Unreachable as error:
            if error.code != "timeout":
                raise
            report.warn("models", f"/{MODELS_PATH}: {error.message}", "the model's name cannot be checked beforehand")
            return True
        status = whole.head.status if whole.head else None
        report.facts["models_status"] = status
        if whole.head is not None:
            server = whole.head.header("server")
            if server:
                report.facts["server"] = server
        if status in (401, 403):
            self._refused_key(f"/{MODELS_PATH} answered {status}", status)
            return False
        rows = model_rows(whole.body) if status == 200 else None
        if rows is None:
            report.facts["models"] = None
            why = "closed the connection" if status is None else f"answered {status}, and no list of models"
            report.warn("models", f"/{MODELS_PATH} {why}", "the model's name cannot be checked beforehand")
            if self._wanted.model is None and status is not None:
                report.warn("model", "no model was named and none is listed", "give --model NAME")
            return True
        self._models = [str(row["id"]) for row in rows]
        report.facts["models"] = self._models
        owners = sorted({str(row["owned_by"]) for row in rows if row.get("owned_by")})
        if owners:
            report.facts["owned_by"] = owners
        return self._check_model()

    def _check_model(self) -> bool:
        report, models = self._report, self._models or []
        shown = listed(models)
        if self._wanted.model is None:
            if not models:
                report.warn("models", "the list of models is empty", "give --model NAME")
                return True
            self._model = models[0]
            report.ok("models", f"{shown}; asking {self._model!r}")
            return True
        if self._wanted.model not in models:
            message = f"the model {self._wanted.model!r} is not among those served: {shown or 'none'}"
            report.problem("model", message, "give --model with a name from the list", "model_missing")
            return False
        report.ok("models", f"{self._wanted.model!r} is served" + (f", of {len(models)}" if len(models) > 1 else ""))
        return True

    def _try_dialects(self, dialects: Sequence[str]) -> None:
        """One small streamed request in each; the first that answers is looked at closely."""
        self._step = "answer"
        table: dict[str, str] = {}
        self._report.facts["dialects"] = table
        answers: dict[str, Answer] = {}
        for name in dialects:
            self._say(f"asking in {name}")
            outgoing = self._outgoing(name, RequestOptions(max_tokens=OUTPUT_TOKENS))
            answers[name], _sent = self._ask(name, outgoing, stream=True)
            failure = answers[name].failure
            table[name] = "answered" if failure is None else failure.value
        speaks = [name for name, answer in answers.items() if answer.failure is None]
        if not speaks:
            speaks = [name for name in dialects if self._other_ways(name, answers[name])]
        if not speaks:
            self._explain(dialects[0], answers[dialects[0]])
            return
        chosen = speaks[0]
        self._report.facts["dialect"] = chosen
        silent = [name for name in dialects if name not in speaks]
        unanswered = f"; no answer in {', '.join(silent)}" if silent else ""
        self._report.ok("dialects", f"answers in {', '.join(speaks)}{unanswered}")
        if answers[chosen].failure is None:
            self._details(chosen, answers[chosen])

    def _other_ways(self, name: str, first: Answer) -> bool:
        """A dialect that refused: does it answer without `include_usage`, or without streaming?"""
        if first.status in (401, 403, 404, 405, 429) or (first.status or 500) >= 500:
            return False
        answer, _ = self._ask(name, self._outgoing(name, _options(include_usage=False)), stream=True)
        if answer.failure is None:
            self._report.facts["include_usage"] = False
            self._report.warn("usage", "stream_options.include_usage is refused", "run with --no-usage")
            return True
        answer, _ = self._ask(name, self._outgoing(name, _options(stream=False, include_usage=False)), stream=False)
        if answer.failure is None:
            self._report.facts["streaming"] = False
            hint = "run with --no-stream; then there is no TTFT and no TPOT"
            self._report.warn("streaming", "only whole answers come, no streams", hint)
            return True
        return False

    # -- details -------------------------------------------------------------------------------------------------------

    def _details(self, name: str, first: Answer) -> None:
        report = self._report
        self._say("looking at the details")
        outgoing = self._outgoing(name, RequestOptions(max_tokens=OUTPUT_TOKENS))
        answer, sent = self._ask(name, outgoing, stream=True)
        if answer.failure is not None:
            report.warn("second request", f"failed: {answer.detail}", "the endpoint does not answer every time")
            return
        self._streaming(answer, sent)
        self._usage(answer)
        link = self._link
        self._forcing(name)
        reused = link is not None and link is self._link
        report.facts["keep_alive"] = reused
        if reused:
            report.ok("keep-alive", "the connection was used again")
        else:
            report.warn("keep-alive", "the endpoint closes connections", "every request then pays for a new one")
        whole, _ = self._ask(name, self._outgoing(name, _options(stream=False)), stream=False)
        report.facts["whole_answers"] = whole.failure is None
        known = self._server(first)
        if known:
            report.ok("server", known)

    def _server(self, answer: Answer) -> str:
        """What the endpoint calls itself, in heads and in its list of models; empty if nowhere."""
        hints = [answer.headers.get("server"), *self._report.facts.get("owned_by", [])]
        return ", ".join(dict.fromkeys(hint for hint in hints if hint))

    def _streaming(self, answer: Answer, sent: int) -> None:
        report = self._report
        report.facts["streaming"] = True
        report.facts["output_events"] = answer.n_output_events
        if answer.first_output_ns is not None:
            ttft = answer.first_output_ns - sent
            report.facts["ttft_ms"] = ttft / NS_PER_MS
            report.ok("TTFT", f"{show_duration(ttft)} for one request alone")
        tokens = answer.usage.output if answer.usage else None
        distinct = len(set(answer.output_stamps))
        if answer.n_output_events > 2 and distinct == 1:
            hint = "something between buffers the stream: TTFT and gaps measure that"
            report.warn("streaming", f"{answer.n_output_events} output events came in one read", hint)
        elif answer.n_output_events <= 1 and tokens is not None and tokens > 2:
            report.warn("streaming", f"one event for {tokens} tokens", "TTFT is then the time of the whole answer")
        else:
            report.ok("streaming", f"{answer.n_output_events} output events in {distinct} reads")

    def _usage(self, answer: Answer) -> None:
        report = self._report
        has = answer.usage is not None and answer.usage.output is not None
        report.facts["usage_in_stream"] = has
        report.facts.setdefault("include_usage", True)
        if has:
            assert answer.usage is not None
            report.ok("usage", f"{answer.usage.output} output tokens of {answer.usage.input} input tokens reported")
        else:
            report.warn("usage", "the stream carries no token counts", "give --tokenizer for token figures")

    def _forcing(self, name: str) -> None:
        """`ignore_eos` and `min_tokens`: accepted, and obeyed?"""
        options = _options(min_tokens=OUTPUT_TOKENS, ignore_eos=True)
        answer, _ = self._ask(name, self._outgoing(name, options), stream=True)
        report = self._report
        accepted = answer.failure is None
        report.facts["ignore_eos"] = accepted
        if not accepted:
            figure = f"ignore_eos and min_tokens are refused ({answer.status or answer.failure})"
            report.warn("output length", figure, "leave --ignore-eos and --min-tokens out")
            return
        tokens = answer.usage.output if answer.usage else None
        report.facts["ignore_eos_obeyed"] = None if tokens is None else tokens >= OUTPUT_TOKENS
        if tokens is not None and tokens < OUTPUT_TOKENS:
            figure = f"ignore_eos and min_tokens are accepted and not obeyed: {tokens} of {OUTPUT_TOKENS} tokens"
            report.warn("output length", figure, "output lengths will be the model's own")
        else:
            report.ok("output length", "ignore_eos and min_tokens are accepted")

    # -- asking --------------------------------------------------------------------------------------------------------

    def _fresh_link(self, outgoing: Outgoing) -> Link:
        """The open connection, or a new one."""
        if self._link is None or not self._link.alive:
            self._link = self._connect(outgoing)
        return self._link

    def _ask(self, name: str, outgoing: Outgoing, *, stream: bool) -> tuple[Answer, int]:
        """One request: its answer, judged, and when it was sent. A stale connection is replaced once."""
        data = outgoing.prefix(0) + outgoing.request(Sample(0, prompt=PROMPT), "probe")[0]
        for _ in range(2):
            link = self._fresh_link(outgoing)
            used = link.exchanges > 0
            reader = AnswerReader(DIALECTS[name], stream=stream, max_event_bytes=Limits().max_event_bytes)
            sent, closed = link.ask(data, reader)
            answer = reader.finish(eof=closed)
            if not (used and answer.failure is FailureKind.CLOSED_EARLY):
                break
        return answer, sent

    def _refused_key(self, figure: str, status: int | None) -> None:
        sent = any(name.lower() == "authorization" for name, _ in self._wanted.secrets.headers)
        hint = "the key that was sent is not accepted" if sent else "give a key: --api-key-env VARIABLE"
        self._report.problem("key", figure, hint, f"http_{status}")

    def _explain(self, name: str, answer: Answer) -> None:
        """Why the endpoint does not answer, and what to do."""
        path = endpoint_url(self._base.urls[0], DIALECTS[name].path).path.partition("?")[0]
        if answer.status in (401, 403):
            self._refused_key(f"{path} answered {answer.detail}", answer.status)
            return
        code, figure, hint = explain(answer, path, self._model, self._models)
        self._report.problem("answer", figure, hint, code)


def _options(**fields: Any) -> RequestOptions:
    return RequestOptions(max_tokens=OUTPUT_TOKENS, **fields)


def _percentile(values: Sequence[int], percent: int) -> int:
    """Lower order statistic, as everywhere here."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]
