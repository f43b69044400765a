"""Charts: data in, SVG text out. Pure, and without any dependency."""

from wholecurve.chart.scale import Scale, span
from wholecurve.chart.series import STYLESHEET, Bars, Dots, Line, Mark
from wholecurve.chart.step import Bar, Point, bars, ecdf, step_points, thin
from wholecurve.chart.svg import Axis, Figure
from wholecurve.chart.ticks import Quantity, linear_ticks, log_ticks, measure, number, unit_for, unit_ticks

__all__ = [
    "STYLESHEET",
    "Axis",
    "Bar",
    "Bars",
    "Dots",
    "Figure",
    "Line",
    "Mark",
    "Point",
    "Quantity",
    "Scale",
    "bars",
    "ecdf",
    "linear_ticks",
    "log_ticks",
    "measure",
    "number",
    "span",
    "step_points",
    "thin",
    "unit_for",
    "unit_ticks",
]
