"""All checks, in the order they are made and told. The reference page is rendered from this list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from . import books, contents, keeping, machine, scratch, searchable
from .check import Check, Finding, Found, run, skipped
from .installation import Installation

_LEDGER: Final = "Stop the gateway, copy the home, run `muninn ledger verify`, and bring a whole copy back."
_INDEX: Final = "Run `muninn index scan`, or `muninn index rebuild`: nothing is lost by it."

CHECKS: Final = (
    Check(
        "files",
        "Every installed file has the bytes that the wheel's RECORD names. Left out for an installation in place.",
        "Install Muninn anew, in an environment of its own: another package has written over a file.",
        machine.files,
    ),
    Check(
        "versions",
        "Python is new enough, and the SQLite beside it can search.",
        "Install Muninn anew with its pinned packages.",
        machine.versions,
    ),
    Check(
        "round-trip",
        "A note is written, found, read, archived and restored with the installed code, in a scratch vault that is "
        "removed again; a write without the hash is refused; the scratch ledger verifies.",
        "Install Muninn anew, in an environment of its own; see that the temporary folder can be written.",
        scratch.round_trip,
    ),
    Check(
        "settings",
        "`muninn.toml`, the flags and the environment are understood, and vault, home and cache lie apart.",
        "Put the key or flag right that the message names.",
        keeping.settings,
    ),
    Check(
        "contract",
        "Each rule of the contract in force, with the owner's choices in `muninn.toml`, takes its own good example and "
        "finds its bad one. The line lists the rules.",
        "Look at `[contract]` in `muninn.toml`; install Muninn anew.",
        keeping.contract,
    ),
    Check(
        "modes",
        "The home and its folders are 0700, the files in them 0600. `muninn.toml` and `canary.json` may be read by "
        "others, not changed.",
        "Take the rights of others away: `chmod -R go= HOME`.",
        keeping.modes,
    ),
    Check(
        "keys",
        "Keys outside of the home are their owner's alone: the reranker's token file, and TLS's, named by `--tls-key` "
        "or, on Linux, by the gateway that runs.",
        "`chmod 600 FILE`, and make a new key: somebody may have read this one.",
        keeping.keys,
    ),
    Check(
        "room",
        "Home, vault and cache have 256 MiB left, the home also as much as the ledger is large.",
        "Make room: a full disk stops writes.",
        keeping.room,
    ),
    Check(
        "clock",
        "The clock is not before the ledger's newest row, nor before this program was written.",
        "Set the clock of this machine.",
        books.clock,
    ),
    Check(
        "clients",
        "`clients.toml` can be read; there is a client; no token in clear, no token twice, not every one expired.",
        "Put the client right that the message names: `muninn client rotate NAME`, or `revoke` and `add`.",
        keeping.clients,
    ),
    Check(
        "vault",
        "The root is there, can be read, and carries the id that the ledger knows.",
        "See that the right folder is mounted and named, and can be read.",
        contents.vault,
    ),
    Check(
        "links",
        "No symbolic link lies below the root: nobody follows one.",
        "Put what it leads to in its place, or take it out of the vault.",
        contents.links,
    ),
    Check(
        "unreachable",
        "No other name or file that no client reaches: special files, names that are none, folders without rights.",
        "Rename it, make it readable, or take it out of the vault.",
        contents.unreachable,
    ),
    Check(
        "writable",
        "Whoever runs the doctor may write into every folder of the vault, where a client may write at all.",
        "Let the user who runs the gateway write there, or give the clients no scope `write` and `archive`.",
        contents.writable,
    ),
    Check(
        "names",
        "No two names that only case or Unicode form tells apart. Names not in NFC are listed, and are well.",
        "Rename all but one of each.",
        contents.names,
    ),
    Check(
        "notes",
        "Every note can be read, and its frontmatter be understood, where it has one.",
        "Put it right in an editor. Until then it is found by its text alone.",
        contents.notes,
    ),
    Check(
        "leftovers",
        "No temp file of Muninn's lies in vault or home for longer than a minute.",
        "Start the gateway again; look at what still lies there, and remove it by hand.",
        contents.leftovers,
    ),
    Check(
        "exchange",
        "Whether two names can be exchanged in one step where the vault lies. Both are well.",
        "See that the vault can be read.",
        contents.exchange,
    ),
    Check(
        "ledger",
        "The newest row fits the one before, and the pages of the file hold together, as far as five seconds go.",
        _LEDGER,
        books.ledger,
    ),
    Check(
        "ledger-chain",
        "With `--full`: the whole chain is replayed, and every kept byte hashed again.",
        _LEDGER,
        books.chain,
    ),
    Check(
        "ledger-key",
        "The key that signs checkpoints is there, private, and the one that the chain names.",
        "Put the right key back, or start the gateway: it records the one it finds or makes.",
        books.key,
    ),
    Check(
        "checkpoint",
        "With `--checkpoint FILE`: the ledger goes on from what was signed before.",
        _LEDGER,
        books.signed,
    ),
    Check(
        "pending",
        "No plan waits to be finished for longer than a minute.",
        "Start the gateway again, or let the client call `recover`.",
        books.pending,
    ),
    Check(
        "undoable",
        "How many notes are kept as they are now, so that an edit around the door could be undone. Any share is well.",
        _LEDGER,
        books.undoable,
    ),
    Check(
        "index",
        "Both files of the index open, hold together, and know the words of the notes they hold.",
        _INDEX,
        searchable.index,
    ),
    Check(
        "index-rows",
        "Every note has its row, made from the bytes it has now, on the public or the private side as it must; no row "
        "is left over. Beside a gateway, changes of the last minute are left to its next scan.",
        _INDEX,
        searchable.rows,
    ),
    Check(
        "models",
        "Where a model was added: its files are the ones that were added, and what runs it is installed.",
        "Add it again: `muninn model add`; see `muninn model status`.",
        searchable.models,
    ),
    Check(
        "backup",
        "Where one is set up: proven within 36 hours, its key is right, and its last run was ok.",
        "Run `muninn backup run`; see `muninn backup status` and `muninn backup schedule status`.",
        keeping.backup,
    ),
    Check(
        "canary",
        "Where one has run: every question was answered the last time.",
        "Run `muninn canary run`, and look at the notes it names.",
        keeping.canary,
    ),
    Check(
        "gateway",
        "Where one serves the vault: it answers `/health` with 200.",
        "See what it logs, and start it again.",
        machine.gateway,
    ),
)


def examine(installation: Installation) -> Iterator[Found]:
    """Make every check, one after the other."""
    return (run(check, installation) for check in CHECKS)


def without_places(wrong: str) -> Iterator[Found]:
    """The same list where nothing can be looked at, because the places themselves are wrong."""
    for check in CHECKS:
        at_fault = check.run is keeping.settings
        finding = (
            Finding("fault", f"{wrong}. {check.mend}")
            if at_fault
            else skipped("there is no telling where: see settings")
        )
        yield Found(check.name, finding)
