"""Keeps keys out of what an endpoint says: an error body may repeat the very header that was sent.

Every text of an endpoint that goes into a row, a finding or a message passes here first (SEC-2).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from urllib.parse import quote, quote_plus

from wholecurve.model.plan import Secrets

HIDDEN = "(hidden)"
SHORTEST = 6
"""Shorter values are no secrets worth the name, and hiding them would blank out innocent words."""

LEAST_CUT = 4

# What keys look like anywhere, for texts that are read without the keys at hand (a killed run that is finished later).
_LIKELY = re.compile(r"(?i)\b(?:bearer|basic)\s+[\w.~+/=%-]{4,}|\bsk-[\w.~+/=%-]{6,}")


class Hide:
    """Replaces the values of secrets in a text, in every form in which they may come back. Shows nothing of itself."""

    __slots__ = ("_forms",)

    def __init__(self, secrets: Secrets = Secrets()) -> None:  # noqa: B008 - it is frozen
        found: set[str] = set()
        for _name, value in secrets.headers:
            found |= _forms(value)
        # The longest first: a key inside a header's value must not leave the rest of the value behind.
        self._forms = tuple(sorted((form for form in found if len(form) >= SHORTEST), key=len, reverse=True))

    def __repr__(self) -> str:
        return f"Hide({len(self._forms)} forms)"

    def __call__(self, text: str) -> str:
        """The text without secrets; a secret that was cut at the end of the text is no exception."""
        if not text:
            return text
        for form in self._forms:
            text = text.replace(form, HIDDEN)
        return _LIKELY.sub(HIDDEN, self._without_cut(text))

    def _without_cut(self, text: str) -> str:
        body = text.removesuffix("…")
        for form in self._forms:
            for length in range(min(len(form) - 1, len(body)), LEAST_CUT - 1, -1):
                if body.endswith(form[:length]):
                    return body[:-length] + HIDDEN + text[len(body) :]
        return text


def _forms(value: str) -> set[str]:
    """A header's value as it may be repeated: with and without its scheme, decoded, quoted, escaped, in base64."""
    plain = {value, value.partition(" ")[2] or value}
    scheme, _, rest = value.partition(" ")
    if scheme.lower() == "basic":
        try:
            pair = base64.b64decode(rest, validate=True).decode()
            plain |= {pair, pair.partition(":")[2]}
        except (binascii.Error, UnicodeDecodeError):
            pass  # not what the scheme promises: the text itself is hidden
    coded = {base64.b64encode(one.encode()).decode().rstrip("=") for one in plain if len(one) >= SHORTEST}
    written = {json.dumps(one)[1:-1] for one in plain}
    return plain | coded | written | {quote(one, safe="") for one in plain} | {quote_plus(one) for one in plain}
