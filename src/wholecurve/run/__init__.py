"""Measuring: processes, sockets, clocks. `measure` does one point from a resolved plan to a folder of results."""

from wholecurve.run.live import Live
from wholecurve.run.measure import RunResult, measure, recover_run

__all__ = ["Live", "RunResult", "measure", "recover_run"]
