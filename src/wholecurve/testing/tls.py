"""TLS for the scripted server: a server side over memory buffers, and certificates made on the spot."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class ServerTls:
    """One connection's TLS, without a socket: encrypted bytes in, plain bytes out, and the other way round."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._shaken = False

    def receive(self, data: bytes) -> bytes:
        """Plain bytes that `data` completes. Raises ssl.SSLError when the handshake or a record fails."""
        self._incoming.write(data)
        plain = bytearray()
        with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            if not self._shaken:
                self._object.do_handshake()
                self._shaken = True
            while part := self._object.read(65536):
                plain += part
        return bytes(plain)

    def write(self, data: bytes) -> None:
        """Encrypt; take the result with `pending`. Before the handshake is done, bytes go out as they are."""
        if self._shaken:
            self._object.write(data)
        else:
            self._outgoing.write(data)

    def pending(self) -> bytes:
        """Bytes that have to go to the peer."""
        return self._outgoing.read()


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """PEM files: server certificate and key, the authority to trust, and a client pair when an authority was made."""

    certificate: Path
    key: Path
    authority: Path
    client_certificate: Path | None = None
    client_key: Path | None = None


def make_certificate(
    folder: Path, *, ca: bool = False, hosts: tuple[str, ...] = ("127.0.0.1", "::1", "localhost"), expired: bool = False
) -> CertificateFiles:
    """Write certificates for `hosts` into `folder`.

    `ca` False: one self-signed certificate (`authority` is the same file). `ca` True: an authority, and a server and a
    client certificate signed by it. `expired`: the server certificate ended yesterday. Needs `cryptography`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not ca:
        pair = _signed(folder, "server", hosts, signer=None, authority=False, expired=expired)
        return CertificateFiles(pair.certificate, pair.key, pair.certificate)
    root = _signed(folder, "authority", (), signer=None, authority=True, expired=False)
    server = _signed(folder, "server", hosts, signer=root, authority=False, expired=expired)
    client = _signed(folder, "client", (), signer=root, authority=False, expired=False)
    return CertificateFiles(server.certificate, server.key, root.certificate, client.certificate, client.key)


def server_context(files: CertificateFiles, *, require_client: bool = False) -> ssl.SSLContext:
    """A server-side context for `ScriptedServer(tls=...)`; `require_client` refuses peers without a client certificate.

    With `require_client` TLS 1.2 is used, so that the refusal is part of the handshake.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    if require_client:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(files.authority)
    return context


@dataclass(frozen=True, slots=True)
class _Signed:
    certificate: Path
    key: Path
    x509: Any
    private: Any


def _signed(
    folder: Path, name: str, hosts: tuple[str, ...], *, signer: _Signed | None, authority: bool, expired: bool
) -> _Signed:
    """One key and certificate, self-signed without a signer, written as NAME.pem and NAME.key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    private = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"test {name}")])
    now = datetime.datetime.now(datetime.UTC)
    end = now - datetime.timedelta(days=1) if expired else now + datetime.timedelta(days=2)
    issuer_key = signer.private if signer else private
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(signer.x509.subject if signer else subject)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=3))
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(private.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName([_general_name(host) for host in hosts]), False)
    found = builder.sign(issuer_key, hashes.SHA256())
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    certificate.write_bytes(found.public_bytes(serialization.Encoding.PEM))
    key.write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return _Signed(certificate, key, found, private)


def _general_name(host: str) -> Any:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
