"""Seed sets and approved drafters: what is published for a cohort, and for how many cohorts it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wholecurve.rules.build import U64
from wholecurve.rules.cohorts import Cohort


@dataclass(frozen=True, slots=True)
class SeedSet:
    """Seeds published for a cohort. Unsigned 64-bit; never to be read through a binary float."""

    id: str
    cohort: Cohort
    scheduler_rng_seed: U64
    sample_index_rng_seed: U64
    model_seed: U64


@dataclass(frozen=True, slots=True)
class SeedRules:
    """Seed sets. `adoption_cohorts` counts the cohort of publication."""

    adoption_cohorts: int
    rotation_cohorts: int
    legacy_seed: int
    names: tuple[str, ...]
    sets: Mapping[str, SeedSet]


@dataclass(frozen=True, slots=True)
class Drafter:
    """A drafter for speculative decoding, known by the checksum of its weights or by target and configuration."""

    id: str
    benchmark: str
    model: str
    approved: Cohort
    weight_checksum: str | None = None
    target_checksum: str | None = None
    configuration: str | None = None


@dataclass(frozen=True, slots=True)
class DrafterRules:
    """Approved drafters. `native_heads`: whether the head that ships in an approved checkpoint is approved with it."""

    lead_cohorts: int
    counted_on: str
    choice: str
    native_heads: bool
    list: Mapping[str, Drafter]
