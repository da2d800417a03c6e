"""The keys of a federation: an authority, the server's certificate, one key per node, a secret."""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from fedadp.errors import MissingExtraError, RunError, require

try:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
except ImportError as error:
    raise MissingExtraError(
        "fedadp flower pki: the package cryptography is missing; pip install 'fedadp[flower]'"
    ) from error

HERE = ("localhost", "127.0.0.1", "::1")
YEARS_OF_AUTHORITY, DAYS_OF_SERVER = 10, 825
MOST_NODES = 10_000
DAY = timedelta(days=1)
HOST = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)(\.(?!-)[A-Za-z0-9-]{1,63}(?<!-))*\.?")


@dataclass
class Keys:
    """A folder of keys; what is there is kept, what is missing is made."""

    folder: Path
    made: list[Path] = field(default_factory=list)
    kept: list[Path] = field(default_factory=list)

    def make(self, nodes: int, hosts: Sequence[str]) -> None:
        """All that is needed for so many nodes, and a server that is reached by these names."""
        names = [*dict.fromkeys([*map(_host, hosts), *HERE])]
        require(0 <= nodes <= MOST_NODES, "--nodes", nodes, f"a number from 0 to {MOST_NODES}")
        try:
            for folder in (self.folder, self.folder / "nodes"):
                folder.mkdir(parents=True, mode=0o700, exist_ok=True)
            self._authority()
            self._server(names)
            self.write("superexec.secret", lambda: secrets.token_bytes(32))
            for number in range(nodes):
                self._node(f"nodes/node-{number}")
        except OSError as error:
            place = error.filename or self.folder
            raise RunError(f"{place}: cannot be written ({error.strerror or error})") from error

    def _authority(self) -> None:
        if self._pair_is_there("ca.key", "ca.crt"):
            return
        key, name = ec.generate_private_key(ec.SECP256R1()), _named("fedadp authority")
        unsigned = (
            _certificate(name, name, key.public_key(), 365 * YEARS_OF_AUTHORITY)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(authority=True), critical=True)
        )
        self.write("ca.key", lambda: _pem(key))
        signed = unsigned.sign(key, hashes.SHA256())
        self.write("ca.crt", lambda: signed.public_bytes(serialization.Encoding.PEM))

    def _server(self, names: Sequence[str]) -> None:
        if self._pair_is_there("server.key", "server.crt"):
            self._check_names(names)
            return
        authority = x509.load_pem_x509_certificate((self.folder / "ca.crt").read_bytes())
        signer = serialization.load_pem_private_key((self.folder / "ca.key").read_bytes(), None)
        if not isinstance(signer, ec.EllipticCurvePrivateKey):
            raise RunError(f"{self.folder / 'ca.key'}: is no key of ours; give another folder")
        key = ec.generate_private_key(ec.SECP256R1())
        public = key.public_key()
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
        signed = (
            _certificate(_named(names[0][:64]), authority.subject, public, DAYS_OF_SERVER)
            .add_extension(x509.SubjectAlternativeName(map(_alternative, names)), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(authority=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(issuer, critical=False)
            .sign(signer, hashes.SHA256())
        )
        self.write("server.key", lambda: _pem(key))
        self.write("server.crt", lambda: signed.public_bytes(serialization.Encoding.PEM))

    def _check_names(self, names: Iterable[str]) -> None:
        path = self.folder / "server.crt"
        try:
            have = x509.load_pem_x509_certificate(path.read_bytes())
            held = have.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except (ValueError, x509.ExtensionNotFound) as error:
            raise RunError(f"{path}: is no certificate of ours; give another folder") from error
        if missing := [name for name in names if _alternative(name) not in list(held)]:
            raise RunError(
                f"{path}: is not for {missing[0]!r}; remove it and server.key, and run this again"
            )
        if have.not_valid_after_utc < datetime.now(UTC):
            day = have.not_valid_after_utc.date()
            raise RunError(f"{path}: ended on {day}; remove it and server.key, and run this again")

    def _node(self, name: str) -> None:
        if self._pair_is_there(name, f"{name}.pub"):
            return
        key = ec.generate_private_key(ec.SECP384R1())  # Flower takes ECDSA keys as OpenSSH has them
        form = serialization.PrivateFormat.OpenSSH
        self.write(name, lambda: _pem(key, form))
        public = key.public_key().public_bytes(
            serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
        )
        self.write(f"{name}.pub", lambda: public + b" " + Path(name).name.encode() + b"\n")

    def _pair_is_there(self, first: str, second: str) -> bool:
        pair = [self.folder / first, self.folder / second]
        there = [path for path in pair if path.exists()]
        if len(there) == 1:
            (lone,) = set(pair) - set(there)
            raise RunError(
                f"{there[0]}: is there without {lone.name}; bring that back, or remove this one"
            )
        self.kept += there
        return bool(there)

    def write(self, name: str, content: Callable[[], bytes]) -> None:
        """Never over a file that is there; nobody else may read it, not even for a moment."""
        path = self.folder / name
        if path.exists():
            self.kept.append(path)
            return
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as out:
            out.write(content())
        self.made.append(path)


def _host(name: str) -> str:
    try:
        return str(ipaddress.ip_address(name.strip("[]")))
    except ValueError:
        wanted = "a name such as fl.example.org, or an address"
        require(HOST.fullmatch(name) is not None and len(name) < 254, "--host", name, wanted)
        return name.rstrip(".").lower()


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder(subject_name=subject, issuer_name=issuer, public_key=key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - DAY)  # for clocks that are late
        .not_valid_after(now + days * DAY)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority, key_cert_sign=authority, crl_sign=authority,
        content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip


def _pem(
    key: ec.EllipticCurvePrivateKey,
    form: serialization.PrivateFormat = serialization.PrivateFormat.PKCS8,
) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
