"""SEC-1, SEC-2: keys and header values are in no output, no file, no child's arguments, whatever happens."""

from __future__ import annotations

import base64
from pathlib import Path
from urllib.parse import quote

import pytest
from cli_console import USAGE, Done, begin, console, end, run_flags, wait_until

from wholecurve.testing import ScriptedServer, error_answer, sse_answer

KEY = "sk-9f/8e+7d=6c"
TOKEN = "tok~en/42+x"
ENV = {"MY_KEY": KEY, "MY_TOKEN": TOKEN}
FLAGS = ["--api-key-env", "MY_KEY", "--header", "X-Token: ${MY_TOKEN}", "--keep-responses"]


def forms(secret: str) -> list[str]:
    """As it stands, URL-encoded, and base64 at every alignment."""
    found = [secret, quote(secret, safe="")]
    for shift in range(3):
        coded = base64.b64encode(b" " * shift + secret.encode()).decode().rstrip("=")
        found.append(coded[4 if shift else 0 : -2])
    return found


def assert_hidden(done: Done, folder: Path) -> None:
    texts = {"stdout": done.out, "stderr": done.err}
    for path in folder.rglob("*"):
        if path.is_file():
            texts[str(path)] = path.read_bytes().decode("latin-1") + str(path)
    for path in folder.rglob("*.parquet"):
        import pyarrow.parquet as pq

        texts[f"{path} rows"] = str(pq.read_table(path).to_pylist()) + str(pq.read_schema(path))
    for secret in (KEY, TOKEN):
        for form in forms(secret):
            assert not [name for name, text in texts.items() if form in text]


def test_a_run_hides_what_it_sends(tmp_path: Path) -> None:
    with ScriptedServer(sse_answer(["a", "b"], first_s=0.5, usage=USAGE)) as server:
        child = begin(*run_flags(server.url, tmp_path, *FLAGS, "--json"), cwd=tmp_path, env=ENV)
        wait_until(lambda: server.requests)
        lines = [path.read_bytes() for path in _family(child.pid)]
        done = end(child)
        sent = server.requests[0]
    assert done.code == 0
    assert len(lines) > 1, "workers were looked at too"
    assert sent.header("authorization") == f"Bearer {KEY}"
    assert sent.header("x-token") == TOKEN
    for secret in (KEY, TOKEN):
        assert not [line for line in lines if secret.encode() in line]
    assert_hidden(done, tmp_path)


def _family(pid: int) -> list[Path]:
    """Command lines of a process and its children."""
    found = [Path(f"/proc/{pid}/cmdline")]
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        found += _family(int(child))
    return found


def test_a_refused_key_that_the_endpoint_repeats_is_hidden_from_the_probe(tmp_path: Path) -> None:
    with ScriptedServer(error_answer(401, {"error": {"message": f"wrong key {KEY}, {TOKEN}"}})) as server:
        done = console("probe", server.url, "--model", "m", *FLAGS[:4], "--json", cwd=tmp_path, env=ENV)
    assert done.code == 3
    assert_hidden(done, tmp_path)


@pytest.mark.parametrize(
    "flags",
    [
        ["--concurency", "4"],
        ["--api-key", KEY],
        [f"--api-key={KEY}"],
        [KEY],
        ["--header", f"X-Token {TOKEN}"],
        ["--header", f"X-Api-Key: {TOKEN}"],
        ["--header", f"Authorization: Bearer {KEY}"],
        ["--extra-body", f"api_key={KEY}"],
        ["--api-key-file", "nix"],
        ["--concurrency", "0"],
    ],
    ids=lambda flags: flags[0][:12],
)
def test_a_refused_command_line_shows_no_value(flags: list[str], tmp_path: Path) -> None:
    """SEC-1: what is wrong is named; keys and header values are in no stream and no file."""
    done = console(*run_flags("http://127.0.0.1:9", tmp_path, *FLAGS[:4], *flags), cwd=tmp_path, env=ENV)
    assert done.code == 2
    assert_hidden(done, tmp_path)


def test_prompts_stay_out_of_what_is_printed_and_written(tmp_path: Path) -> None:
    """SEC-5: a marker in the prompt, errors forced, answers not kept."""
    with ScriptedServer(error_answer(500, "boom")) as server:
        flags = run_flags(server.url, tmp_path)
        (tmp_path / "prompts.jsonl").write_text('{"prompt": "marker-4711"}\n')
        done = console(*flags, cwd=tmp_path)
    assert done.code == 1
    texts = [done.out, done.err, *(path.read_bytes().decode("latin-1") for path in (tmp_path / "out").rglob("*.*"))]
    assert not [text for text in texts if "marker-4711" in text]
