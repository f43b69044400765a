"""Settings back to YAML that loads again as it stands, without a secret and without a path of this machine.

Header values become references to variables. An absolute path keeps its file name only, in a folder that the variable
WHOLECURVE_FILES names (else the current one). The output folder is left out, so that a repetition writes a new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import yaml

from wholecurve.config.interpolate import escaped
from wholecurve.config.redact import header_template, url_secret, url_shown
from wholecurve.config.schema import Settings

FILES_VARIABLE = "WHOLECURVE_FILES"

_FREE = {"sampling", "extra_body"}
_PATH_KEYS = {"path", "api_key_file", "ca_file", "client_cert", "client_key"}


def dump_settings(settings: Settings) -> str:
    """YAML text; keys in the order of the schema, unset ones left out, limits that are off written as `none`."""
    data = settings.model_dump(mode="json")
    data.pop("output", None)
    data["output"] = {"keep_responses": settings.output.keep_responses}
    if not settings.warmup.wanted:
        data.pop("warmup")
    if settings.accuracy.dataset is None:
        data.pop("accuracy")
    headers = {name: header_template(name, value) for name, value in settings.endpoint.headers.items()}
    plain = _plain(data)
    if headers:
        plain["endpoint"]["headers"] = headers
    text = yaml.dump(plain, sort_keys=False, allow_unicode=True, width=120, Dumper=yaml.SafeDumper)
    return _comment(settings, text) + text


def _comment(settings: Settings, text: str) -> str:
    lines = ["# Settings of a run, complete: `wholecurve run --config` reads this file."]
    if settings.endpoint.headers:
        lines.append("# Header values are not written; they are taken from the variables named here.")
    if f"${{{FILES_VARIABLE}" in text:
        lines.append(f"# Folders of files are not written; set {FILES_VARIABLE} to the folder they are in.")
    return "\n".join(lines) + "\n"


def _plain(value: Any, key: str = "", *, free: bool = False) -> Any:
    """The tree without what is not set, with paths cut and dollars doubled.

    `free`: inside a body field, where a null is a value that is sent. A null limit is written as `none`.
    """
    if isinstance(value, Mapping):
        kept: dict[str, Any] = {}
        for name, inner in value.items():
            if inner is None and not free:
                if name.endswith("_timeout"):
                    kept[name] = "none"
            elif free or (inner != {} and name != "headers"):
                kept[name] = _plain(inner, name, free=free or name in _FREE)
        return kept
    if isinstance(value, list):
        return [_plain(inner, key, free=free) for inner in value]
    if not isinstance(value, str):
        return value
    if free:
        return escaped(value)
    if key in ("urls", "proxy") and url_secret(value):
        return escaped(url_shown(value))
    return _shown_path(value) if key in _PATH_KEYS else escaped(value)


def _shown_path(path: str) -> str:
    if not path.startswith(("/", "~")):
        return escaped(path)
    return f"${{{FILES_VARIABLE}:-.}}/{escaped(PurePath(path).name)}"
