"""The reference page of the configuration, printed from the schema: docs/reference/configuration.md.

Run `python -m wholecurve.config.docs > docs/reference/configuration.md` after a change of schema.py or flags.py.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from wholecurve.config.flags import COMMAND_FLAGS, FLAG_OF, RunFlags
from wholecurve.config.problems import section_type
from wholecurve.config.schema import Settings
from wholecurve.config.types import Kind, write_duration
from wholecurve.config.yaml_source import Path
from wholecurve.load import PATTERNS

_INTRO = """# Configuration

`wholecurve run --config FILE` reads a YAML file with these keys; most have a flag too. A flag wins over the file.
Every key is checked before anything is sent, and an unknown key is an error.

- Durations are numbers of seconds or text with a unit: `500ms`, `30s`, `10m`, `1h`. Sizes: `64MiB`.
- `${NAME}` is replaced by an environment variable, `${NAME:-default}` has a default, `$$` is one dollar sign.
  A lone dollar is a dollar.
- Paths are relative to the current folder.
- Nothing about sampling is sent unless it is set here: the server's defaults hold.
- Secrets come from variables or files. The values of headers and keys are never written, shown or put into a plan.
  Only `WHOLECURVE_API_KEY` is used without being named; no other tool's variable is ever read.

A file of the MLPerf reference client (one with a root key `endpoint_config`) is read as it is. Keys that change
nothing here are named in a warning.

A short file:

```yaml
endpoint:
  urls: http://127.0.0.1:8000
  model: my-model
dataset:
  path: prompts.jsonl
load:
  concurrency: 32
stop:
  duration: 10m
  whole_passes: true
```
"""


def reference_page() -> str:
    """The whole page as Markdown."""
    return "\n".join([_INTRO, *_section_tables(Settings, ()), *_patterns(), *_command_flags()]).rstrip() + "\n"


def _section_tables(schema: type[BaseModel], path: Path) -> Iterator[str]:
    """A heading and a table for each section, parents first."""
    title = ".".join(str(part) for part in path) or "Top level"
    yield f"## {f'`{title}`' if path else title}\n"
    yield f"{(schema.__doc__ or '').strip()}\n"
    yield "| key | type | default | unit | meaning | flag |"
    yield "| --- | --- | --- | --- | --- | --- |"
    inner: list[tuple[type[BaseModel], Path]] = []
    for name, field in schema.model_fields.items():
        below = section_type(field.annotation)
        if below is not None:
            inner.append((below, (*path, name)))
        yield _row(name, field, path, below)
    yield ""
    for below, place in inner:
        yield from _section_tables(below, place)


def _row(name: str, field: FieldInfo, path: Path, below: type[BaseModel] | None) -> str:
    unit = (field.json_schema_extra or {}).get("unit", "") if isinstance(field.json_schema_extra, dict) else ""
    flag = FLAG_OF.get((*path, name), "")
    kind = "section" if below is not None else _type(field)
    cells = (f"`{name}`", kind, _default(field, below), str(unit), field.description or "", f"`{flag}`" if flag else "")
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _type(field: FieldInfo) -> str:
    """A type as the page calls it."""
    own = next((item.name for item in field.metadata if isinstance(item, Kind)), None)
    return own or _words(field.annotation)


def _words(annotation: Any) -> str:
    if get_origin(annotation) is Annotated:
        inner, *extras = get_args(annotation)
        return next((item.name for item in extras if isinstance(item, Kind)), None) or _words(inner)
    if get_origin(annotation) in (Union, UnionType):
        return " or ".join(_words(part) for part in get_args(annotation) if part is not type(None))
    if get_origin(annotation) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return ", ".join(f"`{member.value}`" for member in annotation)
    return {bool: "true or false", str: "text"}[annotation]


def _default(field: FieldInfo, below: type[BaseModel] | None) -> str:
    if field.is_required():
        return "required"
    value = field.default
    if below is not None or value in (None, "", {}, ()):
        return "`none`" if value is None and _may_be_none(field) else ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, Enum):
        return f"`{value.value}`"
    if "duration" in _type(field):
        return f"`{write_duration(value)}`"
    return f"`{value}`"


def _may_be_none(field: FieldInfo) -> bool:
    """Whether `none` is a value of the type, not only "not set"."""
    return section_type(field.annotation) is None and "`none`" in _type(field)


def _patterns() -> Iterator[str]:
    yield "## Load patterns\n"
    yield "| pattern | needs | may have | meaning |"
    yield "| --- | --- | --- | --- |"
    names = {"rate_per_s": "`rate`", "concurrency": "`concurrency`", "ramp_ns": "`ramp`"}
    for pattern, row in PATTERNS.items():
        needs, allows = (", ".join(names[name] for name in group) for group in (row.needs, row.allows))
        yield f"| `{pattern.value}` | {needs} | {allows} | {row.description} |"
    yield ""


def _command_flags() -> Iterator[str]:
    yield "## Flags without a key\n"
    yield "| flag | meaning |"
    yield "| --- | --- |"
    hints = get_type_hints(RunFlags, include_extras=True)
    for name in COMMAND_FLAGS:
        yield f"| `--{name}` | {get_args(hints[name])[1].help} |"
    yield ""


if __name__ == "__main__":
    sys.stdout.write(reference_page())
