"""One case's world: its folders, its clients, its door, the commands beside it. Nothing of it outlives the case."""

from __future__ import annotations

import itertools
import json
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import calls, outside, server, tomltext
from .calls import Door
from .content import fixture_bytes
from .faults import Faults
from .laying import lay_files, lay_remote, lay_root
from .places import fresh_places, new_token, other_file_system, put_places, remove_folder
from .process import Ended, run
from .records import Record
from .server import MUNINN, Server
from .values import Sight
from .verdict import BlockedError, NotCarriedOutError, UndefinedError, UnknownWordError, one_line
from .wire import LateError, exchange

_NO_COMMAND = re.compile(r"No such command ['\"]([^'\"]+)['\"]")
_NOT_PASSED_ON = ("MUNINN_", "GIT_", "XDG_", "PYTHONPATH", "PYTHONHOME")
_DEFAULT_CLIENTS = ({"name": "client-a"}, {"name": "client-b"})
_COMMAND_S = 300.0


class World:
    """A fresh folder with `given` laid down in it and, unless told otherwise, a door in front of it."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given = given
        self.places = fresh_places()
        self.faults = Faults(self.places)
        self.server: Server | None = None
        self.seconds: list[Server] = []
        self.port = server.free_port()
        self._tokens = {str(one["name"]): str(one["token"]) for one in self.clients if "token" in one}
        self._numbers = itertools.count(1)
        self._schemas: dict[str, dict[str, Any]] = {}
        self._other: Path | None = None
        self._homes = {self.places.home}
        self.roots = {str(self.places.vault), str(self.places.home), str(self.places.cache)}

    @property
    def clients(self) -> Sequence[Mapping[str, Any]]:
        return list(self.given.get("clients", _DEFAULT_CLIENTS))

    # What a value stands on.

    def put(self, text: str) -> str:
        """The text with its places replaced."""
        return put_places(text, self._place)

    def path(self, text: str) -> Path:
        """The file a path speaks of: below one of the case's places, else relative to the vault."""
        roots = [self.places.base] + ([self._other] if self._other else [])
        absolute = any(text == str(root) or text.startswith(f"{root}/") for root in roots)
        full = text if absolute else f"{self.places.vault}/{text}"
        within = os.path.normpath(full)
        if not any(within == str(root) or within.startswith(f"{root}/") for root in roots):
            raise UnknownWordError(f"path {text!r} leaves the case's folder")
        return Path(full)

    def fixture(self, path: str) -> bytes:
        """The content of the file of `given` with this path."""
        for entry in self.given.get("files", []):
            if entry.get("path") == path:
                return fixture_bytes(entry)
        raise UnknownWordError(f"fixture {path}")

    def token(self, name: str) -> str:
        """The token of a client; made when first asked for, so that a step may add the client itself."""
        return self._tokens.setdefault(name, new_token())

    def _place(self, name: str) -> str:
        match name:
            case "vault_name":
                return self.places.vault.name
            case "vault" | "parent" | "home" | "cache" | "remote":
                return str(getattr(self.places, name))
            case "port":
                return str(self.port)
            case "other_fs":
                self._other = self._other or other_file_system(self.places.vault)
                return str(self._other)
            case "key":
                return self._key()
            case _:
                return self.token(name.removeprefix("token "))

    def _key(self) -> str:
        try:
            return (self.places.home / "backup" / "key").read_text("utf-8").strip()
        except OSError as wrong:
            raise UndefinedError(f"<key>: {wrong.strerror}") from wrong

    def _placed(self, value: Any) -> Any:
        match value:
            case str():
                return self.put(value)
            case list():
                return [self._placed(inner) for inner in value]
            case Mapping():
                return {key: self._placed(inner) for key, inner in value.items()}
            case _:
                return value

    # Laying down and starting.

    def begin(self, sight: Sight) -> None:
        """Lays everything down and starts the door, unless the steps are to do that."""
        starts = self.given.get("start", True) is not False
        lay_root(self.places, is_link=bool(self.given.get("vault_is_link")))
        lay_files(self.given, self.put, self._given_path)
        if starts:
            self._add_clients(self.places.vault, self.places.home, self.places.cache)
        self._write_config()
        self._init_remote()
        for fault in self.given.get("faults", []):
            self.faults.arm(fault, sight)
        if starts:
            self._open_door()

    def _open_door(self) -> None:
        started = self.start()
        if not started.ok or server.health(self._running()) != 200:
            self._refuse_unbuilt_serve(started)
            raise NotCarriedOutError(f"the server does not start: {one_line(started.text[-600:])}")
        for client in self.clients:
            self._schemas[str(client["name"])] = self._listed(str(client["name"]))
        self._scan_once()
        self._wait_for_undoable()

    def lay_more(self, given: Mapping[str, Any]) -> None:
        """Lays more files down on the state at hand."""
        if not set(given) <= {"files", "outside_vault", "empty_dirs", "symlinks", "special", "generated"}:
            raise UnknownWordError("a variant on the state at hand can only lay down files")
        lay_files(given, self.put, self._given_path)

    def _given_path(self, text: str) -> Path:
        found = self.path(text)
        if found.is_relative_to(self.places.home) and not self.places.home.exists():
            self.places.home.mkdir(mode=0o700)
        return found

    def _add_clients(self, vault: Path, home: Path, cache: Path) -> None:
        where = {"MUNINN_VAULT": str(vault), "MUNINN_HOME": str(home), "MUNINN_CACHE": str(cache)}
        for client in self.clients:
            args = ["client", "add", str(client["name"]), "--token-stdin"]
            for flag, key in (("--scope", "scopes"), ("--read", "read"), ("--write", "write")):
                args += [word for value in client.get(key, []) for word in (flag, self.put(str(value)))]
            ended = self.command(args, f"{self.token(client['name'])}\n".encode(), where)
            if ended.exit != 0:
                said = one_line(ended.output.decode("utf-8", "replace"))
                raise NotCarriedOutError(f"client add {client['name']}: exit {ended.exit}: {said}")
        self._homes.add(home)

    def _write_config(self) -> None:
        if "config" not in self.given:
            return
        home = self.places.home
        if not home.exists():
            home.mkdir(mode=0o700)
        file = os.open(home / "muninn.toml", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(file, "w", encoding="utf-8") as toml:
            toml.write(tomltext.document(self._placed(self.given["config"])))

    def _init_remote(self) -> None:
        if "remote" not in self.given:
            return
        lay_remote(self.places.remote, self.given["remote"] or {})
        ended = self.command(["backup", "init", "--remote", str(self.places.remote)])
        if ended.exit != 0:
            said = one_line(ended.output.decode("utf-8", "replace"))
            raise NotCarriedOutError(f"backup init: exit {ended.exit}: {said}")

    def _refuse_unbuilt_serve(self, started: Record) -> None:
        if _NO_COMMAND.search(started.text):
            raise BlockedError("command serve")

    def _scan_once(self) -> None:
        try:
            self.command(["index", "scan"])
        except BlockedError:
            # A case that needs the index will say so at the step that asks it.
            return

    def _wait_for_undoable(self) -> None:
        end = time.monotonic() + 10
        last, since = self._undoable(), time.monotonic()
        while time.monotonic() < end and time.monotonic() - since < 0.5:
            time.sleep(0.1)
            now = self._undoable()
            if now != last:
                last, since = now, time.monotonic()

    def _undoable(self) -> Any:
        return (self.status() or {}).get("undoable")

    # The door and the commands.

    def start(
        self,
        *,
        vault: Path | None = None,
        home: Path | None = None,
        cache: Path | None = None,
        second: bool = False,
        stub: bool = True,
    ) -> Record:
        """Starts a door and waits for it; another home than those before gets the same clients first."""
        at = (vault or self.places.vault, home or self.places.home, cache or self.places.cache)
        if home is not None and home not in self._homes:
            self._add_clients(*at)
        where = dict(zip(("MUNINN_VAULT", "MUNINN_HOME", "MUNINN_CACHE"), map(str, at), strict=True))
        self.roots |= {*where.values(), *map(os.path.realpath, where.values())}
        env = self.environment(where)
        if not stub:
            env.pop("MUNINN_TEST_RERANKER", None)
        older = self.server if not second and self.server is not None and not server.ends_soon(self.server) else None
        port = server.free_port() if second else self.port
        more = [self.put(str(word)) for word in self.given.get("serve", [])]
        logs = self.places.logs / f"{next(self._numbers):04}-serve"
        started = server.launch(port, more, env, self.places.person, logs)
        self.seconds.append(started)
        said = server.wait_for(started, lambda: older is not None and older.running())
        if not second and (older is None or not older.running()):
            self.seconds.remove(started)
            self.server = started
        return said

    def _running(self) -> Server:
        if self.server is None:
            raise NotCarriedOutError("no server has been started")
        return self.server

    def door(self, client: str | None = None) -> Door:
        """The door as a client calls it; the first client where none is named."""
        name = client if client is not None else self.first_client()
        return Door(self.port, self.token(name), self.server is not None and self.server.tls)

    def first_client(self) -> str:
        if not self.clients:
            raise NotCarriedOutError("the case has no client to act as")
        return str(self.clients[0]["name"])

    def environment(self, more: Mapping[str, str | None] | None = None) -> dict[str, str]:
        """The one environment of server and commands; a variable that is null is taken out."""
        env = {key: value for key, value in os.environ.items() if not key.startswith(_NOT_PASSED_ON)}
        places = self.places
        temp = str(places.temp)
        env |= {"HOME": str(places.person), "TMPDIR": temp, "TMP": temp, "TEMP": temp}
        env |= {"MUNINN_VAULT": str(places.vault), "MUNINN_HOME": str(places.home), "MUNINN_CACHE": str(places.cache)}
        env |= {"MUNINN_TEST": "1", "MUNINN_TEST_FAULTS": str(places.faults)}
        if self.given.get("reranker") == "stub":
            env["MUNINN_TEST_RERANKER"] = str(places.reranker)
        wanted: dict[str, str | None] = {**env, **self._placed(self.given.get("env", {})), **(more or {})}
        return {key: str(value) for key, value in wanted.items() if value is not None}

    def command(
        self, args: Sequence[str], stdin: bytes | None = None, env: Mapping[str, str | None] | None = None
    ) -> Ended:
        """Runs `muninn` with these arguments; a command that is not built blocks the case."""
        logs = self.places.logs / f"{next(self._numbers):04}-{re.sub('[^a-z]', '', '-'.join(args[:1])) or 'command'}"
        ended = run([*MUNINN, *args], self.environment(env), self.places.person, logs, stdin, _COMMAND_S)
        unbuilt = _NO_COMMAND.search(ended.stderr.decode("utf-8", "replace")) if ended.exit != 0 else None
        if unbuilt is not None:
            at = args.index(unbuilt[1]) + 1 if unbuilt[1] in args else len(args)
            raise BlockedError(f"command {' '.join(args[:at])}")
        return ended

    def status(self) -> dict[str, Any] | None:
        """What `status` says to the first client, None where it says nothing."""
        if self.server is None or not self.server.running() or not self.clients:
            return None
        try:
            record = calls.call(self.door(), "status", {}, limit_s=30.0)
        except NotCarriedOutError:
            return None
        return record.data if not record.fault and isinstance(record.data, dict) else None

    def output_schema(self, client: str, tool: str) -> Mapping[str, Any] | None:
        """The output schema the door shows a client for a tool; None where it shows none."""
        known = self._schemas.get(client)
        if known is None or tool not in known:
            known = self._schemas[client] = {**(known or {}), **self._listed(client)}
        return known.get(tool)

    def _listed(self, client: str) -> dict[str, Any]:
        door, found = self.door(client), dict[str, Any]()
        params: dict[str, Any] = {}
        for _ in range(20):
            body = calls.encoded(calls.rpc_message("tools/list", params))
            try:
                response = exchange(door.port, calls.post(door, body), tls=door.tls, limit_s=30.0)
            except LateError:
                return found
            message = response.json() if response is not None else None
            result = message.get("result") if isinstance(message, dict) else None
            if not isinstance(result, dict):
                return found
            found |= {tool["name"]: tool.get("outputSchema") for tool in result.get("tools", [])}
            if not result.get("nextCursor"):
                return found
            params = {"cursor": result["nextCursor"]}
        return found

    # What is left behind.

    def logs(self) -> bytes:
        """All that servers and commands have said on stderr."""
        return b"\n".join(file.read_bytes() for file in sorted(self.places.logs.glob("*/stderr")))

    def reranker_lines(self) -> list[Any]:
        """What the stub wrote down: the texts it was handed and one object for each call."""
        try:
            text = self.places.reranker.read_text("utf-8")
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in text.split("\n") if line]

    def ledger_is_disturbed(self) -> bool:
        """Whether a fault at a ledger point or a lock on the ledger is armed."""
        return self.faults.armed_at("ledger.") or any(
            path.name == "ledger.db" for path in outside.locked(self.places.locks)
        )

    def stop(self) -> None:
        """Ends every process of the world."""
        for one in [*self.seconds, *([self.server] if self.server else [])]:
            if one.running():
                one.child.kill()
        outside.unlock(self.places.locks)

    def remove(self, *, keep: bool) -> None:
        """Removes the world's folders; those to be kept are named on stderr."""
        if keep:
            sys.stderr.write(f"kept {self.places.base}\n")
            return
        remove_folder(self.places.base)
        if self._other is not None:
            remove_folder(self._other)
