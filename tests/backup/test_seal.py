"""Sealed objects: what was sealed opens, in its place alone, and nothing that was changed does."""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backup import body, packs, seal
from backup import key as keys
from backup.errors import DamagedError, KeyFaultError
from backup.scratch import Scratch

KEY = bytes(range(32))


def sealed(data: bytes, name: str = "packs/0123456789abcdef", key: bytes = KEY) -> bytes:
    out = io.BytesIO()
    sealer = seal.Sealer(out, key, name)
    sealer.write(data)
    assert sealer.close() == hashlib.sha256(out.getvalue()).hexdigest()
    assert sealer.size == len(out.getvalue())
    return out.getvalue()


def opened(whole: bytes, name: str = "packs/0123456789abcdef", key: bytes = KEY) -> bytes:
    return seal.Opener(io.BytesIO(whole).read, key, name).read()


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 131_071, 131_072, 131_073])
def test_what_was_sealed_opens(size: int) -> None:
    data = bytes(i % 251 for i in range(size))
    whole = sealed(data)
    assert opened(whole) == data
    assert len(whole) == seal.HEADER + size + seal.TAG * max(1, -(-size // seal.CHUNK))
    read = seal.Opener(io.BytesIO(whole).read, KEY, "packs/0123456789abcdef")
    pieces = list(iter(lambda: read.read(1000), b""))
    assert b"".join(pieces) == data
    assert read.rest() == hashlib.sha256(whole).hexdigest()


def test_every_bit_counts() -> None:
    whole = sealed(b"the canary sings")
    for place in range(len(whole)):
        for bit in range(8):
            torn = bytearray(whole)
            torn[place] ^= 1 << bit
            with pytest.raises((DamagedError, KeyFaultError)):
                opened(bytes(torn))


@pytest.mark.parametrize("size", [70_000, 65_536 * 2, 65_536 * 3])
def test_a_cut_is_noticed_wherever_it_is(size: int) -> None:
    whole = sealed(bytes(size))
    part = seal.CHUNK + seal.TAG
    for end in (0, 10, seal.HEADER, seal.HEADER + 5, seal.HEADER + part, seal.HEADER + part * 2, len(whole) - 1):
        if end < len(whole):
            with pytest.raises(DamagedError):
                opened(whole[:end])
    with pytest.raises(DamagedError):
        opened(whole + b"\0")


def test_a_chunk_opens_in_its_own_place_alone() -> None:
    whole = sealed(bytes(seal.CHUNK * 3))
    part = seal.CHUNK + seal.TAG
    head, chunks = whole[: seal.HEADER], [whole[seal.HEADER + n * part :][:part] for n in range(3)]
    for order in ((1, 0, 2), (0, 0, 2), (0, 2), (2,), (0, 2, 1)):
        with pytest.raises(DamagedError):
            opened(head + b"".join(chunks[n] for n in order))


def test_an_object_opens_under_its_own_name_and_key_alone() -> None:
    whole = sealed(b"x")
    with pytest.raises(DamagedError):
        opened(whole, name="packs/0123456789abcdee")
    with pytest.raises(DamagedError):
        opened(whole, name="sets/0123456789abcdef")
    with pytest.raises(KeyFaultError, match="another key"):
        opened(whole, key=bytes(32))


def test_nothing_is_sealed_twice_the_same() -> None:
    assert sealed(b"x")[24:] != sealed(b"x")[24:]
    assert sealed(b"x")[:24] == sealed(b"x")[:24]


@given(st.integers(0, 1 << 40))
def test_a_padded_length_tells_little_and_costs_little(length: int) -> None:
    brought = body.padded(length)
    assert brought >= max(length, 4096)
    assert brought <= max(4096, length * 1.12)
    assert body.padded(brought) == brought
    assert length <= 4096 or len(bin(brought).rstrip("0")) - 2 <= length.bit_length().bit_length() + 1


def test_equal_lengths_hide_different_sizes(tmp_path: Path) -> None:
    sizes = set()
    for number, text in enumerate((b"", b"x", b"secret" * 100)):
        writer = body.Writer(tmp_path / str(number), KEY, "head")
        writer.write(text)
        writer.close()
        sizes.add(writer.size)
    assert len(sizes) == 1


def test_contents_go_on_from_one_pack_to_the_next(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path / "scratch")
    scratch.hashes("known")
    packer = packs.Packer(tmp_path, KEY, most=1 << 20)
    new = packs.Contents(packer, scratch, "known")
    given = [b"", b"x", bytes(3 << 20) + b"end", os.urandom(2_500_000)]
    for content in (*given, b"x"):
        digest = hashlib.sha256(content).digest()
        cut = [content[at : at + packs.PIECE] for at in range(0, len(content), packs.PIECE)]
        new.take(digest, len(content), lambda cut=cut: cut)  # type: ignore[misc]
    made = packer.close()
    assert len(made) > 1
    found: dict[bytes, bytes] = {}
    for one in made:
        with one.file.open("rb") as file, body.Reader(file.read, KEY, one.name) as reader:
            for piece in packs.pieces(reader):
                found[piece.hash] = found.get(piece.hash, b"") + piece.data
            assert reader.ended() == one.sha256
    assert found == {hashlib.sha256(content).digest(): content for content in given}
    scratch.close()


def test_a_body_that_goes_on_is_refused(tmp_path: Path) -> None:
    writer = body.Writer(tmp_path / "x", KEY, "head")
    writer.write(b"more than was asked for")
    writer.close()
    with (tmp_path / "x").open("rb") as file, body.Reader(file.read, KEY, "head") as reader:
        assert reader.exactly(4) == b"more"
        with pytest.raises(DamagedError, match="more follows"):
            reader.ended()


# --- the key ----------------------------------------------------------------------------------------


def test_a_key_can_be_written_down() -> None:
    key = keys.new()
    text = keys.text(key)
    assert [len(group) for group in text.split("-")] == [8] * 7
    assert keys.parse(text) == keys.parse(f"  {text.lower()}\n") == keys.parse(text.replace("-", " ")) == key


def test_a_wrong_letter_is_noticed() -> None:
    text = keys.text(KEY)
    for place, letter in enumerate(text):
        if letter != "-":
            other = "B" if letter != "B" else "C"
            with pytest.raises(KeyFaultError):
                keys.parse(text[:place] + other + text[place + 1 :])


@pytest.mark.parametrize("text", ["", "short", keys.text(KEY)[:-1], keys.text(KEY) + "A", "é" * 56, "1" * 56])
def test_what_is_no_key_is_said(text: str) -> None:
    with pytest.raises(KeyFaultError, match="expected 56"):
        keys.parse(text)


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "key"
    keys.keep(file, KEY)
    assert (keys.read(file), file.stat().st_mode & 0o777) == (KEY, 0o600)
    for mode in (0o640, 0o604, 0o660, 0o601):
        file.chmod(mode)
        with pytest.raises(KeyFaultError, match="chmod 600"):
            keys.read(file)
    with pytest.raises(KeyFaultError, match="already"):
        keys.keep(file, bytes(32))
    (tmp_path / "link").symlink_to(file)
    file.chmod(0o600)
    for other in (tmp_path / "link", tmp_path / "none", tmp_path):
        with pytest.raises(KeyFaultError):
            keys.read(other)
