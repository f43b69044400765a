"""What is a secret, and how it is written instead: by reference, never by value."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlsplit

_EXACT = {"api_key", "apikey", "key", "access_token", "authorization", "auth_token", "password", "token", "cookie"}
_ENDS = ("_key", "_token", "_password", "_auth", "_authorization", "_apikey")

# `${NAME}`, alone or behind the scheme of an Authorization header. Anything else may hold a literal secret.
_REFERENCE = re.compile(r"(?:(?:Bearer|Basic|Token) )?\$\{[A-Za-z_][A-Za-z0-9_]*\}", re.IGNORECASE)


def secret_name(name: str) -> bool:
    """Whether a header, query parameter or field of this name holds a secret."""
    plain = name.lower().replace("-", "_")
    return plain in _EXACT or plain.endswith(_ENDS) or "secret" in plain or "password" in plain


def secret_body_field(name: str) -> bool:
    """Whether a body field of this name holds a secret; narrower, since `stop_token` and the like do not."""
    plain = name.lower().replace("-", "_")
    return plain in _EXACT - {"key", "token"} or "secret" in plain or "password" in plain


def header_template(name: str, value: str) -> str:
    """A header's value for a file: its own `${NAME}` if it is nothing else, else a variable named after the header."""
    if _REFERENCE.fullmatch(value):
        return value
    return f"${{WHOLECURVE_HEADER_{re.sub(r'[^A-Za-z0-9]', '_', name).upper()}}}"


def url_secret(url: str) -> str | None:
    """What in a URL is secret: `user info`, the name of a query parameter, or None. A URL that cannot be taken apart is
    refused as a URL, by a message that does not show it."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    if "@" in parts.netloc:
        return "user info"
    return next((f"the query parameter {name!r}" for name, _ in parse_qsl(parts.query) if secret_name(name)), None)


def url_shown(url: str) -> str:
    """A URL for people and errors: without user info and query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
