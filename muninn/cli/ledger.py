"""``muninn ledger``: show, compare, verify, sign and export what happened; and remove kept bytes."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from ledger import Ledger, checkpoint, export
from ledger import verify as verify_file
from muninn.cli.differences import coloured, difference
from muninn.cli.options import as_json, fail, need_ledger, places, show_json
from muninn.cli.progress import bar
from muninn.model.content import ContentHash
from muninn.model.errors import SettingsError
from muninn.settings import Settings
from muninn.vault import write_lock


@click.group()
def ledger() -> None:
    """Show, verify, sign and export the ledger. Only `purge` changes it."""


@ledger.command()
@click.option("--checkpoint", "signed", metavar="FILE", help="compare with a checkpoint that was signed before")
@as_json
@places
def verify(settings: Settings, signed: str | None, as_json: bool) -> None:
    """Replay the chain and hash every kept byte again. Exit status 1 where anything does not hold.

    The chain alone does not show that its newest rows were cut off, or that it was made anew as a whole. A
    checkpoint that is kept outside of this machine does.
    """
    known = None if signed is None else _checkpoint_in(signed)
    with bar("verify", as_json) as progress:
        verdict = verify_file(settings.places.ledger, progress)
    faults = [*verdict.faults, *(checkpoint.check(known, settings.places.ledger) if known else ())]
    if as_json:
        counts = {"rows": verdict.rows, "events": verdict.events, "contents": verdict.contents}
        rest = {"checkpoint": known.rows if known else None, "faults": faults}
        show_json({"ok": not faults, **counts, "head": verdict.head, **rest})
    else:
        for fault in faults:
            click.echo(fault, err=True)
        state = "ok" if not faults else f"{len(faults)} faults"
        counted = f"{verdict.rows} rows, {verdict.events} events, {verdict.contents} kept contents"
        since = f", goes on from the checkpoint at row {known.rows}" if known and not faults else ""
        click.echo(f"ledger {state}: {counted}, head {verdict.head[:16]}{since}")
    if faults:
        sys.exit(1)


@ledger.command("checkpoint")
@click.option("--to", "target", metavar="FILE", help="write it there; standard output where not given")
@as_json
@places
def sign(settings: Settings, target: str | None, as_json: bool) -> None:
    """Sign where the chain stands now, with the key in the home. Keep it outside of this machine.

    A checkpoint that stands in FILE already is compared first, and stays where the ledger does not go on from it.
    """
    book = _open(settings)
    found = checkpoint.sign(book, checkpoint.read_key(settings.places.ledger_key))
    if target is not None and Path(target).exists():
        faults = checkpoint.check(_checkpoint_in(target), settings.places.ledger)
        if faults:
            fail(f"{target} was left as it is. " + "; ".join(faults))
    if target is not None:
        _write_whole(Path(target), found.text())
    if as_json:
        shown = {"origin": found.origin, "rows": found.rows, "events": found.events, "head": found.head, "at": found.at}
        show_json({**shown, "public": found.public, "signature": found.signature})
    elif target is None:
        click.echo(found.text(), nl=False)
    else:
        click.echo(f"signed {found.rows} rows, head {found.head[:16]}, to {target}", err=True)


@ledger.command()
@click.option("--last", default=20, show_default=True, type=click.IntRange(1), help="how many rows")
@as_json
@places
def show(settings: Settings, last: int, as_json: bool) -> None:
    """Show the newest rows."""
    book = _open(settings)
    rows = book.rows(max(0, book.tip().rows - last), last)
    if as_json:
        show_json({"rows": rows})
        return
    for row in rows:
        body = row["body"]
        what = body.get("kind") or body.get("state") or row["kind"]
        paths = ", ".join(change["path"] for change in row["changes"]) or body.get("path", "")
        click.echo(f"{row['seq']:>6} {row['at']} {row['kind']:<8} {row['client'] or '-':<16} {what:<10} {paths}")


@ledger.command(short_help="Show what one event changed.")
@click.argument("event")
@click.option("--private", is_flag=True, help="private notes as well")
@as_json
@places
def diff(settings: Settings, event: str, private: bool, as_json: bool) -> None:
    """Show what EVENT changed, as a unified diff of each of its notes. `muninn history PATH` names events."""
    book = _open(settings)
    changes = book.changes_of(event)
    if changes is None:
        fail(f"{event} is the id of no event; `muninn history PATH` names them")
        return
    seen = [change for change in changes if private or not settings.private.cover(change.path)]
    shown = [(change, difference(book, change.path, change.before, change.after)) for change in seen]
    if as_json:
        rows = [{"path": c.path, "before": str(c.before), "after": str(c.after), "diff": text} for c, text in shown]
        show_json({"event": event, "changes": rows, "left_out": len(changes) - len(seen)})
        return
    for _, text in shown:
        click.echo(coloured(text), nl=False)
    if len(seen) < len(changes):
        click.echo(f"muninn: {len(changes) - len(seen)} private left out; --private shows them", err=True)


@ledger.command("export", short_help="Write every row as a line of JSON.")
@click.argument("file", type=click.Path(dir_okay=False, writable=True, allow_dash=True), default="-")
@click.option("--contents", is_flag=True, help="kept bytes as well, each after the first row that names it")
@places
def export_lines(settings: Settings, file: str, contents: bool) -> None:
    """Write every row as a line of JSON, oldest first, to FILE or standard output.

    History can be read from it without Muninn. With jq, the rows that change a path:

    \b
      jq -c 'select(any(.changes[]?; .path == "a.md"))' ledger.jsonl

    With --contents, kept bytes by their hash:

    \b
      jq -r --arg h HASH '.content | select(.hash == $h).base64' ledger.jsonl | base64 -d

    A row of kind `plan` counts where an `end` names it with a state that is not `refused`, for the paths in
    `landed`. The whole form, and how the chain is computed, stand in ledger/export.py.
    """
    book = _open(settings)
    rows = book.tip().rows
    to_screen = file == "-" and sys.stdout.isatty()
    with _opened_for_writing(file) as lines, bar("export", quiet=to_screen) as progress:
        for line in export.lines(book, contents=contents):
            lines.write(json.dumps(line, ensure_ascii=False, sort_keys=True) + "\n")
            if line.get("seq", 1) % 100 == 0:
                progress(line["seq"], rows)


@ledger.command()
@click.argument("hashes", nargs=-1, required=True, metavar="HASH…")
@click.option("--reason", required=True, metavar="TEXT", help="why; it is recorded, and stays")
@click.option("--force", is_flag=True, help="also bytes that a note holds now")
@click.option("--yes", is_flag=True, help="do not ask")
@as_json
@places
def purge(settings: Settings, hashes: tuple[str, ...], reason: str, force: bool, yes: bool, as_json: bool) -> None:
    """Remove kept bytes for good, by their hashes. The row that says so stays, and the chain holds.

    What was purged cannot be brought back: not by restore, not by undo. Notes in the vault, older copies and
    backups are not touched. A folder's page holds the first sentence of its notes: think of its revisions, too.
    The file is written anew, so it needs room for itself once more.
    """
    digests = [_hash(text) for text in hashes]
    book = _open(settings)
    if not yes:
        click.confirm(f"Remove the kept bytes of {len(digests)} hashes for good?", abort=True, err=True)
    with write_lock(settings.places.home):
        ended = book.purge(digests, reason, force=force)
    if as_json:
        rest = {"gone_from_file": ended.gone, "copies": list(ended.copies)}
        show_json({"row": ended.row, "purged": not ended.refusals, "refusals": list(ended.refusals), **rest})
    for refusal in ended.refusals:
        click.echo(refusal, err=True)
    if ended.refusals:
        fail("nothing was removed")
    if not as_json and ended.row is None:
        click.echo("nothing was left to remove: an earlier row has it")
    elif not as_json:
        click.echo(f"removed {len(digests)} kept contents, recorded in row {ended.row}")
    if ended.copies:
        click.echo(f"muninn: copies made before a migration may hold them: {', '.join(ended.copies)}", err=True)
    if not ended.gone:
        fail("the file could not be written anew, so the bytes may lie in it yet; run the same command again")


def _open(settings: Settings) -> Ledger:
    need_ledger(settings)
    return Ledger(settings.places.ledger)


def _hash(text: str) -> ContentHash:
    digest = ContentHash.parse(text)
    if digest is None:
        raise SettingsError(f"{text!r} is no hash: 64 lower-case hex digits are expected, as history names them")
    return digest


def _checkpoint_in(name: str) -> checkpoint.Checkpoint:
    try:
        text = Path(name).read_bytes()
    except OSError as error:
        raise SettingsError(f"{name} cannot be read: {error.strerror}") from error
    return checkpoint.parse(text.decode("latin-1"))


def _write_whole(file: Path, text: str) -> None:
    """Put a text in place of what was there, whole or not at all."""
    draft = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    try:
        draft.write_text(text, encoding="ascii")
        draft.replace(file)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise SettingsError(f"{file} cannot be written: {error.strerror}") from error


def _opened_for_writing(file: str) -> Any:
    """Standard output, or a file that its owner alone can read: what is exported may be private."""
    if file == "-":
        return click.open_file(file, "w", encoding="utf-8")
    try:
        return open(file, "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600))
    except OSError as error:
        raise SettingsError(f"{file} cannot be written: {error.strerror}") from error
