"""The closed sets of words that rules are written in."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What a benchmark asks: one answer per sample, or conversations with tools."""

    SINGLE_TURN = "single_turn"
    AGENTIC = "agentic"


class Offline(StrEnum):
    """How a point stands to the Offline result; `none` is a point that has nothing to do with it."""

    DEDICATED = "dedicated"
    ELECTED = "elected"
    NONE = "none"


class Scope(StrEnum):
    """What one application of a clause looks at."""

    SUBMISSION = "submission"
    SYSTEM = "system"
    CURVE = "curve"
    POINT = "point"


class Severity(StrEnum):
    """How a broken clause is reported."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Action(StrEnum):
    """What the rules do about a broken clause. `review`: people decide. `none`: only a tool says it."""

    REJECT_SUBMISSION = "reject_submission"
    REJECT_POINTS = "reject_points"
    FLAG_SUBMISSION = "flag_submission"
    FLAG_POINTS = "flag_points"
    REVIEW = "review"
    NONE = "none"


class Origin(StrEnum):
    """Whether the text of the rules says so, or only the official checker does."""

    RULES = "rules"
    TOOL = "tool"
