"""`wholecurve probe`: is the endpoint there, and what does it speak?"""

from __future__ import annotations

import os
import sys
from typing import Annotated

from cyclopts import Parameter

from wholecurve.cli.findings import print_findings, print_json
from wholecurve.cli.main import tell
from wholecurve.config import RunFlags, settings_from
from wholecurve.config.access import endpoint_of
from wholecurve.config.flags import Texts
from wholecurve.config.schema import Dialect
from wholecurve.model.errors import InputError, SetupError
from wholecurve.model.units import parse_duration_ns
from wholecurve.run.probe import Wanted, probe

SCHEMA = "wholecurve.probe/1"


def _flag(name: str, text: str) -> Parameter:
    return Parameter(name=name, help=text, negative="", negative_iterable="")


def command(
    endpoint: Annotated[str, Parameter(help="base URL of the endpoint")],
    *,
    model: Annotated[str | None, _flag("--model", "model name; by default the first that is listed")] = None,
    dialect: Annotated[Dialect | None, _flag("--dialect", "ask in this one only; by default in all")] = None,
    api_key_env: Annotated[str | None, _flag("--api-key-env", "environment variable that holds the API key")] = None,
    api_key_file: Annotated[str | None, _flag("--api-key-file", "file that holds the API key")] = None,
    header: Annotated[Texts, _flag("--header", "request header 'Name: ${VARIABLE}'")] = (),
    ca_file: Annotated[str | None, _flag("--ca-file", "certificate authorities to trust, PEM")] = None,
    client_cert: Annotated[str | None, _flag("--client-cert", "client certificate, PEM")] = None,
    client_key: Annotated[str | None, _flag("--client-key", "key of the client certificate, PEM")] = None,
    insecure: Annotated[bool, _flag("--insecure", "do not verify certificates")] = False,
    proxy: Annotated[str | None, _flag("--proxy", "HTTP proxy, http://host:port")] = None,
    timeout: Annotated[str, _flag("--timeout", "longest wait for a connection, and for each answer")] = "10s",
    json: Annotated[bool, _flag("--json", "print JSON")] = False,
) -> int:
    """Ask an endpoint what it speaks, with a handful of small requests.

    Name, connection time, TLS, served models, dialects, streaming, token usage, forced output length, TTFT of one
    request alone, connection reuse. What fails is told apart, with the next step. Exit code 3 if a run could not work.
    """
    flags = RunFlags(
        endpoint=(endpoint,),
        model=model or "any",
        dataset="none",
        dialect=dialect,
        api_key_env=api_key_env,
        api_key_file=api_key_file,
        header=header,
        ca_file=ca_file,
        client_cert=client_cert,
        client_key=client_key,
        insecure=insecure or None,
        proxy=proxy,
    )
    plan, secrets = endpoint_of(settings_from(flags).endpoint, os.environ)
    timeout_ns = parse_duration_ns(timeout)
    if timeout_ns < 1:
        raise InputError(f"--timeout: wanted more than zero, got {timeout}")
    say = tell if sys.stderr.isatty() else _nobody
    report = probe(Wanted(plan, secrets, model, dialect, timeout_ns), say)
    if json:
        print_json(SCHEMA, report.findings, {"ready": report.ready, **report.facts})
    else:
        print_findings(report.findings)
        print("\nready to be measured" if report.ready else "\nnot ready")
    return 0 if report.ready else SetupError.exit_code


def _nobody(_text: str) -> None:
    """Steps are for people who wait; a log has no use for them."""
