"""Expected answers beside the samples: read from every format, never sent, refused where they are missing."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from wholecurve.datasets import FORMATS, load
from wholecurve.datasets.rows import expected_answer
from wholecurve.model.errors import InputError

ROWS = [{"prompt": "one and one", "answer": "2"}, {"prompt": "capital", "answer": "Paris", "topic": "places"}]


def rows_file(folder: Path, rows: list[Any], name: str = "quiz.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_answers_go_along_with_their_rows_and_are_not_sent(tmp_path: Path) -> None:
    loaded = load(rows_file(tmp_path, ROWS), answer="answer")
    assert loaded.answers == ("2", "Paris")
    assert [sample.prompt for sample in loaded.samples] == ["one and one", "capital"]
    assert all(not sample.body for sample in loaded.samples)
    assert "expected answers: column answer" in loaded.notes
    assert "columns not used: topic" in loaded.notes


def test_without_a_column_of_answers_nothing_changes(tmp_path: Path) -> None:
    loaded = load(rows_file(tmp_path, ROWS))
    assert loaded.answers == ()
    assert loaded.plan == load(rows_file(tmp_path, ROWS), answer="answer").plan


@pytest.mark.parametrize("suffix", [".json", ".csv", ".parquet"])
def test_every_format_gives_the_same_answers(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"quiz{suffix}"
    if suffix == ".json":
        path.write_text(json.dumps(ROWS))
    elif suffix == ".csv":
        path.write_text("prompt,answer\none and one,2\ncapital,Paris\n")
    else:
        pq.write_table(pa.table({"prompt": ["one and one", "capital"], "answer": ["2", "Paris"]}), path)
    assert load(path, answer="answer").answers == ("2", "Paris")
    assert {".jsonl", ".json", ".csv", ".parquet"} <= set(FORMATS)


def test_a_column_named_like_a_prompt_may_hold_the_answers(tmp_path: Path) -> None:
    loaded = load(rows_file(tmp_path, [{"question": "capital", "text": "Paris"}]), answer="text")
    assert loaded.samples[0].prompt == "capital"
    assert loaded.answers == ("Paris",)


def test_a_column_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        load(rows_file(tmp_path, ROWS), answer="anwser")
    assert "'anwser'" in str(error.value)
    assert "did you mean 'answer'?" in str(error.value)


@pytest.mark.parametrize("value", [None, "", "  ", [], ["a"], {"a": 1}])
def test_a_row_without_an_answer_is_refused_with_its_line(tmp_path: Path, value: Any) -> None:
    path = rows_file(tmp_path, [*ROWS, {"prompt": "third", "answer": value}])
    with pytest.raises(InputError) as error:
        load(path, answer="answer")
    assert "line 3" in str(error.value)
    assert "column 'answer'" in str(error.value)
    with pytest.raises(InputError, match="nothing"):
        load(rows_file(tmp_path, [ROWS[0], {"prompt": "no answer"}]), answer="answer")


def test_bad_rows_that_are_skipped_keep_answers_and_samples_together(tmp_path: Path) -> None:
    path = rows_file(tmp_path, [{"prompt": "a"}, {"prompt": "", "answer": "x"}, *ROWS])
    loaded = load(path, answer="answer", skip_bad_rows=True)
    assert loaded.plan.skipped_rows == (1, 2)
    assert [(sample.row, sample.prompt) for sample in loaded.samples] == [(0, "one and one"), (1, "capital")]
    assert loaded.answers == ("2", "Paris")


@pytest.mark.parametrize(
    ("value", "text"), [(2, "2"), (3.0, "3"), (-0.5, "-0.5"), (1e300, "1e+300"), (True, "true"), (" x ", " x ")]
)
def test_numbers_become_text(value: Any, text: str) -> None:
    assert expected_answer({"answer": value}, "answer") == text


def test_a_number_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="nan"):
        expected_answer({"answer": float("nan")}, "answer")
