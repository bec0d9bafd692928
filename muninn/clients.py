"""The clients of a door: names, rights and the SHA-256 of each token, in ``clients.toml`` in the home.

A token itself is never stored. A change counts from the next call on: the file is looked at before each one.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import hmac
import json
import logging
import os
import re
import secrets
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from muninn import home
from muninn.model.errors import SettingsError
from muninn.model.rights import DEFAULT_SCOPES, EVERYTHING, SCOPES, Globs, Rights

log = logging.getLogger("muninn.clients")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_TOKEN = re.compile(r"[\x21-\x7e]{32,512}\Z")
_PREFIX: Final = "mnn_"


@dataclass(frozen=True, slots=True)
class Client:
    """One client as it is kept. ``expires`` is None for a token without an end."""

    name: str
    digest: str
    scopes: frozenset[str]
    read: tuple[str, ...]
    write: tuple[str, ...]
    created: str
    expires: str | None = None

    def rights(self, private: Globs) -> Rights:
        """What this client may do in a vault with these private paths."""
        return Rights(self.name, self.scopes, Globs(self.read), Globs(self.write), private)

    def is_expired(self, now: datetime) -> bool:
        """Whether the token's time is over."""
        return self.expires is not None and datetime.fromisoformat(self.expires) <= now


def new_token() -> str:
    """A token with 256 random bits."""
    return _PREFIX + secrets.token_urlsafe(32)


def digest_of(token: str) -> str:
    """What is kept of a token. 256 random bits need no slow hash."""
    return hashlib.sha256(token.encode()).hexdigest()


def check_token(token: str) -> None:
    """Refuse a token made elsewhere that is too weak or could not travel in a header."""
    if not _TOKEN.match(token):
        raise SettingsError("a token needs 32 to 512 printable ASCII characters without spaces; it was not taken")


def load(path: Path) -> dict[str, Client]:
    """All clients by name; none where there is no file.

    Raises SettingsError that names the client (never a token) for a faulty row, two clients of one token,
    and a token written in clear.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path.name} cannot be read: {type(error).__name__}") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path.name} is not valid TOML") from error
    rows = found.get("clients", {})
    if not isinstance(rows, dict):
        raise SettingsError(f"{path.name}: clients must be tables such as [clients.NAME]")
    clients = {name: _client(name, row) for name, row in rows.items()}
    seen: dict[str, str] = {}
    for name, client in clients.items():
        if client.digest in seen:
            raise SettingsError(
                f"{path.name}: {seen[client.digest]} and {name} have the same token; rotate one of them"
            )
        seen[client.digest] = name
    return clients


def save(path: Path, clients: Mapping[str, Client]) -> None:
    """Write all clients, readable by the owner alone, in one rename."""
    lines = ["# The clients of this door. Tokens are kept as their SHA-256 only; use `muninn client`.", ""]
    for name in sorted(clients):
        lines += [*_row(clients[name]), ""]
    home.put(path, "\n".join(lines))


def make(
    name: str,
    token: str,
    scopes: Iterable[str] = DEFAULT_SCOPES,
    read: Iterable[str] = EVERYTHING.patterns,
    write: Iterable[str] = EVERYTHING.patterns,
    days: int | None = None,
) -> Client:
    """A new client, which may come for so many ``days``, None for ever.

    Raises SettingsError for a name, a scope or a glob that is none.
    """
    if not _NAME.match(name):
        raise SettingsError(f"{name!r} is no client name: letters, digits, dot, hyphen, underscore, at most 64")
    wanted = frozenset(scopes)
    read, write = tuple(read), tuple(write)
    if not all(glob.strip() and glob.isprintable() for glob in (*read, *write)):
        raise SettingsError("a glob is empty or unprintable; ** stands for every path")
    unknown = sorted(wanted - set(SCOPES))
    if unknown:
        raise SettingsError(f"unknown scope {', '.join(unknown)}; known are {', '.join(SCOPES)}")
    if "code" in wanted and "read" not in wanted:
        raise SettingsError("the scope code needs the scope read")
    now = datetime.now(UTC).replace(microsecond=0)
    expires = (now + timedelta(days=days)).isoformat() if days is not None else None
    return Client(name, digest_of(token), wanted, read, write, now.isoformat(), expires)


def added(clients: Mapping[str, Client], client: Client) -> dict[str, Client]:
    """The clients with one more. Raises SettingsError for a name or a token that is taken."""
    if client.name in clients:
        raise SettingsError(f"there is a client {client.name} already; use `muninn client rotate {client.name}`")
    _refuse_taken(clients, client.digest)
    return {**clients, client.name: client}


def rotated(clients: Mapping[str, Client], name: str, token: str) -> dict[str, Client]:
    """The clients with a new token for one; its old token stops at once."""
    digest = digest_of(token)
    _refuse_taken(clients, digest)
    return {**clients, name: replace(_known(clients, name), digest=digest)}


def revoke(clients: dict[str, Client], name: str) -> None:
    """Take one client out."""
    del clients[_known(clients, name).name]


@contextlib.contextmanager
def changing(path: Path) -> Iterator[dict[str, Client]]:
    """The clients, to be changed in place and saved: two commands at once never lose one another's change."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        known = load(path)
        yield known
        save(path, known)
    finally:
        os.close(descriptor)


