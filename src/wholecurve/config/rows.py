"""Rows of a run: read from a file or made up, and those of the warm-up, which are never a measured prompt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from wholecurve.config.inputs import Loaded, LoadedTokenizer, ReadDataset
from wholecurve.config.salt import check_salt, shared_row
from wholecurve.config.schema import DatasetSettings, Settings, SyntheticSettings
from wholecurve.datasets import TokenSalt, parse_lengths, synthetic
from wholecurve.model.errors import InputError
from wholecurve.model.plan import DatasetPlan
from wholecurve.model.sample import Sample

WARMUP_DATASET = "warmup"

# The input a dialect sends as it is, where a row has several.
PREFERRED_INPUT = {"openai-chat": None, "openai-completions": "input_ids", "sglang-generate": "input_ids"}

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class WarmupRows:
    """Data set and rows of the warm-up; `salt` is its word, `ids` how rows of token ids take it."""

    dataset: DatasetPlan
    samples: tuple[Sample, ...]
    salt: str | None = None
    ids: TokenSalt | None = None
    notes: tuple[str, ...] = ()


def rows_of(
    dataset: DatasetSettings,
    key: str,
    settings: Settings,
    read_dataset: ReadDataset,
    tokenizer: LoadedTokenizer | None,
    say: Say | None,
) -> Loaded:
    """Rows of a file, or synthetic ones. `key` names the section in messages."""
    if (dataset.path is None) == (dataset.synthetic is None):
        found = "none" if dataset.path is None else "both"
        raise InputError(f"{key}: wanted {key}.path or {key}.synthetic, got {found}", hint="give --dataset FILE")
    if dataset.path is not None:
        return read_dataset(
            dataset.path,
            format=dataset.format,
            columns=dataset.columns or None,
            limit=dataset.limit,
            skip_bad_rows=dataset.skip_bad_rows,
            prefer=PREFERRED_INPUT[settings.endpoint.dialect],
        )
    for name in ("format", "columns", "limit", "skip_bad_rows"):
        if getattr(dataset, name):
            raise InputError(f"{key}.{name}: belongs to a file, and {key}.synthetic reads none")
    assert dataset.synthetic is not None
    return _made(dataset.synthetic, tokenizer, say)


def _made(asked: SyntheticSettings, tokenizer: LoadedTokenizer | None, say: Say | None) -> Loaded:
    """Synthetic prompts, measured by the tokenizer if there is one. Of a long work every tenth is told."""
    tenth = max(1, asked.rows // 10)
    told = [0]

    def progress(done: int) -> None:
        if say is not None and done // tenth > told[0]:
            told[0] = done // tenth
            say(f"made {done:,} of {asked.rows:,} prompts")

    return synthetic(
        asked.rows,
        parse_lengths(asked.input_tokens),
        seed=asked.seed,
        tokenizer=tokenizer,
        prefix_share=asked.shared_prefix_share,
        output=parse_lengths(asked.output_tokens) if asked.output_tokens else None,
        progress=progress,
    ).dataset


def warmup_word(settings: Settings) -> str:
    """What the salt of the warm-up is made of: the measured phase's word, if that has one, else the warm-up's seed.

    With the measured word every point of a sweep, and every sweep, warms up with prompts of its own.
    """
    return f"warmup-{settings.seeds.warmup}" if settings.load.salt is None else f"{settings.load.salt}/warmup"


def warmup_rows(
    settings: Settings,
    measured: Loaded,
    read_dataset: ReadDataset,
    tokenizer: LoadedTokenizer | None,
    say: Say | None,
) -> WarmupRows:
    """Rows of the warm-up: its own, or the measured ones with a salt unless that was refused (WRM-2).

    Rows of the measured set are salted even where the measured requests are: rules 6.3 allow them in no other way.
    """
    warmup = settings.warmup
    loaded = measured
    if warmup.dataset is not None:
        loaded = rows_of(warmup.dataset, "warmup.dataset", settings, read_dataset, tokenizer, say)
    same = (0, 0) if loaded is measured else shared_row(loaded.samples, measured.samples)
    plan = replace(loaded.plan, name=WARMUP_DATASET if measured.plan.name != WARMUP_DATASET else "warmup-2")
    if warmup.salt is False or (warmup.salt is None and same is None):
        notes: tuple[str, ...] = ()
        if same is not None and settings.load.salt is None:
            notes = (
                f"warm-up row {same[0]} is the same prompt as measured row {same[1]}: "
                "a prefix cache may know measured prompts, because warmup.salt is false",
            )
        return WarmupRows(plan, loaded.samples, notes=notes)
    remedy = (
        "give the warm-up its own text prompts (warmup.dataset), name the tokenizer of token ids (--tokenizer), or set "
        "warmup.salt: false (--no-salt-warmup)"
    )
    ids = check_salt(loaded.samples, tokenizer, remedy)
    return WarmupRows(plan, loaded.samples, warmup_word(settings), ids)
