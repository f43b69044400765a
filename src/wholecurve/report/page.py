"""What every page shares: its templates, and a policy under which nothing is loaded and nothing runs."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources

from jinja2 import Environment, FunctionLoader, StrictUndefined


def content_policy(style: str) -> str:
    """Content security policy: nothing is loaded, only this very style sheet applies, nothing runs."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"


def template_text(name: str) -> str:
    """A template or style sheet of this package."""
    return resources.files("wholecurve.report").joinpath("templates", name).read_text("utf-8")


def environment() -> Environment:
    """Templates that escape every value and refuse unknown names."""
    return Environment(
        loader=FunctionLoader(template_text),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
