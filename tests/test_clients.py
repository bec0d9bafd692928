"""Clients: tokens are kept as hashes only, changes count at once, and faults name the client, never a token."""

import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from muninn import clients
from muninn.model.errors import SettingsError

NOW = datetime.now(UTC)


def made(name: str, token: str, days: int | None = None) -> clients.Client:
    return clients.make(name, token, days=days)


def test_a_token_has_256_random_bits_and_is_never_stored(tmp_path: Path) -> None:
    token = clients.new_token()
    assert token.startswith("mnn_")
    assert len(token) == 4 + 43
    path = tmp_path / "home" / "clients.toml"
    clients.save(path, clients.added({}, made("a", token)))
    assert token not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_what_is_saved_is_loaded_again(tmp_path: Path) -> None:
    path = tmp_path / "clients.toml"
    kept = {"a.b-c": clients.make("a.b-c", "t" * 40, {"read"}, ('we"ird/**',), ("x/",), 3)}
    clients.save(path, kept)
    assert clients.load(path) == kept


def test_a_change_counts_from_the_next_call_on(tmp_path: Path) -> None:
    path = tmp_path / "clients.toml"
    clients.save(path, clients.added({}, made("a", "a" * 40)))
    register = clients.Register(path)
    assert register.find(b"a" * 40, NOW) is not None
    clients.save(path, clients.rotated(clients.load(path), "a", "b" * 40))
    assert register.find(b"a" * 40, NOW) is None
    assert register.find(b"b" * 40, NOW) is not None
    with clients.changing(path) as known:
        clients.revoke(known, "a")
    assert register.find(b"b" * 40, NOW) is None


def test_a_file_that_cannot_be_read_lets_nobody_in(tmp_path: Path) -> None:
    path = tmp_path / "clients.toml"
    clients.save(path, clients.added({}, made("a", "a" * 40)))
    register = clients.Register(path)
    assert register.find(b"a" * 40, NOW) is not None
    path.write_text("[clients.a\n")
    assert register.find(b"a" * 40, NOW) is None
    assert register.fault is not None
    os.unlink(path)
    assert register.find(b"a" * 40, NOW) is None


def test_an_expired_token_is_no_token(tmp_path: Path) -> None:
    path = tmp_path / "clients.toml"
    clients.save(path, clients.added({}, made("a", "a" * 40, days=2)))
    register = clients.Register(path)
    assert register.find(b"a" * 40, NOW + timedelta(days=1)) is not None
    assert register.find(b"a" * 40, NOW + timedelta(days=3)) is None


def test_two_clients_cannot_share_a_token(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="belongs to the client a already"):
        clients.added({"a": made("a", "x" * 40)}, made("b", "x" * 40))
    path = tmp_path / "clients.toml"
    clients.save(path, {"a": made("a", "x" * 40), "b": made("b", "x" * 40)})
    with pytest.raises(SettingsError, match=r"a and b have the same token"):
        clients.load(path)


def test_a_token_in_clear_is_refused_by_client_and_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "clients.toml"
    secret = "very-secret-token-0123456789-abcdefg"
    for row in (f'token = "{secret}"', f'token_sha256 = "{secret}"'):
        path.write_text(f'[clients.agent-x]\n{row}\nscopes = ["read"]\nread = ["**"]\nwrite = []\n')
        with pytest.raises(SettingsError, match="agent-x") as caught:
            clients.load(path)
        assert secret not in str(caught.value)


@pytest.mark.parametrize("token", ["short", "x" * 31, "x" * 513, "with space " * 4, "ümlaut" * 8, "tab\t" * 10])
def test_a_weak_or_odd_token_is_refused(token: str) -> None:
    with pytest.raises(SettingsError) as caught:
        clients.check_token(token)
    assert token not in str(caught.value)


@pytest.mark.parametrize("name", ["", "-a", "a b", "a/b", "ä", "x" * 65])
def test_an_odd_name_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="no client name"):
        made(name, "x" * 40)


def test_scopes_are_known_and_code_needs_read() -> None:
    with pytest.raises(SettingsError, match="unknown scope delete"):
        clients.make("a", "x" * 40, {"delete"}, (), (), None)
    with pytest.raises(SettingsError, match="needs the scope read"):
        clients.make("a", "x" * 40, {"code"}, (), (), None)


@pytest.mark.parametrize("text", ["clients = 3\n", "clients = []\n", "[clients]\na = 1\n"])
def test_a_file_of_another_shape_is_said_not_raised(tmp_path: Path, text: str) -> None:
    path = tmp_path / "clients.toml"
    path.write_text(text)
    with pytest.raises(SettingsError):
        clients.load(path)


@pytest.mark.parametrize("glob", ["", " ", "a\nb"])
def test_an_empty_glob_is_refused_rather_than_guessed(glob: str) -> None:
    with pytest.raises(SettingsError, match="glob"):
        clients.make("a", "x" * 40, {"read"}, (glob,), ("**",), None)
