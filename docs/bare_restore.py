"""Open a Muninn backup without Muninn: python bare_restore.py REPOSITORY KEY_FILE EMPTY_DIR [SET]

REPOSITORY is a clone (`git clone --bare URL`), or a folder with `muninn-backup` in it. KEY_FILE holds the key as it was
printed. Gives EMPTY_DIR/vault and EMPTY_DIR/ledger.db. Needs Python, cryptography and zstandard; git for a clone.
The format stands in backup/FORMAT.md. Hashes and names are checked; what the head does not name is not looked for.
"""

import base64
import hashlib
import io
import json
import os
import sqlite3
import struct
import subprocess
import sys

import zstandard
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


def derived(key, salt, info, length=32):
    return HKDF(algorithm=SHA256(), length=length, salt=salt, info=info).derive(key)


def stored(repository, name):
    """The bytes of an object, as git has them."""
    plain = os.path.join(repository, "muninn-backup", name)
    if os.path.exists(plain):
        with open(plain, "rb") as file:
            return file.read()
    git = ["git", "-C", repository]
    for ref in subprocess.check_output([*git, "for-each-ref", "--format=%(refname)"], text=True).split():
        found = subprocess.run([*git, "cat-file", "blob", f"{ref}:muninn-backup/{name}"], capture_output=True)
        if found.returncode == 0:
            return found.stdout
    sys.exit(f"{name}: it is missing in {repository}")


def opened(repository, name, key, sha256=None):
    """What was sealed as this object, as a stream."""
    sealed = stored(repository, name)
    if sha256 not in (None, hashlib.sha256(sealed).hexdigest()):
        sys.exit(f"{name}: it is not the one that the head names")
    head, rest = sealed[:40], sealed[40:]
    if head[:8] != b"MUNINN\0\1" or head[8:24] != derived(key, None, b"muninn backup 1 fingerprint", 16):
        sys.exit(f"{name}: no object of this format, or sealed with another key")
    cipher = AESGCM(derived(key, head[24:], b"muninn backup 1 object"))
    chunks = [rest[at : at + 65552] for at in range(0, len(rest), 65552)]
    body = b""
    for i, chunk in enumerate(chunks):
        last = bytes([i == len(chunks) - 1])
        bound = head + struct.pack(">H", len(name)) + name.encode() + struct.pack(">Q", i) + last
        body += cipher.decrypt(i.to_bytes(11, "big") + last, chunk, bound)
    return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(body), read_across_frames=True)


def rows_of(stream):
    """The header of a set, and its rows."""
    header = json.loads(stream.read(struct.unpack(">I", stream.read(4))[0]))
    rows = []
    while sizes := stream.read(6):
        length, width = struct.unpack(">HI", sizes)
        key = stream.read(length)
        rows.append((key, None if width == 0xFFFFFFFF else stream.read(width)))
    return header, rows


def contents(repository, head, key):
    """Every content of the packs, by its hash, in their order."""
    data = b""
    for pack in head["packs"]:
        stream = opened(repository, pack["name"], key, pack["sha256"])
        while piece := stream.read(52):
            digest, total, _, length = struct.unpack(">32sQQI", piece)
            data += stream.read(length)
            if len(data) == total:
                if hashlib.sha256(data).digest() != digest:
                    sys.exit(f"content {digest.hex()}: it does not have this hash")
                yield digest, data
                data = b""


def state_of(repository, head, key, wanted):
    """What a set holds: its chain, one set laid over the other."""
    by, chain, state = {row["id"]: row for row in head["sets"]}, [], {}
    while wanted is not None:
        chain.insert(0, by[wanted])
        wanted = by[wanted]["base"]
    for row in chain:
        header, rows = rows_of(opened(repository, "sets/" + row["id"], key, row["sha256"]))
        state.update(rows)
    return header, {name: value for name, value in state.items() if value is not None}


def main(repository, key_file, target, wanted=None):
    with open(key_file) as file:
        key = base64.b32decode("".join(file.read().split()).replace("-", "").upper())[:32]
    head = json.loads(opened(repository, "head", key).read())
    header, state = state_of(repository, head, key, wanted or head["sets"][-1]["id"])
    folders = {name[1:] for name in state if name[:1] == b"d"}
    for path in [name[1:] for name in state if name[:1] in (b"f", b"d") and name != b"d"]:
        if path.rpartition(b"/")[0] not in folders or {b"", b".", b".."} & set(path.split(b"/")) or b"\0" in path:
            sys.exit(f"the set holds the name {path!r}: refused whole")
    os.makedirs(target, exist_ok=True)
    if os.listdir(target):
        sys.exit(f"{target} is not empty")
    vault = os.fsencode(os.path.join(target, "vault"))
    for path in sorted(folders):
        os.mkdir(os.path.join(vault, path) if path else vault, 0o700)
    files, lines = {}, {}
    for name, value in state.items():
        if name[:1] == b"f":
            files.setdefault(value[20:], []).append((name[1:], *struct.unpack(">Iq", value[:12])))
    ledger = sqlite3.connect(os.path.join(target, "ledger.db"))
    ledger.executescript(state[b"s"][4:].decode() + f"PRAGMA user_version = {struct.unpack('>I', state[b's'][:4])[0]}")
    needed = {value[8:40] for name, value in state.items() if name[:1] == b"l"}
    for digest, data in contents(repository, head, key):
        for path, mode, mtime in files.pop(digest, ()):
            file = os.path.join(vault, path)
            with open(file, "xb") as made:
                made.write(data)
            os.chmod(file, mode)
            os.utime(file, ns=(mtime, mtime))
        if state.pop(b"k" + digest, None) is not None:
            packed = zstandard.ZstdCompressor().compress(data)
            ledger.execute("INSERT INTO blobs (hash, size, packed) VALUES (?, ?, ?)", (digest, len(data), packed))
        if digest in needed:
            lines[digest] = data
    for name in sorted(name for name in state if name[:1] == b"l"):
        for line in lines[state[name][8:40]].splitlines():
            table, *values = json.loads(line)
            values = [bytes.fromhex(value["hex"]) if isinstance(value, dict) else value for value in values]
            ledger.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)
    ledger.commit()
    ledger.execute("PRAGMA journal_mode = WAL")
    ledger.close()
    for path in sorted(folders, reverse=True):
        os.chmod(os.path.join(vault, path) if path else vault, struct.unpack(">I", state[b"d" + path])[0])
    missing = [path for places in files.values() for path, _, _ in places] + [k for k in state if k[:1] == b"k"]
    sys.exit(f"missing: {missing}" if missing else print(f"ok {header['files']} files, set {header['id']}"))


if __name__ == "__main__":
    main(*sys.argv[1:])
