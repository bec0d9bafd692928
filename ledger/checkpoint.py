r"""Signed checkpoints: where the chain stood, so that a ledger that was cut off, rolled back or rewritten is found.

A checkpoint is kept outside of the machine. Its text is ASCII, each line ended by LF (0x0A), words divided by one
space (0x20), these eight lines in this order and nothing else::

    muninn checkpoint 1
    origin ORIGIN        the vault's id, as row 1 of the ledger names it
    rows ROWS            how many rows there were, decimal, without leading zeros
    events EVENTS        how many events, decimal
    head HEAD            the chain of row ROWS, 64 lower-case hex digits
    at AT                when it was made, RFC 3339 in UTC
    public PUBLIC        the Ed25519 public key, 64 lower-case hex digits
    signature SIGNATURE  128 lower-case hex digits

The signature is plain Ed25519 (RFC 8032) over the bytes of the first seven lines, their LFs included. The ledger's
key file is the raw seed, 32 bytes; its public half stands in the chain, in a row of kind ``key``.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import apsw

from muninn.model.errors import LedgerUnavailableError, SettingsError
from muninn.model.moments import now

from .records import read_body
from .verify import opened

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from .store import Ledger

SEED_BYTES: Final = 32
_UNSIGNED: Final = "checkpoint: its signature does not fit its text"
_TEXT: Final = re.compile(
    r"muninn checkpoint 1\norigin (?P<origin>[!-~]{1,128})\nrows (?P<rows>0|[1-9][0-9]{0,17})\n"
    r"events (?P<events>0|[1-9][0-9]{0,17})\nhead (?P<head>[0-9a-f]{64})\nat (?P<at>[0-9T:.Z+-]{1,40})\n"
    r"public (?P<public>[0-9a-f]{64})\nsignature (?P<signature>[0-9a-f]{128})\n",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where the chain of one vault's ledger stood, and who says so. Hashes, key and signature in hex."""

    origin: str
    rows: int
    events: int
    head: str
    at: str
    public: str
    signature: str

    def text(self) -> str:
        """The checkpoint as it is kept."""
        return f"{self.signed()}signature {self.signature}\n"

    def signed(self) -> str:
        """The lines that the signature covers."""
        return (
            f"muninn checkpoint 1\norigin {self.origin}\nrows {self.rows}\nevents {self.events}\n"
            f"head {self.head}\nat {self.at}\npublic {self.public}\n"
        )


def parse(text: str) -> Checkpoint:
    """A checkpoint from its text. Raises SettingsError where it is none, to the byte."""
    found = _TEXT.fullmatch(text)
    if found is None:
        raise SettingsError("this is no checkpoint: eight lines are expected, the first `muninn checkpoint 1`")
    parts = found.groupdict()
    return Checkpoint(
        parts["origin"],
        int(parts["rows"]),
        int(parts["events"]),
        parts["head"],
        parts["at"],
        parts["public"],
        parts["signature"],
    )


# --- the key ---------------------------------------------------------------------------------------


def open_key(file: Path) -> bytes:
    """The seed in the key's file; a new one where there is none yet, readable by its owner alone."""
    if not file.exists():
        try:
            _make_key(file)
        except OSError as error:
            raise SettingsError(f"{file.name} cannot be made in the home: {error.strerror}") from error
    return read_key(file)


def read_key(file: Path) -> bytes:
    """The seed in the key's file. Raises SettingsError where it is not there, not private or of another size."""
    try:
        with file.open("rb") as opened_file:
            status = os.fstat(opened_file.fileno())
            seed = opened_file.read(SEED_BYTES + 1)
    except FileNotFoundError:
        raise SettingsError(f"there is no {file.name} in the home yet; it is made when the gateway starts") from None
    except OSError as error:
        raise SettingsError(f"{file.name} cannot be read: {error.strerror}") from error
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise SettingsError(f"{file.name} can be read by others; put it right with: chmod 600 {file.name}")
    if len(seed) != SEED_BYTES:
        raise SettingsError(
            f"{file.name} is not a key: expected {SEED_BYTES} bytes. Put it aside; the next start makes a new one"
        )
    return seed


