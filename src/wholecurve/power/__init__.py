"""Power of a system from its described parts: `system_power.json` in both shapes, per system and per point. Pure.

file = parse_power(json, rules); power = provisioned(file, rules, description=description)
point = point_power(power, nodes_used); tps_per_kw(tps, point, rules)
"""

from wholecurve.power.computed import computed_block
from wholecurve.power.engagement import Engagement, Parallelism, engagement, parallelism_of
from wholecurve.power.exact import exact
from wholecurve.power.parse import parse_power, shape_of
from wholecurve.power.point import PointPower, point_power, tps_per_kw
from wholecurve.power.problems import PowerRejected, Problem
from wholecurve.power.provision import Provisioned, provisioned
from wholecurve.power.sourced import PowerFile, Sourced
from wholecurve.power.starting import template
from wholecurve.power.tally import Part, SetPower

__all__ = [
    "Engagement",
    "Parallelism",
    "Part",
    "PointPower",
    "PowerFile",
    "PowerRejected",
    "Problem",
    "Provisioned",
    "SetPower",
    "Sourced",
    "computed_block",
    "engagement",
    "exact",
    "parallelism_of",
    "parse_power",
    "point_power",
    "provisioned",
    "shape_of",
    "template",
    "tps_per_kw",
]
