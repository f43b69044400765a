"""Where a tokenizer's files are: a local folder, or the hub's cache after fetching only tokenizer files."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from wholecurve.model.errors import SetupError

# Everything a tokenizer is made of; weights and readme files are neither fetched nor part of the fingerprint.
TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
    "chat_template.json",
    "additional_chat_templates/*.jinja",
    "special_tokens_map.json",
    "added_tokens.json",
    "tokenizer.model",
    "*.tiktoken",
    "tekken.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "spiece.model",
    "sentencepiece*.model",
    "tokenization_*.py",
)
# Fetched beside them because loading through transformers looks into it; it does not change a count.
CONFIG_FILE = "config.json"

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?\Z")
_CACHED = re.compile(r"models--(.+)\Z")


@dataclass(frozen=True, slots=True)
class TokenizerFiles:
    """A folder with tokenizer files: how it is named in results (never a path of this machine), and its SHA-256."""

    folder: Path
    name: str
    sha256: str


def locate(name_or_folder: str, *, revision: str | None = None) -> TokenizerFiles:
    """Find a tokenizer. An existing folder goes before a hub id of the same spelling. Raises SetupError."""
    folder = Path(name_or_folder).expanduser()
    if folder.is_dir():
        return _checked(folder, _folder_name(folder))
    if folder.exists():
        raise SetupError("wanted a tokenizer folder, got a file", where=name_or_folder, hint="name the folder it is in")
    if not _HUB_ID.match(name_or_folder):
        raise SetupError("wanted a tokenizer folder or a hub id, got a folder that is not there", where=name_or_folder)
    return _checked(_fetched(name_or_folder, revision), name_or_folder)


def _checked(folder: Path, name: str) -> TokenizerFiles:
    found = tokenizer_files(folder)
    if not found:
        raise SetupError(
            f"wanted a tokenizer, got a folder without tokenizer files: {name}",
            where=str(folder),
            hint="it needs tokenizer.json (and tokenizer_config.json or chat_template.jinja for chats)",
        )
    return TokenizerFiles(folder, name, _fingerprint(folder, found))


def tokenizer_files(folder: Path) -> list[str]:
    """Names of the tokenizer's files in a folder, sorted, relative to it."""
    names = [path.relative_to(folder).as_posix() for path in (*folder.glob("*"), *folder.glob("additional_*/*"))]
    return sorted(name for name in names if any(fnmatch(name, pattern) for pattern in TOKENIZER_FILES))


def _fingerprint(folder: Path, names: list[str]) -> str:
    """SHA-256 over name and content hash of each file, so that neither a move nor a copy changes it."""
    whole = hashlib.sha256()
    for name in names:
        with (folder / name).open("rb") as stream:
            whole.update(f"{name}\0{hashlib.file_digest(stream, 'sha256').hexdigest()}\n".encode())
    return whole.hexdigest()


def _folder_name(folder: Path) -> str:
    """The folder's own name; for a folder of the hub's cache the hub id."""
    real = folder.absolute()
    if real.parent.name == "snapshots" and (cached := _CACHED.match(real.parent.parent.name)):
        return cached.group(1).replace("--", "/")
    return real.name or "tokenizer"


def _fetched(hub_id: str, revision: str | None) -> Path:
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise SetupError(
            f"fetching tokenizer {hub_id} needs huggingface_hub", hint="pip install huggingface_hub, or name a folder"
        ) from None
    try:
        return Path(snapshot_download(hub_id, revision=revision, allow_patterns=[*TOKENIZER_FILES, CONFIG_FILE]))
    except Exception as error:  # noqa: BLE001 - connection, missing repository, gate: all end here, told by name
        raise SetupError(
            f"tokenizer {hub_id} could not be fetched from the hub ({type(error).__name__})",
            hint=_next_step(type(error).__name__, hub_id),
        ) from None


def _next_step(kind: str, hub_id: str) -> str:
    if kind == "GatedRepoError":
        return "it is gated: accept its terms on the hub and set HF_TOKEN, or name a local folder"
    if kind in ("RepositoryNotFoundError", "RevisionNotFoundError", "HFValidationError"):
        return "check the id and the revision (private ones need HF_TOKEN), or name a local folder"
    return f"where there is network: hf download {hub_id} --local-dir DIR; then name that folder: --tokenizer DIR"
