"""URL joining, keys and request heads."""

from __future__ import annotations

import pytest

from wholecurve import __version__
from wholecurve.model.errors import InputError
from wholecurve.wire import DIALECTS, Target, bearer, endpoint_url, head_prefix, request_bytes, with_key
from wholecurve.wire.request import KNOWN_PATHS

CHAT = "v1/chat/completions"


@pytest.mark.parametrize(
    ("base", "wanted"),
    [
        ("http://h:1", "/v1/chat/completions"),
        ("http://h:1/", "/v1/chat/completions"),
        ("http://h:1/v1", "/v1/chat/completions"),
        ("http://h:1/v1/", "/v1/chat/completions"),
        ("http://h:1/v1//", "/v1/chat/completions"),
        ("http://h:1/proxy/v1", "/proxy/v1/chat/completions"),
        ("http://h:1/proxy", "/proxy/v1/chat/completions"),
        ("http://h:1/v1/chat", "/v1/chat/completions"),
        ("http://h:1/v1/chat/completions", "/v1/chat/completions"),
        ("http://h:1/a/v1/chat/completions/", "/a/v1/chat/completions"),
        ("http://h:1/v10", "/v10/v1/chat/completions"),
        ("http://h:1/av1", "/av1/v1/chat/completions"),
        ("http://h:1/v1/models/m", "/v1/models/m/v1/chat/completions"),
        ("http://h:1?key=a%20b&x=/", "/v1/chat/completions?key=a%20b&x=/"),
        ("http://h:1/v1?api-version=2", "/v1/chat/completions?api-version=2"),
        ("http://h:1/v1/?a=1?b", "/v1/chat/completions?a=1?b"),
        ("http://h:1/ü/%7E", "/%C3%BC/%7E/v1/chat/completions"),
        ("HTTP://h:1/V1", "/V1/v1/chat/completions"),
    ],
)
def test_cli_1_urls_are_joined_with_one_v1(base: str, wanted: str) -> None:
    assert endpoint_url(base, CHAT) == Target("h", 1, False, wanted)


@pytest.mark.parametrize(
    ("base", "path", "wanted"),
    [
        ("http://h/v1", "generate", "/generate"),
        ("http://h/p/v1/", "generate", "/p/generate"),
        ("http://h/generate", "generate", "/generate"),
        ("http://h", "generate", "/generate"),
        ("http://h/v1", "v1/completions", "/v1/completions"),
    ],
)
def test_other_paths(base: str, path: str, wanted: str) -> None:
    assert endpoint_url(base, path).path == wanted


@pytest.mark.parametrize(
    ("base", "host", "port", "tls", "authority"),
    [
        ("http://h", "h", 80, False, "h"),
        ("https://h", "h", 443, True, "h"),
        ("https://H.example:8443/v1", "h.example", 8443, True, "h.example:8443"),
        ("http://h:443", "h", 443, False, "h:443"),
        ("http://[::1]:8000/v1", "::1", 8000, False, "[::1]:8000"),
        ("https://[2001:db8::1]", "2001:db8::1", 443, True, "[2001:db8::1]"),
        ("http://[fe80::1%25eth0]:80", "fe80::1%eth0", 80, False, "[fe80::1]"),
        ("http://bücher.example", "xn--bcher-kva.example", 80, False, "xn--bcher-kva.example"),
    ],
)
def test_hosts_and_ports(base: str, host: str, port: int, tls: bool, authority: str) -> None:
    target = endpoint_url(base, CHAT)
    assert (target.host, target.port, target.tls, target.authority) == (host, port, tls, authority)


@pytest.mark.parametrize(
    "base",
    [
        "",
        "h",
        "h:8000",
        "localhost:8000/v1",
        "//h",
        "ftp://h",
        "http://",
        "http:///v1",
        "http://h:port",
        "http://h:99999",
        "http://h:0",
        "http://[::1",
        "http://h/#x",
        "http://h /v1",
        "http://h/v1\r\nX: y",
        "http://h/\x00",
        "http://user:hunter2@h/v1",
        "http://hunter2@h/v1",
        "nonsense?key=hunter2",
        "http://h/v1/completions",
        "http://h/generate?key=hunter2",
    ],
)
def test_what_is_no_endpoint_is_refused_without_showing_secrets(base: str) -> None:
    with pytest.raises(InputError) as caught:
        endpoint_url(base, CHAT)
    assert caught.value.hint
    assert "hunter2" not in str(caught.value)


def test_the_known_paths_are_those_of_the_dialects() -> None:
    assert sorted(KNOWN_PATHS) == sorted(dialect.path for dialect in DIALECTS.values())


@pytest.mark.parametrize("key", ["sk-x", "Bearer sk-x", "bearer  sk-x", " sk-x\n", "BEARER sk-x "])
def test_cli_2_a_key_may_have_bearer_before_it(key: str) -> None:
    assert bearer(key) == "Bearer sk-x"


@pytest.mark.parametrize("key", ["", " ", "Bearer", "Bearer ", "a b", "a\r\nX: y", "ключ", "a\x00b"])
def test_keys_that_cannot_be_sent_are_refused_and_not_shown(key: str) -> None:
    with pytest.raises(InputError) as caught:
        bearer(key)
    assert not key.strip() or key not in str(caught.value).replace("Bearer ", "")


def test_cli_2_a_given_header_wins() -> None:
    assert with_key((("X", "y"),), "sk-x") == (("Authorization", "Bearer sk-x"), ("X", "y"))
    assert with_key((("authorization", "Basic z"),), "sk-x") == (("authorization", "Basic z"),)
    assert with_key((("X", "y"),), None) == (("X", "y"),)


def test_a_request_as_bytes() -> None:
    prefix = head_prefix(endpoint_url("http://h:1/v1?a=b", CHAT), [("X-Own", " 1 "), ("X-Own", "é")])
    assert request_bytes(prefix, b"{}") == (
        "POST /v1/chat/completions?a=b HTTP/1.1\r\n"
        "Host: h:1\r\n"
        f"User-Agent: wholecurve/{__version__}\r\n"
        "Accept: text/event-stream\r\n"
        "Accept-Encoding: identity\r\n"
        "Content-Type: application/json\r\n"
        "X-Own: 1\r\n"
        "X-Own: é\r\n"
        "Content-Length: 2\r\n\r\n{}"
    ).encode("latin-1")


def test_given_headers_replace_standard_ones_in_any_case() -> None:
    target = endpoint_url("http://h:1", CHAT)
    given = [
        ("user-agent", "me"),
        ("HOST", "other"),
        ("accept", "*/*"),
        ("CONTENT-type", "x"),
        ("Accept-encoding", "gzip"),
    ]
    lines = head_prefix(target, given, stream=False).decode().split("\r\n")
    assert lines[1:-1] == [f"{name}: {value}" for name, value in given]
    assert b"Accept: application/json\r\n" in head_prefix(target, stream=False)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X", "hunter2\r\nY: z"),
        ("X", "hunter2\n"),
        ("X", "hunter2\0"),
        ("X", "hunter2 ключ"),
        ("X Y", "hunter2"),
        ("X:", "hunter2"),
        ("", "hunter2"),
        ("X\r\nY", "hunter2"),
        ("Content-Length", "7"),
        ("transfer-encoding", "chunked"),
    ],
)
def test_headers_that_cannot_be_sent_are_refused_and_not_shown(name: str, value: str) -> None:
    with pytest.raises(InputError) as caught:
        head_prefix(endpoint_url("http://h:1", CHAT), [(name, value)])
    assert "hunter2" not in str(caught.value)
