"""The results as Markdown, and the machine they were taken on, described without its name."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from settings import SETTINGS

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"


def machine() -> dict[str, Any]:
    """What matters for the figures: processor, cores, memory, kernel, clock source."""
    cpu = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    clock = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    return {
        "cpu": cpu[0].split(":")[1].strip() if cpu else platform.machine(),
        "cores": os.cpu_count(),
        "memory_gb": round(memory),
        "kernel": platform.release().split("-")[0],
        "clock": clock.read_text().strip() if clock.exists() else "unknown",
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 2),
    }


def markdown(document: Mapping[str, Any]) -> str:
    """Bounds first, then one table a setting."""
    about = document["machine"]
    lines = [
        f"Measured {document['date']} on {about['cpu']}, {about['cores']} cores, {about['memory_gb']} GB, Linux "
        f"{about['kernel']}, clock {about['clock']}, Python {about['python']}; load before the run "
        f"{about['load_before']}. Server on core {document['server_core']}"
        f"{' with real-time priority' if document['real_time'] else ''}, client on core {document['client_core']}; "
        f"CPU time by {document['cpu_source']}. Median of {document['repeats']} (least to most).",
        "",
        "| bound | must be | is | |",
        "| --- | --- | --- | --- |",
    ]
    lines += [f"| {b['what']} | {b['bound']} | {b['figure'] or '-'} | {b['verdict']} |" for b in document["bounds"]]
    for setting in SETTINGS:
        rows = [r for r in document["results"] if r["setting"] == setting.name]
        if rows:
            lines += ["", f"**{setting.name}**: {setting.what}", "", *_table(rows)]
    return "\n".join(lines) + "\n"


def _table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    head = "client|events/s|CPU us/event|core used|TTFT error P50/P90/P99 ms|TPOT error P50/P90 %|tokens/s error %"
    head += "|in flight|PSS MB|start s|report s|server late P99 us|verdict"
    lines = [f"| {' | '.join(head.split('|'))} |", "|" + " --- |" * (head.count("|") + 1)]
    for client in dict.fromkeys(r["client"] for r in rows):
        every = [r for r in rows if r["client"] == client]
        good = [r for r in every if not r["error"]]
        if not good:
            lines.append(f"| {client} | {every[0]['error'].splitlines()[0]} |" + " |" * head.count("|"))
            continue
        cells = [
            client,
            _middle(good, "events_per_s", ".0f"),
            _middle(good, "cpu_us_per_event", ".1f"),
            _middle(good, "core_used", ".2f"),
            " / ".join(_middle(good, "ttft_error_ms", "+.2f", p) for p in ("50", "90", "99")),
            " / ".join(_middle(good, "tpot_error_percent", "+.2f", p) for p in ("50", "90")),
            _middle(good, "tokens_error_percent", "+.2f", "all"),
            f"{max(r['in_flight_peak'] for r in good)}, {_middle(good, 'in_flight_middle', '.1f')} in the middle",
            _middle(good, "pss_peak_mb", ".0f"),
            _middle(good, "start_s", ".2f"),
            _middle(good, "report_s", ".2f"),
            _middle(good, "server_late_p99_us", ".0f"),
            ", ".join(sorted({r["verdict"] or "-" for r in good})),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _middle(rows: Sequence[Mapping[str, Any]], key: str, form: str, inner: str | None = None) -> str:
    values = [r[key] if inner is None else r[key].get(inner) for r in rows]
    known = [value for value in values if value is not None]
    return format(median(known), form) if known else "-"


def into_readme(readme: Path, figures: str) -> None:
    """Replaces what lies between the two marks. Raises `ValueError` without them."""
    text = readme.read_text("utf-8")
    head, _, rest = text.partition(BEGIN)
    _, mark, tail = rest.partition(END)
    if not mark:
        raise ValueError(f"{readme.name} has no place for figures: {BEGIN} ... {END}")
    readme.write_text(f"{head}{BEGIN}\n\n{figures}\n{END}{tail}", "utf-8")
