"""The reference tokenizer: one adapter over `tokenizers`, and over `transformers` where a folder needs it.

Counts never add special tokens and never truncate or pad, whatever the tokenizer's own files say. The heavy
libraries are imported when a tokenizer is loaded, not when this module is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from wholecurve.model.errors import SetupError
from wholecurve.model.plan import TokenizerPlan
from wholecurve.tokens.source import TokenizerFiles, locate
from wholecurve.tokens.template import (
    ChatTemplates,
    RenderError,
    compile_templates,
    folder_templates,
    read_json,
    special_tokens,
)


class Backend(Protocol):
    """What an adapter needs from a tokenizer library. No method adds special tokens."""

    def encode(self, text: str) -> list[int]: ...
    def encode_many(self, texts: Sequence[str]) -> list[list[int]]: ...
    def count_many(self, texts: Sequence[str]) -> list[int]: ...
    def decode(self, ids: Sequence[int]) -> str: ...
    def is_special(self, token: int) -> bool: ...
    def vocab_size(self) -> int: ...


@dataclass(frozen=True, slots=True)
class TokenizerSpec:
    """How to load a tokenizer again, in another process: a folder or hub id, its revision, and the trust given."""

    source: str
    trust_remote_code: bool = False
    revision: str | None = None


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """A loaded tokenizer. `plan` goes into the run's plan; `spec` loads the same one elsewhere."""

    plan: TokenizerPlan
    spec: TokenizerSpec
    backend: Backend
    templates: ChatTemplates | None

    @property
    def has_template(self) -> bool:
        """True if messages can be rendered."""
        return self.templates is not None

    def encode(self, text: str) -> list[int]:
        """Token ids of `text` alone: no special tokens added, nothing cut."""
        return self.backend.encode(text)

    def encode_many(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode` of each text, in parallel where the library can."""
        return self.backend.encode_many(texts) if texts else []

    def count(self, text: str) -> int:
        """Number of tokens of `text` alone."""
        return len(self.backend.encode(text))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """`count` of each text, in parallel where the library can."""
        return self.backend.count_many(texts) if texts else []

    def decode(self, ids: Sequence[int]) -> str:
        """Text of token ids, special tokens included."""
        return self.backend.decode(ids)

    def is_special(self, token: int) -> bool:
        """Whether this id is one of the special tokens, such as the one that begins a text."""
        return self.backend.is_special(token)

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
        *,
        add_generation_prompt: bool = False,
    ) -> str | None:
        """The messages as text through the chat template; `None` without a template or if it fails on them."""
        if self.templates is None:
            return None
        try:
            return self.templates.render(messages, tools, template_kwargs, add_generation_prompt=add_generation_prompt)
        except RenderError:
            return None


class _Fast:
    """`tokenizers`: a tokenizer.json."""

    def __init__(self, file: Path) -> None:
        from tokenizers import Tokenizer as FastTokenizer

        try:
            self._tokenizer = FastTokenizer.from_file(str(file))
        except Exception as error:  # noqa: BLE001 - the library raises bare Exception
            raise SetupError(
                f"tokenizer.json cannot be loaded: {error}", hint="is the installed `tokenizers` as new as the file?"
            ) from None
        # Files may ask for cutting at the model's length and for padding; a count must see neither.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def encode(self, text: str) -> list[int]:
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    def encode_many(self, texts: Sequence[str]) -> list[list[int]]:
        return [found.ids for found in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def count_many(self, texts: Sequence[str]) -> list[int]:
        return [len(found) for found in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def decode(self, ids: Sequence[int]) -> str:
        return self._tokenizer.decode(list(ids), skip_special_tokens=False)

    def is_special(self, token: int) -> bool:
        added = self._tokenizer.get_added_tokens_decoder().get(token)
        return added is not None and bool(added.special)

    def vocab_size(self) -> int:
        return self._tokenizer.get_vocab_size(with_added_tokens=True)


class _Slow:
    """`transformers`: anything without a tokenizer.json (SentencePiece models, tokenizers with code of their own)."""

    def __init__(self, files: TokenizerFiles, trust_remote_code: bool) -> None:
        try:
            from transformers import AutoTokenizer
        except ImportError:
            raise SetupError(
                f"tokenizer {files.name} has no tokenizer.json; loading it needs transformers",
                hint="pip install 'wholecurve[transformers]'",
            ) from None
        try:
            self.tokenizer: Any = AutoTokenizer.from_pretrained(
                str(files.folder), trust_remote_code=trust_remote_code, local_files_only=True
            )
        except Exception as error:  # noqa: BLE001 - the library raises many kinds
            first = (str(error).splitlines() or [type(error).__name__])[0].replace(str(files.folder), files.name)
            raise SetupError(f"tokenizer {files.name} cannot be loaded: {first}") from None

    def encode(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False, truncation=False, verbose=False))

    def encode_many(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def count_many(self, texts: Sequence[str]) -> list[int]:
        return [len(self.encode(text)) for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False))

    def is_special(self, token: int) -> bool:
        return token in self.tokenizer.all_special_ids

    def vocab_size(self) -> int:
        return len(self.tokenizer)


def load_tokenizer(
    name_or_folder: str | os.PathLike[str], *, trust_remote_code: bool = False, revision: str | None = None
) -> Tokenizer:
    """Load a tokenizer from a local folder or by its hub id.

    Raises SetupError, with the next step: folder without tokenizer files, hub not reachable, a tokenizer that brings
    code of its own while `trust_remote_code` is off, transformers needed and not installed.
    """
    files = locate(os.fspath(name_or_folder), revision=revision)
    config_file = files.folder / "tokenizer_config.json"
    config = read_json(config_file) if config_file.is_file() else {}
    fast = files.folder / "tokenizer.json"
    backend: Backend
    if fast.is_file():
        backend = _Fast(fast)
    else:
        if config.get("auto_map") and not trust_remote_code:
            raise SetupError(
                f"tokenizer {files.name} brings code of its own, and remote code is not trusted",
                hint="read that code, then allow it with --trust-remote-code; or use a folder with tokenizer.json",
            )
        backend = _Slow(files, trust_remote_code)
    templates = compile_templates(
        folder_templates(files.folder, config), special_tokens(files.folder, config), where=files.name
    )
    plan = TokenizerPlan(files.name, files.sha256, backend.vocab_size(), trust_remote_code)
    return Tokenizer(plan, TokenizerSpec(str(files.folder), trust_remote_code), backend, templates)
