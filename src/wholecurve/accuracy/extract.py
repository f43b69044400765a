"""From what a model wrote to the answer in it. Pure, and linear in the length of the text: model output is hostile.

Every rule gives a canonical text, so that two answers are the same when their texts are equal; None: no answer in it.
The same rule is applied to the expected answer. Each pattern below has bounded repeats or none that can meet.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping

LONGEST = 1 << 20
"""Characters looked at. Of a longer text the end counts, which is where a model answers; as `text` it is no answer."""

PLAIN_ZEROS = 20
"""Numbers with more zeros than this at one end are written with an exponent."""

_OPENING = " \"'`“”‘’«»*_([{<¿¡"
_CLOSING = " \"'`“”‘’«»*_)]}>.,;:!?…。"

_NUMBER = re.compile(
    r"(?:(?<![\w)])[-+\u2212])?"  # a sign, not a minus between two terms
    r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+|(?=\.[0-9]))"
    r"(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,4}(?![0-9]))?",
    re.ASCII,
)
_AFTER_WORD = re.compile(
    r"\b(?i:answer)(?: (?i:is|would be))?(?: (?i:option|choice))? ?[:=]? ?[(\[{*\"']{0,3}([A-Z])(?!\w)"
)
_BRACKETED = re.compile(r"[(\[]([A-Z])[)\]]")
_THOUGHT = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)


def spoken(text: str) -> str:
    """The text without thoughts that stand in it between tags, as of a server that does not take them apart.

    A thought that is not closed goes on to the end. If the first tag closes one, all before it is a thought: then the
    opening tag stands in the prompt.
    """
    if "<" not in text:
        return text
    kept, start, thinking = [], 0, False
    for place, tag in enumerate(_THOUGHT.finditer(text)):
        closes = bool(tag[1])
        if not thinking and not (closes and place == 0):
            kept.append(text[start : tag.start()])
        start, thinking = tag.end(), not closes
    if not thinking:
        kept.append(text[start:])
    return "".join(kept)


def tidy(text: str) -> str:
    """Composed characters, one space for any white space, and nothing that does not print."""
    spaced = " ".join(text.split())
    if not spaced.isprintable():
        spaced = " ".join("".join(one for one in spaced if one.isprintable()).split())
    return unicodedata.normalize("NFC", spaced)


def whole_text(text: str) -> str | None:
    """The whole text: case folded, white space as single spaces, quotes, brackets, emphasis and end marks around it
    dropped. A sign, a currency or a per cent sign stays, and so does a point before a digit.
    """
    if len(text) > LONGEST:
        return None
    return tidy(text).casefold().lstrip(_OPENING).rstrip(_CLOSING) or None


def last_number(text: str) -> str | None:
    """The last decimal number: `1,234.50` is `1234.5`, `-0` is `0`, `2e3` is `2000`. A range `3-5` ends in 5."""
    last = None
    for last in _NUMBER.finditer(text[-LONGEST:]):  # noqa: B007  only the last one is wanted
        pass
    return None if last is None else _canonical(last[0])


def choice_letter(text: str) -> str | None:
    """One letter: the whole text, else the capital after the last `answer is` or `answer:`, else the last `(B)`."""
    tail = text[-LONGEST:]
    whole = whole_text(tail)
    if whole is not None and len(whole) == 1 and "a" <= whole <= "z":
        return whole.upper()
    plain = tidy(tail)
    for pattern in (_AFTER_WORD, _BRACKETED):
        found = pattern.findall(plain)
        if found:
            return str(found[-1])
    return None


EXTRACTORS: Mapping[str, Callable[[str], str | None]] = {
    "text": whole_text,
    "number": last_number,
    "choice": choice_letter,
}


def _canonical(number: str) -> str:
    """One text for one value, without rounding, whatever its length: digits are moved, never computed with."""
    mantissa, _, power = number.replace(",", "").lower().partition("e")
    sign = "-" if mantissa[0] in "-\u2212" else ""
    whole, _, part = mantissa.lstrip("-+\u2212").partition(".")
    digits = (whole + part).lstrip("0")
    if not digits:
        return "0"
    short = digits.rstrip("0")
    exponent = int(power or 0) - len(part) + len(digits) - len(short)
    if 0 <= exponent <= PLAIN_ZEROS:
        return sign + short + "0" * exponent
    if exponent > 0 or -exponent - len(short) > PLAIN_ZEROS:
        return f"{sign}{short}e{exponent}"
    padded = short.rjust(-exponent + 1, "0")
    return f"{sign}{padded[:exponent]}.{padded[exponent:]}"
