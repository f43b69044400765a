"""The submitter's YAML: what is taken, what is refused and where."""

from __future__ import annotations

import pytest
from submitted_build import COMPLETE

from wholecurve.describe import read_submitted
from wholecurve.model.errors import InputError
from wholecurve.rules.load import load_rules

RULES = load_rules()


def read(text: str) -> dict[str, object]:
    return read_submitted(text, "mine.yaml", RULES)


def test_values_are_taken_as_the_rules_write_them() -> None:
    values = read(COMPLETE + "submitter_org_names: Example\nhw_notes: |\n  two\n  lines\n")
    assert values["division"] == "Standardized"
    assert values["disaggregated"] is False
    assert values["hw_notes"] == "two lines"
    assert values["submitter_org_names"] == "Example"
    assert read("disaggregated: 1\n") == {"disaggregated": True}
    assert read("target_availability_date: 2026-12-31\n") == {"target_availability_date": "2026-12-31"}


@pytest.mark.parametrize("word", ["", "N/A", "n/a", "TBD", "Unknown", '""', "null", "CHANGEME", "' '"])
def test_words_that_say_nothing_are_no_values(word: str) -> None:
    assert read(f"driver: {word}\nnode_types:\n- cooling: {word}\n") == {"node_types": [{}]}


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("divsion: RDI", "unknown key `divsion`", "did you mean `division`?"),
        ("node_types:\n- colling: air", "unknown key `colling`", "did you mean `cooling`?"),
        (
            "node_types:\n- accelerator_info:\n  - accelerator_model: X",
            "unknown key `accelerator_model`",
            "accelerator_model_name",
        ),
        ("node_types:\n- division: RDI", "unknown key `division`", ""),
        ("division: Open", "division: wanted one of Standardized, Serviced, RDI, got 'Open'", ""),
        ("system_availability_status: soon", "wanted one of Available, Preview, RDI", ""),
        ("shortened_system_name: a name that is far too long", "wanted at most 20 characters", ""),
        ("max_supported_concurrency: 32", "wanted more than 32, got 32", ""),
        ("max_supported_concurrency: many", "wanted a whole number", ""),
        ("tensor_parallel: 0", "wanted a whole number of at least 1 (1 for none), got 0", ""),
        ("data_parallel: true", "wanted a whole number", ""),
        ("batch: 1.5", "wanted a whole number", ""),
        ("disaggregated: 2", "wanted true or false, got 2", ""),
        ("config_summary: TP", "wanted at least 4 characters", ""),
        ("driver: 550.54", "wanted text, got 550.54 (put quotes around it)", ""),
        ("driver: [a]", "wanted text, got a list", ""),
        ("availability_url: vendor.example", "wanted a web address", ""),
        ("target_availability_date: next year", "wanted a date such as 2026-12-31", ""),
        ("tps_utilization: high", "wanted a number", ""),
        ("node_types: 3", "node_types: wanted a list of sections", ""),
        ("node_types:\n- a", "node_types: wanted a list of sections", ""),
        ("node_types:\n- accelerator_info: {}", "accelerator_info: wanted a list", ""),
        ("hw_notes: " + "x" * 5000, "wanted at most 4000 characters", ""),
        ("driver: a\ndriver: b", "the key `driver` is given twice", ""),
        ("- a", "wanted a mapping", ""),
        ("a: [", "not valid YAML", ""),
        ("driver: !!python/object:os.system x", "wanted a plain value", ""),
    ],
)
def test_what_is_refused(text: str, message: str, hint: str) -> None:
    with pytest.raises(InputError) as raised:
        read(text)
    assert message in raised.value.message
    assert hint in raised.value.hint
    assert raised.value.where.startswith("mine.yaml")


def test_all_faults_are_told_at_once_with_their_lines() -> None:
    with pytest.raises(InputError) as raised:
        read("divsion: RDI\ndriver: 1\nnode_types:\n- colling: air\n")
    assert raised.value.where == "mine.yaml:1"
    assert "driver: wanted text" in raised.value.hint
    assert "(mine.yaml:2)" in raised.value.hint
    assert "unknown key `colling` (mine.yaml:4)" in raised.value.hint


def test_control_characters_are_taken_out() -> None:
    assert read('driver: "a\\e[2Jb"\n') == {"driver": "a?[2Jb"}
