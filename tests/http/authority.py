"""A certificate authority of the test's own, and keys."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)


def make_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def pem(key: rsa.RSAPrivateKey) -> str:
    kind = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, kind, serialization.NoEncryption()).decode()


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


class Authority:
    """Signs certificates; its own is in `ca_file`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.key = make_key()
        self.certificate = self._sign("test authority", self.key, is_authority=True)
        self.ca_file = directory / "ca.pem"
        self.ca_file.write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str) -> Path:
        """A certificate and its key, in one file."""
        key = make_key()
        path = self.directory / f"{name}.pem"
        signed = self._sign(name, key).public_bytes(serialization.Encoding.PEM).decode()
        path.write_text(pem(key) + signed)
        return path

    def context(self, name: str = "127.0.0.1", *, wants_client: bool = False) -> ssl.SSLContext:
        """How a server of that name speaks TLS."""
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(self.issue(name))
        if wants_client:
            made.verify_mode = ssl.CERT_REQUIRED
            made.load_verify_locations(self.ca_file)
        return made

    def _sign(self, name: str, key: rsa.RSAPrivateKey, *, is_authority: bool = False) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(_name(name))
            .issuer_name(_name("test authority"))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _DAY)
            .not_valid_after(now + _DAY)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        if not is_authority:
            try:
                names: list[x509.GeneralName] = [x509.IPAddress(ipaddress.ip_address(name))]
            except ValueError:
                names = [x509.DNSName(name)]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        return (
            builder.add_extension(identifier, critical=False)
            .add_extension(issuer, critical=False)
            .add_extension(_usage(is_authority=is_authority), critical=True)
            .sign(self.key, hashes.SHA256())
        )


def _usage(*, is_authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not is_authority,
        content_commitment=False,
        key_encipherment=not is_authority,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        encipher_only=False,
        decipher_only=False,
    )
