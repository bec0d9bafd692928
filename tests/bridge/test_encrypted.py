"""The bridge before a gateway with TLS: a certificate that nobody vouches for is not trusted, and gets no token."""

from __future__ import annotations

import ssl
import time
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.bridge.process import bridged
from tests.door.gateway import places


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate of this machine's address that it signed itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "muninn test")])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (tmp_path / "key.pem").write_bytes(secret)
    return tmp_path / "cert.pem", tmp_path / "key.pem"


def test_certificates_are_verified(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    made = places(tmp_path / "places")
    made.launch("--tls-cert", str(pair[0]), "--tls-key", str(pair[1]))
    try:
        for _ in range(400):
            try:
                ssl.get_server_certificate(("127.0.0.1", made.port), timeout=5)
                break
            except OSError:
                time.sleep(0.05)
        address = f"https://127.0.0.1:{made.port}/mcp"
        with bridged("--url", address, token=made.tokens["a"]) as bridge:
            error = bridge.ask("ping")["error"]
            assert error["data"]["reason"] == "unreachable"
            assert "certificate" in error["message"]
        with bridged("--url", address, "--ca-file", str(pair[0]), token=made.tokens["a"]) as bridge:
            assert bridge.ask("ping")["result"] == {}
            assert bridge.end() == (0, "")
    finally:
        made.stop()
