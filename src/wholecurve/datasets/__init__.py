"""Data sets: files on disk, synthetic prompts, facts about a workload, salt against caches."""

from wholecurve.datasets.audit import WorkloadFacts, audit
from wholecurve.datasets.columns import TARGETS, Target
from wholecurve.datasets.files import LoadedDataset, load
from wholecurve.datasets.formats import FORMATS
from wholecurve.datasets.lengths import Lengths, fixed, normal, parse_lengths, uniform
from wholecurve.datasets.salt import refuse_unsaltable, salted
from wholecurve.datasets.synthetic import Synthetic, TextTokenizer, synthetic

__all__ = [
    "FORMATS",
    "TARGETS",
    "Lengths",
    "LoadedDataset",
    "Synthetic",
    "Target",
    "TextTokenizer",
    "WorkloadFacts",
    "audit",
    "fixed",
    "load",
    "normal",
    "parse_lengths",
    "refuse_unsaltable",
    "salted",
    "synthetic",
    "uniform",
]
