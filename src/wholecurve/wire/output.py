"""Collecting the output of one answer from its deltas: texts, tool calls, stamps, and what the first event held."""

from __future__ import annotations

from array import array
from typing import Any

from wholecurve.wire.delta import Delta, ToolPiece, Usage

REPLACEMENT = "\ufffd"  # what a server shows for a character that is not whole yet


class ToolCalls:
    """Tool calls put together from pieces.

    A piece with an index belongs to the call of that index. Without one it opens a new call when it brings a new id,
    or a name after arguments, and otherwise continues the last call.
    """

    __slots__ = ("_calls", "_last")

    def __init__(self) -> None:
        self._calls: dict[int, list[Any]] = {}  # index -> [id, name, argument pieces]
        self._last = -1

    def add(self, piece: ToolPiece) -> None:
        """Take one piece."""
        index = piece.number
        if index is None:
            call = self._calls.get(self._last)
            fresh = call is None or (piece.id and call[0] and piece.id != call[0]) or (piece.name and call[2])
            index = max(self._calls, default=-1) + 1 if fresh else self._last
        call = self._calls.setdefault(index, ["", "", []])
        self._last = index
        call[0] = call[0] or piece.id
        call[1] = call[1] or piece.name  # some servers repeat the name in every piece
        if piece.arguments:
            call[2].append(piece.arguments)

    def result(self) -> list[dict[str, Any]]:
        """OpenAI tool calls in the order of their index; arguments stay text, whatever it is."""
        return [
            {"id": call[0], "type": "function", "function": {"name": call[1], "arguments": "".join(call[2])}}
            for _, call in sorted(self._calls.items())
        ]


class Output:
    """What the deltas of one answer add up to. Stamps are ns, one for each output-bearing event."""

    __slots__ = (
        "calls",
        "choices",
        "cumulative",
        "finish_reason",
        "first",
        "first_visible_ns",
        "reasonings",
        "refusals",
        "stamps",
        "texts",
        "usage",
    )

    def __init__(self, *, cumulative: bool) -> None:
        self.cumulative = cumulative
        self.texts: list[str] = []
        self.reasonings: list[str] = []
        self.refusals: list[str] = []
        self.calls = ToolCalls()
        self.stamps = array("q")
        self.first: tuple[str, str, str] | None = None  # text, reasoning, tool arguments of the first event
        self.first_visible_ns: int | None = None
        self.finish_reason: str | None = None
        self.usage: Usage | None = None
        self.choices = 0

    def add(self, delta: Delta, stamp_ns: int | None) -> None:
        """Take one delta; without a stamp (a whole answer) no time is kept."""
        text, reasoning, pieces, refusal, finish, usage, _, _, choices = delta
        if choices > self.choices:
            self.choices = choices
        if finish is not None:
            self.finish_reason = finish
        if usage is not None:
            self.usage = usage
        if text and self.cumulative:
            text = self._difference(text)
        if text:
            self.texts.append(text)
        if reasoning:
            self.reasonings.append(reasoning)
        if refusal:
            self.refusals.append(refusal)
        bearing = bool(text or reasoning or refusal)
        for piece in pieces:
            self.calls.add(piece)
            bearing = bearing or bool(piece.name or piece.arguments)
        if not bearing:
            return
        if self.first is None:
            self.first = (text, reasoning, "".join(piece.arguments for piece in pieces))
        if stamp_ns is not None:
            self.stamps.append(stamp_ns)
            if self.first_visible_ns is None and (text or refusal):
                self.first_visible_ns = stamp_ns

    def _difference(self, text: str) -> str:
        """What a cumulative text adds. The end may be re-read once a character is whole.

        A text that does not continue the one before is a difference already (SGLang can be told to send those).
        """
        if not self.texts:
            return text
        so_far = "".join(self.texts)
        if text == so_far:
            return ""
        settled = so_far.rstrip(REPLACEMENT)
        if not text.startswith(settled):
            self.cumulative = False
            return text
        self.texts[:] = [settled] if settled else []
        return text[len(settled) :]
