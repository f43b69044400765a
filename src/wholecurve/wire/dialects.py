"""The dialects: what they have to offer, and the table of them."""

from __future__ import annotations

from typing import Protocol

from wholecurve.model.plan import RequestOptions
from wholecurve.model.sample import Sample
from wholecurve.wire.chat import ChatDialect
from wholecurve.wire.completions import CompletionsDialect
from wholecurve.wire.delta import Delta
from wholecurve.wire.generate import GenerateDialect


class Dialect(Protocol):
    """One way to ask for an answer and to read it. Stateless: one instance serves all requests.

    `path` is joined to the base URL. `cumulative`: the text of an event is the whole text so far.
    """

    name: str
    path: str
    cumulative: bool

    def body(self, sample: Sample, options: RequestOptions, model: str) -> bytes:
        """The request body as JSON. Raises InputError for a sample that the dialect cannot carry."""
        ...

    def delta(self, payload: bytes) -> Delta:
        """What one event's data adds. Raises WireError (NOT_JSON)."""
        ...

    def answer(self, payload: bytes) -> Delta:
        """A whole, non-streamed answer. Raises WireError (NOT_JSON)."""
        ...


DIALECTS: dict[str, Dialect] = {
    "openai-chat": ChatDialect(),
    "openai-completions": CompletionsDialect(),
    "sglang-generate": GenerateDialect(),
}