class Register:
    """The clients as the file has them now. A file that cannot be read lets nobody in, and says so once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._by_digest: dict[bytes, Client] = {}
        self.fault: str | None = None

    def find(self, token: bytes, now: datetime) -> Client | None:
        """The client this token belongs to; None for a wrong or an expired one."""
        self._refresh()
        digest = hashlib.sha256(token).hexdigest().encode()
        found: Client | None = None
        for known, client in self._by_digest.items():
            # Every digest is compared in full, so that the time does not tell which one came close.
            if hmac.compare_digest(known, digest):
                found = client
        return None if found is None or found.is_expired(now) else found

    def named_by(self, digest: str, now: datetime) -> Client | None:
        """The client whose token has this digest now; None where there is none any more, or its time is over.

        For a session that was opened with the token and remembers its digest; a caller's word is never a digest.
        """
        self._refresh()
        found = self._by_digest.get(digest.encode())
        return None if found is None or found.is_expired(now) else found

    def _refresh(self) -> None:
        try:
            seen = os.stat(self._path)
            key = (seen.st_ino, seen.st_mtime_ns, seen.st_size)
        except OSError:
            key = (0, 0, 0)
        if key == self._seen:
            return
        try:
            clients = load(self._path)
            self.fault = None
        except SettingsError as error:
            clients, self.fault = {}, str(error)
            log.error("nobody is let in until the clients can be read: %s", error)
        self._by_digest = {client.digest.encode(): client for client in clients.values()}
        self._seen = key


def _known(clients: Mapping[str, Client], name: str) -> Client:
    if name not in clients:
        names = ", ".join(sorted(clients)) or "none yet; make one with `muninn client add NAME`"
        raise SettingsError(f"there is no client {name!r}; known are: {names}")
    return clients[name]


def _refuse_taken(clients: Mapping[str, Client], digest: str) -> None:
    for client in clients.values():
        if client.digest == digest:
            raise SettingsError(f"this token belongs to the client {client.name} already; give each client its own")


def _client(name: str, row: Any) -> Client:
    if not isinstance(row, dict):
        raise SettingsError(f"clients.toml: {name} is no table")
    if not _NAME.match(name):
        raise SettingsError(f"clients.toml: {name!r} is no client name")
    if "token" in row or not _DIGEST.match(str(row.get("token_sha256", ""))):
        clear = "its token is written in clear" if "token" in row else "token_sha256 is no SHA-256"
        raise SettingsError(f"clients.toml: client {name}: {clear}; take it out and use `muninn client rotate {name}`")
    known = {"token_sha256", "scopes", "read", "write", "created", "expires"}
    unknown = sorted(set(row) - known)
    if unknown:
        raise SettingsError(
            f"clients.toml: client {name}: unknown key {unknown[0]}; known are {', '.join(sorted(known))}"
        )
    scopes = frozenset(_texts(name, row, "scopes"))
    if not scopes <= set(SCOPES):
        raise SettingsError(f"clients.toml: client {name}: unknown scope in {sorted(scopes)}; known are {list(SCOPES)}")
    expires = row.get("expires")
    if expires is not None:
        _check_time(name, expires)
    return Client(
        name,
        row["token_sha256"],
        scopes,
        _texts(name, row, "read"),
        _texts(name, row, "write"),
        str(row.get("created", "")),
        expires,
    )


def _texts(name: str, row: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = row.get(key)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise SettingsError(f"clients.toml: client {name}: {key} must be a list of strings")
    return tuple(value)


def _check_time(name: str, text: Any) -> None:
    try:
        if datetime.fromisoformat(text).tzinfo is not None:
            return
    except (TypeError, ValueError):
        pass
    raise SettingsError(
        f"clients.toml: client {name}: expires must be a time with its zone, as 2026-12-31T00:00:00+00:00"
    )


def _row(client: Client) -> list[str]:
    def texts(values: Iterable[str]) -> str:
        return "[" + ", ".join(json.dumps(value, ensure_ascii=False) for value in values) + "]"

    lines = [
        f"[clients.{json.dumps(client.name)}]",
        f'token_sha256 = "{client.digest}"',
        f"scopes = {texts(sorted(client.scopes))}",
        f"read = {texts(client.read)}",
        f"write = {texts(client.write)}",
        f'created = "{client.created}"',
    ]
    return lines if client.expires is None else [*lines, f'expires = "{client.expires}"']
