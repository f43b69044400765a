"""JSON that any strict reader accepts: no NaN, no Infinity, UTF-8 (REP-1)."""

from __future__ import annotations

import math
from collections.abc import Mapping

import orjson


def dumps_strict(value: object) -> bytes:
    """UTF-8 JSON with two spaces of indent. ValueError, with the place, for NaN or Infinity.

    orjson alone would write null for them, and a wrong figure would pass as not measured.
    """
    _refuse_non_finite(value, "$")
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _refuse_non_finite(value: object, where: str) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{where} is {value}: wanted a finite number, or null for not measured")
    if isinstance(value, Mapping):
        for name, item in value.items():
            _refuse_non_finite(item, f"{where}.{name}")
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            _refuse_non_finite(item, f"{where}[{place}]")
