"""Tokenizers for tests: the trained one of the assets, and small ones of other families, built here."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tokenizers import Tokenizer as FastTokenizer
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from wholecurve.tokens import Tokenizer, load_tokenizer

ASSETS = Path(__file__).parents[1] / "assets"
WORDS = (
    "the of and to in is was for on that with as it be by at from are this which or an were has have not but had "
    "they also one first other new some time two after may most all more there about can been who its their into "
    "would only between during when them out over many through these such where then than well way used city name "
    "state year world great early north south house land water light music school river people family number work"
)
LLAMA_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}[{{ message.role }}]{{ message.content }}</s>{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)


def _llama() -> FastTokenizer:
    """Byte-level BPE that adds a begin token and asks to be cut at 2,048 tokens and padded to 64."""
    built = FastTokenizer(models.BPE())
    built.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    built.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=900,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    built.train_from_iterator([WORDS] * 3, trainer)
    built.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", built.token_to_id("<s>"))]
    )
    built.enable_truncation(2048)
    built.enable_padding(length=64)
    return built


def _wordpiece() -> FastTokenizer:
    """WordPiece, lower case, as BERT's: decoding does not give spaces back as they were."""
    built = FastTokenizer(models.WordPiece(unk_token="[UNK]"))
    built.normalizer = normalizers.BertNormalizer()
    built.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    built.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=500, special_tokens=["[UNK]", "[CLS]"], show_progress=False)
    built.train_from_iterator([WORDS] * 3, trainer)
    built.post_processor = processors.TemplateProcessing(
        single="[CLS] $A", special_tokens=[("[CLS]", built.token_to_id("[CLS]"))]
    )
    return built


def _letters() -> FastTokenizer:
    """One token a byte: no word costs one token."""
    built = FastTokenizer(models.BPE())
    built.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    built.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    built.train_from_iterator(
        ["a"], trainers.BpeTrainer(vocab_size=len(alphabet), initial_alphabet=alphabet, show_progress=False)
    )
    return built


def _unigram() -> FastTokenizer:
    """Unigram with a mark for spaces, as SentencePiece models have."""
    built = FastTokenizer(models.Unigram())
    built.pre_tokenizer = pre_tokenizers.Metaspace()
    built.decoder = decoders.Metaspace()
    built.train_from_iterator(
        [WORDS] * 3,
        trainers.UnigramTrainer(
            vocab_size=160, special_tokens=["<unk>", "<s>"], unk_token="<unk>", show_progress=False
        ),
    )
    return built


BUILDERS: dict[str, Callable[[], FastTokenizer]] = {
    "llama": _llama,
    "wordpiece": _wordpiece,
    "letters": _letters,
    "unigram": _unigram,
}


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder per tokenizer, as it would be downloaded."""
    found = {}
    for name, build in BUILDERS.items():
        found[name] = tmp_path_factory.mktemp("tokenizers") / name
        found[name].mkdir()
        build().save(str(found[name] / "tokenizer.json"))
    config = {
        "bos_token": {"content": "<s>", "special": True},
        "eos_token": "</s>",
        "pad_token": None,
        "model_max_length": 2048,
        "chat_template": LLAMA_TEMPLATE,
    }
    (found["llama"] / "tokenizer_config.json").write_text(json.dumps(config))
    return found


@pytest.fixture(scope="session")
def trained() -> Tokenizer:
    """The tokenizer of the small trained model: reasoning, tools and a template."""
    return load_tokenizer(ASSETS / "tokenizer")


@pytest.fixture(scope="session")
def llama(folders: dict[str, Path]) -> Tokenizer:
    return load_tokenizer(folders["llama"])
