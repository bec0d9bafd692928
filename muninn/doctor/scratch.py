"""The round trip: a note written, found, read, archived and restored with the installed code, in a vault of its own."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

import ledger
from muninn import opening, reading, searching, settings, writing
from muninn.door import Door
from muninn.model.change import Receipt
from muninn.model.content import MISSING, ContentHash, NotePath
from muninn.model.draft import ArchiveDraft, Draft, Kept, RestoreDraft, WriteDraft
from muninn.model.errors import MuninnError, reason
from muninn.model.refusal import Code, Refusal
from muninn.model.rights import SCOPES, Rights

from .check import Finding, fault, ok
from .installation import BROKEN, Installation

_PATH: Final = NotePath("checks/round-trip.md")
_WORD: Final = "quillback"
_NOTE: Final = (
    "---\ntitle: A round trip\ntype: note\nstatus: active\ntags: [doctor, check]\ndate: 2026-01-01\n---\n"
    f"The {_WORD} swims up the river and comes back.\n"
).encode()
_RIGHTS: Final = Rights("doctor", frozenset(SCOPES))
_MEND: Final = "install Muninn anew in an environment of its own, and look at `installed` and `versions`"


class _WrongError(MuninnError):
    """A step ended otherwise than it must."""


def round_trip(installation: Installation) -> Finding:
    """Write, search, read, archive and restore; each step is looked at. Its folder is removed again."""
    with installation.stage("round trip"), tempfile.TemporaryDirectory(prefix="muninn-doctor-") as folder:
        try:
            _go(Path(folder).resolve())
        except BROKEN as error:
            told = f"{reason(error)} ({error.filename})" if isinstance(error, OSError) else str(error)
            return fault(f"a round trip in a scratch vault failed: {told}", _MEND)
    return ok("a note was written, found, read, archived and restored in a scratch vault, and the ledger verified")


def _go(folder: Path) -> None:
    places = settings.Places(folder / "vault", folder / "home", folder / "cache")
    (folder / "vault").mkdir()
    door = opening.for_serving(settings.Settings(places, settings.read_file(folder / "none")))
    try:
        _steps(door)
    finally:
        door.scripts.close()
        door.index.close()
        door.ledger.close()
    verdict = ledger.verify(places.ledger)
    if verdict.faults:
        raise _WrongError(f"verify: {verdict.faults[0]}")


def _steps(door: Door) -> None:
    door.index.sweep(door.vault.walk, door.vault.look)
    written = ContentHash.of(_NOTE)
    _carry_out(door, "write", WriteDraft(_PATH, _PATH, _NOTE, MISSING))
    _expect("search", _found(door), [(_PATH, written, "bm25", False)])
    _expect("read", _read(door), (written, _NOTE.decode()))
    stale = writing.commit(door, _RIGHTS, WriteDraft(_PATH, _PATH, _NOTE + b"more\n", MISSING), None)
    _expect("a write without the hash", _code(stale), Code.EXISTS)
    _carry_out(door, "archive", ArchiveDraft(_PATH, written, "obsolete", None))
    _expect("read after the archive", _read(door), Code.NOT_FOUND)
    _expect("search after the archive", _found(door), [])
    kept = reading.kept_revision(door, _PATH, written)
    if isinstance(kept, Refusal):
        raise _WrongError(f"restore: {kept.message}")
    _carry_out(door, "restore", RestoreDraft(_PATH, Kept(*kept)))
    _expect("read after the restore", _read(door), (written, _NOTE.decode()))


def _carry_out(door: Door, step: str, draft: Draft) -> None:
    outcome = writing.commit(door, _RIGHTS, draft, None)
    if not isinstance(outcome, Receipt):
        raise _WrongError(f"{step}: {outcome.message if isinstance(outcome, Refusal) else type(outcome).__name__}")


def _found(door: Door) -> list[tuple[str, str, str, bool]] | Code:
    found = searching.search(door.index, door.vault.look, door.vault.walk, _RIGHTS, searching.Asked(_WORD))
    if isinstance(found, Refusal):
        return found.code
    return [(hit.path, hit.source_hash, found.engine, found.degraded) for hit in found.hits]


def _read(door: Door) -> tuple[str | None, str] | Code:
    answer = reading.read(door, _RIGHTS, _PATH, reading.Range(1, None), None)
    return answer.code if isinstance(answer, Refusal) else (answer.hash, answer.content)


def _code(outcome: object) -> Code | str:
    return outcome.code if isinstance(outcome, Refusal) else type(outcome).__name__


def _expect(step: str, found: object, expected: object) -> None:
    if found != expected:
        raise _WrongError(f"{step}: expected {expected!r:.200}, found {found!r:.200}")
