"""Whether a score reaches its bounds. Pure. There is no tolerance: a bound is met or it is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def judge(
    metrics: Mapping[str, float | None], least: Mapping[str, float], *, not_judged: str | None = None
) -> dict[str, Any]:
    """`{"passed": bool or None, "reason", "metrics": [{"metric", "least", "value", "passed", "reason"}]}`.

    `metrics`, `least`: 0 to 100. A metric without a bound is not judged, and neither is anything when `not_judged`
    says why; passed is then None.
    """
    found = [_one(name, bound, metrics.get(name), not_judged) for name, bound in least.items()]
    if not found:
        return {"passed": None, "reason": not_judged or "no bound is set", "metrics": []}
    if not_judged is not None:
        return {"passed": None, "reason": not_judged, "metrics": found}
    failed = [one for one in found if one["passed"] is False]
    open_ = [one for one in found if one["passed"] is None]
    passed = False if failed else None if open_ else True
    return {"passed": passed, "reason": "; ".join(one["reason"] for one in failed or open_ or found), "metrics": found}


def _one(name: str, bound: float, value: float | None, not_judged: str | None) -> dict[str, Any]:
    passed = None if value is None or not_judged is not None else value >= bound
    if not_judged is not None:
        reason = not_judged
    elif value is None:
        reason = f"{name} was not measured"
    else:
        # All digits where four would make a missed bound look like a met one.
        shown = (f"{value:.4g}", f"{bound:.4g}")
        got, wanted = (repr(value), repr(bound)) if shown[0] == shown[1] and value != bound else shown
        reason = f"{name} of {got} {'reaches' if passed else 'is below'} the bound of {wanted}"
    return {"metric": name, "least": bound, "value": value, "passed": passed, "reason": reason}
