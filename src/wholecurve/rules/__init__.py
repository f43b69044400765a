"""The rules of the benchmark as versioned data, and the arithmetic on them. Pure; `rules.load` reads the files."""

from wholecurve.rules.benchmarks import Benchmark, BenchmarkRules, Target
__all__ = ["Benchmark"]
