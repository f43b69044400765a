"""Benchmarks as the rules and the official checker know them: model names, data set sizes, targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wholecurve.model.errors import InputError
from wholecurve.rules.words import Kind


@dataclass(frozen=True, slots=True)
class Target:
    """A score that an accuracy run must reach; bounds are inclusive. `at`: every point, or a mean over runs.

    reference: the score of the reference, on the same scale (0 to 100 unless the metric is a count).
    """

    id: str
    least: float
    at: str
    most: float | None = None
    reference: float | None = None
    dataset: str | None = None


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One benchmark: `id` is the canonical model name. Sizes are samples (agentic: trajectories) of one pass."""

    id: str
    title: str
    kind: Kind
    serves: str
    performance_dataset: str
    performance_samples: int
    accuracy_samples: int
    targets: Mapping[str, Target]
    output_tokens_least: float | None = None
    output_tokens_most: float | None = None

    @property
    def offline_concurrency(self) -> int | None:
        """Concurrency that a dedicated Offline run reports: all samples at once; None where Offline is not allowed."""
        return self.performance_samples if self.kind is Kind.SINGLE_TURN else None


@dataclass(frozen=True, slots=True)
class BenchmarkRules:
    """All benchmarks, and the smallest completed counts of performance runs by data set name."""

    benchmark: Mapping[str, Benchmark]
    dataset_samples: Mapping[str, int]
    kind_choice: str

    def of(self, model_name: str) -> Benchmark:
        """The benchmark of a canonical model name. Raises InputError for another name, with the names there are."""
        found = self.benchmark.get(model_name)
        if found is None:
            raise InputError(
                f"wanted a model name of the rules, got {model_name!r}", hint="names: " + ", ".join(self.benchmark)
            )
        return found
