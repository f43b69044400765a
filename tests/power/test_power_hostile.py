"""Files that nobody would write: only PowerRejected comes out, and quickly."""

from __future__ import annotations

import copy
import json
import random
import time
from typing import Any

import pytest
from power_build import E1, E3, bandwidth, c1, fabric, node_set, part_of_rack, power_file, published, rack, units

from wholecurve.power import PowerRejected, Provisioned, computed_block, parse_power, point_power, provisioned, template
from wholecurve.rules import PowerRules

JUNK: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2.5, 1e308, float("nan"), float("inf"), 10**30, "", " ", "x", "D.2", "\x1b[2J", "1-2",
    "9" * 59,
    "https://v.example", [], [1, 2], [[]], {}, {"value_w": 1}, {"a": {"b": []}}, "none", "component_sum", "mlc_default",
)  # fmt: skip


def bases() -> list[dict[str, Any]]:
    network = fabric()
    network["nics"] |= {"counted": True, "excluded_from_published_power": "page 3"}
    formula = node_set(units(2, 350, "AMD EPYC 96-Core"), units(8, None, "NVIDIA B200"), bandwidth(14.4), nodes=10)
    flat = {"cpu": {"num_cpu": 2, "tdp_per_cpu": 350, "link": "https://v.example"},
            "accelerator": {"count": 8, "tdp_per_unit": 700, "link": "https://v.example"},
            "scale_out_network": {"num_nics": 8, "tdp_per_nic": 75, "num_switches": 1, "tdp_per_switch": 900},
            "overhead_fraction": 0.5}  # fmt: skip
    rack_flat = {"rack_power_w": 140_000, "rack_nodes": 18, "submitted_nodes": 6, "link": "https://v.example"}
    full = {**rack(), "computed": {"major_components_w": 117_000}, "provisioned_power_kw": 152.1}
    mixed = power_file(part_of_rack(120, 5, 8), published(14, 5, number=2), scale_out=network)
    return [c1(), full, mixed, power_file(formula, scale_out=network), flat, rack_flat]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in items for place in ((*path, key), *places(inner, (*path, key)))]


def changed(base: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    data = copy.deepcopy(base)
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        found = places(data)
        if not found:
            break
        path = rng.choice(found)
        here: Any = data
        for part in path[:-1]:
            here = here[part]
        if rng.random() < 0.2:
            del here[path[-1]]
        else:
            here[path[-1]] = copy.deepcopy(rng.choice(JUNK))
    return data


def outcome(data: Any, rules: PowerRules, description: Any) -> tuple[Provisioned | None, list[str]]:
    """The power, or the lines of the rejection; any other exception fails the test."""
    try:
        return provisioned(parse_power(data, rules), rules, description=description), []
    except PowerRejected as error:
        return None, "\n".join(error.lines()).split("\n")


@pytest.mark.parametrize("seed", range(6))
def test_only_rejections_come_out(seed: int) -> None:
    rng = random.Random(seed)
    base = bases()[seed]
    outcomes = {"taken": 0, "rejected": 0}
    for _ in range(500):
        data = changed(base, rng)
        description = {
            "node_types": [
                changed(
                    {"cooling": base.get("cooling", "air"), "accelerator_info": [{"accelerators_per_node": 8}]}, rng
                )
            ]
        }
        for rules in (E1, E3):
            power, lines = outcome(data, rules, description)
            if power is None:
                assert lines
                assert all(line.isprintable() for line in lines)
                outcomes["rejected"] += 1
                continue
            outcomes["taken"] += 1
            assert power.kw >= 0
            json.dumps(computed_block(power), allow_nan=False)
            assert point_power(power).kw == power.kw
            template(description, rules)
    assert min(outcomes.values()) > 20, outcomes


@pytest.mark.parametrize(
    "data",
    [
        {"node_sets": [{"x": 1}] * 900},
        {"node_sets": [{"x": 1}] * 100_000},
        {"node_sets": [], **{f"key{n}": 1 for n in range(50_000)}},
        {"node_sets": [], "cooling": "x" * 1_000_000},
        {"node_sets": [], "cooling": ["x" * 1000] * 1000},
    ],
    ids=["sets", "too many sets", "keys", "long word", "long list"],
)
def test_large_files_are_refused_in_short_time(data: dict[str, Any]) -> None:
    start = time.monotonic()
    with pytest.raises(PowerRejected) as raised:
        parse_power(data, E3)
    assert len("\n".join(raised.value.lines())) < 5000
    assert time.monotonic() - start < 5
