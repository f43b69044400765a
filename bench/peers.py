"""Installs the peers, each in a virtual environment of its own, and makes the tokenizer that they all are given.

They are tools of others, measured as their authors publish them; nothing of them is part of wholecurve.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

WORDS = ("alpha", "bravo", "delta", "hotel", "india", "kappa", "lemon", "mango")
WORDS += ("north", "ocean", "piano", "quiet", "river", "stone", "tiger", "water")
UNKNOWN, END = "<|unknown|>", "<|end|>"


@dataclass(frozen=True, slots=True)
class Peer:
    """A package, its exact version, the newest Python it installs on (major, minor) and its command."""

    name: str
    version: str
    python: tuple[int, int]
    command: str


PEERS = {
    "aiperf": Peer("aiperf", "0.13.0", (3, 12), "aiperf"),
    "inference-perf": Peer("inference-perf", "0.7.0", (3, 13), "inference-perf"),
}


def cache_dir() -> Path:
    """Where peers and their tokenizer are kept: $WHOLECURVE_BENCH, else ~/.cache/wholecurve-bench."""
    named = os.environ.get("WHOLECURVE_BENCH")
    return Path(named) if named else Path.home() / ".cache" / "wholecurve-bench"


def find_python(version: tuple[int, int]) -> str:
    """An interpreter of that version: on the path, or among those that pyenv keeps."""
    name = f"python{version[0]}.{version[1]}"
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [*map(str, sorted(pyenv.glob(f"{version[0]}.{version[1]}*/bin/{name}"))), shutil.which(name)]
    for candidate in candidates:
        if (
            candidate
            and subprocess.run([candidate, "-c", "import venv, ensurepip"], capture_output=True).returncode == 0
        ):
            return candidate
    raise RuntimeError(f"{name} is needed for this peer and was not found on the path or in {pyenv}")


def ensure(peer: Peer) -> Path:
    """The peer's command, installed when it is not there yet. Raises `RuntimeError` with pip's last lines."""
    venv = cache_dir() / f"{peer.name}-{peer.version}"
    command = venv / "bin" / peer.command
    if command.exists():
        return command
    print(f"installing {peer.name} {peer.version} (minutes)", flush=True)
    subprocess.run([find_python(peer.python), "-m", "venv", "--clear", str(venv)], check=True)
    pip = [str(venv / "bin" / "pip"), "install", "-q", "--disable-pip-version-check"]
    done = subprocess.run([*pip, f"{peer.name}=={peer.version}"], capture_output=True, text=True)
    if done.returncode or not command.exists():
        shutil.rmtree(venv)
        raise RuntimeError(f"{peer.name} {peer.version} did not install:\n" + "\n".join(done.stderr.splitlines()[-15:]))
    return command


def tokenizer_dir() -> Path:
    """A tokenizer of whole words in which each of the server's words is one token.

    No hub is asked. Two thousand further words let peers make random prompts of an exact number of tokens.
    """
    folder = cache_dir() / "tokenizer-words"
    if not (folder / "tokenizer_config.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        words = [UNKNOWN, END, *WORDS, *(f"w{number}" for number in range(2000))]
        tokenizer = Tokenizer(WordLevel({word: place for place, word in enumerate(words)}, unk_token=UNKNOWN))
        tokenizer.pre_tokenizer = WhitespaceSplit()
        tokenizer.add_special_tokens([UNKNOWN, END])
        tokenizer.save(str(folder / "tokenizer.json"))
        template = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
        config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END, "unk_token": UNKNOWN}
        config |= {"model_max_length": 1 << 20, "chat_template": template}
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder
