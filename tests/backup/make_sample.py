"""``python -P -m tests.backup.make_sample FOLDER``: a sample of the format as it is written today.

Run once for each version of the format; what it made is committed, and must open for ever. It is never run again for a
version that has a sample.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from backup import drill, places
from backup.keeping import Policy
from backup.places import read_state
from ledger import verify
from tests.backup.yard import Yard, lay_out, tree
from tests.conftest import note_text


def state_of(folder: Path) -> dict[str, list[object]]:
    """What lies below a folder, as JSON: names in hex, since not all are text."""
    return {name.hex(): [kind, mode, at, digest.hex()] for name, (kind, mode, at, digest) in tree(folder).items()}


def fill(yard: Yard) -> list[dict[str, object]]:
    """Four sets, of which the first leaves: a rewritten branch, whole sets and differences."""
    (yard.vault / "odd").mkdir()
    for name in (b"\xff\xfe.md", b"-dash.md", "é.md".encode(), b"empty.md"):
        (yard.vault / "odd" / os.fsdecode(name)).write_bytes(b"" if name.startswith(b"empty") else name)
    (yard.vault / "odd/noise.bin").write_bytes(os.urandom(140_000))
    (yard.vault / "odd/pieces.bin").write_bytes(bytes(1_200_000))
    (yard.vault / "odd/-dash.md").chmod(0o440)
    (yard.vault / "void/deep").mkdir(parents=True)
    (yard.vault / "void/deep").chmod(0o500)
    (yard.vault / "link.md").symlink_to("a.md")
    expected = []
    for night in range(4):
        yard.write("door.md", f"night {night}\n")
        yard.room.lay(f"night-{night}.md", note_text(f"night {night}\n"))
        (yard.vault / f"night-{night - 1}.md").unlink(missing_ok=True)
        # Each set a day later than the one before, so that the first one leaves.
        places.now = lambda night=night: f"2026-01-0{night + 1}T03:00:00.000Z"  # type: ignore[misc]
        ran = yard.run(policy=Policy(3, 0))
        head = verify(yard.home / "ledger.db").head
        expected.append({"set": ran.set, "files": ran.files, "ledger": head, "tree": state_of(yard.vault)})
    return expected[1:]


def main(target: Path) -> None:
    """Make it."""
    with tempfile.TemporaryDirectory() as folder:
        yard = lay_out(Path(folder))
        yard.init()
        expected = fill(yard)
        state = read_state(yard.places)
        fetched = drill.fetch(state, Path(folder) / "fetched.git", os.environ)
        target.mkdir(parents=True)
        for item in fetched.git.items(fetched.commit, deep=True):
            file = target / os.fsdecode(item.name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(fetched.git.run("cat-file", "blob", item.id))
        (target / "key").write_text(yard.places.key.read_text())
        (target / "expected.json").write_text(json.dumps(expected, indent=1, sort_keys=True) + "\n")
        yard.room.door.ledger.close()
    print(f"made {target}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
