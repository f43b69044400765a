"""What a sweep is given beside its settings: the folder that it goes on in, and descriptions of the system."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from wholecurve.cli.sweep_bench import RunBench
from wholecurve.config import FILES_VARIABLE, Settings, SweepFlags
from wholecurve.model.errors import InputError
from wholecurve.results.unique_keys import DuplicateKeyError, loads_unique
from wholecurve.sweep import JOURNAL_FILE

CONFIG_FILE = "config.yaml"


def resumed_config(folder: str, flags: SweepFlags) -> str:
    """The settings of the sweep in a folder. InputError if it holds none, and for flags that belong to a new one."""
    for flag, given in (("--config", flags.config), ("--out", flags.out)):
        if given is not None:
            raise InputError(
                f"wanted --resume or {flag}, got both", hint="a sweep goes on in its own folder, with its own settings"
            )
    stored = Path(folder) / CONFIG_FILE
    missing = [name for name in (CONFIG_FILE, JOURNAL_FILE) if not (Path(folder) / name).is_file()]
    hint = "give the folder that the sweep named at its start; without --resume a new sweep starts"
    if not Path(folder).is_dir():
        raise InputError(f"--resume: there is no folder {folder}", hint=hint)
    if missing:
        raise InputError(f"--resume: {folder} holds no sweep: it has no {' and no '.join(missing)}", hint=hint)
    return str(stored)


def resumed_files(settings: Settings) -> None:
    """The files that settings name are here. InputError with what to do if not: they lie where they lay at the start,
    seen from the folder where the sweep was started."""
    for key, flag, path in _named(settings):
        if path is not None and not Path(path).exists():
            raise InputError(
                f"this sweep needs the file {path} ({key}), which is not there",
                hint=f"go on from the folder where the sweep was started, or say where the file is now: {flag} PATH "
                f"(its content is compared, not its place), or set {FILES_VARIABLE} to the folder of all of them",
            )


def _named(settings: Settings) -> Iterator[tuple[str, str, str | None]]:
    """(key, flag, path) of every file that is read. A tokenizer may be named by an id, and says so itself."""
    endpoint, accuracy, warmup = settings.endpoint, settings.accuracy.dataset, settings.warmup.dataset
    yield "dataset.path", "--dataset", settings.dataset.path
    yield "accuracy.dataset.path", "--accuracy-dataset", accuracy.path if accuracy else None
    yield "warmup.dataset.path", "no flag but the file's", warmup.path if warmup else None
    for name in ("api_key_file", "ca_file", "client_cert", "client_key"):
        yield f"endpoint.{name}", f"--{name.replace('_', '-')}", getattr(endpoint, name)


def checked_system(path: str | None) -> bytes | None:
    """The bytes of a system description, checked to be a JSON object. Raises InputError."""
    return None if path is None else _object(path, "--system")[0]


def checked_power(path: str | None, bench: RunBench, system: bytes | None) -> bytes | None:
    """The bytes of a power description that the rules can add up and that the description of the system agrees with.

    Raises InputError with everything against it.
    """
    if path is None:
        return None
    from wholecurve.power import parse_power, provisioned

    data, found = _object(path, "--power")
    description = None if system is None else orjson.loads(system)
    provisioned(parse_power(found, bench.rules.power), bench.rules.power, description=description)
    return data


def _object(path: str, flag: str) -> tuple[bytes, dict[str, Any]]:
    try:
        data = Path(path).read_bytes()
        found = loads_unique(data)  # as strictly as the campaign's files are read again, hours later
    except OSError as error:
        raise InputError(f"{flag}: {path} cannot be read: {error.strerror}") from None
    except DuplicateKeyError as error:
        raise InputError(f"{flag}: {path}: {error}") from None
    except ValueError:
        raise InputError(f"{flag}: {path} is not valid JSON") from None
    if not isinstance(found, dict):
        raise InputError(f"{flag}: wanted a JSON object in {path}")
    return data, found
