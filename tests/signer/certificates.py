"""Certificates for the two sides of a signer's connection."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from payments.chains.signer.connection import Certificates


class Authority:
    """One that issues certificates; its own is at this path."""

    def __init__(self, path: Path) -> None:
        self.path, self._key = path, ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, path.stem)])
        builder = self._builder(self._key, self._name)
        made = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        path.write_bytes(made.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM))

    def issue(self, folder: Path, host: str) -> Certificates:
        """Files in a new folder: a key, and a certificate for a name or an address of a host."""
        folder.mkdir()
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
        name = x509.IPAddress(ip_address(host)) if host[0].isdigit() else x509.DNSName(host)
        made = self._builder(key, subject).add_extension(x509.SubjectAlternativeName([name]), critical=False)
        found = Certificates(str(folder / "certificate.pem"), str(folder / "key.pem"), str(self.path))
        certificate = made.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM)
        Path(found.certificate).write_bytes(certificate)
        Path(found.key).write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return found

    def _builder(self, key: ec.EllipticCurvePrivateKey, subject: x509.Name) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=1))
        )
