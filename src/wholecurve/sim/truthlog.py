"""The true times of a simulated endpoint, one JSON line per request, for tests and for checks of a client.

All times are CLOCK_MONOTONIC ns, taken just before the send; `arrived_ns` is the kernel's receive stamp of the request.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import orjson

from wholecurve.model.errors import InputError

TRUTH_SCHEMA = "wholecurve.truth/1"
_BUFFER_BYTES = 1 << 20


@dataclass(slots=True)
class TruthLine:
    """One request as it really went.

    `event_ns`: the send of each output-bearing event (with several tokens an event, fewer than `output_tokens`).
    `step_ns`: the model's time for the first and the last token. `knew`: `right` or `wrong` for a question that the
    model knows an answer to. `outcome`: complete, refused, broken (by a fault) or
    dropped (by the client). `end_ns` is the last send.
    """

    request_id: str
    number: int
    connection: int
    arrived_ns: int
    read_ns: int
    stream: bool
    status: int = 200
    head_ns: int | None = None
    role_ns: int | None = None
    event_ns: list[int] = field(default_factory=list)
    step_ns: list[int] = field(default_factory=list)
    end_ns: int | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    finish_reason: str | None = None
    fault: str | None = None
    knew: str | None = None
    outcome: str = "complete"


class TruthWriter:
    """Appends lines to a file; `flush` puts them there. The first line names the schema.

    Raises InputError if the file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._file: BinaryIO = path.open("wb", buffering=_BUFFER_BYTES)
        except OSError as error:
            raise InputError(f"--truth-log: cannot write {path}: {error.strerror}", hint="name another file") from None
        self._file.write(orjson.dumps({"schema": TRUTH_SCHEMA}) + b"\n")

    def write(self, line: TruthLine) -> None:
        """Append one request."""
        self._file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))

    def flush(self) -> None:
        """Give what is buffered to the system."""
        self._file.flush()

    def close(self) -> None:
        """Flush and close."""
        self._file.close()


def read_truth(path: Path) -> Iterator[TruthLine]:
    """The lines of a truth log. Raises ValueError for another schema; a last line cut by a kill is left out."""
    with path.open("rb") as file:
        head = orjson.loads(file.readline())
        if head.get("schema") != TRUTH_SCHEMA:
            raise ValueError(f"wanted {TRUTH_SCHEMA}, got {head.get('schema')!r}")
        for line in file:
            if line.endswith(b"\n"):
                yield TruthLine(**orjson.loads(line))
