"""Checkpoints: what was cut off, rolled back, rewritten or exchanged is found, though its own chain is whole."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from ledger import Ledger, checkpoint, verify
from ledger.checkpoint import check, open_key, parse, public_of, sign
from muninn.model.errors import LedgerUnavailableError, SettingsError
from tests.ledger.filled import VAULT, fill


@pytest.fixture
def seed(tmp_path: Path) -> bytes:
    return open_key(tmp_path / "ledger.key")


@pytest.fixture
def book(tmp_path: Path, seed: bytes) -> Iterator[Ledger]:
    made = Ledger(tmp_path / "ledger.db")
    fill(made, 6)
    made.name_key(public_of(seed))
    yield made
    made.close()


@pytest.fixture
def file(book: Ledger, tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def cut(file: Path, rows: int) -> Path:
    """A ledger of the first rows alone, with a whole chain of its own, as a restored older copy is one."""
    copy = file.with_name("cut.db")
    with closing(apsw.Connection(str(file))) as source, closing(apsw.Connection(str(copy))) as other:
        with other.backup("main", source, "main") as backup:
            backup.step()
        triggers = other.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            other.execute(f"DROP TRIGGER {name}")
        for table in ("changes", "ends", "requests", "pendings", "rows"):
            other.execute(f"DELETE FROM {table} WHERE seq > ?", (rows,))
        other.execute("DELETE FROM blobs WHERE hash NOT IN (SELECT after FROM changes WHERE after IS NOT NULL)")
        for _, sql in triggers:
            other.execute(str(sql))
    assert verify(copy).faults == ()
    return copy


def test_a_ledger_that_goes_on_from_its_checkpoint_has_no_faults(book: Ledger, file: Path, seed: bytes) -> None:
    signed = sign(book, seed)
    assert (signed.origin, signed.rows, signed.head) == (VAULT, book.tip().rows, book.head()[2])
    assert check(signed, file) == ()
    book.begin_with([], {}, complete=True)
    assert check(signed, file) == ()


def test_its_text_is_as_documented_to_the_byte(book: Ledger, seed: bytes) -> None:
    signed = sign(book, seed)
    expected = (
        f"muninn checkpoint 1\norigin {VAULT}\nrows {signed.rows}\nevents {signed.events}\nhead {signed.head}\n"
        f"at {signed.at}\npublic {public_of(seed)}\nsignature {signed.signature}\n"
    )
    assert signed.text() == expected
    assert parse(expected) == signed


def test_a_checkpoint_that_was_signed_once_is_read_for_ever() -> None:
    kept = (
        f"muninn checkpoint 1\norigin v\nrows 3\nevents 1\nhead {'ab' * 32}\nat 2026-05-04T00:00:00.000Z\n"
        "public 03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8\n"
        "signature 3c5207cd9c4b17508986423a27c22e72d79d37c845dcdcbc69a2bd891982cdcc"
        "047d0c29d267159057d13242ef9e28911fee4ac1f77ef57d0d8dcbbaef913501\n"
    )
    found = parse(kept)
    assert found.public == public_of(bytes(range(32)))
    assert checkpoint._is_signed(found)
    assert not checkpoint._is_signed(replace(found, rows=4))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-1],
        lambda text: text + "\n",
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("rows ", "rows 0"),
        lambda text: text.replace("rows ", "rows  "),
        lambda text: text.replace("checkpoint 1", "checkpoint 2"),
        lambda text: text.upper(),
        lambda text: "",
        lambda text: text.replace("events", "évents"),
    ],
)
def test_anything_else_is_no_checkpoint(book: Ledger, seed: bytes, change: object) -> None:
    assert callable(change)
    with pytest.raises(SettingsError, match="no checkpoint"):
        parse(change(sign(book, seed).text()))


def test_a_ledger_that_was_cut_off_is_found(book: Ledger, file: Path, seed: bytes) -> None:
    signed = sign(book, seed)
    for rows in (signed.rows - 1, 3):
        (fault,) = check(signed, cut(file, rows))
        assert f"ends at row {rows}, {signed.rows} rows were signed" in fault


def test_a_ledger_that_was_cut_off_and_went_on_is_found(book: Ledger, file: Path, seed: bytes) -> None:
    signed = sign(book, seed)
    rolled_back = Ledger(cut(file, signed.rows - 2))
    rolled_back.name_key(public_of(seed))
    for number in range(4):
        rolled_back.name_key(f"{number:064x}")
    rolled_back.close()
    assert verify(file.with_name("cut.db")).faults == ()
    assert any("rewritten" in fault for fault in check(signed, file.with_name("cut.db")))


def test_a_ledger_that_was_made_anew_is_found(book: Ledger, file: Path, seed: bytes, tmp_path: Path) -> None:
    signed = sign(book, seed)
    (tmp_path / "new").mkdir()
    forged = Ledger(tmp_path / "new/ledger.db")
    forged.belong_to(VAULT)
    forged.name_key(public_of(seed))
    while forged.tip().rows < signed.rows:
        forged.begin_with([], {}, complete=True)
    forged.close()
    assert verify(tmp_path / "new/ledger.db").faults == ()
    assert [fault for fault in check(signed, tmp_path / "new/ledger.db") if "rewritten" in fault]


def test_a_ledger_of_another_vault_is_said(book: Ledger, seed: bytes, tmp_path: Path) -> None:
    other = Ledger(tmp_path / "other.db")
    other.belong_to("1" * 32)
    other.close()
    (fault,) = check(sign(book, seed), tmp_path / "other.db")
    assert "vault" in fault


def test_a_checkpoint_of_a_key_that_the_chain_does_not_name_is_refused(book: Ledger, file: Path, seed: bytes) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    stranger = bytes(31) + b"\x01"
    forged = replace(sign(book, seed), public=public_of(stranger))
    forged = replace(
        forged, signature=Ed25519PrivateKey.from_private_bytes(stranger).sign(forged.signed().encode()).hex()
    )
    (fault,) = check(forged, file)
    assert "names no key" in fault
    book.name_key(public_of(stranger))
    assert check(forged, file) == (fault,), "a key named after the row it signs is no help"


@pytest.mark.parametrize(
    "fields",
    [{"rows": 5}, {"events": 1}, {"head": "0" * 64}, {"origin": "1" * 32}, {"at": "2026-05-04T00:00:00.000Z"}],
)
def test_a_changed_checkpoint_is_refused(book: Ledger, file: Path, seed: bytes, fields: dict[str, str | int]) -> None:
    (fault,) = check(replace(sign(book, seed), **fields), file)  # type: ignore[arg-type]
    assert "signature" in fault


def test_a_file_that_cannot_be_read_is_a_fault(book: Ledger, seed: bytes, tmp_path: Path) -> None:
    signed = sign(book, seed)
    (tmp_path / "garbage.db").write_bytes(b"no database\n" * 900)
    assert check(signed, tmp_path / "garbage.db")
    assert check(signed, tmp_path / "none.db")


def test_a_key_of_the_ledger_is_named_once_and_again_when_it_is_another(book: Ledger, file: Path, seed: bytes) -> None:
    before = book.tip().rows
    book.name_key(public_of(seed))
    assert (book.tip().rows, book.key) == (before, public_of(seed))
    old = sign(book, seed)
    other = bytes(32)
    book.name_key(public_of(other))
    assert (book.tip().rows, book.key) == (before + 1, public_of(other))
    assert check(old, file) == check(sign(book, other), file) == ()
    with pytest.raises(LedgerUnavailableError, match="does not name its key"):
        sign(book, seed)
    assert verify(file).faults == ()


def test_a_ledger_restored_into_a_new_home_gets_a_new_key(
    book: Ledger, file: Path, seed: bytes, tmp_path: Path
) -> None:
    old = sign(book, seed)
    book.close()
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(file, home / "ledger.db")
    restored = Ledger(home / "ledger.db")
    new = open_key(home / "ledger.key")
    assert new != seed
    restored.name_key(public_of(new))
    assert check(old, home / "ledger.db") == check(sign(restored, new), home / "ledger.db") == ()
    assert verify(home / "ledger.db").faults == ()
    restored.close()


def test_a_damaged_ledger_is_not_signed(file: Path, book: Ledger, seed: bytes) -> None:
    book.close()
    with closing(apsw.Connection(str(file))) as other:
        other.execute("DROP TRIGGER rows_stay")
        other.execute("UPDATE rows SET client = 'eve' WHERE seq = (SELECT max(seq) FROM rows)")
    with pytest.raises(LedgerUnavailableError, match="not signed"):
        sign(Ledger(file), seed)


def test_a_new_key_is_private_and_stays(tmp_path: Path) -> None:
    file = tmp_path / "ledger.key"
    seed = open_key(file)
    assert (len(seed), file.stat().st_mode & 0o777, file.read_bytes()) == (32, 0o600, seed)
    assert open_key(file) == seed
    assert list(tmp_path.iterdir()) == [file]


def test_two_that_start_at_once_get_one_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "ledger.key"

    def overtaken(source: Path, target: Path) -> None:
        target.write_bytes(b"k" * 32)
        target.chmod(0o600)
        raise FileExistsError

    monkeypatch.setattr("ledger.checkpoint.os.link", overtaken)
    assert open_key(file) == b"k" * 32
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("content", "mode", "said"),
    [
        (b"k" * 32, 0o644, "read by others"),
        (b"k" * 32, 0o640, "read by others"),
        (b"k" * 31, 0o600, "32 bytes"),
        (b"k" * 33, 0o600, "32 bytes"),
        (b"", 0o600, "32 bytes"),
    ],
)
def test_a_key_that_is_none_or_not_private_is_refused(tmp_path: Path, content: bytes, mode: int, said: str) -> None:
    file = tmp_path / "ledger.key"
    file.write_bytes(content)
    file.chmod(mode)
    with pytest.raises(SettingsError, match=said):
        open_key(file)
    assert file.read_bytes() == content


def test_an_unbound_ledger_is_not_signed(tmp_path: Path, seed: bytes) -> None:
    empty = Ledger(tmp_path / "empty.db")
    with pytest.raises(LedgerUnavailableError):
        sign(empty, seed)
    empty.close()
