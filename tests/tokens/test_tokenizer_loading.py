"""Loading tokenizers: names, fingerprints, the hub, remote code (SEC-4), no cutting (TOK-9)."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub.errors import LocalEntryNotFoundError

from wholecurve.model.errors import SetupError
from wholecurve.tokens import Tokenizer, load_tokenizer


def test_plan_has_a_name_and_a_fingerprint_but_no_path(tmp_path: Path, folders: dict[str, Path]) -> None:
    first = load_tokenizer(folders["llama"]).plan
    moved = tmp_path / "llama"
    shutil.copytree(folders["llama"], moved)
    (moved / "model.safetensors").write_bytes(b"weights are not part of a tokenizer")
    (moved / "README.md").write_text("nor is this")
    assert load_tokenizer(str(moved)).plan == first
    assert (first.name, len(first.sha256), first.trust_remote_code) == ("llama", 64, False)
    assert first.vocab_size > 256
    config = json.loads((moved / "tokenizer_config.json").read_text())
    (moved / "tokenizer_config.json").write_text(json.dumps(config | {"chat_template": "other"}))
    assert load_tokenizer(moved).plan.sha256 != first.sha256


def test_folder_of_the_hub_cache_is_named_by_its_id(tmp_path: Path, folders: dict[str, Path]) -> None:
    cached = tmp_path / "models--org--some-model" / "snapshots" / "0123abc"
    shutil.copytree(folders["letters"], cached)
    assert load_tokenizer(cached).plan.name == "org/some-model"


def test_counts_are_of_the_whole_text_and_without_special_tokens(llama: Tokenizer) -> None:
    # TOK-9: the file asks for cutting at 2,048 tokens and padding to 64. TOK-1: it asks for a begin token.
    long = " ".join(["the"] * 10_000)
    assert llama.count(long) == 10_000
    assert llama.count_many([long, "the"]) == [10_000, 1]
    assert [len(ids) for ids in llama.encode_many([long, "the"])] == [10_000, 1]
    assert llama.count("") == 0
    assert llama.count_many([]) == []
    assert llama.encode_many([]) == []


@pytest.mark.parametrize("limit", [2048, 1e30])
def test_model_length_in_the_config_has_no_effect(tmp_path: Path, folders: dict[str, Path], limit: float) -> None:
    # TOK-9
    made = tmp_path / "model"
    shutil.copytree(folders["llama"], made)
    (made / "tokenizer_config.json").write_text(json.dumps({"model_max_length": limit}))
    assert load_tokenizer(made).count(" ".join(["the"] * 10_000)) == 10_000


def test_decode_gives_special_tokens_too(llama: Tokenizer) -> None:
    assert llama.decode([llama.encode("<s>")[0], *llama.encode("the city")]) == "<s>the city"


def test_count_is_length_of_encode(trained: Tokenizer) -> None:
    texts = ["", "a", "héllo ☃\n\n", "<|im_start|>user", " spaces  ", "x" * 500]
    assert trained.count_many(texts) == [trained.count(text) for text in texts]
    assert trained.encode_many(texts) == [trained.encode(text) for text in texts]
    assert [len(trained.encode(text)) for text in texts] == trained.count_many(texts)


def test_folders_that_are_none(tmp_path: Path, folders: dict[str, Path]) -> None:
    with pytest.raises(SetupError, match="a folder that is not there") as caught:
        load_tokenizer(tmp_path / "absent")
    assert caught.value.exit_code == 3
    with pytest.raises(SetupError, match="got a file"):
        load_tokenizer(folders["llama"] / "tokenizer.json")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(SetupError, match="without tokenizer files"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize(
    ("name", "message"), [("tokenizer.json", "cannot be loaded"), ("tokenizer_config.json", "read")]
)
def test_broken_files(tmp_path: Path, folders: dict[str, Path], name: str, message: str) -> None:
    made = tmp_path / "model"
    shutil.copytree(folders["llama"], made)
    (made / name).write_text("{nonsense")
    with pytest.raises(SetupError, match=message) as caught:
        load_tokenizer(made)
    assert name in caught.value.message


def test_remote_code_is_refused_unless_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # SEC-4
    config = {"auto_map": {"AutoTokenizer": ["tokenization_own.Own", None]}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    (tmp_path / "tokenization_own.py").write_text("raise SystemExit('the code ran')")
    monkeypatch.setitem(sys.modules, "transformers", _transformers({}))
    with pytest.raises(SetupError, match="remote code is not trusted") as caught:
        load_tokenizer(tmp_path)
    assert "--trust-remote-code" in caught.value.hint
    assert load_tokenizer(tmp_path, trust_remote_code=True).plan.trust_remote_code is True


def test_code_of_a_folder_is_not_run_where_tokenizer_json_is_enough(tmp_path: Path, folders: dict[str, Path]) -> None:
    # SEC-4
    made = tmp_path / "model"
    shutil.copytree(folders["letters"], made)
    (made / "tokenizer_config.json").write_text(json.dumps({"auto_map": {"AutoTokenizer": ["own.Own", None]}}))
    (made / "own.py").write_text("raise SystemExit('the code ran')")
    assert load_tokenizer(made).count("abc") == 3


class _Words:
    """Stands for a tokenizer of transformers: one token a word."""

    all_special_ids = (2,)

    def __len__(self) -> int:
        return 7

    def encode(self, text: str, *, add_special_tokens: bool, truncation: bool, verbose: bool) -> list[int]:
        assert (add_special_tokens, truncation, verbose) == (False, False, False)
        return [len(word) for word in text.split()]

    def decode(self, ids: list[int], *, skip_special_tokens: bool, clean_up_tokenization_spaces: bool) -> str:
        assert not skip_special_tokens
        assert not clean_up_tokenization_spaces
        return " ".join("x" * size for size in ids)


def _transformers(seen: dict[str, Any], error: Exception | None = None) -> types.ModuleType:
    def from_pretrained(folder: str, **kwargs: Any) -> _Words:
        seen.update(kwargs, folder=folder)
        if error:
            raise error
        return _Words()

    module = types.ModuleType("transformers")
    module.AutoTokenizer = types.SimpleNamespace(from_pretrained=from_pretrained)  # type: ignore[attr-defined]
    return module


def test_transformers_loads_what_has_no_tokenizer_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tokenizer.model").write_bytes(b"sentencepiece")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": "{{ messages[0].content }}!"}))
    seen: dict[str, Any] = {}
    monkeypatch.setitem(sys.modules, "transformers", _transformers(seen))
    found = load_tokenizer(tmp_path)
    assert seen == {"folder": str(tmp_path), "trust_remote_code": False, "local_files_only": True}
    assert found.encode("a bb ccc") == [1, 2, 3]
    assert (found.count("a bb"), found.count_many(["a", "b c"]), found.encode_many(["a b"])) == (2, [1, 2], [[1, 1]])
    assert (found.decode([2, 1]), found.plan.vocab_size) == ("xx x", 7)
    assert (found.is_special(2), found.is_special(1)) == (True, False)
    assert found.render([{"role": "user", "content": "hi"}]) == "hi!"
    monkeypatch.setitem(sys.modules, "transformers", _transformers(seen, ValueError(f"bad {tmp_path}\nmore")))
    with pytest.raises(SetupError, match=f"tokenizer {tmp_path.name} cannot be loaded: bad {tmp_path.name}"):
        load_tokenizer(tmp_path)


def test_transformers_is_named_when_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tokenizer.model").write_bytes(b"sentencepiece")
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(SetupError, match="needs transformers") as caught:
        load_tokenizer(tmp_path)
    assert caught.value.hint == "pip install 'wholecurve[transformers]'"


def test_hub_ids_fetch_only_tokenizer_files(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def snapshot(repo_id: str, *, revision: str | None, allow_patterns: list[str]) -> str:
        seen.update(repo_id=repo_id, revision=revision, patterns=allow_patterns)
        return str(folders["letters"])

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    found = load_tokenizer("org/model-7B", revision="abc")
    assert found.plan.name == "org/model-7B"
    assert (seen["repo_id"], seen["revision"]) == ("org/model-7B", "abc")
    assert "tokenizer.json" in seen["patterns"]
    assert not any("safetensors" in pattern or pattern.endswith(("*.bin", "*")) for pattern in seen["patterns"])
    # Another process loads the files that were fetched, and fetches nothing.
    assert found.spec.source == str(folders["letters"])


class GatedRepoError(Exception):
    pass


class RepositoryNotFoundError(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (LocalEntryNotFoundError("offline"), "hf download org/model --local-dir DIR"),
        (ConnectionError("offline"), "hf download org/model --local-dir DIR"),
        (GatedRepoError("terms"), "HF_TOKEN"),
        (RepositoryNotFoundError("none"), "check the id"),
    ],
)
def test_hub_errors_say_what_to_do(monkeypatch: pytest.MonkeyPatch, error: Exception, hint: str) -> None:
    def snapshot(*_: object, **__: object) -> str:
        raise error

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    with pytest.raises(SetupError, match="org/model could not be fetched") as caught:
        load_tokenizer("org/model")
    assert hint in caught.value.hint


def test_importing_the_package_loads_no_heavy_library() -> None:
    heavy = ["tokenizers", "jinja2", "huggingface_hub", "transformers", "numpy", "multiprocessing.pool"]
    code = f"import sys, wholecurve.tokens; print([name for name in {heavy} if name in sys.modules])"
    path = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=path)
    assert done.stdout == "[]\n"


def test_special_tokens_are_known_as_such(trained: Tokenizer, llama: Tokenizer) -> None:
    for tokenizer, text in ((trained, "<|endoftext|>"), (trained, "<|im_start|>"), (llama, "<s>")):
        (token,) = tokenizer.encode(text)
        assert tokenizer.is_special(token)
    assert not any(trained.is_special(token) for token in trained.encode("A book, 12 pages."))
    assert not trained.is_special(10**9)
