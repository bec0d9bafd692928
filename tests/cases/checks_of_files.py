"""Checks that look at files, at the ledger, at logs and at what was watched."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import calls, remote
from .bench import Bench
from .looks import FileLook, StatusLook, difference, regular_files, tree, without
from .records import same
from .scope import TEMP, Watch, Wish, key_of, wish_as_after
from .values import as_bytes
from .verdict import NotCarriedOutError, shown

Check = Mapping[str, Any]
_PIECES = 10_000


def _around(check: Check, at: Bench, kind: str, path: str = "") -> tuple[Any, Any]:
    before = Wish("before", key_of(check.get("since", check["step"])), kind, path)
    after = Wish("after", key_of(check["step"]), kind, path)
    return at.scope.looked(before), at.scope.looked(after)


def zero_side_effects(check: Check, at: Bench) -> str | None:
    """Same names, bytes and modes, same status; with `deep` also in home, cache and the temp folder."""
    places = ["<vault>", *(["<home>", "<cache>", TEMP] if at.value(check.get("deep")) else [])]
    for place in places:
        before, after = _around(check, at, "tree", place)
        differs = difference(before, after)
        if differs:
            return f"expected no side effect, found in {place}: {differs}"
    one, other = _around(check, at, "status")
    return _changed_status(one, other)


def _changed_status(one: StatusLook, other: StatusLook) -> str | None:
    if one.status is None or other.status is None:
        return None
    fields = [("pending",), ("index", "notes")]
    if not (one.disturbed or other.disturbed):
        fields += [("ledger", "events"), ("ledger", "head")]
    for keys in fields:
        then, now = one.get(*keys), other.get(*keys)
        if not same(then, now):
            return f"expected the same status.{'.'.join(keys)}, found {shown(then)}, then {shown(now)}"
    return None


def unchanged(check: Check, at: Bench) -> str | None:
    """The folder looks the same around the step, without what lies at or below `except`."""
    before, after = _around(check, at, "tree", str(check["path"]))
    root, excepted = at.path(check["path"]), [at.path(path) for path in at.values(check.get("except", []))]
    real = [Path(os.path.realpath(path)) for path in excepted]
    left_out = [*_names(root, excepted), *_names(Path(os.path.realpath(root)), real)]
    differs = difference(without(before, left_out), without(after, left_out))
    return f"expected {check['path']} unchanged, found {differs}" if differs else None


def _names(root: Path, paths: list[Path]) -> list[str]:
    return [os.path.relpath(path, root) for path in paths]


def ledger_delta(check: Check, at: Bench) -> str | None:
    """status.ledger.events grew by exactly n."""
    one, other = _around(check, at, "status")
    before, after = one.get("ledger", "events"), other.get("ledger", "events")
    wanted = at.value(check["n"])
    if not isinstance(before, int) or not isinstance(after, int):
        return f"expected {wanted} more events, found {shown(before)} then {shown(after)}"
    return None if after - before == wanted else f"expected {wanted} more events, found {after - before}"


def ledger_keeps(check: Check, at: Bench) -> str | None:
    """Reading the revision piece by piece gives bytes with this sha256."""
    path, sha256 = str(at.value(check["path"])), str(at.value(check["sha256"]))
    wrongs = []
    for client in at.scope.world.clients:
        try:
            data = _kept_bytes(at, str(client["name"]), path, sha256)
        except NotCarriedOutError as wrong:
            wrongs.append(str(wrong))
            continue
        found = hashlib.sha256(data).hexdigest()
        return None if found == sha256 else f"expected kept bytes {sha256}, found {found} ({len(data)} bytes)"
    return f"expected kept bytes {sha256} of {path}, found {'; '.join(wrongs) or 'no client'}"


def _kept_bytes(at: Bench, client: str, path: str, sha256: str) -> bytes:
    door, args, data = at.scope.world.door(client), dict[str, Any](path=path, revision=sha256), b""
    for _ in range(_PIECES):
        record = calls.call(door, "read", args)
        if record.fault or not isinstance(record.data, Mapping):
            raise NotCarriedOutError(record.fault or "no answer object")
        content = str(record.data.get("content"))
        is_text = record.data.get("encoding", "utf-8") == "utf-8"
        data += content.encode("utf-8", "surrogatepass") if is_text else base64.b64decode(content)
        if record.data.get("complete") or record.data.get("next_line") is None:
            return data
        args["start_line"] = record.data["next_line"]
    raise NotCarriedOutError("the pieces of the revision have no end")


def exact_bytes(check: Check, at: Bench) -> str | None:
    """The file has exactly these bytes: by hash, by value, or as it was after another step."""
    look = at.file(check)
    if look.data is None:
        return f"expected a file, found {look.kind}"
    if "as_after" in check:
        before = at.scope.looked(wish_as_after(check))
        assert isinstance(before, FileLook)
        if before.data != look.data:
            return f"expected the bytes of step {check['as_after']} {shown(before.data)}, found {shown(look.data)}"
    if "of" in check:
        wanted = as_bytes(at.value(check["of"]))
        if wanted != look.data:
            return f"expected {shown(wanted)}, found {shown(look.data)}"
    if "sha256" in check:
        sha256, found = at.value(check["sha256"]), hashlib.sha256(look.data).hexdigest()
        if found != sha256:
            return f"expected sha256 {sha256}, found {found}: {shown(look.data)}"
    return None


def matches(check: Check, at: Bench) -> str | None:
    """The whole text of the file matches."""
    look = at.file(check)
    if look.data is None:
        return f"expected a file, found {look.kind}"
    text, regex = look.data.decode("utf-8", "replace"), str(at.value(check["regex"]))
    return None if re.fullmatch(regex, text) else f"expected a match of {regex}, found {shown(text)}"


def absent(check: Check, at: Bench) -> str | None:
    """Nothing of that name, not even a dangling link."""
    look = at.file(check)
    return None if look.kind == "absent" else f"expected nothing, found a {look.kind}"


def present(check: Check, at: Bench) -> str | None:
    """Something is there, of the kind where one is given."""
    look, wanted = at.file(check), at.value(check.get("kind"))
    if look.kind == "absent" or (wanted is not None and look.kind != wanted):
        return f"expected a {wanted or 'name'}, found {look.kind}"
    return None


def mode(check: Check, at: Bench) -> str | None:
    """Permission bits exactly."""
    look, wanted = at.file(check), int(str(at.value(check["mode"])), 8)
    if look.kind == "absent" or look.mode != wanted:
        return f"expected mode {wanted:04o}, found {look.kind} {look.mode:04o}"
    return None


def same_tree(check: Check, at: Bench) -> str | None:
    """Regular files below both: same names, bytes and modes."""
    trees = []
    for path in (check["a"], check["b"]):
        if "after" in check:
            trees.append(at.scope.looked(Wish("after", key_of(check["after"]), "tree", str(path))))
        else:
            trees.append(tree(at.path(path)))
        if trees[-1]["."].kind != "folder":
            return f"expected a folder {path}, found {trees[-1]['.'].kind}"
    differs = difference(regular_files(trees[0]), regular_files(trees[1]))
    return f"expected the same files, found in b: {differs}" if differs else None


def files_lack(check: Check, at: Bench) -> str | None:
    """No file at or below the path holds one of the strings as raw bytes."""
    strings = [as_bytes(one) for one in at.values(check["strings"])]
    root = at.path(check["path"])
    files = [Path(folder) / name for folder, _, names in os.walk(root) for name in names]
    for file in [root, *files]:
        if file.is_symlink() or not file.is_file():
            continue
        try:
            data = file.read_bytes()
        except OSError as wrong:
            return f"{file.name} cannot be read: {wrong.strerror}"
        for one in strings:
            if one in data:
                return f"expected no {one!r}, found in {file.relative_to(at.scope.world.places.base)}"
    return None


def remote_lacks(check: Check, at: Bench) -> str | None:
    """No object, name, ref or commit message of the remote, unpacked, holds one of the strings."""
    try:
        everything = remote.everything_in(at.scope.world.places.remote)
    except NotCarriedOutError as wrong:
        return f"the remote cannot be read: {wrong}"
    held = [one for one in map(as_bytes, at.values(check["strings"])) if one in everything]
    return f"expected none of them in the remote, found {held}" if held else None


def reranker_saw(check: Check, at: Bench) -> str | None:
    """The stub was called often enough and no text it was handed holds one of lacks."""
    lines = [*at.scope.world.reranker_lines(), *at.scope.past_reranker]
    texts = [line for line in lines if isinstance(line, str)]
    called = sum(isinstance(line, Mapping) for line in lines)
    if called < at.value(check["min_calls"]):
        return f"expected at least {check['min_calls']} calls of the reranker, found {called}"
    for lack in at.values(check["lacks"]):
        seen = next((text for text in texts if str(lack) in text), None)
        if seen is not None:
            return f"expected no {lack!r} in what the reranker was handed, found {shown(seen)}"
    return None


def logs_lack(check: Check, at: Bench) -> str | None:
    """Not in stderr of server or commands."""
    string = as_bytes(at.value(check["string"]))
    for log in [at.scope.world.logs(), *at.scope.past_logs]:
        found = log.find(string)
        if found >= 0:
            return f"expected no {string!r} in stderr, found {shown(log[max(0, found - 80) : found + 160])}"
    return None


def passed(check: Check, at: Bench) -> str | None:
    """The fault points passed during the step hold these names in this order."""
    before, after = _around(check, at, "trace")
    names, wanted = after[len(before) :], at.values(check["order"])
    left = iter(names)
    lacking = next((name for name in wanted if name not in left), None)
    return f"expected {wanted} in this order, {lacking} does not come, found {shown(names, 600)}" if lacking else None


def alive(check: Check, at: Bench) -> str | None:
    """The door answered others all the while."""
    watch = Watch(key_of(check["step"]), "alive", str(check.get("path", "")))
    if watch not in at.scope.watched:
        return "the step was not watched"
    wrong = at.scope.watched[watch]
    return f"expected the door to go on answering, found {wrong}" if wrong else None


def memory(check: Check, at: Bench) -> str | None:
    """The server's resident memory grew by at most so much."""
    grown = at.scope.watched.get(Watch(key_of(check["step"]), "memory"))
    limit = at.value(check["grow_mib"])
    if grown is None:
        return "the server's memory could not be looked at"
    return None if grown <= limit else f"expected at most {limit} MiB more, found {grown:.1f} MiB"
