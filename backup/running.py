"""A run: look, cut, seal, push, fetch back, restore, compare; and only then ``ok``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import apsw

from ledger import snapshot
from muninn.model import seams
from muninn.model.errors import MuninnError
from muninn.vault import Vault

from . import drill, keeping, manifest
from . import key as keys
from . import places as placing
from .body import Sealed, new_id
from .branch import PENDING, Branch, expect
from .cut import NOW, Cut, Found, Progress, schema_is_same, take_ledger
from .errors import BackupError, DamagedError, KeyFaultError, RemoteError
from .fetched import Holdings
from .head import Head, Object, Rewrite, SetRow
from .keeping import Policy, Rewriting
from .packs import Contents, Packer
from .places import Places, State
from .scratch import Scratch

Stage = Callable[[str], AbstractContextManager[Progress]]
"""Opens a progress bar of this name."""
_LAST: Final = "last"
_KNOWN: Final = "known"
_ANEW: Final = (
    "If the next run says the same, make a new, empty repository and run `muninn backup init --remote URL` with it"
)
_PENDING: Final = 50
"""Commits that were never proven, of which one may yet turn up in the remote."""
SHRINK: Final = 0.8
"""Fewer files than this share of the last proven set stop a run."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What the person asked for."""

    accept_shrink: bool = False
    accept_ledger: bool = False
    replace_remote: bool = False
    policy: Policy = field(default_factory=Policy)


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run that is ok went. ``sealed`` are the bytes that went to the remote; ``seconds`` by step."""

    set: str
    counter: int
    files: int
    folders: int
    bytes: int
    sealed: int
    left_out: tuple[tuple[str, str], ...]
    dropped: tuple[str, ...]
    seconds: dict[str, float]


@dataclass(slots=True)
class _Run:
    """What the steps of a run hand on."""

    places: Places
    vault: Vault
    ledger: Path
    ledger_key: Path
    wish: Wish
    stage: Stage
    key: bytes
    state: State
    work: Path
    scratch: Scratch
    branch: Branch
    held: Holdings | None = None
    last: manifest.Header | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, name: str) -> Iterator[Progress]:
        """A step with its bar, and its time."""
        began = time.monotonic()
        with self.stage(name) as bar:
            yield bar
        self.seconds[name] = round(self.seconds.get(name, 0.0) + time.monotonic() - began, 3)


def run(places: Places, vault: Vault, ledger: Path, ledger_key: Path, wish: Wish, stage: Stage) -> Ran:
    """One whole run. Raises MuninnError, whose text says what was not ok; nothing is claimed then."""
    try:
        with placing.locked(places) as work:
            return _in_order(places, vault, ledger, ledger_key, wish, stage, work)
    except OSError as error:
        raise BackupError(f"the run broke off ({error.strerror or type(error).__name__}); run it again") from error
    except (apsw.FullError, apsw.IOError, apsw.CantOpenError, apsw.CorruptError, apsw.ReadOnlyError) as error:
        told = "no room on the disk" if isinstance(error, apsw.FullError) else type(error).__name__
        raise BackupError(f"the run broke off in its own tables ({told}); run it again") from error


def noted(places: Places, act: Callable[[], Ran]) -> Ran:
    """Do a run, and keep how it ended for ``status``."""
    try:
        ran = act()
    except MuninnError as error:
        if places.folder.is_dir():
            _note(places, False, str(error))
        raise
    _note(places, True, None)
    return ran


def _note(places: Places, ok: bool, reason: str | None) -> None:
    try:
        placing.write_outcome(places, ok, reason)
    except OSError:
        # On a full disk the run has said already what was wrong.
        return


def _in_order(
    places: Places, vault: Vault, ledger: Path, ledger_key: Path, wish: Wish, stage: Stage, work: Path
) -> Ran:
    state = placing.read_state(places)
    key = right_key(places, state)
    scratch = Scratch(work / "scratch.db")
    try:
        one = _Run(places, vault, ledger, ledger_key, wish, stage, key, state, work, scratch, Branch(places))
        with one.timed("remote"):
            _meet_remote(one)
        with one.timed("ledger") as bar:
            _sound_ledger(one, bar)
        cut = Cut(vault, places.home, scratch, work)
        with one.timed("look"):
            _not_shrunk(one, cut.sweep())
        return _sealed(one, cut)
    finally:
        scratch.close()


def right_key(places: Places, state: State) -> bytes:
    """The key in the home, if it is the one that the backup was set up with. Raises KeyFaultError."""
    key = keys.read(places.key)
    if keys.known_by(key) != state.fingerprint:
        raise KeyFaultError(
            f"the key in {places.key} is not the one that this backup was set up with (fingerprint "
            f"{keys.known_by(key)[:16]}, expected {state.fingerprint[:16]}): put the right one back"
        )
    return key


# --- before anything is sealed ----------------------------------------------------------------------


def _meet_remote(one: _Run) -> None:
    """See that the remote is where it was left, and what the last set holds."""
    found = one.branch.ask(one.state)
    if one.wish.replace_remote:
        one.state = replace(one.state, expects=found, pending=())
    else:
        one.state = expect(one.state, found, one.branch, one.key, one.work)
    if not one.branch.is_whole(one.state):
        one.state = one.branch.fetch_again(one.state)
    try:
        _read_last(one)
    except (DamagedError, RemoteError):
        one.state = one.branch.fetch_again(one.state)
        try:
            _read_last(one)
        except BackupError as error:
            raise BackupError(
                f"the last set does not open, neither here nor in the remote: {error}. {_ANEW}"
            ) from error


def _read_last(one: _Run) -> None:
    """What the last proven set holds."""
    one.scratch.hashes(_KNOWN)
    one.scratch.table(_LAST)
    one.held = one.branch.holdings(one.state, one.key)
    if one.held is not None:
        one.last = one.held.resolve(one.held.head.newest.id, one.scratch, _LAST)
        one.scratch.contents(_LAST, _KNOWN)


def _sound_ledger(one: _Run, bar: Progress) -> None:
    if not one.ledger.exists():
        raise BackupError("there is no ledger in the home yet: start the gateway once, then run the backup")
    fault = snapshot.first_fault(one.ledger, bar)
    if fault is not None:
        raise BackupError(f"the ledger does not hold, so nothing was sealed: {fault}. See `muninn ledger verify`")


def _not_shrunk(one: _Run, files: int) -> None:
    if one.held is None or one.wish.accept_shrink:
        return
    before = one.held.head.newest.files
    if files < before * SHRINK:
        raise BackupError(
            f"the vault has {files} files, the last set {before}: over a fifth is gone, so nothing was sealed. If "
            "that is right, `muninn backup run --accept-shrink` goes on"
        )


# --- seal, push, prove ------------------------------------------------------------------------------


def _sealed(one: _Run, cut: Cut) -> Ran:
    seams.at("backup.seal")
    packer = Packer(one.work, one.key)
    new = Contents(packer, one.scratch, _KNOWN)
    try:
        with one.timed("read") as bar:
            cut.read(new, bar)
        with one.timed("freeze"):
            copy = cut.freeze(new, one.ledger, one.work / "ledger.db")
        try:
            with one.timed("seal"):
                found = cut.found()
                header = _header(one, copy, found, new)
                packs = packer.close()
                sealed = _set(one, header)
            return _proven(one, copy, found, header, sealed, packs)
        finally:
            copy.close()
    except BaseException:
        packer.drop()
        raise


def _header(one: _Run, copy: snapshot.Copy, found: Found, new: Contents) -> manifest.Header:
    last = None if one.held is None else one.held.head.newest
    if one.held is not None and copy.vault != one.held.head.vault:
        raise BackupError(
            "this home is of another vault than the sets in the remote: give each vault a remote of its own"
        )
    since = _since(one, copy)
    take_ledger(copy, one.scratch, _LAST, since, new, one.work)
    tip = copy.tip()
    checkpoint = snapshot.signed(copy.file, one.ledger_key)
    base = None if last is None or _is_long(one) else last.id
    at = placing.now()
    return manifest.Header(
        new_id(), one.state.counter + 1, at, base, found.files, found.bytes, tip.rows, tip.events, tip.head, checkpoint
    )


def _since(one: _Run, copy: snapshot.Copy) -> int:
    """The last row that is sealed already. Raises BackupError for a ledger that does not go on from the last set."""
    last = one.last
    if last is None:
        return 0
    if copy.chain_at(last.rows) != last.head:
        if not one.wish.accept_ledger:
            raise BackupError(
                f"the ledger does not go on from the one of the last set (row {last.rows}): it was rolled back, cut "
                "off, or put in place of another. If you restored an older one on purpose, "
                "`muninn backup run --accept-ledger` goes on"
            )
        return 0
    return last.rows if schema_is_same(copy, one.scratch, _LAST) else 0


def _is_long(one: _Run) -> bool:
    """Whether the differences since the last whole set have become as large as that: a whole one is due."""
    assert one.held is not None
    chain = one.held.head.chain(one.held.head.newest.id)
    return sum(row.size for row in chain[1:]) > chain[0].size and len(chain) > 7


def _set(one: _Run, header: manifest.Header) -> Sealed:
    if header.base is None:
        one.scratch.table("none_yet")
    rows = one.scratch.difference(_LAST if header.base else "none_yet", NOW)
    return manifest.write(one.work / f"set-{header.id}", one.key, header, rows)


def _proven(
    one: _Run, copy: snapshot.Copy, found: Found, header: manifest.Header, sealed: Sealed, packs: list[Sealed]
) -> Ran:
    row = SetRow(header.id, header.number, header.at, header.base, found.files, found.bytes, sealed.sha256, sealed.size)
    old = one.held.head if one.held is not None else Head(copy.vault or "", 0, one.state.base, (), (), ())
    head = replace(
        old,
        counter=one.state.counter + 1,
        base=one.state.base,
        sets=(*old.sets, row),
        packs=(*old.packs, *map(Object.of, packs)),
    )
    anew = one.held is not None and (one.wish.replace_remote or one.state.expects is None)
    if anew:
        why = "put in place of what the remote held"
        head = replace(head, rewrites=(*head.rewrites, Rewrite(head.counter, header.at, (), why)))
    _push_and_prove(one, copy, head, [*packs, sealed], anew=anew)
    sent = [*packs, sealed]
    dropped: tuple[str, ...] = ()
    if keeping.is_due(head, one.wish.policy):
        dropped = keeping.leaving(head.sets, one.wish.policy)
        with one.timed("rewrite"):
            # Out of what was fetched: every object of that was opened just now.
            held = Holdings(drill.fetched_before(one.work, one.places.environment), _tip(one), one.key)
            made = Rewriting(held, one.key, one.scratch, one.work).make(dropped, one.state.counter + 1, placing.now())
        _push_and_prove(one, copy, made.head, list(made.new), anew=True)
        one.branch.git.tidy()
        sent += made.new
    before = placing.read_proof(one.places)
    proof = placing.Proof(
        before.set_up if before else header.at, placing.now(), found.files, header.id, one.state.counter, one.state.tip
    )
    placing.write_proof(one.places, proof)
    return Ran(
        header.id,
        one.state.counter,
        found.files,
        found.folders,
        found.bytes,
        sum(part.size for part in sent),
        found.left,
        dropped,
        one.seconds,
    )


def _push_and_prove(one: _Run, copy: snapshot.Copy, head: Head, new: list[Sealed], *, anew: bool) -> None:
    """Commit, push, fetch back, restore and compare; only then is the commit what this machine stands on."""
    with one.timed("push"):
        commit = _pushed(one, head, new, anew=anew)
    with one.timed("prove") as bar:
        base = one.branch.base_items(one.state)
        expected = drill.Expected(commit, head.counter, base, NOW, copy)
        try:
            drill.prove(one.state, one.key, expected, one.scratch, one.work, one.places.environment, bar)
        except (DamagedError, RemoteError) as error:
            raise type(error)(f"{error}. {_ANEW}") from error
    one.state = placing.settled(one.state, commit)
    one.branch.keep(one.state)
    placing.write_state(one.places, one.state)


def _pushed(one: _Run, head: Head, new: list[Sealed], *, anew: bool) -> str:
    """Commit and push. Gives the commit."""
    commit = _committed(one, head, new, anew=anew)
    seams.at("backup.push")
    try:
        one.branch.git.push(one.state.remote, commit, one.state.branch, one.state.expects)
    except RemoteError as error:
        found = one.branch.ask(one.state)
        if found is None or found == one.state.expects or found not in one.state.pending:
            raise RemoteError(f"{error}. Mend what it says. {_ANEW}") from error
        # What a run that died had sent arrived only now: go on from there.
        one.state = replace(one.state, expects=found)
        commit = _committed(one, head, new, anew=anew)
        one.branch.git.push(one.state.remote, commit, one.state.branch, one.state.expects)
    return commit


def _committed(one: _Run, head: Head, new: list[Sealed], *, anew: bool) -> str:
    commit = one.branch.commit(one.state, head, new, one.work, one.key, anew=anew)
    one.branch.git.point(PENDING, commit)
    # Said before the push: if this process dies now, the next one knows whose commit that is.
    one.state = replace(one.state, pending=(*one.state.pending[-_PENDING:], commit), counter=head.counter)
    placing.write_state(one.places, one.state)
    return commit


def _tip(one: _Run) -> str:
    assert one.state.tip is not None
    return one.state.tip
