"""YAML with places: lines, duplicates, bombs, tags, and words that YAML 1.1 reads as something else."""

from __future__ import annotations

import pytest
from config_cases import BASE, settings

from wholecurve.config.yaml_source import MAX_BYTES, read_yaml
from wholecurve.model.errors import InputError

TEXT = """\
endpoint:
  urls:
    - http://a
    - http://b
load: {concurrency: 4}
"""


def test_lines_of_keys_and_items() -> None:
    source = read_yaml(TEXT, "f.yaml")
    assert source.data == {"endpoint": {"urls": ["http://a", "http://b"]}, "load": {"concurrency": 4}}
    assert source.where(("endpoint", "urls", 1)) == "f.yaml:4"
    assert source.where(("load", "concurrency")) == "f.yaml:5"
    assert source.where(("endpoint", "nowhere", "deep")) == "f.yaml:1"


VALUES = [
    ("a: off", {"a": False}),
    ("on: 1", {"on": 1}),
    ("50256: -100", {"50256": -100}),
    ("a: 2024-01-01", {"a": "2024-01-01"}),
    ("a: '007'", {"a": "007"}),
    ("a: ~", {"a": None}),
    ("", {}),
    ("# only a comment\n", {}),
    ("x: &x {p: 1, q: 2}\ny: {<<: *x, q: 3}", {"x": {"p": 1, "q": 2}, "y": {"p": 1, "q": 3}}),
    (
        "x: &x {p: 1}\nz: &z {p: 2, r: 4}\ny: {<<: [*x, *z]}",
        {"x": {"p": 1}, "z": {"p": 2, "r": 4}, "y": {"p": 1, "r": 4}},
    ),
]


@pytest.mark.parametrize(("text", "wanted"), VALUES)
def test_values(text: str, wanted: dict[str, object]) -> None:
    assert read_yaml(text, "f").data == wanted


REFUSED = [
    ("a: 1\na: 2", "`a` is given twice, first on line 1", "f:2"),
    ("a:\n  b: 1\n  c: 2\n  b: 3", "`b` is given twice, first on line 2", "f:4"),
    ("a: [1", "not valid YAML", "f:"),
    ("a: b: c", "not valid YAML", "f:1"),
    ("- 1", "mapping of `key: value` lines, got list", "f:1"),
    ("word", "got str", "f:1"),
    ("a: 1\n---\nb: 2", "not valid YAML", "f:"),
    ("a: !!python/object/apply:os.system ['true']", "tagged", "f:1"),
    ("a: !thing 1", "tagged !thing", "f:1"),
    ("a: !!set {x, y}", "tagged", "f:1"),
    ("? [a, b]\n: 1", "text as a key", "f:1"),
    ("a: *nothing", "not valid YAML", "f:1"),
    ("a: {<<: 3}", "mapping after `<<`", "f:1"),
    ("a: &a [*a]", "levels deep", "f:1"),
    ("a: \x00", "not valid YAML", "f"),
    ("a: 0o99x\nb: !!int zz", "not a number: zz", "f:2"),
]


@pytest.mark.parametrize(("text", "message", "where"), REFUSED)
def test_refused_with_line(text: str, message: str, where: str) -> None:
    with pytest.raises(InputError) as caught:
        read_yaml(text, "f")
    assert message in caught.value.message
    assert caught.value.where.startswith(where)


def test_alias_bomb_is_refused_before_it_grows() -> None:
    levels = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(InputError, match="aliases expanded"):
        read_yaml("\n".join(levels), "f")


def test_merge_bomb_is_refused_before_it_grows() -> None:
    levels = ["a0: &a0 {k: 1}"]
    levels += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 12)]
    with pytest.raises(InputError, match="aliases expanded"):
        read_yaml("\n".join(levels), "f")


def test_size_and_depth_are_bounded() -> None:
    with pytest.raises(InputError, match="at most 1 MiB"):
        read_yaml("a: " + "x" * MAX_BYTES, "f")
    with pytest.raises(InputError, match="levels"):
        read_yaml("a: " + "[" * 5000 + "]" * 5000, "f")


REFERENCE = "model_params: {name: m}\nendpoint_config: {endpoints: [http://h]}\n"
MIXED = [
    (
        BASE + REFERENCE,
        "`dataset`, `load` as wholecurve writes them, and `endpoint_config`, `model_params`",
        "run.yaml:5",
    ),
    (REFERENCE + "stop: {duration: 3s}\n", "got `stop` as wholecurve writes them, and", "run.yaml:3"),
    (
        BASE + "settings: {load_pattern: {type: poisson}}\n",
        "and `settings` as the MLPerf reference client",
        "run.yaml:4",
    ),
    ("model_params: {name: m}\ndatasets: []\n", "wanted a root key `endpoint_config`", "run.yaml:1"),
]


@pytest.mark.parametrize(("text", "message", "where"), MIXED)
def test_a_file_of_two_kinds_is_told_so_and_not_that_a_key_is_missing(text: str, message: str, where: str) -> None:
    with pytest.raises(InputError) as caught:
        settings(text)
    assert message in caught.value.message
    assert caught.value.where == where
    assert "endpoint_config" in caught.value.hint
