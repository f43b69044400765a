"""What an endpoint says, without the keys it was sent (SEC-2)."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wholecurve.model.plan import Secrets
from wholecurve.run.hide import HIDDEN, LEAST_CUT, SHORTEST, Hide

KEY = 'k9f/8e+7d=6c"x'
BASIC = base64.b64encode(b"user:pass-word-1").decode()
HIDE = Hide(Secrets((("Authorization", f"Bearer {KEY}"), ("X-Token", "tok en/42"), ("X-Basic", f"Basic {BASIC}"))))


@pytest.mark.parametrize(
    "form",
    [
        KEY,
        f"Bearer {KEY}",
        quote(KEY, safe=""),
        json.dumps(KEY)[1:-1],
        base64.b64encode(KEY.encode()).decode(),
        "tok en/42",
        "tok+en%2F42",
        BASIC,
        "user:pass-word-1",
        "pass-word-1",
    ],
)
def test_sec_2_every_form_is_hidden(form: str) -> None:
    found = HIDE(f"no such key: {form}, sorry")
    assert form not in found
    assert found.startswith("no such key: ")
    assert found.endswith(", sorry")
    assert HIDDEN in found


@pytest.mark.parametrize("end", ["", "…"])
@pytest.mark.parametrize("length", range(LEAST_CUT, len(KEY)))
def test_a_key_that_was_cut_at_the_end_is_hidden(length: int, end: str) -> None:
    assert HIDE(f"bad key {KEY[:length]}{end}") == f"bad key {HIDDEN}{end}"


@pytest.mark.parametrize(
    "text",
    ["", "The model `m` does not exist.", "500 Internal Server Error: boom", "a bearer of news", "risk-free", "…"],
)
def test_other_words_stay(text: str) -> None:
    assert HIDE(text) == text
    assert Hide()(text) == text


@pytest.mark.parametrize("text", ["Bearer abcd1234", "basic dXNlcjpw", "key sk-proj-12345678 refused"])
def test_what_looks_like_a_key_is_hidden_without_knowing_it(text: str) -> None:
    assert HIDDEN in Hide()(text)
    assert "12345678" not in Hide()(text)


def test_short_values_are_words() -> None:
    assert Hide(Secrets((("X-Tenant", "acme"),)))("acme is not known") == "acme is not known"
    assert len("acme") < SHORTEST


def test_nothing_is_shown_of_it() -> None:
    assert KEY not in repr(HIDE)


@given(st.text(max_size=60), st.text(max_size=60), st.text(min_size=SHORTEST, max_size=30))
def test_no_text_around_a_key_saves_it(before: str, after: str, key: str) -> None:
    hide = Hide(Secrets((("X-Key", key),)))
    if key not in HIDDEN:
        assert key not in hide(before + key + after).replace(HIDDEN, "\0")
