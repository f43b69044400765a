"""Row journals and Parquet: what goes in comes out, and a crash costs no more than the row being written."""

from __future__ import annotations

import io
from array import array
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from wholecurve.metrics import NULL as METRICS_NULL
from wholecurve.model.errors import InputError
from wholecurve.model.record import EVENT_COLUMNS, REQUEST_COLUMNS, RESPONSE_COLUMNS
from wholecurve.records import NULL, NUMBER_NAMES, Row, numbers_of, pack_row, places, read_row
from wholecurve.records.read import read_columns, sent_rows
from wholecurve.records.write import write_parquet


def row(index: int, phase: int = 0, **values: int | None) -> Row:
    numbers = {"index": index, "phase": phase, "sample": index % 3, "issued_ns": 10**15 + index, "reused": index % 2}
    gaps = array("q", [5, 3_000_000_000 + index][: index % 3])
    texts = ("succeeded", None, "naïve \u2028 text", "stop")
    response = (f"text {index}", None, '[{"a":1}]', "te", None)
    return Row(numbers_of(numbers | values), texts, response, gaps)


def journal(folder: Path, number: int, rows: list[Row]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"rows-{number:03d}.journal").write_bytes(b"".join(map(pack_row, rows)))


def test_a_journal_cut_anywhere_gives_its_whole_rows():
    rows = [row(0), row(1), row(2)]
    data = b"".join(map(pack_row, rows))
    ends = [len(pack_row(rows[0])), len(pack_row(rows[0]) + pack_row(rows[1])), len(data)]
    for cut in range(len(data) + 1):
        file = io.BytesIO(data[:cut])
        found = list(places(file))
        assert len(found) == sum(end <= cut for end in ends)
        for place, original in zip(found, rows, strict=False):
            assert read_row(file, place.offset) == original


def test_null_is_the_same_everywhere():
    assert NULL == METRICS_NULL


def test_what_is_written_is_read(tmp_path):
    """Two journals, rows out of order, a doubled row, a missing value, a gap beyond 32 bits, two phases."""
    records = tmp_path / "records"
    journal(records, 0, [row(4), row(1), row(0, phase=1), row(2, usage_output=7)])
    journal(records, 1, [row(3), row(0), row(4)])
    assert write_parquet(records, keep_responses={0, 1}) == 6
    columns = read_columns(records, 0)
    assert columns["index"].tolist() == [0, 1, 2, 3, 4]
    assert columns["issued_ns"].tolist() == [10**15 + index for index in range(5)]
    assert columns["reused"].tolist() == [0, 1, 0, 1, 0]
    assert columns["usage_output"].tolist() == [NULL, NULL, 7, NULL, NULL]
    assert columns.texts["outcome"] == ["succeeded"] * 5
    assert columns.texts["failure"] == [None] * 5
    assert columns.gap_offsets.tolist() == [0, 0, 1, 3, 3, 4]
    assert columns.gaps_ns.tolist() == [5, 5, 3_000_000_002, 5]
    assert read_columns(records, 1)["index"].tolist() == [0]
    assert read_columns(records, 2).n == 0


def test_no_row_at_all(tmp_path):
    records = tmp_path / "records"
    journal(records, 0, [])
    assert write_parquet(records, keep_responses=()) == 0
    assert read_columns(records, 0).n == 0


def test_token_columns_come_from_the_counter(tmp_path):
    records = tmp_path / "records"
    journal(records, 0, [row(0), row(1)])
    write_parquet(records, keep_responses=(), count_tokens=lambda rows: {"osl": [len(rows), None]})
    assert read_columns(records, 0)["osl"].tolist() == [2, NULL]
    assert not (records / "responses.parquet").exists()


def test_every_column_is_in_the_files_with_its_unit_and_meaning(tmp_path):
    records = tmp_path / "records"
    journal(records, 0, [row(0)])
    write_parquet(records, keep_responses={0, 1})
    for name, columns in (("requests", REQUEST_COLUMNS), ("events", EVENT_COLUMNS), ("responses", RESPONSE_COLUMNS)):
        schema = pq.read_schema(records / f"{name}.parquet")
        assert [field.name for field in schema] == [column.name for column in columns]
        for field, column in zip(schema, columns, strict=True):
            assert field.metadata[b"unit"].decode() == column.unit
            assert field.metadata[b"meaning"].decode() == column.meaning
        assert schema.metadata[b"schema"].decode().startswith(f"wholecurve.{name}/")
    assert not list(records.glob("*.part"))


def test_missing_and_damaged_files_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"no requests\.parquet"):
        read_columns(tmp_path / "records", 0)
    records = tmp_path / "run" / "records"
    journal(records, 0, [row(0)])
    write_parquet(records, keep_responses=())
    (records / "events.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(InputError, match=r"events\.parquet cannot be read"):
        read_columns(records, 0)


def test_only_answers_of_the_phases_asked_for_are_kept(tmp_path):
    records = tmp_path / "records"
    journal(records, 0, [row(0), row(1), row(0, phase=1), row(0, phase=2)])
    write_parquet(records, keep_responses={1, 2})
    kept = pq.read_table(records / "responses.parquet").to_pylist()
    assert [(one["phase"], one["index"], one["text"]) for one in kept] == [(1, 0, "text 0"), (2, 0, "text 0")]
    assert pq.read_table(records / "requests.parquet").num_rows == 4


def test_rows_that_were_sent(tmp_path):
    records = tmp_path / "records"
    journal(records, 0, [row(0), row(1), row(2, sample=None), row(4), row(0, phase=1)])
    write_parquet(records, keep_responses=())
    assert sent_rows(records, 0) == [0, 1, 1]
    assert sent_rows(records, 1) == [0]


def test_a_file_without_a_column_is_refused(tmp_path):
    records = tmp_path / "run" / "records"
    journal(records, 0, [row(0)])
    write_parquet(records, keep_responses=())
    path = records / "requests.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["outcome", "osl"]), path)
    with pytest.raises(InputError, match=r"requests\.parquet lacks the columns outcome, osl"):
        read_columns(records, 0)


def test_files_of_two_runs_do_not_mix(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    journal(one, 0, [row(0)])
    journal(two, 0, [row(0), row(1)])
    write_parquet(one, keep_responses=())
    write_parquet(two, keep_responses=())
    (one / "events.parquet").write_bytes((two / "events.parquet").read_bytes())
    with pytest.raises(InputError, match="different requests"):
        read_columns(one, 0)


def test_numbers_are_in_the_order_of_the_columns():
    numbers = numbers_of({"index": 7, "phase": 1})
    assert numbers[NUMBER_NAMES.index("index")] == 7
    assert numbers[NUMBER_NAMES.index("osl")] == NULL
