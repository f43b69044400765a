"""Throughput per kW, per accelerator, per node and per dollar. Each figure says what it was divided by, and by whom.

Per provisioned kW is the official normalisation; everything else is derived and says so. The divisor is everything
provisioned, parts that only prefill included (S10, CMP-1).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from wholecurve.curve.table import Row
from wholecurve.model.errors import InputError
from wholecurve.model.point import Identity

DERIVED: Final = "derived, unverified"
OFFICIAL: Final = "official normalisation"

PRICED_UNITS: Final[Mapping[str, str | None]] = {"accelerator": "accelerators", "node": "nodes", "system": None}
"""What a price can be for, and the column that counts it; a system is one."""

MOST_USD: Final = 1e9
"""Of one unit an hour."""

OUT_OF_RANGE: Final = "too large or too small a number to be meant"
LEAST: Final = 1e-18
MOST: Final = 1e18
"""A quotient beyond these comes from a damaged or hostile file, and ends in no ranking."""

PRICE_HINT: Final = "write a number, what it is for and per hour: 2.5/accelerator/h, 20/node/h or 36/system/h"
_PRICE: Final = re.compile(r"\s*\$?\s*(?P<usd>\d+(?:\.\d+)?|\.\d+)\s*/\s*(?P<per>[a-z]+)\s*/\s*(?:h|hour)\s*")


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars an hour for one accelerator, node or system, with where and when it was found."""

    usd_per_hour: float
    per: str
    source: str = "stated by the reader"
    date: str = "not dated"

    def __post_init__(self) -> None:
        if self.per not in PRICED_UNITS:
            raise InputError(f"wanted a price for {', '.join(PRICED_UNITS)}, got {self.per!r}", hint=PRICE_HINT)
        if not 0 < self.usd_per_hour <= MOST_USD:
            raise InputError(
                f"wanted a price above 0 $/h and at most {MOST_USD:g} $/h, got {self.usd_per_hour:g}", hint=PRICE_HINT
            )

    def words(self) -> str:
        """As every figure made of it says: `2.5 $ per accelerator and hour (stated by the reader, not dated)`."""
        return f"{self.usd_per_hour:g} $ per {self.per} and hour ({self.source}, {self.date})"


def parse_price(text: str, *, source: str = "stated by the reader", date: str = "not dated") -> Price:
    """`2.5/accelerator/h`, with or without `$`. InputError without a unit, for a comma, and for 0 or less."""
    found = _PRICE.fullmatch(text.lower())
    if not found:
        raise InputError(f"wanted a price with its unit, got {text!r}", hint=PRICE_HINT)
    per = found["per"].removesuffix("s") if found["per"] not in PRICED_UNITS else found["per"]
    return Price(float(found["usd"]), per, source, date)


@dataclass(frozen=True, slots=True)
class Normalisation:
    """One way to divide. column: what it adds to a row. needs: columns that must be known, the token rate first.

    figure: of a row and the price of its system an hour. rate_divides: the token rate is the divisor, never 0.
    """

    column: str
    needs: tuple[str, ...]
    tag: str
    basis: str
    figure: Callable[[Row, float], float]
    priced: bool = False
    rate_divides: bool = False


def _usd_per_million(tokens_per_s: float, usd_per_hour: float) -> float:
    return usd_per_hour / (tokens_per_s * 3600) * 1e6


NORMALISATIONS: Final[Mapping[str, Normalisation]] = {
    "kw": Normalisation(
        "system_tps_per_kw",
        ("system_tps", "provisioned_power_kw"),
        OFFICIAL,
        "output tokens/s of the system / provisioned kW",
        lambda row, _: row["system_tps"] / row["provisioned_power_kw"],
    ),
    "accelerator": Normalisation(
        "tps_per_accelerator",
        ("system_tps", "accelerators"),
        DERIVED,
        "output tokens/s of the system / all provisioned accelerators",
        lambda row, _: row["system_tps"] / row["accelerators"],
    ),
    "node": Normalisation(
        "tps_per_node",
        ("system_tps", "nodes"),
        DERIVED,
        "output tokens/s of the system / all provisioned nodes",
        lambda row, _: row["system_tps"] / row["nodes"],
    ),
    "usd": Normalisation(
        "usd_per_million_output_tokens",
        ("system_tps",),
        DERIVED,
        "price of the system an hour / (output tokens/s x 3600) x 1e6",
        lambda row, usd_per_hour: _usd_per_million(row["system_tps"], usd_per_hour),
        priced=True,
        rate_divides=True,
    ),
    "usd_total": Normalisation(
        "usd_per_million_total_tokens",
        ("total_tps",),
        DERIVED,
        "price of the system an hour / (input and output tokens/s x 3600) x 1e6",
        lambda row, usd_per_hour: _usd_per_million(row["total_tps"], usd_per_hour),
        priced=True,
        rate_divides=True,
    ),
    "joule": Normalisation(
        "joules_per_output_token",
        ("system_tps", "provisioned_power_kw"),
        DERIVED,
        "provisioned kW x 1000 / output tokens/s; an upper bound, not a measured energy",
        lambda row, _: row["provisioned_power_kw"] * 1000 / row["system_tps"],
        rate_divides=True,
    ),
}

