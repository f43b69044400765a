"""Asks the pages of a serving engine over one connection, with the same code as a run's requests."""

from __future__ import annotations

import os
from typing import Any

from wholecurve.config import RunFlags, settings_from
from wholecurve.config.access import endpoint_of
from wholecurve.describe import served_fields
from wholecurve.model.errors import SetupError
from wholecurve.model.plan import Limits, Plan, RequestOptions
from wholecurve.model.units import NS_PER_S
from wholecurve.run.addresses import resolve_addresses
from wholecurve.run.diagnosis import MODELS_PATH, models_request
from wholecurve.run.exchange import Link, Unreachable
from wholecurve.run.outgoing import Outgoing

TIMEOUT_NS = 10 * NS_PER_S


def ask_engine(url: str) -> dict[str, Any]:
    """Top fields that the engine at the URL tells. Raises InputError for a wrong URL, SetupError if nobody is there."""
    flags = RunFlags(endpoint=(url,), model="any", dataset="none")
    plan, secrets = endpoint_of(settings_from(flags).endpoint, os.environ)
    outgoing = Outgoing(Plan("describe", plan, RequestOptions(), (), (), Limits(), workers=1, seed=0), secrets)
    request = models_request(outgoing, plan.urls[0])
    line, _, rest = request.partition(b"\r\n")
    (address, *_) = resolve_addresses(outgoing.targets, outgoing.proxy)
    links: list[Link] = []

    def fetch(page: str) -> bytes | None:
        asked = line.replace(MODELS_PATH.encode(), page.encode(), 1)
        try:
            if not links or not links[-1].alive:
                links.append(Link(address, outgoing.tls, TIMEOUT_NS, outgoing.proxy_authorization))
            whole = links[-1].fetch(asked + b"\r\n" + rest)
        except Unreachable as error:
            raise SetupError(f"--endpoint: {error.message}", hint=error.hint) from None
        return whole.body if whole.head is not None and whole.head.status == 200 and whole.complete else None

    try:
        return served_fields(fetch)
    finally:
        for link in links:
            link.close()
