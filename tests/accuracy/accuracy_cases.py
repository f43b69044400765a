"""Records of an accuracy phase without a load: a plan from few words, and answers written as a run writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wholecurve.accuracy import EXPECTED_FILE, write_expected
from wholecurve.model.plan import (
    AccuracyPlan,
    DatasetPlan,
    EndpointPlan,
    Limits,
    Order,
    Pattern,
    PhaseKind,
    PhasePlan,
    Plan,
    RequestOptions,
    StopRule,
)
from wholecurve.records import RESPONSE_NAMES, TEXT_NAMES, Row, numbers_of, pack_row
from wholecurve.records.write import write_parquet

PHASE = 1  # the measured phase comes first
EXTRACT = {"extract": "text"}


@dataclass(frozen=True)
class Reply:
    """What came back for one row, in issue order."""

    row: int
    text: str | None
    outcome: str = "succeeded"
    finish: str | None = "stop"
    reasoning: str | None = None


def phase(kind: PhaseKind, dataset: str, rows: int) -> PhasePlan:
    stop = StopRule(min_samples=rows, max_samples=rows)
    return PhasePlan(kind, str(kind), dataset, rows, Order.SEQUENTIAL, 1, Pattern.CONCURRENCY, stop, concurrency=2)


def accuracy_plan(
    rows: int, *, least: Mapping[str, float] | None = None, options: Mapping[str, Any] | None = None
) -> Plan:
    return Plan(
        name="test",
        endpoint=EndpointPlan(("http://127.0.0.1:1",), "openai-chat", "model"),
        request=RequestOptions(),
        datasets=(DatasetPlan("speed", "speed.jsonl", 4, "0" * 64), DatasetPlan("quiz", "quiz.jsonl", rows, "1" * 64)),
        phases=(phase(PhaseKind.PERFORMANCE, "speed", 4), phase(PhaseKind.ACCURACY, "quiz", rows)),
        limits=Limits(),
        workers=1,
        seed=1,
        accuracy=AccuracyPlan("exact_match", "quiz", least or {}, options or EXTRACT),
    )


def written(folder: Path, replies: Sequence[Reply], expected: Mapping[int, str] | None = None) -> Path:
    """A run folder with records of two phases: one answer of the measured one, and these of the accuracy phase."""
    records = folder / "records"
    records.mkdir(parents=True)
    frames = [_frame(0, 0, Reply(0, "measured, not scored"))]
    frames += [_frame(PHASE, index, reply) for index, reply in enumerate(replies)]
    (records / "rows-000.journal").write_bytes(b"".join(frames))
    write_parquet(records, keep_responses={0, PHASE})
    (records / "rows-000.journal").unlink()
    if expected is not None:
        (records / EXPECTED_FILE).write_bytes(write_expected({"quiz": expected}))
    return folder


def _frame(number: int, index: int, reply: Reply) -> bytes:
    second = 1_000_000_000
    numbers = numbers_of(
        {
            "index": index,
            "phase": number,
            "sample": reply.row,
            "issued_ns": (10 + index) * second,
            "completed_ns": (12 + index) * second,
        }
    )
    texts = {"outcome": reply.outcome, "finish_reason": reply.finish}
    response = {"text": reply.text, "reasoning": reply.reasoning}
    return pack_row(
        Row(
            numbers,
            tuple(texts.get(name) for name in TEXT_NAMES),
            tuple(response.get(name) for name in RESPONSE_NAMES),
            [],
        )
    )
