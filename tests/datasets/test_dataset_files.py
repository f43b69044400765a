"""Loading data sets from disk: formats, columns, refusals (DAT-1, DAT-6, DAT-7, DAT-8, SEC-4)."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from wholecurve.datasets import FORMATS, TARGETS, load
from wholecurve.model.errors import InputError

USER = {"role": "user", "content": "hi"}


def written(folder: Path, name: str, data: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def lines(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_jsonl_with_fingerprint_and_row_count(tmp_path: Path) -> None:
    # DAT-6: content hash and rows are recorded, and no path.
    data = lines({"prompt": "a"}, {"prompt": "b"})
    path = written(tmp_path, "two.jsonl", data)
    found = load(path)
    assert [sample.prompt for sample in found.samples] == ["a", "b"]
    assert [sample.row for sample in found.samples] == [0, 1]
    assert found.plan.sha256 == hashlib.sha256(data.encode()).hexdigest()
    assert (found.plan.name, found.plan.file, found.plan.rows) == ("two", "two.jsonl", 2)
    assert load(written(tmp_path, "other.jsonl", data + lines({"prompt": "c"}))).plan.sha256 != found.plan.sha256


def in_format(folder: Path, suffix: str, records: list[dict[str, object]]) -> Path:
    path = folder / f"set{suffix}"
    if suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(records), path)
    elif suffix == ".json":
        path.write_text(json.dumps(records))
    elif suffix == ".csv":
        names = list(records[0])
        cells = [",".join('"' + str(r[n]).replace('"', '""') + '"' for n in names) for r in records]
        path.write_text("\n".join([",".join(names), *cells]))
    elif suffix == ".jsonl.gz":
        path.write_bytes(gzip.compress(lines(*records).encode()))
    else:
        path.write_text(lines(*records))
    return path


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_gives_the_same_samples(tmp_path: Path, suffix: str) -> None:
    records: list[dict[str, object]] = [
        {"question": 'say "x",\nplease', "system_prompt": "be brief", "max_tokens": 7, "temperature": 0.5, "id": "p"},
        {"question": "ünï ☃", "system_prompt": "be long", "max_tokens": 9, "temperature": 1.0, "id": "q"},
    ]
    found = load(in_format(tmp_path, suffix, records))
    assert [s.prompt for s in found.samples] == [r["question"] for r in records]
    assert [s.system for s in found.samples] == ["be brief", "be long"]
    assert [s.body for s in found.samples] == [
        {"max_tokens": 7, "temperature": 0.5},
        {"max_tokens": 9, "temperature": 1.0},
    ]
    assert "columns not used: id" in found.notes
    assert load(in_format(tmp_path, suffix, records), limit=1).plan.rows == 1


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_messages_and_tools_as_json_text(tmp_path: Path, suffix: str) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
    record: dict[str, object] = {"messages": json.dumps([USER]), "tools": json.dumps([tool])}
    (sample,) = load(in_format(tmp_path, suffix, [record])).samples
    assert sample.messages == (USER,)
    assert sample.tools == (tool,)


def test_parquet_structs_lose_only_filled_nulls(tmp_path: Path) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    rows = [
        {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": None, "tool_calls": [call]}]},
        {"messages": [{"role": "user", "content": "y"}]},
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "m.parquet")
    found = load(tmp_path / "m.parquet")
    assert found.samples[0].messages == tuple(rows[0]["messages"])
    assert found.samples[1].messages == ({"role": "user", "content": "y"},)


def test_parquet_reads_only_used_columns(tmp_path: Path) -> None:
    table = pa.table({"prompt": ["a"], "blob": [b"\xff" * 10], "when": [0]})
    pq.write_table(table, tmp_path / "p.parquet")
    assert load(tmp_path / "p.parquet").notes == ("columns used: prompt", "columns not used: blob, when")


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_every_name_of_every_target(tmp_path: Path, target: object) -> None:
    values = {
        "prompt": "p", "messages": [USER], "input_ids": [1, 2], "system": "s", "tools": [{"type": "function"}],
        "image": "https://x.test/a.png", "max_tokens": 7, "min_tokens": 1, "temperature": 0.5, "top_p": 0.9, "top_k": 4,
        "min_p": 0.1, "seed": 3, "stop": ["x"], "stop_token_ids": [5], "ignore_eos": True, "presence_penalty": 0.1,
        "frequency_penalty": 0.2, "repetition_penalty": 1.1, "logit_bias": {"5": 1}, "tool_choice": "auto",
        "response_format": {"type": "json_object"}, "reasoning_effort": "low",
        "chat_template_kwargs": {"enable_thinking": True},
    }  # fmt: skip
    for name in (target.name, *target.names):
        record = {name: values[target.name]} | ({} if target.kind == "input" else {"prompt": "p"})
        (sample,) = load(written(tmp_path, "t.jsonl", lines(record))).samples
        if target.kind == "body":
            found = sample.body[target.name]
        elif target.name == "image":
            assert sample.messages is not None
            found = sample.messages[0]["content"][1]["image_url"]["url"]
        else:
            found = getattr(sample, target.name)
        assert (list(found) if isinstance(found, tuple) else found) == values[target.name]


def test_row_limits_reach_the_body_and_only_where_given(tmp_path: Path) -> None:
    # DAT-8
    found = load(written(tmp_path, "t.jsonl", lines({"prompt": "a", "max_tokens": 7}, {"prompt": "b"})))
    assert [sample.body for sample in found.samples] == [{"max_tokens": 7}, {}]


def test_no_usable_column_is_refused_with_both_lists(tmp_path: Path) -> None:
    # DAT-1
    with pytest.raises(InputError) as caught:
        load(written(tmp_path, "t.jsonl", lines({"dialog": "hi"})))
    assert caught.value.exit_code == 2
    assert "found 'dialog'" in caught.value.message
    for name in ("messages", "prompt", "input_ids", "question", "conversations", "prompt_token_ids"):
        assert repr(name) in caught.value.message
    with pytest.raises(InputError, match="no column"):
        load(written(tmp_path, "t.jsonl", lines({"dialog": "hi"})), skip_bad_rows=True)


def test_mapping_given_by_the_user(tmp_path: Path) -> None:
    path = written(tmp_path, "t.jsonl", lines({"dialog": "hi", "question": "q", "n": 3}))
    (sample,) = load(path, columns={"prompt": "dialog", "max_new_tokens": "n"}).samples
    assert (sample.prompt, sample.body) == ("hi", {"max_tokens": 3})
    # The reference client's word for the target.
    assert load(path, columns={"input": "dialog"}).samples[0].prompt == "hi"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"prompt": "nope"}, "column 'nope', mapped to 'prompt', is not in the file; found 'question', 'query'"),
        ({"answer": "question"}, "cannot map a column to 'answer'"),
        ({"prompt": "question", "input": "query"}, "two columns are mapped to 'prompt'"),
        (None, "columns 'question', 'query' all mean 'prompt'"),
    ],
)
def test_mapping_refusals(tmp_path: Path, columns: dict[str, str] | None, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load(written(tmp_path, "t.jsonl", lines({"question": "a", "query": "b"})), columns=columns)
    assert message in caught.value.message


def test_own_name_goes_before_other_names(tmp_path: Path) -> None:
    assert load(written(tmp_path, "t.jsonl", lines({"question": "a", "prompt": "b"}))).samples[0].prompt == "b"


def test_several_inputs_in_a_row(tmp_path: Path) -> None:
    records = lines({"prompt": "a", "input_tokens": [1]}, {"prompt": None, "input_tokens": [2]})
    path = written(tmp_path, "t.jsonl", records)
    first, second = load(path).samples
    assert (first.prompt, first.input_ids) == ("a", None)
    assert (second.prompt, second.input_ids) == (None, (2,))
    assert load(path, prefer="input_ids").samples[0].input_ids == (1,)
    assert any("input_ids, else prompt" in note for note in load(path, prefer="input_ids").notes)


def test_malformed_rows(tmp_path: Path) -> None:
    # DAT-7
    path = written(tmp_path, "t.jsonl", '{"prompt": "a"}\n{"prompt": \n{"x": 1}\n{"prompt": "d"}\n')
    with pytest.raises(InputError) as caught:
        load(path)
    assert "not JSON" in caught.value.message
    assert caught.value.where == f"{path}, line 2"
    found = load(path, skip_bad_rows=True)
    assert [(s.row, s.prompt) for s in found.samples] == [(0, "a"), (1, "d")]
    assert (found.plan.rows, found.plan.skipped_rows) == (2, (2, 3))
    assert "2 bad rows skipped: line 2, 3" in found.notes


BAD_RECORDS = [
    ({"prompt": ""}, "column 'prompt', got nothing"),
    ({"prompt": "  "}, "empty prompt"),
    ({"prompt": 5}, "column 'prompt': wanted text, got 5"),
    ({"prompt": ["a"]}, "got a list of 1"),
    (["a"], "wanted an object, got a list of 1"),
    ({"prompt": "a", "max_tokens": 0}, "column 'max_tokens': wanted a whole number of at least 1, got 0"),
    ({"prompt": "a", "max_tokens": 1.5}, "got 1.5"),
    ({"prompt": "a", "max_tokens": True}, "got true"),
    ({"prompt": "a", "max_tokens": "many"}, "got 'many'"),
    ({"prompt": "a", "temperature": "nan"}, "column 'temperature': wanted a number of at least 0, got 'nan'"),
    ({"prompt": "a", "top_p": 2}, "wanted a number from 0 to 1, got 2"),
    ({"prompt": "a", "stop": 4}, "wanted a stop string"),
    ({"prompt": "a", "ignore_eos": 1}, "wanted true or false, got 1"),
    ({"prompt": "a", "logit_bias": [1]}, "wanted an object, got a list of 1"),
    ({"prompt": "a", "tools": {"name": "f"}}, "wanted a list of tool objects"),
    ({"prompt": "a", "image": "cat.png"}, "wanted an image as an http(s) URL or a data:image/ URL"),
    ({"prompt": "a", "image": []}, "got an empty list"),
    ({"messages": []}, "wanted a list of messages, got a list of 0"),
    ({"messages": "hello"}, "not JSON"),
    ({"messages": ["a"]}, "wanted an object as message 0"),
    ({"messages": [{"role": "bot", "content": "x"}]}, "role of message 0, got 'bot'"),
    ({"messages": [{"content": "x"}]}, "role of message 0, got nothing"),
    ({"messages": [USER, {"role": "user", "content": ""}]}, "wanted content in message 1 (user)"),
    ({"messages": [{"role": "user"}]}, "content of message 0, got nothing"),
    ({"messages": [{"role": "user", "content": [{"text": "x"}]}]}, "parts with a 'type'"),
    ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "wanted text in the text part"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}, "image"),
    ({"conversations": [{"from": "bing", "value": "x"}]}, "as 'from' of message 0, got 'bing'"),
    ({"conversations": [{"from": "gpt", "value": "x"}]}, "got answers only"),
    ({"input_ids": []}, "wanted a list of token ids, got a list of 0"),
    ({"input_ids": [1, -2]}, "at position 1, got -2"),
    ({"input_ids": [1, True]}, "at position 1, got true"),
    ({"input_ids": [1], "system": "s"}, "cannot go along with token ids"),
]


@pytest.mark.parametrize(("record", "message"), BAD_RECORDS)
def test_bad_rows_name_line_column_and_what_was_wanted(tmp_path: Path, record: object, message: str) -> None:
    path = written(tmp_path, "t.jsonl", lines({"prompt": "good"}) + lines(record))
    with pytest.raises(InputError) as caught:
        load(path)
    assert message in caught.value.message
    assert caught.value.where.endswith("t.jsonl, line 2")
    assert "--skip-bad-rows" in caught.value.hint
    found = load(path, skip_bad_rows=True)
    assert (found.plan.rows, found.plan.skipped_rows) == (1, (2,))


def test_no_good_row_at_all(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none of 2 rows can be sent"):
        load(written(tmp_path, "t.jsonl", lines({"prompt": ""}, {"prompt": 1})), skip_bad_rows=True)


def test_messages_never_repeat_a_prompt(tmp_path: Path) -> None:
    # SEC-5
    secret = "the patient is called Nobody and lives nowhere"
    for record in ({"input_ids": secret}, {"messages": secret}, {"prompt": [secret]}, {"prompt": "a", "image": secret}):
        with pytest.raises(InputError) as caught:
            load(written(tmp_path, "t.jsonl", lines(record)))
        assert "patient" not in str(caught.value)


def test_conversations_become_messages_without_the_closing_answer(tmp_path: Path) -> None:
    turns = [("system", "s"), ("human", "q1"), ("gpt", "a1"), ("human", "q2"), ("gpt", "a2")]
    record = {"conversations": [{"from": who, "value": text} for who, text in turns]}
    (sample,) = load(written(tmp_path, "t.jsonl", lines(record))).samples
    assert sample.messages is not None
    assert [(m["role"], m["content"]) for m in sample.messages] == [
        ("system", "s"),
        ("user", "q1"),
        ("assistant", "a1"),
        ("user", "q2"),
    ]


def test_images_and_system_text(tmp_path: Path) -> None:
    url = "data:image/png;base64,AAAA"
    records = lines(
        {"prompt": "what is it", "system": "s", "image": [url, {"url": "https://x.test/b.jpg"}]},
        {"messages": [USER, {"role": "assistant", "content": "yes"}, USER], "system": "s", "image": url},
    )
    first, second = load(written(tmp_path, "t.jsonl", records), columns={"image": "image"}).samples
    assert first.messages == (
        {"role": "system", "content": "s"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "what is it"},
                {"type": "image_url", "image_url": {"url": url}},
                {"type": "image_url", "image_url": {"url": "https://x.test/b.jpg"}},
            ],
        },
    )
    assert first.system is None
    assert second.messages is not None
    assert second.messages[1] == USER
    assert second.messages[3]["content"][1] == {"type": "image_url", "image_url": {"url": url}}


REFUSED_FILES = [
    ("empty.jsonl", b"", "got an empty file"),
    ("blank.jsonl", b"\n  \n", "got an empty file"),
    ("empty.json", b"", "got an empty file"),
    ("none.json", b"[]", "got an empty file"),
    ("empty.csv", b"", "got an empty file"),
    ("header.csv", b"prompt\n", "got an empty file"),
    ("empty.parquet", b"", "unreadable"),
    ("broken.parquet", b"PAR1nonsensePAR1", "unreadable"),
    ("object.json", b'{"prompt": "a"}', "wanted a JSON list of objects, got an object with 1 keys"),
    ("broken.json", b'[{"prompt": ]', "not JSON"),
    ("lines.json", b'{"prompt": "a"}\n{"prompt": "b"}\n', "not JSON"),
    ("nan.jsonl", b'{"prompt": "a", "temperature": NaN}', "not JSON"),
    ("latin.jsonl", b'{"prompt": "a"}\n{"prompt": "caf\xe9"}\n', "byte 0xe9 at position 31"),
    ("latin.json", b'[{"prompt": "caf\xe9"}]', "byte 0xe9 at position 16"),
    ("latin.csv", b"prompt\ncaf\xe9\n", "byte 0xe9 at position 10"),
    ("wide.jsonl", '{"prompt": "a"}'.encode("utf-16"), "got UTF-16"),
    ("wide.csv", "prompt\na".encode("utf-16"), "got UTF-16"),
    ("quote.csv", b'prompt\n"a\n', "broken one"),
    ("double.csv", b"prompt,prompt\na,b\n", "column 'prompt' is there 2 times"),
    ("short.csv", b"prompt,seed\na\n", "wanted 2 fields as in the header, got 1"),
    # Without a time in it: the content is part of the test's name, which has to be the same in every process.
    ("cut.jsonl.gz", gzip.compress(b'{"prompt": "a"}\n' * 50, mtime=0)[:-20], "damaged or shortened"),
    ("plain.jsonl.gz", b'{"prompt": "a"}\n', "damaged or shortened"),
    ("set.txt", b"hello\n", "got suffix '.txt'"),
    ("set", b"hello\n", "a name without suffix"),
]


@pytest.mark.parametrize(("name", "data", "message"), REFUSED_FILES)
def test_refused_files(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load(written(tmp_path, name, data))
    assert message in caught.value.message
    assert name in caught.value.where


def test_other_encodings_are_refused_even_when_bad_rows_are_skipped(tmp_path: Path) -> None:
    path = written(tmp_path, "t.jsonl", b'{"prompt": "a"}\n{"prompt": "caf\xe9"}\n')
    with pytest.raises(InputError, match="position 31"):
        load(path, skip_bad_rows=True)


@pytest.mark.parametrize("name", ["set.pkl", "set.pickle", "set.pt", "set.npy", "set.PKL"])
@pytest.mark.parametrize("named", [None, "jsonl"])
def test_files_that_run_code_are_refused_and_not_opened(tmp_path: Path, name: str, named: str | None) -> None:
    # SEC-4: unpickling this file would raise.
    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return exec, ("raise SystemExit('the file ran')",)

    with pytest.raises(InputError, match="can run code"):
        load(written(tmp_path, name, pickle.dumps(Trap())), format=named)


def test_paths_that_are_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        load(tmp_path / "absent.jsonl")
    with pytest.raises(InputError, match="got a folder"):
        load(tmp_path)
    with pytest.raises(InputError, match="device"):
        load("/dev/null", format="jsonl")


def test_format_can_be_named(tmp_path: Path) -> None:
    path = written(tmp_path, "data.txt", lines({"prompt": "a"}))
    assert load(path, format="jsonl").plan.rows == 1
    assert load(path, format=".JSONL").plan.rows == 1
    with pytest.raises(InputError, match="got format 'huggingface'"):
        load(path, format="huggingface")


@pytest.mark.parametrize("name", ["t.jsonl", "t.json", "t.csv"])
def test_byte_order_mark_is_taken(tmp_path: Path, name: str) -> None:
    body = {"t.jsonl": '{"prompt": "a"}', "t.json": '[{"prompt": "a"}]', "t.csv": "prompt\na\n"}[name]
    assert load(written(tmp_path, name, b"\xef\xbb\xbf" + body.encode())).samples[0].prompt == "a"


def test_limit(tmp_path: Path) -> None:
    path = written(tmp_path, "t.jsonl", lines(*[{"prompt": str(i)} for i in range(1, 9)]) + "not json")
    found = load(path, limit=3)
    assert [sample.prompt for sample in found.samples] == ["1", "2", "3"]
    assert "only the first 3 rows of the file were read" in found.notes
    with pytest.raises(InputError, match="at least 1, got 0"):
        load(path, limit=0)


def test_csv_cells(tmp_path: Path) -> None:
    long = "x" * 300_000
    text = f'prompt,max_tokens,stop,ignore_eos\na,7.0,"[""x"", ""y""]",true\n"{long}",,[,\n\n'
    first, second = load(written(tmp_path, "t.csv", text.replace("\n", "\r\n"))).samples
    assert first.body == {"max_tokens": 7, "stop": ["x", "y"], "ignore_eos": True}
    assert second.prompt == long
    assert second.body == {"stop": "["}


def test_csv_errors_name_the_line_on_which_a_row_starts(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load(written(tmp_path, "t.csv", 'prompt,seed\n"a\nb",1\nc,x\n'))
    assert caught.value.where.endswith("line 4")


def test_nan_in_parquet(tmp_path: Path) -> None:
    pq.write_table(pa.table({"prompt": ["a", "b"], "max_tokens": [7.0, float("nan")]}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="at least 1, got nan") as caught:
        load(tmp_path / "t.parquet")
    assert caught.value.where.endswith("row 2")


def test_jsonl_loads_without_numpy_and_pyarrow(tmp_path: Path) -> None:
    path = written(tmp_path, "t.jsonl", lines({"prompt": "a"}))
    code = (
        "import sys; from wholecurve.datasets import load; load(sys.argv[1]);"
        "print([m for m in ('numpy', 'pyarrow', 'tokenizers', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout == "[]\n"
