"""``muninn start`` and ``serve``: what they say, and that a start which fails makes nothing and shows no token."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from muninn import logs
from muninn.cli import command, serve

PEM = "-----BEGIN CERTIFICATE-----\nbm90aGluZw==\n-----END CERTIFICATE-----\n"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    (tmp_path / "vault").mkdir()
    return tmp_path / "vault"


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def runs(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    places = ("--vault", str(folder / "vault"), "--home", str(folder / "home"), "--cache", str(folder / "cache"))
    whole = [sys.executable, "-P", "-m", "muninn", *arguments, *places]
    return subprocess.run(whole, capture_output=True, text=True, timeout=60)


def test_start_without_the_vault_makes_nothing(tmp_path: Path) -> None:
    ran = runs(tmp_path, "start", "--port", "0")
    assert ran.returncode == 1
    assert f"at {tmp_path / 'vault'}" in ran.stderr
    assert "mnn_" not in ran.stdout
    assert list(tmp_path.iterdir()) == []


def test_start_at_a_taken_port_shows_no_token(vault: Path, taken: int) -> None:
    ran = runs(vault.parent, "start", "--port", str(taken))
    assert ran.returncode == 1
    assert f"cannot listen on 127.0.0.1:{taken}" in ran.stderr
    assert "mnn_" not in ran.stdout
    assert not (vault.parent / "home/clients.toml").exists()


def test_start_makes_a_client_and_names_the_port_it_got(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ports: list[int] = []

    def run(_settings: Any, _door: Any, listening: socket.socket, _binding: Any) -> None:
        ports.append(listening.getsockname()[1])
        listening.close()

    monkeypatch.setattr(serve, "_run", run)
    monkeypatch.setattr(logs, "start", lambda level: None)
    places = {f"MUNINN_{name.upper()}": str(vault.parent / name) for name in ("vault", "home", "cache")}
    first = CliRunner().invoke(command, ["start", "--port", "0"], env=places)
    again = CliRunner().invoke(command, ["start", "--port", "0"], env=places)
    assert (first.exit_code, again.exit_code) == (0, 0), first.output
    assert f"http://127.0.0.1:{ports[0]}/mcp" in first.output
    assert "mnn_" in first.output
    assert f"connect claude-code --home {vault.parent / 'home'}" in first.output
    assert "no note is in it yet" in first.output
    assert "mnn_" not in again.output
    assert "client rotate" in again.output


def test_a_sample_whose_token_was_revoked_shows_it_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "_run", lambda _settings, _door, listening, _binding: listening.close())
    monkeypatch.setattr(logs, "start", lambda _level: None)
    arguments = ["start", "--port", "0", "--sample", str(tmp_path / "run")]
    runner = CliRunner()
    first = runner.invoke(command, arguments)
    token = (tmp_path / "run/token").read_text().strip()
    assert token in first.output
    assert "no note" not in first.output
    assert token in runner.invoke(command, arguments).output
    home = ["--home", str(tmp_path / "run/home")]
    assert runner.invoke(command, ["client", "add", "other", *home]).exit_code == 0
    assert runner.invoke(command, ["client", "revoke", "first-agent", *home]).exit_code == 0
    later = runner.invoke(command, arguments)
    assert (later.exit_code, token in later.output, "client rotate" in later.output) == (0, False, True)


def test_serve_without_a_client_says_how_to_make_one(vault: Path) -> None:
    ran = runs(vault.parent, "serve", "--port", "0")
    assert ran.returncode == 1
    assert f"muninn client add NAME --home {vault.parent / 'home'}" in ran.stderr


def test_files_that_are_no_certificate_and_key_are_said(vault: Path) -> None:
    assert runs(vault.parent, "client", "add", "ada").returncode == 0
    pem = vault.parent / "cert.pem"
    pem.write_text(PEM)
    ran = runs(vault.parent, "serve", "--port", "0", "--tls-cert", str(pem), "--tls-key", str(pem))
    assert ran.returncode == 1
    assert "look at --tls-cert and --tls-key" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert "serving" not in ran.stdout
