"""The evidence beside the figures: failures, tokens, delivery, load, client health, violations, provenance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wholecurve.metrics import LIMITS
from wholecurve.model.names import NAMES
from wholecurve.report.reading import (
    at,
    clean,
    count,
    duration,
    flat,
    items,
    known,
    mapping,
    number,
    rate,
    ratio,
    share,
    texts,
    unmeasured,
)  # fmt: skip
from wholecurve.report.view import STAMPS, TOKEN_SOURCES, Failed, Judged, Row


def failed(one: object) -> Failed:
    return Failed(
        kind=known(at(one, "kind")),
        count=count(at(one, "count")),
        sentence=known(at(one, "sentence")),
        client_side=at(one, "client_side") is True,
        example=clean(at(one, "example") or "", 300),
    )


def failure_facts(summary: Mapping[str, Any]) -> tuple[Row, ...]:
    facts = mapping(summary, "failures")
    limit = share(facts.get("max_failed_share"))
    over = ", exceeded" if facts.get("exceeded") is True else ""
    rows = [("failed share", f"{share(facts.get('failed_share'))} (limit {limit}{over})")]
    rows += [
        (f"cut by {clean(at(cut, 'limit_name'), 40)}", f"{count(at(cut, 'values_cut'))} values ({_limit(cut)})")
        for cut in items(facts, "cut")
    ]
    return tuple(rows)


def _limit(cut: object) -> str:
    found = number(at(cut, "limit_ns"))
    return "no limit set" if found is None else f"limit {duration(found)}"


def token_facts(summary: Mapping[str, Any]) -> tuple[Row, ...]:
    tokens = mapping(summary, "tokens")
    nobody = "no reference tokenizer, and the endpoint sent no usage"
    compared = number(tokens.get("compared"))
    mismatch = number(tokens.get("relative_mismatch"))
    agree = (
        f"{100 * mismatch:+.2f} % over {count(compared)} requests counted by both, "
        f"{count(tokens.get('different'))} differ"
        if compared and mismatch is not None
        else unmeasured("no request was counted by both")
    )
    return (
        ("output tokens by", _source(summary, "token_source", nobody)),
        ("input tokens by", _source(summary, "input_token_source", nobody)),
        ("output tokens", count(tokens.get("output"), nobody)),
        ("input tokens", count(tokens.get("input"), nobody)),
        ("of partial answers", count(tokens.get("partial_output"), "none was counted")),
        ("answers without count", count(tokens.get("uncounted"))),
        ("usage against reference", agree),
        ("input, usage / reference", _input_ratio(summary)),
    )


def _input_ratio(summary: Mapping[str, Any]) -> str:
    found = mapping(summary, "workload", "token_mismatch", "input")
    if number(found.get("median_ratio")) is None:
        return unmeasured("no request was counted by both")
    return f"{ratio(found['median_ratio'])} (median of {count(found.get('compared'))} requests counted by both)"


def prompt_facts(summary: Mapping[str, Any], workload: Mapping[str, Any]) -> tuple[Row, ...]:
    """What was sent: how many prompts are distinct, what they share, and what the endpoint had in its cache."""
    facts, cache = mapping(workload, "prompts"), mapping(summary, "prompt_cache")
    why = "the prompts were not at hand"
    requests, repeats = number(facts.get("requests")), number(facts.get("repeats"))
    sent = None if requests is None or repeats is None else requests - repeats
    return (
        ("distinct prompts sent", count(sent, why)),
        ("requests with a repeat", count(repeats, why)),
        ("prompts in the data set", f"{count(facts.get('rows'), why)}, {count(facts.get('distinct'))} distinct"),
        ("longest shared start", _characters(facts.get("prefix_of_two"), why)),
        ("start of all prompts", _characters(facts.get("prefix_of_all"), why)),
        ("text with a shared start", share(facts.get("prefix_share"), why)),
        ("prompt tokens from a cache", _cached(cache)),
    )


def _characters(value: object, reason: str) -> str:
    return unmeasured(reason) if number(value) is None else f"{count(value)} characters"


def _cached(cache: Mapping[str, Any]) -> str:
    if number(cache.get("cached_share")) is None:
        return unmeasured("the endpoint does not tell")
    told = f"{count(cache.get('cached_tokens'))} of {count(cache.get('cache_prompt_tokens'))}"
    return f"{share(cache['cached_share'])} ({told}, over {count(cache.get('cache_reported'))} answers that tell)"


def _source(summary: Mapping[str, Any], key: str, reason: str) -> str:
    found = at(summary, key)
    return TOKEN_SOURCES.get(str(found), known(found, reason))


def delivery_facts(summary: Mapping[str, Any]) -> tuple[Row, ...]:
    facts = mapping(summary, "delivery")
    bursty = facts.get("bursty")
    clumps = clean(facts.get("bursty_reason") or "yes") if bursty else "no" if bursty is False else unmeasured()
    return (
        ("time stamps", STAMPS.get(str(at(summary, "stamp_source")), unmeasured())),
        ("reads without kernel stamp", share(facts.get("user_stamp_share"), "no reads")),
        ("tokens per event", ratio(facts.get("tokens_per_event"), "no tokens were counted")),
        ("events per read", ratio(facts.get("events_per_read"), "no reads")),
        ("gaps of zero", share(facts.get("zero_gap_share"), "no gaps")),
        ("delivered in clumps", clumps),
    )


def load_facts(summary: Mapping[str, Any]) -> tuple[Row, ...]:
    held, went = mapping(summary, "concurrency"), mapping(summary, "arrivals")
    wanted = went.get("requested_rate_per_s")
    return (
        ("in flight, peak", count(held.get("peak"))),
        (
            "in flight, mean",
            f"{count(held.get('mean'))} over all, {count(held.get('mean_while_issuing'))} while issuing",
        ),
        ("time at requested level", share(held.get("share_at_requested"), "no level was asked for or reached")),
        ("arrival rate", rate(went.get("achieved_rate_per_s"), "requests/s", "fewer than two sends")),
        ("arrival rate asked for", "none" if wanted is None and went else rate(wanted, "requests/s")),
        ("most sends in 100 ms", count(went.get("most_in_100_ms"))),
        ("sends over 10 ms late", share(went.get("late_share"))),
        ("requests per second", rate(at(summary, "qps"), "requests/s")),
        ("with failures", rate(at(summary, "qps_all"), "requests/s")),
        ("input and output tokens", rate(at(summary, "total_tps"), "tokens/s", "no tokens were counted")),
    )


def judged(summary: Mapping[str, Any]) -> tuple[Judged, ...]:
    """One row per limit: what was found, where trouble begins. A figure that does not apply is not measured."""
    against = {at(one, "code"): known(at(one, "verdict")) for one in items(summary, "health", "reasons")}
    rows = []
    for limit in LIMITS:
        found = number(at(summary, "health", "figures", limit.code))
        sign = "<" if limit.falls else ">"
        bounds = [
            "never" if bound is None else f"{sign} {limit.show(bound)}"
            for bound in (limit.strained, limit.client_limited)
        ]
        name = NAMES.get(limit.code)
        rows.append(
            Judged(
                label=limit.code if name is None else name.label,
                value=unmeasured() if found is None else limit.show(found),
                strained=bounds[0],
                limited=bounds[1],
                verdict="" if found is None else against.get(limit.code, "ok"),
            )
        )
    return tuple(rows)


def violation(one: object) -> str:
    places = texts(one, "requests")
    where = f"; first requests: {', '.join(places)}" if places else ""
    return f"{known(at(one, 'sentence'))} ({count(at(one, 'violations'))} times{where})"


def provenance(summary: Mapping[str, Any], plan: Mapping[str, Any], workload: Mapping[str, Any]) -> tuple[Row, ...]:
    """Version, seeds, hashes, then every resolved setting."""
    own = {key: at(summary, key) for key in ("version", "git_sha", "schema", "started_at")}
    rows = [
        *flat(own),
        *flat(mapping(summary, "run_config"), "run_config"),
        *flat({key: value for key, value in workload.items() if key != "plan"}, "workload"),
        *flat(mapping(summary, "machine"), "machine"),
        *flat(plan, "plan"),
    ]
    return tuple(rows)
