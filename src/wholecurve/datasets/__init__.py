"""Data sets: files on disk, synthetic prompts, facts about a workload, salt against caches."""

from wholecurve.datasets.columns import TARGETS, Target
from wholecurve.datasets.files import LoadedDataset, load
from wholecurve.datasets.formats import FORMATS

__all__ = ["FORMATS", "TARGETS", "LoadedDataset", "Target", "load"]
