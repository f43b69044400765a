"""Whatever is in a file, a user gets settings or an InputError of at most three lines; never a traceback."""

from __future__ import annotations

import json
from typing import Any

from config_cases import settings
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from wholecurve.config import Settings
from wholecurve.config.problems import key_paths
from wholecurve.config.reference_schema import ReferenceConfig
from wholecurve.config.yaml_source import read_yaml
from wholecurve.model.errors import InputError

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 10**30)
    | st.floats()
    | st.sampled_from(["", "5s", "none", "on", "openai", "poisson", "${X}", "${", "http://h", "a\nb", "\ud800"])
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


def tree(base: dict[str, Any], path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    """`base` with one value put in, parents made where there are none."""
    head, rest = str(path[0]), path[1:]
    inner = base.get(head)
    if not rest:
        return {**base, head: value}
    if isinstance(inner, list):
        return {**base, head: [tree(inner[0] if inner else {}, rest, value)]}
    return {**base, head: tree(inner if isinstance(inner, dict) else {}, rest, value)}


def try_to_load(data: dict[str, Any]) -> None:
    refused: InputError | None = None
    try:
        settings(json.dumps(data))
    except InputError as error:
        refused = error
    assert refused is None or (refused.message and len(refused.lines()) <= 3)


OURS = {"endpoint": {"urls": ["http://h"], "model": "m"}, "dataset": {"path": "p"}, "load": {"concurrency": 1}}
THEIRS = {
    "type": "online",
    "model_params": {"name": "m"},
    "datasets": [{"path": "p"}],
    "settings": {"load_pattern": {"type": "concurrency", "target_concurrency": 1}},
    "endpoint_config": {"endpoints": ["http://h"]},
}


@hypothesis_settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(key_paths(Settings))), VALUES)
def test_any_value_under_any_of_our_keys(path: tuple[str | int, ...], value: Any) -> None:
    try_to_load(tree(OURS, path, value))


@hypothesis_settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(key_paths(ReferenceConfig))), VALUES)
def test_any_value_under_any_key_of_the_reference(path: tuple[str | int, ...], value: Any) -> None:
    try_to_load(tree(THEIRS, path, value))


@hypothesis_settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab:{}[]-&*!<>?|'\"\n #,0.", max_size=40))
def test_any_text_as_yaml(text: str) -> None:
    refused: InputError | None = None
    try:
        assert isinstance(read_yaml(text, "f").data, dict)
    except InputError as error:
        refused = error
    assert refused is None or refused.where.startswith("f")
