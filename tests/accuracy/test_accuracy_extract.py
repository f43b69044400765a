"""What is taken for the answer in a text, and that no text takes long or breaks it."""

import random
import time
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wholecurve.accuracy import EXTRACTORS
from wholecurve.accuracy.extract import LONGEST, choice_letter, last_number, whole_text

TEXTS = [
    ("Paris", "paris"),
    ("  **Paris.** \n", "paris"),
    ("“PARIS!”", "paris"),
    ("Buenos\t\n  Aires", "buenos aires"),
    ("Stra\u00dfe", "strasse"),
    ("Cafe\u0301", "caf\u00e9"),
    ("\u200bPa\x00ris\u202e", "paris"),
    ("-5", "-5"),
    ("5 %", "5 %"),
    (".5", ".5"),
    ("5.", "5"),
    ("(b)", "b"),
    ("C++", "c++"),
    ("The capital is Paris", "the capital is paris"),
    ("", None),
    (" \n\t", None),
    ("...", None),
    ("\x00\x01\ufeff", None),
]


@pytest.mark.parametrize(("text", "found"), TEXTS)
def test_the_whole_text(text: str, found: str | None) -> None:
    assert whole_text(text) == found


def test_a_text_that_is_too_long_is_no_answer() -> None:
    assert whole_text("a" * LONGEST) == "a" * LONGEST
    assert whole_text("a" * (LONGEST + 1)) is None


NUMBERS = [
    ("42", "42"),
    ("The answer is 42.", "42"),
    ("first 7, then 9", "9"),
    ("$1,234.50", "1234.5"),
    ("1,234,567", "1234567"),
    ("1,2,3", "3"),
    ("007", "7"),
    ("3.0", "3"),
    ("-0.0", "0"),
    ("is -5", "-5"),
    ("is \u22125", "-5"),
    ("10-5", "5"),
    ("(x)-5", "5"),
    (".25", "0.25"),
    ("0.000125", "0.000125"),
    ("2e3", "2000"),
    ("1.5E-2", "0.015"),
    ("1e9999", "1e9999"),
    ("1e-9999", "1e-9999"),
    ("12e99999", "99999"),
    ("\u0664\u0662", None),  # digits of other scripts are text
    ("none", None),
    ("", None),
    ("-", None),
]


@pytest.mark.parametrize(("text", "found"), NUMBERS)
def test_the_last_number(text: str, found: str | None) -> None:
    assert last_number(text) == found


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4), st.decimals(allow_nan=False, allow_infinity=False))
def test_equal_texts_mean_equal_numbers(one: Decimal, other: Decimal) -> None:
    for number in (one, other):
        if abs(number.adjusted()) < 9000:
            found = last_number(f"so it is {number}")
            assert found is not None
            assert Decimal(found) == number
            assert last_number(found) == found
    assert (last_number(str(one)) == last_number(str(other))) == (one == other) or abs(other.adjusted()) > 9000


CHOICES = [
    ("B", "B"),
    ("b", "B"),
    ("(b).", "B"),
    ("**C**", "C"),
    ("The answer is B.", "B"),
    ("Answer: (D)", "D"),
    ("The answer is\n  **A**", "A"),
    ("answer is option C", "C"),
    ("The answer is A. No: the answer is B", "B"),
    ("The answer would be Berlin", None),
    ("I think (A) is wrong, so (C)", "C"),
    ("I think so", None),
    ("A horse", None),
    ("", None),
    ("7", None),
]


@pytest.mark.parametrize(("text", "found"), CHOICES)
def test_the_letter_of_a_choice(text: str, found: str | None) -> None:
    assert choice_letter(text) == found


MEGABYTE = 1 << 20
HOSTILE = [
    "answer" * (MEGABYTE // 6),
    "answer" + " " * MEGABYTE,
    "answer is option " * (MEGABYTE // 17),
    "(" * MEGABYTE,
    "answer ((((" * (MEGABYTE // 11),
    "1" * MEGABYTE,
    "1," * (MEGABYTE // 2),
    "111," * (MEGABYTE // 4),
    "111," * (MEGABYTE // 4 - 1) + "1111",
    "1e" * (MEGABYTE // 2),
    "1.1." * (MEGABYTE // 4),
    "-" * MEGABYTE,
    "." * MEGABYTE,
    "\x00\x1b[31m" * (MEGABYTE // 6),
    "\u0301" * MEGABYTE,
    "a\u0315\u0300\u05ae" * (MEGABYTE // 4),
    "\ufdfa" * (MEGABYTE // 3),
    "\ud800" * 1000,
    "".join(random.Random(1).choices("aA1.,-+e(){}[]*_ \n\t\x00answer", k=MEGABYTE)),
]


@pytest.mark.parametrize("name", EXTRACTORS)
@pytest.mark.parametrize("place", range(len(HOSTILE)))
def test_a_hostile_text_takes_no_longer_than_a_plain_one(name: str, place: int) -> None:
    """A megabyte takes well under a second; what grows with the square of the length would take hours."""
    before = time.process_time()
    EXTRACTORS[name](HOSTILE[place])
    assert time.process_time() - before < 3


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(), max_size=80))
def test_no_text_breaks_an_extraction_and_what_is_found_is_found_again(text: str) -> None:
    for name, extract in EXTRACTORS.items():
        found = extract(text)
        assert found is None or found.isprintable()
        assert found is None or name == "text" or extract(found) == found
