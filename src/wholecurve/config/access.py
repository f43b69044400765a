"""How the endpoint is reached: addresses, TLS, proxy, and the headers that are secret.

A key comes from a variable or a file, never from an argument, and goes into `Secrets` only. No error shows a value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from wholecurve.config.interpolate import interpolate
from wholecurve.config.redact import url_secret, url_shown
from wholecurve.config.schema import EndpointSettings
from wholecurve.model.errors import InputError
from wholecurve.model.plan import EndpointPlan, Secrets, Tls
from wholecurve.wire import DIALECTS, bearer, check_header, endpoint_url, with_key

DEFAULT_KEY_VARIABLE = "WHOLECURVE_API_KEY"
MAX_KEY_BYTES = 16 << 10

# The client writes these itself; two of them would break the framing or the measurement.
_OWN_HEADERS = {
    "connection",
    "content-length",
    "content-type",
    "expect",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "accept-encoding",
}


def endpoint_of(settings: EndpointSettings, environ: Mapping[str, str]) -> tuple[EndpointPlan, Secrets]:
    """The endpoint as it is planned, and its header values. Raises InputError for all that is not usable."""
    for place, url in enumerate(settings.urls):
        _check_url(url, f"endpoint.urls[{place}]", DIALECTS[settings.dialect].path)
    if len(set(settings.urls)) < len(settings.urls):
        raise InputError("endpoint.urls: the same address is given twice", hint="requests are spread by themselves")
    if settings.proxy is not None:
        _check_proxy(settings.proxy)
    secrets = Secrets(_headers(settings, environ))
    plan = EndpointPlan(
        urls=settings.urls,
        dialect=settings.dialect,
        model=settings.model,
        header_names=tuple(name for name, _ in secrets.headers),
        tls=_tls(settings),
        proxy=settings.proxy,
    )
    return plan, secrets


def _check_url(url: str, key: str, path: str) -> None:
    """Refuses what cannot be asked, and what would put a secret into the results."""
    secret = url_secret(url)
    if secret:
        raise InputError(
            f"{key}: the URL holds a secret ({secret}), and URLs are written into results",
            hint="send it as a header instead: headers: {Authorization: '${VARIABLE}'}",
        )
    try:
        endpoint_url(url, path)
    except InputError as error:
        raise InputError(f"{key}: {error.message}", hint=error.hint) from None


def _check_proxy(url: str) -> None:
    if url_secret(url):
        raise InputError(
            "endpoint.proxy: wanted a proxy without user name and password, which would be written into results"
        )
    try:
        endpoint_url(url, "")
    except InputError:
        raise InputError("endpoint.proxy: wanted http://host:port, got something else") from None
    if urlsplit(url).scheme != "http":
        raise InputError(f"endpoint.proxy: wanted http://host:port, got {url_shown(url)}")


def _tls(settings: EndpointSettings) -> Tls:
    for name in ("ca_file", "client_cert", "client_key"):
        path = getattr(settings, name)
        if path is not None and not Path(path).is_file():
            raise InputError(f"endpoint.{name}: wanted a PEM file, found none at {path}", hint="check the path")
    if settings.client_key and not settings.client_cert:
        raise InputError("endpoint.client_key: wanted endpoint.client_cert too, got none")
    if settings.insecure and settings.ca_file:
        raise InputError(
            "endpoint.insecure turns off what endpoint.ca_file asks for; wanted one of them",
            hint="with the right ca_file, insecure is not needed",
        )
    return Tls(not settings.insecure, settings.ca_file, settings.client_cert, settings.client_key)


def _headers(settings: EndpointSettings, environ: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The key as Authorization, unless the user wrote that header, and the extra headers in their order."""
    found: dict[str, tuple[str, str]] = {}
    for name, template in settings.headers.items():
        key = f"endpoint.headers.{name}"
        if name.lower() in _OWN_HEADERS:
            raise InputError(f"{key}: this header is written by the client itself")
        if name.lower() in found:
            raise InputError(f"{key}: this header is given twice")
        value = interpolate(template, environ, key=key).strip()
        if name.lower() == "authorization" and value.lower().startswith("bearer bearer "):
            value = value[len("bearer ") :]  # the variable said `Bearer` already
        if not value:
            raise InputError(f"{key}: the value is empty", hint="is its variable empty?")
        check_header(name, value)
        found[name.lower()] = name, value
    has_own = "authorization" in found
    if has_own and (settings.api_key_env or settings.api_key_file):
        raise InputError("endpoint: wanted an API key or an Authorization header, got both")
    return with_key(found.values(), None if has_own else _api_key(settings, environ))


def _api_key(settings: EndpointSettings, environ: Mapping[str, str]) -> str | None:
    """The key that was asked for; a key nobody named is never sent."""
    if settings.api_key_env and settings.api_key_file:
        raise InputError("endpoint: wanted api_key_env or api_key_file, got both")
    if settings.api_key_file:
        return _checked_key(_read_key(settings.api_key_file), "endpoint.api_key_file")
    if settings.api_key_env:
        if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", settings.api_key_env) is None:
            raise InputError(
                "endpoint.api_key_env: wanted the name of an environment variable, got something else",
                hint="this key takes the variable's name, not its value",
            )
        if not environ.get(settings.api_key_env):
            state = "empty" if settings.api_key_env in environ else "not set"
            raise InputError(
                f"endpoint.api_key_env: the environment variable {settings.api_key_env} is {state}",
                hint=f"export {settings.api_key_env}, or use endpoint.api_key_file",
            )
        return _checked_key(environ[settings.api_key_env], "endpoint.api_key_env")
    value = environ.get(DEFAULT_KEY_VARIABLE)
    return _checked_key(value, DEFAULT_KEY_VARIABLE) if value else None


def _read_key(path: str) -> str:
    try:
        with Path(path).open("rb") as stream:
            raw = stream.read(MAX_KEY_BYTES + 1)
    except OSError as error:
        raise InputError(
            f"endpoint.api_key_file: cannot read {path}: {error.strerror}", hint="check the path"
        ) from None
    if len(raw) > MAX_KEY_BYTES:
        raise InputError(f"endpoint.api_key_file: wanted one line, got more than {MAX_KEY_BYTES} bytes", where=path)
    return raw.decode("utf-8", "replace")


def _checked_key(text: str, key: str) -> str:
    try:
        return bearer(text)
    except InputError as error:
        raise InputError(f"{key}: {error.message}", hint="wanted the key alone, on one line") from None