RECIPROCALS: Final[Mapping[str, str]] = {
    "usd_per_million_output_tokens": "output_tokens_per_usd",
    "usd_per_million_total_tokens": "total_tokens_per_usd",
}
"""The same number the other way round, 1e6 / price (S11)."""


def normalised(rows: Sequence[Row], per: str, price: Price | None = None) -> tuple[list[Row], dict[str, str]]:
    """(rows with one column more, {"column", "tag", "basis"}). per: one of NORMALISATIONS.

    A price column has its reciprocal beside it. A row that lacks what it takes gets None, with the reason in its
    `reasons`: it is "not reported" in a ranking, never last. InputError for an unknown word or a missing price.
    """
    if per not in NORMALISATIONS:
        raise InputError(f"wanted one of {', '.join(NORMALISATIONS)}, got {per!r}")
    how = NORMALISATIONS[per]
    if how.priced and price is None:
        raise InputError("wanted a price, got none", hint=PRICE_HINT)
    basis = how.basis + (f"; {price.words()}" if how.priced and price else "")
    if per in ("kw", "joule") and any(row["power_estimated"] for row in rows):
        basis += "; estimated power in it"
    return [_with_column(row, how, price) for row in rows], {"column": how.column, "tag": how.tag, "basis": basis}


def system_usd_per_hour(row: Row, price: Price) -> float | None:
    """What the whole system behind this row costs an hour; None when the count the price is for is not known."""
    counted = PRICED_UNITS[price.per]
    if counted is None:
        return price.usd_per_hour
    count: int | None = row[counted]
    return None if count is None else price.usd_per_hour * count


def per_part(row: Row, identity: Identity, part: str) -> dict[str, Any]:
    """Throughput over the accelerators of one part of a split deployment, under its own name only (CMP-1).

    {"column", "value", "tag", "basis"}. InputError for a part the system does not have.
    """
    parts = dict(identity.accelerator_parts)
    if part not in parts:
        raise InputError(f"wanted a part of {', '.join(parts) or 'a split deployment'}, got {part!r}")
    value = None if row["system_tps"] is None else row["system_tps"] / parts[part]
    basis = f"output tokens/s / the {parts[part]} accelerators that {part}, of {identity.accelerators} provisioned"
    return {"column": f"tps_per_{part}_accelerator", "value": value, "tag": DERIVED, "basis": basis}


def break_even(cheapest: Row, other: Row, price: Price, other_price: Price) -> float | None:
    """The price (in the unit of `other_price`) at which `other` costs as much for output tokens as `cheapest`.

    None when a throughput or a count is not known.
    """
    cheap, dear = system_usd_per_hour(cheapest, price), system_usd_per_hour(other, other_price)
    if cheap is None or dear is None or not cheapest["system_tps"] or other["system_tps"] is None:
        return None
    gain: float = other["system_tps"] / cheapest["system_tps"]
    return other_price.usd_per_hour * cheap * gain / dear


def total_usd_per_hour(row: Row, price: Price, systems: int) -> float | None:
    """What so many systems cost an hour, in exact decimals until the end; None when a count is not known."""
    one = system_usd_per_hour(row, price)
    return None if one is None else float(Fraction(str(one)) * systems)


def _with_column(row: Row, how: Normalisation, price: Price | None) -> Row:
    columns = [how.column, *([RECIPROCALS[how.column]] if how.column in RECIPROCALS else [])]
    usd_per_hour = system_usd_per_hour(row, price) if how.priced and price is not None else 0.0
    missing = [f"{name}: {row['reasons'].get(name, 'not reported')}" for name in how.needs if row[name] is None]
    if usd_per_hour is None and price is not None:
        missing.append(f"{PRICED_UNITS[price.per]}: not reported")
    if not missing and how.rate_divides and row[how.needs[0]] == 0:
        missing.append(f"{how.needs[0]} is 0: nothing to divide by")
    if missing or usd_per_hour is None:
        reasons = {**row["reasons"], **dict.fromkeys(columns, "; ".join(missing))}
        return {**row, **dict.fromkeys(columns), "reasons": reasons}
    figure = how.figure(row, usd_per_hour)
    if not (figure == 0 and not how.rate_divides) and not LEAST <= figure <= MOST:
        return {**row, **dict.fromkeys(columns), "reasons": {**row["reasons"], **dict.fromkeys(columns, OUT_OF_RANGE)}}
    found = {**row, how.column: figure}
    if how.column in RECIPROCALS:
        found[RECIPROCALS[how.column]] = 1e6 / figure
    return found
