"""The salt of a request: 64 bits from word, phase and index; rows that cannot take one; rows of token ids."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from config_cases import BASE, Run, settings

from wholecurve import datasets
from wholecurve.config import Resolved, resolve, salt_of
from wholecurve.model.errors import InputError
from wholecurve.run.outgoing import Outgoing
from wholecurve.tokens import Tokenizer, load_tokenizer

ASSETS = Path(__file__).parents[1] / "assets"
COMPLETIONS = BASE.replace("model: m", "model: m, dialect: openai-completions")
SALTED = COMPLETIONS.replace("concurrency: 4", "concurrency: 4, salt: w")


@pytest.fixture(scope="session")
def trained() -> Tokenizer:
    return load_tokenizer(ASSETS / "tokenizer")


def test_a_salt_is_16_hex_digits_of_word_phase_and_index() -> None:
    # sha256 of the text w/1/5, taken with another tool: printf w/1/5 | sha256sum
    assert salt_of("w", 1, 5) == "6a70b9902eebbd48"
    places = [(word, phase, index) for word in ("w", "w/1", "") for phase in range(3) for index in range(2000)]
    salts = {salt_of(*place) for place in places}
    assert len(salts) == len(places)
    assert all(len(salt) == 16 and set(salt) <= set("0123456789abcdef") for salt in salts)


def with_ids(rows: list[list[int]], prompts: Path, tokenizer: Tokenizer | None, text: str = SALTED) -> Resolved:
    prompts.write_text("".join(json.dumps({"input_ids": row}) + "\n" for row in rows))
    wanted = settings(text + ("tokenizer: {path: t}\n" if tokenizer else ""))
    return resolve(wanted, environ={}, read_dataset=datasets.load, load_tokenizer=lambda path, **_: tokenizer, cores=2)  # type: ignore[arg-type, return-value]


def ids_of(made: Resolved, index: int, row: int) -> list[int]:
    outgoing = Outgoing(made.plan, made.secrets, made.salting)
    sample = made.conversations["prompts"][row].turns[0].sample
    data, _ = outgoing.request(sample, (0, index))
    return json.loads(data.partition(b"\r\n\r\n")[2])["prompt"]  # type: ignore[no-any-return]


def test_token_ids_take_the_salt_after_what_all_rows_begin_with(prompts: Path, trained: Tokenizer) -> None:
    shared = trained.encode("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n")
    rows = [[*shared, *trained.encode(text)] for text in ("alpha one", "beta two", "gamma three")]
    made = with_ids(rows, prompts, trained)
    assert [list(c.turns[0].sample.input_ids or ()) for c in made.conversations["prompts"]] == rows
    first, second = ids_of(made, 0, 1), ids_of(made, 7, 1)
    line = trained.encode(f"[{salt_of('w', 0, 0)}]\n")
    assert first == [*shared, *line, *rows[1][len(shared) :]]
    assert second[: len(shared)] == shared
    assert second != first
    assert trained.decode(second) == (
        f"<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n[{salt_of('w', 0, 7)}]\nbeta two"
    )


BOS = 1527
PLACES = [
    # rows, place
    ([[BOS, 5, 6, 7]], 1),
    ([[5, 6, 7]], 0),
    ([[BOS, 5], [BOS, 5]], 1),
    ([[5, 6], [5, 6, 7]], 0),  # nothing of the first row would be left after what both begin with
    ([[BOS, 5, 6], [BOS, 5, 7]], 2),
    ([[5, 6], [7, 8]], 0),
]


@pytest.mark.parametrize(("rows", "place"), PLACES)
def test_where_the_salt_of_token_ids_goes(rows: list[list[int]], place: int, prompts: Path, trained: Tokenizer) -> None:
    assert trained.is_special(BOS)
    assert not trained.is_special(5)
    made = with_ids(rows, prompts, trained)
    for number, row in enumerate(rows):
        line = trained.encode(f"[{salt_of('w', 0, number)}]\n")
        assert ids_of(made, number, number) == [*row[:place], *line, *row[place:]]


def test_wrm_4_token_ids_without_a_tokenizer_are_refused_with_row_and_remedy(prompts: Path) -> None:
    with pytest.raises(InputError) as caught:
        with_ids([[1, 2], [3, 4]], prompts, None)
    assert "row 0 cannot take a salt: it has token ids, and no tokenizer is given" in caught.value.message
    assert caught.value.where == "row 0"
    assert "leave load.salt out" in caught.value.hint
    assert "--tokenizer" in caught.value.hint


def test_a_tokenizer_that_makes_all_salts_alike_is_refused(prompts: Path, trained: Tokenizer) -> None:
    """A salt that changes no token of the stream would silently measure the cache."""

    class Blind:
        plan = trained.plan

        def encode(self, text: str) -> list[int]:
            return [3] * len(text.split())

        def decode(self, ids: list[int]) -> str:
            return "?" * len(ids)

        def is_special(self, token: int) -> bool:
            return False

    with pytest.raises(InputError, match="the same token ids of different salts"):
        with_ids([[1, 2], [3, 4]], prompts, Blind())  # type: ignore[arg-type]


def test_rows_are_left_as_they_were_read_and_the_plan_says_that_they_are_salted(run: Run) -> None:
    made = run(BASE.replace("concurrency: 4", "concurrency: 4, salt: w"))
    assert [c.turns[0].sample.prompt for c in made.conversations["prompts"]] == ["one", "two", "three"]
    assert made.salting == {}
    (note,) = [note for note in made.plan.notes if "salted" in note]
    assert note == (
        "performance requests are salted: 64 bits each, from the word 'w', the phase and the place in the issue order"
    )
    assert not any("salted" in note for note in run(BASE).plan.notes)
    assert not any(salt_of("w", 0, index) in json.dumps(made.plan.to_json()) for index in range(100))
