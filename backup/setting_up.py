"""Set up: the key, the remote, and what this machine will know of it; also on a new machine, with the key alone."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from . import head as heads
from . import key as keys
from . import places as placing
from .errors import BackupError, DamagedError, KeyFaultError
from .fetched import Holdings
from .git import Git
from .places import Places, Proof, State
from .scratch import Scratch

_SECRET = re.compile(r"(?<=://)[^/@]*@")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*::?/?/?")


@dataclass(frozen=True, slots=True)
class SetUp:
    """What was set up. ``key`` is the key's text where it was made now, None where it was there or given."""

    remote: str
    branch: str
    fingerprint: str
    key: str | None
    sets: int
    newest: str | None


def set_up(places: Places, remote: str, given: bytes | None) -> SetUp:
    """Bind the home to a remote; ``given`` is a key that was written down. Raises BackupError, and makes no key then.

    A remote that holds sets of another key is refused. One that holds sets of this key is taken over with them. One
    that holds something else keeps it: the backup lies beside it, in a folder of its own.
    """
    address = _address(remote)
    with placing.locked(places) as work:
        key = _known_key(places, given)
        old = placing.read_state(places) if places.state.exists() else None
        if old is not None and key is not None and keys.known_by(key) != old.fingerprint:
            raise KeyFaultError("this home was set up with another key: its sets could not be opened any more")
        git = Git(places.repository, places.environment)
        git.make()
        main, branches = git.ask(address)
        branch = main if main in branches else "main" if main is None and not branches else _only(branches)
        state = State(address, branch, None, "", counter=0 if old is None else old.counter)
        found = branches.get(branch)
        holdings = None if found is None else _look_at(state, found, git, key)
        if key is None:
            key = keys.new()
        state = _known(
            replace(state, fingerprint=keys.known_by(key)), old, found, holdings, opens=_opens(git, old, key, work)
        )
        made = None
        if not places.key.exists():
            keys.keep(places.key, key)
            made = keys.text(key) if given is None else None
        placing.write_state(places, state)
        if placing.read_proof(places) is None:
            placing.write_proof(places, Proof(placing.now()))
    sets = holdings.head.sets if holdings is not None else ()
    return SetUp(hidden(address), branch, state.fingerprint, made, len(sets), sets[-1].at if sets else None)


def hidden(remote: str) -> str:
    """An address without the password that may stand in it."""
    return _SECRET.sub("***@", remote)


def _address(remote: str) -> str:
    """The address as git gets it: folders absolute, no way of running a program, none in clear over a network."""
    if _SCHEME.match(remote) and not remote.startswith(("ssh://", "https://", "file:///")):
        raise BackupError(f"{hidden(remote)}: expected a folder, ssh://…, USER@HOST:PATH or https://…")
    if "://" in remote or re.match(r"[^/:]+:", remote):
        if remote.startswith("-"):
            raise BackupError(f"{remote}: an address does not begin with a dash")
        return remote
    return str(Path(remote).expanduser().absolute())


def _known_key(places: Places, given: bytes | None) -> bytes | None:
    if not places.key.exists():
        return given
    key = keys.read(places.key)
    if given is not None and given != key:
        raise KeyFaultError(f"there is another key at {places.key} already: put it aside first, and keep it")
    return key


def _only(branches: dict[str, str]) -> str:
    if "main" in branches:
        return "main"
    return min(branches)


def _look_at(state: State, found: str, git: Git, key: bytes | None) -> Holdings | None:
    """What the remote holds; None where none of it is ours. The commit is in our repository then."""
    git.fetch(state.remote, state.branch, "refs/heads/found")
    prefix = f"{heads.FOLDER}/"
    if not any(item.name == heads.FOLDER.encode() for item in git.items(found)):
        return None
    if key is None:
        raise KeyFaultError(
            f"{hidden(state.remote)} holds sets already ({prefix}), and this home has no key: give the one that they "
            "were sealed with (--key-stdin), or another, empty repository"
        )
    try:
        return Holdings(git, found, key)
    except KeyFaultError:
        raise KeyFaultError(
            f"{hidden(state.remote)} holds sets of another key: it is left as it is. Give the key that they were "
            "sealed with, or another, empty repository"
        ) from None
    except DamagedError as error:
        raise BackupError(f"{hidden(state.remote)} holds a {prefix} that does not open: {error}") from error


def _opens(git: Git, old: State | None, key: bytes, work: Path) -> bool:
    """Whether our own repository holds all of the last proven commit, and it opens."""
    if old is None or old.tip is None or old.tip == old.base or not git.holds(old.tip):
        return False
    scratch = Scratch(work / "scratch.db")
    try:
        return Holdings(git, old.tip, key).is_complete(scratch)
    except BackupError:
        return False
    finally:
        scratch.close()


def _known(state: State, old: State | None, found: str | None, holdings: Holdings | None, *, opens: bool) -> State:
    """What this machine stands on from now on."""
    if holdings is not None:
        head = holdings.head
        if old is not None and old.remote == state.remote and head.counter < old.counter and found != old.expects:
            raise BackupError(
                f"AN OLDER STATE WAS PUT BACK in {hidden(state.remote)}: its counter is {head.counter}, {old.counter} "
                "was reached. `muninn backup run --replace-remote` puts this machine's sets back in its place"
            )
        counter = max(head.counter, state.counter)
        return replace(state, base=head.base, tip=found, expects=found, counter=counter)
    if found is None:
        # Another, empty remote: it gets the sets that are here, where they still open.
        return replace(state, tip=None if old is None or not opens else old.tip, expects=None)
    return replace(state, base=found, expects=found, tip=found)
