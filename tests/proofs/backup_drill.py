"""``python -P -m tests.proofs.backup_drill --files N``: three nights of a made-up vault, each brought back whole.

Beside it the same with restic, where it is installed. Exit status 1 where a night does not come back to the byte.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import apsw

from ledger import Ledger, checkpoint
from muninn.model.change import Change
from muninn.model.content import MISSING, ContentHash
from tests.backup.yard import tree
from tests.bench import laying
from tests.conftest import furnish, path

CHANGED: Final = 20
NIGHTS: Final = 3
_EDGES: Final = (0, 1, 2, 65_535, 65_536, 65_537, 131_071, 131_072, 131_073, (1 << 20) - 1, 1 << 20, (1 << 20) + 1)
_NAMES: Final = (
    b"-dash.md", b" space .md", "é.md".encode(), "e\u0301.md".encode(), b"a*b?.md", b"\xff\xfe.md", b"new\nline.md",
    b"n" * 250 + b".md", "🦊.md".encode(), b".hidden", b"~$office", b"half.tmp", b"con.md",
)  # fmt: skip
_MODES: Final = (0o400, 0o440, 0o600, 0o644, 0o664, 0o666, 0o755, 0o777, 0o4755)


_MUNINN: Final = """
import atexit, sys
def told():
    sys.stdout.flush()
    sys.stderr.write("".join(line for line in open("/proc/self/status") if line.startswith("VmHWM")))
if sys.platform == "linux":
    atexit.register(told)
from muninn.__main__ import main
main()
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """What commands took: seconds of the clock, of the processor, and the most memory of one process in KiB."""

    wall: float
    cpu: float
    peak: int
    out: str


def command(*words: str, environment: dict[str, str], check: bool = True) -> Cost:
    """Run one command to its end, and measure it with all it starts."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(words, env=environment, stdout=out, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        took = time.monotonic() - began
        out.seek(0)
        said = out.read().decode("utf-8", "replace")
    if check and process.returncode != 0:
        sys.exit(f"BROKEN {' '.join(words[:6])}: exit {process.returncode}: {said[-800:]}")
    # A process counts the memory of the one that it was forked from; only it can tell its own.
    peak = re.search(r"^VmHWM:\s+(\d+) kB$", said, re.MULTILINE)
    return Cost(took, used.ru_utime + used.ru_stime, int(peak[1]) if peak else 0, said)


def lay(root: Path, files: int) -> None:
    """``files`` files: notes as people keep them, and every odd one there is."""
    odd = root / "odd"
    odd.mkdir(parents=True)
    for size in _EDGES:
        (odd / f"{size}.bin").write_bytes(os.urandom(min(size, 70_000)) + bytes(max(0, size - 70_000)))
    (odd / "five.bin").write_bytes(os.urandom(5 << 20))
    for name in _NAMES:
        (odd / os.fsdecode(name)).write_bytes(name)
    for mode in _MODES:
        (odd / f"mode-{mode:o}.md").write_text("x")
        (odd / f"mode-{mode:o}.md").chmod(mode)
    (root / "void/deep").mkdir(parents=True)
    (root / "void/deep").chmod(0o500)
    laying.lay(root, files - len(tree_files(root)))


def tree_files(root: Path) -> list[str]:
    return [os.path.join(top, name) for top, _, names in os.walk(root) for name in names]


def keep(home: Path, root: Path) -> None:
    """Every note as the ledger's baseline keeps it."""
    book = Ledger(home / "ledger.db")
    book.name_key(checkpoint.public_of(checkpoint.open_key(home / "ledger.key")))
    notes = sorted(root.rglob("*.md"))
    for start in range(0, len(notes), 200):
        changes: list[Change] = []
        contents: dict[ContentHash, bytes] = {}
        for file in notes[start : start + 200]:
            where = os.path.relpath(file, root)
            if where.startswith("odd") or not where.isascii():
                continue
            content = file.read_bytes()
            contents[ContentHash.of(content)] = content
            changes.append(Change(path(where), MISSING, ContentHash.of(content)))
        book.begin_with(changes, contents, complete=start + 200 >= len(notes))
    book.close()


def change(home: Path, root: Path, night: int) -> None:
    """What a day changes: some notes, known to the ledger; and an attachment that is new."""
    book = Ledger(home / "ledger.db")
    notes = sorted(file for file in root.rglob("*.md") if "odd" not in file.parts)
    changes: list[Change] = []
    contents: dict[ContentHash, bytes] = {}
    for file in notes[night * CHANGED :: max(1, len(notes) // CHANGED)][:CHANGED]:
        before = file.read_bytes()
        after = before + f"One more sentence, of night {night}.\n".encode()
        file.write_bytes(after)
        contents |= {ContentHash.of(before): before, ContentHash.of(after): after}
        changes.append(Change(path(os.path.relpath(file, root)), ContentHash.of(before), ContentHash.of(after)))
    book.witness(changes, contents)
    book.close()


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(os.lstat(file).st_size for file in tree_files(folder))


class Ours:
    """Muninn's backup."""

    name = "muninn"

    def __init__(self, folder: Path, root: Path, home: Path) -> None:
        own = {"vault": root, "home": home, "cache": folder / "cache"}
        self.environment = os.environ | {f"MUNINN_{name.upper()}": str(place) for name, place in own.items()}
        self.remote, self.folder = folder / "remote.git", folder
        git = ["git", "init", "--quiet", "--bare", "--initial-branch=main", str(self.remote)]
        subprocess.run(git, check=True)
        self._muninn("backup", "init", "--remote", str(self.remote))
        self.bare = self._muninn("backup", "schedule", "--help").peak

    def _muninn(self, *words: str) -> Cost:
        return command(sys.executable, "-P", "-c", _MUNINN, *words, environment=self.environment)

    def night(self) -> tuple[list[Cost], dict[str, Any]]:
        """One run: it restores and compares by itself."""
        ran = self._muninn("backup", "run", "--json")
        return [ran], json.loads(next(line for line in ran.out.splitlines() if line.startswith("{")))

    def back(self, night: int) -> Path:
        """The newest set, restored by the command for it."""
        target = self.folder / f"back-{night}"
        self._muninn("backup", "restore", "--to", str(target))
        return target


class Restic:
    """The same with restic: backup, check of all data, restore with its own verification, and a comparison."""

    name = "restic"

    def __init__(self, folder: Path, root: Path, ledger: Path | None) -> None:
        """``ledger`` is the live one, of which a copy is backed up as well; None for the vault alone."""
        self.remote, self.folder, self.root, self.ledger = folder / "restic", folder, root, ledger
        self.sources = [root] if ledger is None else [root, folder / "ledger-copy"]
        password = folder / "restic-password"
        password.write_text("x")
        own = {"RESTIC_REPOSITORY": str(self.remote), "RESTIC_PASSWORD_FILE": str(password)}
        self.environment = os.environ | own | {"RESTIC_CACHE_DIR": str(folder / "restic-cache")}
        self.set_up = command("restic", "init", environment=self.environment)

    def night(self) -> list[Cost]:
        target = self.folder / "restic-back"
        shutil.rmtree(target, ignore_errors=True)
        if self.ledger is not None:
            # The copy itself is not measured: what a person would do for it differs.
            shutil.rmtree(self.sources[1], ignore_errors=True)
            self.sources[1].mkdir()
            copy = apsw.Connection(str(self.sources[1] / "ledger.db"))
            with closing(copy), closing(apsw.Connection(str(self.ledger))) as live:
                with copy.backup("main", live, "main") as backup:
                    backup.step()
                copy.execute("PRAGMA journal_mode = DELETE")
        steps = (
            ("restic", "backup", "--quiet", *map(str, self.sources)),
            ("restic", "check", "--quiet", "--read-data"),
            ("restic", "restore", "--quiet", "latest", "--verify", "--target", str(target)),
            *(("diff", "-r", str(source), f"{target}{source}") for source in self.sources),
        )
        return [command(*words, environment=self.environment) for words in steps]


def total(costs: list[Cost]) -> tuple[float, float]:
    """Seconds of the clock and of the processor."""
    return sum(cost.wall for cost in costs), sum(cost.cpu for cost in costs)


def prove(folder: Path, files: int, *, beside: bool = True, vault_alone: bool = False) -> bool:
    """Three nights. Prints what they took; gives whether each came back to the byte."""
    room = furnish(folder)
    room.door.ledger.close()
    lay(room.root, files)
    keep(room.home, room.root)
    ours = Ours(folder, room.root, room.home)
    ledger = None if vault_alone else room.home / "ledger.db"
    restic = Restic(folder, room.root, ledger) if beside and shutil.which("restic") else None
    if beside and restic is None:
        print("SKIPPED beside restic: it is not installed, so there are no ratios (apt install restic)")
    good, sizes = True, {"muninn": 0, "restic": 0 if restic is None else size_of(restic.remote)}
    for night in range(NIGHTS):
        if night:
            change(room.home, room.root, night)
        costs, told = ours.night()
        same = tree(ours.back(night) / "vault") == tree(room.root) and told["files"] == files
        good = good and same
        wall, cpu = total(costs)
        growth, sizes["muninn"] = size_of(ours.remote) - sizes["muninn"], size_of(ours.remote)
        print(f"night {night + 1}: {'ok' if same else 'BROKEN'} {told['files']} files; restored to the byte: {same}")
        print(f"  muninn {wall:6.2f} s, cpu {cpu:6.2f} s, grew {growth:>9,} bytes, {steps(told)}")
        more = (costs[0].peak - ours.bare) >> 10
        print(f"  memory {costs[0].peak >> 10} MiB, {more:+} MiB to a command that does nothing")
        if restic is not None:
            theirs = total(restic.night())
            grew, sizes["restic"] = size_of(restic.remote) - sizes["restic"], size_of(restic.remote)
            print(f"  restic {theirs[0]:6.2f} s, cpu {theirs[1]:6.2f} s, grew {grew:>9,} bytes")
            print(f"  P20 {wall / theirs[0]:.2f} (cpu {cpu / theirs[1]:.2f}), P21 {growth / max(1, grew):.2f}")
    if good:
        print(f"ok {files} files")
    return good


def steps(told: dict[str, Any]) -> str:
    """The seconds of each step of a run."""
    return " ".join(f"{name} {seconds:.2f}" for name, seconds in told["seconds"].items())


def main() -> None:
    """Prove and print."""
    parser = argparse.ArgumentParser(prog="tests.proofs.backup_drill", description=__doc__)
    parser.add_argument("--files", type=int, default=5_167, metavar="N", help="files of the vault, from 200 on")
    parser.add_argument("--in", dest="where", type=Path, default=Path(".run"), metavar="DIR", help="work there (.run)")
    parser.add_argument("--vault-alone", action="store_true", help="restic gets no copy of the ledger")
    asked = parser.parse_args()
    if asked.files < 200:
        parser.error("--files: at least 200")
    run = asked.where.absolute()
    run.mkdir(exist_ok=True)
    # Beside the checkout and not where temporary files lie: those may be in memory, where a disk costs nothing.
    with tempfile.TemporaryDirectory(prefix="backup-drill-", dir=run) as folder:
        good = prove(Path(folder), asked.files, vault_alone=asked.vault_alone)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
