"""Data sets: files on disk, synthetic prompts, facts about a workload, salt against caches."""

from wholecurve.datasets.audit import WorkloadFacts, audit
from wholecurve.datasets.columns import TARGETS, Target
from wholecurve.datasets.files import LoadedDataset, load
from wholecurve.datasets.formats import FORMATS
from wholecurve.datasets.lengths import Lengths, fixed, normal, parse_lengths, uniform
from wholecurve.datasets.salt import SaltTokenizer, TokenSalt, refuse_unsaltable, salted, token_salt
from wholecurve.datasets.synthetic import Synthetic, TextTokenizer, synthetic

__all__ = [
    "FORMATS",
    "TARGETS",
    "Lengths",
    "LoadedDataset",
    "SaltTokenizer",
    "Synthetic",
    "Target",
    "TextTokenizer",
    "TokenSalt",
    "WorkloadFacts",
    "audit",
    "fixed",
    "load",
    "normal",
    "parse_lengths",
    "refuse_unsaltable",
    "salted",
    "synthetic",
    "token_salt",
    "uniform",
]
