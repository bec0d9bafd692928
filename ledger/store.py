"""The face of the ledger: one value to open a file with, to keep plans in it, and to ask it what happened.

Each method that writes is one transaction. What ``open_together`` returns is durable. Nothing of the chain's head is
remembered between calls, so that commands may write beside a running gateway.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import apsw

from muninn.model import seams
from muninn.model.change import Change, Kind
from muninn.model.content import Basis, ContentHash, NotePath

from . import blobs, chain, glance, history, lately, plans, purge
from .append import append, counters
from .claims import Claims
from .file import File
from .lately import Deed
from .migrations import MIGRATIONS, VERSION, Migration
from .plans import Ending, Opening
from .purge import Purged
from .records import Entry, Event, Tip, event_id, read_body

_Asked = ParamSpec("_Asked")
_Answer = TypeVar("_Answer")


class Ledger:
    """One ledger file. Safe to use from several threads: one writes at a time, each reads on its own connection."""

    def __init__(self, path: Path, migrations: Sequence[Migration] = MIGRATIONS) -> None:
        """Nothing is opened yet; a file that cannot be is said by the first call that needs it."""
        self._file = File(path, migrations)
        self.claims: Final = Claims(self._file)

    # --- its own state ----------------------------------------------------------------------------

    @property
    def fault(self) -> str | None:
        """The damage that any call has met; from then on every write is refused, until the ledger is opened anew."""
        return self._file.fault

    def glance(self, *, expected: bool) -> str | None:
        """Look the file over before serving, in bounded time; what is found becomes the ``fault``.

        ``expected`` says that it must have rows. Gives a note where a part of the look was left out.
        """
        return glance.glance(self._file, expected=expected)

    def look_through(self, pause: Callable[[], None]) -> None:
        """Verify the whole file beside everything else; what is found becomes the ``fault``. Takes its time.

        ``pause`` is called after every few hundred rows; what it raises ends the look.
        """
        glance.look_through(self._file, pause)

    @property
    def vault_id(self) -> str | None:
        """The vault this ledger belongs to, None while it is new."""
        return self._ask(_vault_id)

    def belong_to(self, vault_id: str) -> None:
        """Bind a new ledger to its vault; nothing where it is bound already."""
        with self._file.transaction("bind the vault") as writer:
            if writer.execute("SELECT 1 FROM rows").fetchone() is None:
                append(writer, "vault", None, {"vault": vault_id, "version": VERSION}, (), (0, 0))

    @property
    def key(self) -> str | None:
        """The public half (hex) of the key that signs checkpoints, as the chain names it last."""
        return self._ask(_newest_key)

    def name_key(self, public: str) -> None:
        """Record the public half of the key that signs checkpoints, where it is not the one that was named last."""
        if self.key != public:
            with self._file.transaction("record its key") as writer:
                if _newest_key(writer) != public:
                    append(writer, "key", None, {"algorithm": "ed25519", "public": public}, (), counters(writer))

    def head(self) -> tuple[int, int, str]:
        """Events so far, plans that are open, and the chain's head in hex."""
        tip = self.tip()
        return tip.events, tip.open, tip.head

    def tip(self) -> Tip:
        """The newest row: its number, its counters and the chain's head."""
        return self._ask(_tip)

    def close(self) -> None:
        """Close every connection."""
        self._file.close()

    # --- a plan -----------------------------------------------------------------------------------

    def open_together(self, openings: Sequence[Opening]) -> list[Entry]:
        """Keep plans and all bytes they need, durably and all or none, before the first file is touched."""
        with self._file.transaction("keep the plan") as writer:
            entries = [plans.keep(writer, opening) for opening in openings]
            seams.at("ledger.commit")
        return entries

    def settle_together(self, endings: Sequence[Ending]) -> list[str | None]:
        """End plans with a row each, all or none. Gives the events' ids in this order, None where nothing landed."""
        with self._file.transaction("end the plan") as writer:
            events = [plans.end(writer, ending) for ending in endings]
            seams.at("ledger.settle")
        return events

    def entry(self, pending_id: str) -> Entry | None:
        """The plan with this id, in its present state."""
        return self._ask(plans.by_pending_id, pending_id)

    def request(self, client: str, request_id: str) -> Entry | None:
        """The plan a client made under this request id; refused ones are not kept."""
        return self._ask(plans.by_request, client, request_id)

    def open_entries(self) -> list[Entry]:
        """Plans without an end, oldest first. Costs nothing where there are none."""
        return self._ask(plans.opened)

    def settled_at_start(self, client: str, limit: int) -> list[Entry]:
        """Plans of a client that a start has ended, newest first."""
        return self._ask(plans.settled_at_start, client, limit)

    # --- what came around the door ----------------------------------------------------------------

    def witness(self, found: Sequence[Change], contents: Mapping[ContentHash, bytes]) -> list[str]:
        """Record changes that somebody made around the door: one event each, client unknown. Gives their ids."""
        with self._file.transaction("record what came around the door") as writer:
            blobs.keep(writer, contents)
            return [_witnessed(writer, change, contents) for change in found]

    def begin_with(self, notes: Sequence[Change], contents: Mapping[ContentHash, bytes], *, complete: bool) -> None:
        """Note what the first scan found, without an event: each change says that a path holds what it held.

        ``contents`` are the bytes to be kept of it; ``complete`` says that all notes have been noted by now.
        """
        with self._file.transaction("keep the baseline") as writer:
            blobs.keep(writer, contents)
            body = {"complete": complete, "kept": sorted(contents)}
            append(writer, "baseline", None, body, notes, counters(writer))

    def has_begun(self) -> bool:
        """Whether a first scan has noted all that was there; files found later came around the door."""
        return self._ask(history.has_begun)

    def last(self, path: NotePath) -> tuple[Basis, bool] | None:
        """What a path was last known to hold, and whether that came around the door; None for an unknown path."""
        return self._ask(history.last, path)

    def keep_found(self, contents: Mapping[ContentHash, bytes]) -> None:
        """Keep bytes that a crash left in a temp file and that nobody knows, in a row of their own."""
        if contents:
            with self._file.transaction("keep what a crash left") as writer:
                blobs.keep(writer, contents)
                append(writer, "found", None, {"kept": sorted(contents)}, (), counters(writer))
                seams.at("ledger.commit")

    def lately_touched(self) -> list[NotePath]:
        """Paths of plans that are open, or that were made in the last moments before the newest one: where a crash
        may have left a temp file."""
        return self._ask(history.lately_touched)

    def known_paths(self) -> list[NotePath]:
        """Every path that any row names."""
        return self._ask(history.known_paths)

    def between(self, client: str | None, since: str, until: str) -> list[NotePath]:
        """Paths of events by this client (None: around the door) between two times (RFC 3339, UTC), newest first."""
        return self._ask(history.between, client, since, until)

    # --- history ----------------------------------------------------------------------------------

    def history(self, path: NotePath, below: int | None, limit: int) -> list[Event]:
        """Events of a path, newest first; ``below`` is the ``seq`` of the last one seen."""
        return self._ask(history.of_path, path, below, limit)

    def lately(self, below: int | None, rows: int) -> tuple[list[Deed], int]:
        """What was done in the ``rows`` rows before ``below``, newest first, and the next ``below``; 0: no more."""
        return self._ask(lately.deeds, below, rows)

    def changes_of(self, event: str) -> tuple[Change, ...] | None:
        """What an event changed, as far as it landed; None where the text is the id of no event."""
        return self._ask(history.changes_of, event)

    def rows(self, since: int, limit: int) -> list[dict[str, Any]]:
        """Rows after ``since``, oldest first, each with its changes, as JSON values: what an export is made of."""
        return self._ask(history.rows, since, limit)

    def keeps(self, digest: ContentHash) -> bool:
        """Whether the bytes with this hash are kept."""
        return self._ask(blobs.holds, digest)

    def content(self, digest: ContentHash) -> bytes | None:
        """Kept bytes by their hash, None where they are not kept. Raises LedgerUnavailableError if they are damaged."""
        return self._ask(blobs.content, digest)

    def revision(self, path: NotePath, text: str) -> tuple[ContentHash, int | None] | None:
        """A revision of this path as clients name it: a kept hash, or the id of an event (the bytes it ended)."""
        return self._ask(history.revision, path, text)

    # --- for the operator -------------------------------------------------------------------------

    def purge(self, digests: Sequence[ContentHash], reason: str, *, force: bool = False) -> Purged:
        """Remove kept bytes for good, and record that. Nobody but the operator's own command calls this."""
        return purge.purge(self._file, digests, reason, force)

    # --- inside -----------------------------------------------------------------------------------

    def _ask(
        self,
        question: Callable[Concatenate[apsw.Connection, _Asked], _Answer],
        *values: _Asked.args,
        **options: _Asked.kwargs,
    ) -> _Answer:
        with self._file.reading() as reader:
            return question(reader, *values, **options)


def _vault_id(reader: apsw.Connection) -> str | None:
    row = reader.execute("SELECT body FROM rows WHERE seq = 1").fetchone()
    return None if row is None else str(read_body(row[0])["vault"])


def _tip(reader: apsw.Connection) -> Tip:
    row = reader.execute("SELECT seq, events, open, chain FROM rows ORDER BY seq DESC LIMIT 1").fetchone()
    return Tip(0, 0, 0, chain.START.hex()) if row is None else Tip(row[0], row[1], row[2], row[3].hex())


def _newest_key(reader: apsw.Connection) -> str | None:
    row = reader.execute("SELECT body FROM rows WHERE kind = 'key' ORDER BY seq DESC LIMIT 1").fetchone()
    return None if row is None else str(read_body(row[0])["public"])


def _witnessed(writer: apsw.Connection, change: Change, contents: Mapping[ContentHash, bytes]) -> str:
    counted, opened = counters(writer)
    kept = [side for side in (change.before, change.after) if side in contents]
    body = {"kind": Kind.EXTERNAL.value, "path": change.path, "kept": kept}
    seq, _ = append(writer, "external", None, body, [change], (counted + 1, opened))
    return event_id(writer, seq)
