"""Charts: data in, SVG text out. Pure, and without any dependency."""

from wholecurve.chart.band import SPARK_HEIGHT, SPARK_WIDTH, Band, spark, spark_axis
from wholecurve.chart.scale import Scale, span
from wholecurve.chart.series import DARK, LIGHT, STYLESHEET, Bars, Dots, Line, Mark, text
from wholecurve.chart.spots import Spot, Spots
from wholecurve.chart.step import Bar, Point, bars, ecdf, step_points, thin
from wholecurve.chart.svg import Axis, Figure
from wholecurve.chart.ticks import Quantity, linear_ticks, log_ticks, measure, number, unit_for, unit_ticks

__all__ = [
    "DARK",
    "LIGHT",
    "SPARK_HEIGHT",
    "SPARK_WIDTH",
    "STYLESHEET",
    "Axis",
    "Band",
    "Bar",
    "Bars",
    "Dots",
    "Figure",
    "Line",
    "Mark",
    "Point",
    "Quantity",
    "Scale",
    "Spot",
    "Spots",
    "bars",
    "ecdf",
    "linear_ticks",
    "log_ticks",
    "measure",
    "number",
    "span",
    "spark",
    "spark_axis",
    "step_points",
    "text",
    "thin",
    "unit_for",
    "unit_ticks",
]
