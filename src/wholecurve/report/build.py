"""From result_summary.json and plan.json to the view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wholecurve.model.status import Status
from wholecurve.report.evidence import (
    delivery_facts,
    failed,
    failure_facts,
    judged,
    load_facts,
    prompt_facts,
    provenance,
    token_facts,
    violation,
)  # fmt: skip
from wholecurve.report.official import primary_figures
from wholecurve.report.reading import at, clean, count, duration, items, known, mapping, number, rate, texts, unmeasured
from wholecurve.report.steadiness import steady_view
from wholecurve.report.view import (
    EARLY_HEADS,
    LENGTHS,
    PERCENTILES,
    SERIES,
    SERIES_HEADS,
    STAMPS,
    STATES,
    STATUSES,
    Cell,
    Reason,
    Row,
    SeriesRow,
    View,
)  # fmt: skip


def build_view(summary: Mapping[str, Any], plan: Mapping[str, Any] | None = None) -> View:
    """The view of result_summary.json, with plan.json if at hand; missing keys become `not measured`."""
    facts = plan or mapping(summary, "plan") or mapping(summary, "workload", "plan")
    workload = mapping(summary, "workload")
    why = at(workload, "state_reason")
    verdict, state = known(at(summary, "health", "verdict")), known(at(summary, "state"))
    return View(
        title=clean(at(facts, "endpoint", "model") or at(workload, "endpoint", "model") or "unnamed model", 120),
        subject=_subject(summary, facts, workload),
        verdict=verdict,
        reasons=tuple(
            Reason(known(at(one, "verdict")), known(at(one, "sentence")), clean(at(one, "remedy") or ""))
            for one in items(summary, "health", "reasons")
        ),
        state=state,
        state_sentence=STATES.get(state, "") + (f" ({clean(why)})" if why else ""),
        status=STATUSES.get(str(at(summary, "status")), STATUSES[Status.UNVERIFIED]),
        invalid=texts(summary, "validity", "invalid_reasons"),
        cautions=texts(summary, "cautions"),
        accounting=_accounting(summary),
        primary=primary_figures(summary),
        steady=steady_view(summary),
        series=tuple(_series_row(summary, key) for key in SERIES),
        early=tuple(row for key in ("ttft", "tpot", "latency") if (row := _early_row(summary, key)).cells),
        failures=tuple(failed(one) for one in items(summary, "failures", "kinds")),
        failure_facts=failure_facts(summary),
        finish=tuple(
            (clean(name, 40), count(found)) for name, found in mapping(summary, "finish_reason_counts").items() if found
        ),
        tokens=token_facts(summary),
        prompts=prompt_facts(summary, workload),
        delivery=delivery_facts(summary),
        load=load_facts(summary),
        health=judged(summary),
        provenance=provenance(summary, facts, workload),
        violations=tuple(violation(one) for one in items(summary, "violations")),
        different=texts(summary, "decided_differently"),
        stamps=STAMPS.get(str(at(summary, "stamp_source")), unmeasured()),
    )


def _phase(summary: Mapping[str, Any], plan: Mapping[str, Any]) -> Mapping[str, Any]:
    """The phase of the plan that this summary is of."""
    phases = [one for one in items(plan, "phases") if isinstance(one, Mapping)]
    named = [one for one in phases if one.get("name") == at(summary, "phase_name")]
    found: Mapping[str, Any] = (named or phases or [{}])[0]
    return found


def _subject(summary: Mapping[str, Any], plan: Mapping[str, Any], workload: Mapping[str, Any]) -> tuple[Row, ...]:
    """From the plan if at hand, else from what the summary carries of it."""
    phase, endpoint = _phase(summary, plan), mapping(plan, "endpoint") or mapping(workload, "endpoint")
    tables = items(plan, "datasets") or items(workload, "datasets")
    named = [one for one in tables if at(one, "name") == at(phase, "dataset")]
    data = (named or tables or [None])[0]
    rows = f", {count(at(data, 'rows'))} rows" if number(at(data, "rows")) is not None else ""
    pattern = at(phase, "pattern") or at(summary, "run_config", "load_pattern", "type")
    wanted = at(summary, "run_config", "load_pattern", "target_qps")
    insecure = at(endpoint, "tls", "verify") is False or at(endpoint, "tls_verified") is False
    return (
        ("model", known(at(endpoint, "model"))),
        ("endpoint", (", ".join(texts(endpoint, "urls")) or known(None)) + " (TLS not verified)" * insecure),
        ("dialect", known(at(endpoint, "dialect")) + _streamed(at(plan, "request", "stream"))),
        ("data set", known(at(data, "file") or at(phase, "dataset")) + rows),
        ("load", known(pattern) + (f" at {rate(wanted, 'requests/s')}" if number(wanted) is not None else "")),
        ("concurrency", _concurrency(summary)),
        ("started", known(at(summary, "started_at"))),
        ("duration", duration(at(summary, "duration_ns"), "nothing was completed")),
        ("phase", known(at(summary, "phase_name"))),
    )


def _streamed(stream: object) -> str:
    return {True: ", streamed", False: ", not streamed"}[stream] if isinstance(stream, bool) else ""


def _concurrency(summary: Mapping[str, Any]) -> str:
    asked, peak, held = (at(summary, "concurrency", key) for key in ("requested", "peak", "mean_while_issuing"))
    wanted = f"{count(asked)} asked for" if number(asked) is not None else "no limit asked for"
    if number(peak) is None:
        return f"{wanted}; held: {unmeasured('nothing was in flight')}"
    return f"{wanted}, {count(peak)} at the peak, {count(held, 'one send')} held (mean while issuing)"


def _accounting(summary: Mapping[str, Any]) -> str:
    by = mapping(summary, "outcomes")
    if not by:
        return unmeasured("the summary has no outcomes")
    parts = " + ".join(f"{count(by.get(name))} {name}" for name in ("succeeded", "failed", "cancelled", "lost"))
    unknown = number(by.get("unknown"))
    return f"{count(by.get('sent'))} sent = {parts}" + (f" + {count(unknown)} of unknown outcome" if unknown else "")


def _series_row(summary: Mapping[str, Any], key: str) -> SeriesRow:
    block = mapping(summary, key)
    if not block:
        reason = clean(at(summary, "not_measured", key) or "")
        return SeriesRow(key, SERIES[key], "", (), reason)
    weak = {str(one) for one in items(block, "unsupported")}
    plain = {"mean": "avg", "min": "min", "max": "max"}
    cells = tuple(
        Cell(_cell(key, at(block, plain[head])), False)
        if head in plain
        else Cell(_cell(key, at(block, "percentiles", PERCENTILES[head])), PERCENTILES[head] in weak)
        for head in SERIES_HEADS
    )
    return SeriesRow(key, SERIES[key], count(block.get("n")), cells, "")


def _early_row(summary: Mapping[str, Any], key: str) -> SeriesRow:
    """Early-stopping estimates; no cells when there are none."""
    block = mapping(summary, key, "early_stopping_percentiles")
    cells = [Cell(_cell(key, block.get(PERCENTILES[head])), False) for head in EARLY_HEADS]
    return SeriesRow(key, SERIES[key], count(at(summary, key, "n")), tuple(cells) if block else (), "")


def _cell(key: str, value: object) -> str:
    if number(value) is None:
        return "–"
    return count(value) if key in LENGTHS else duration(value)
