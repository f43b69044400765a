"""Facts about a workload for every report: how many prompts are distinct, what they share, how long they are.

Requests that repeat a prompt, or begin as another one does, are served from a prefix cache and make an endpoint look
faster than it is on fresh work; so these figures stand beside every result.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from wholecurve.model.sample import Sample

FEW_DISTINCT = 0.5
LONG_PREFIX = 0.5


@dataclass(frozen=True, slots=True)
class WorkloadFacts:
    """`distinct` prompts among `rows`; of `requests`, `repeats` sent a prompt that had been sent before.

    Prefixes are in characters (a token id counts as one): `prefix_of_all` starts every prompt, `prefix_of_two` is the
    longest start that two different prompts share, `prefix_share` the share of all characters that a prompt has in
    common with the start of another one. Lengths are in the same unit; percentiles are lower order statistics.
    """

    rows: int
    distinct: int
    requests: int
    repeats: int
    prefix_of_all: int
    prefix_of_two: int
    prefix_share: float
    length_min: int
    length_p50: int
    length_p90: int
    length_max: int
    length_mean: float

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences for what makes a result look better than fresh work would."""
        found = []
        sent = self.requests - self.repeats
        if self.requests > 1 and sent < FEW_DISTINCT * self.requests:
            found.append(f"{self.requests} requests use {sent} distinct prompts; repeats can be served from a cache")
        if self.rows > 1 and self.prefix_share > LONG_PREFIX:
            found.append(
                f"{100 * self.prefix_share:.0f} % of the prompt text begins as another prompt does (longest "
                f"{self.prefix_of_two} characters); it can be served from a prefix cache"
            )
        return tuple(found)


def audit(
    samples: Sequence[Sample], *, requests: int | None = None, sent: Iterable[int] | None = None
) -> WorkloadFacts:
    """Facts about `samples`.

    `sent` are the rows of the requests that were sent, from the records. Without it, `requests` are taken as sent in
    passes over the data set, so that every row is used before one is repeated; the default is one pass.
    """
    texts = [_text(sample) for sample in samples]
    if not texts:
        return WorkloadFacts(0, 0, 0, 0, 0, 0, 0.0, 0, 0, 0, 0, 0.0)
    if sent is None:
        total = len(texts) if requests is None else requests
        used = len(set(texts[:total]))
    else:
        rows = list(sent)
        total = len(rows)
        used = len({texts[row] for row in rows})
    unique = sorted(set(texts))
    near = [_shared(left, right) for left, right in pairwise(unique)]
    covered = sum(max(left, right) for left, right in zip([0, *near], [*near, 0]))
    sizes = sorted(map(len, texts))
    return WorkloadFacts(
        rows=len(texts),
        distinct=len(unique),
        requests=total,
        repeats=total - used,
        prefix_of_all=_shared(unique[0], unique[-1]),
        prefix_of_two=max(near, default=0),
        prefix_share=covered / max(1, sum(map(len, unique))),
        length_min=sizes[0],
        length_p50=sizes[(len(sizes) - 1) // 2],
        length_p90=sizes[(len(sizes) - 1) * 9 // 10],
        length_max=sizes[-1],
        length_mean=sum(sizes) / len(sizes),
    )


def _text(sample: Sample) -> str:
    """What is sent, as one text in the order in which a template writes it; a token id becomes one character."""
    if sample.input_ids is not None:
        return "".join(map(chr, sample.input_ids))
    tools = json.dumps([*sample.tools]) if sample.tools else ""
    if sample.prompt is not None:
        return f"{tools}{sample.system or ''}{sample.prompt}"
    parts = [tools]
    for message in sample.messages or ():
        content = message.get("content")
        rest = {key: value for key, value in message.items() if key not in ("role", "content")}
        parts += [message["role"], "\n", content if isinstance(content, str) else json.dumps(content), "\n"]
        if rest:
            parts.append(json.dumps(rest))
    return "".join(parts)


def _shared(left: str, right: str) -> int:
    """Length of the common start: by halves, because comparing slices is much faster than comparing characters."""
    low, high = 0, min(len(left), len(right))
    if left[:high] == right[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle
    return low