def public_of(seed: bytes) -> str:
    """The public half of a key, in hex."""
    return _private(seed).public_key().public_bytes_raw().hex()


def _make_key(file: Path) -> None:
    """A new key, whole under its name or not there at all. One that somebody else made first is left alone."""
    draft = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "wb") as made:
            made.write(os.urandom(SEED_BYTES))
            made.flush()
            os.fsync(made.fileno())
        try:
            os.link(draft, file)
        except FileExistsError:
            return
        folder = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    finally:
        draft.unlink()


def _private(seed: bytes) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(seed)


# --- sign and check --------------------------------------------------------------------------------


def sign(ledger: Ledger, seed: bytes) -> Checkpoint:
    """Where the chain stands now, signed.

    Raises LedgerUnavailableError for a ledger that is damaged, belongs to no vault, or does not name this key.
    """
    ledger.glance(expected=True)
    if ledger.fault is not None:
        raise LedgerUnavailableError(f"{ledger.fault}; a damaged ledger is not signed: run muninn ledger verify")
    origin, tip, public = ledger.vault_id, ledger.tip(), public_of(seed)
    if origin is None or ledger.key != public:
        raise LedgerUnavailableError("the ledger does not name its key yet; it is recorded when the gateway starts")
    unsigned = Checkpoint(origin, tip.rows, tip.events, tip.head, now(), public, "")
    signature = _private(seed).sign(unsigned.signed().encode("ascii")).hex()
    return Checkpoint(origin, tip.rows, tip.events, tip.head, unsigned.at, unsigned.public, signature)


def check(checkpoint: Checkpoint, file: Path) -> tuple[str, ...]:
    """What a ledger file and a checkpoint disagree about; none where the file goes on from the checkpoint.

    The chain itself is not replayed: ``verify`` does that. Both together find what either alone would not.
    """
    if not _is_signed(checkpoint):
        return (_UNSIGNED,)
    try:
        with closing(opened(file)) as reader:
            return check_through(checkpoint, reader)
    except (apsw.Error, UnicodeDecodeError, LedgerUnavailableError) as error:
        return (f"checkpoint: the ledger cannot be read ({type(error).__name__.removesuffix('Error')})",)


def check_through(checkpoint: Checkpoint, reader: apsw.Connection) -> tuple[str, ...]:
    """The same through a connection that is open already. Raises apsw.Error where it cannot read."""
    if not _is_signed(checkpoint):
        return (_UNSIGNED,)
    reader.execute("BEGIN")
    return tuple(_disagreements(checkpoint, reader))


def _is_signed(checkpoint: Checkpoint) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(checkpoint.public))
    try:
        public.verify(bytes.fromhex(checkpoint.signature), checkpoint.signed().encode("ascii"))
    except InvalidSignature:
        return False
    return True


def _disagreements(checkpoint: Checkpoint, reader: apsw.Connection) -> list[str]:
    first = reader.execute("SELECT body FROM rows WHERE seq = 1").fetchone()
    origin = None if first is None else read_body(first[0]).get("vault")
    if origin is not None and origin != checkpoint.origin:
        return [f"checkpoint: it is of the vault {checkpoint.origin}, the ledger of {origin}"]
    last = reader.execute("SELECT max(seq) FROM rows").get or 0
    if last < checkpoint.rows:
        why = "it was cut off, rolled back, or put in place of the one that was signed"
        return [f"checkpoint: the ledger ends at row {last}, {checkpoint.rows} rows were signed: {why}"]
    found = []
    bodies = reader.execute("SELECT body FROM rows WHERE kind = 'key' AND seq <= ?", (checkpoint.rows,))
    if checkpoint.public not in {read_body(row[0]).get("public") for row in bodies}:
        found.append(f"checkpoint: the ledger names no key {checkpoint.public[:16]}… before row {checkpoint.rows}")
    row = reader.execute("SELECT events, chain FROM rows WHERE seq = ?", (checkpoint.rows,)).fetchone()
    if row is None or row[1] != bytes.fromhex(checkpoint.head) or row[0] != checkpoint.events:
        found.append(f"checkpoint: row {checkpoint.rows} is not the one that was signed: the ledger was rewritten")
    return found
