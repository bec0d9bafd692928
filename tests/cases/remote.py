"""A bare git repository that somebody else changes."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .verdict import NotCarriedOutError, UnknownWordError

_SOMEBODY = "Somebody Else"
_REGULAR = "100644"


@dataclass(frozen=True, slots=True)
class File:
    """A file of a commit: its name as git stores it, its mode and its content's object."""

    name: bytes
    mode: str
    blob: str


@dataclass(frozen=True, slots=True)
class Repository:
    """A bare repository; `branch` is the one its HEAD names or, where that is not born, the first there is."""

    path: Path

    def git(self, *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> bytes:
        """What git says; refuses where git fails."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        clean |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", **_identity(), **(env or {})}
        argv = ["git", "--git-dir", str(self.path), *args]
        ended = subprocess.run(argv, input=stdin, capture_output=True, env=clean, check=False)
        if ended.returncode != 0:
            raise NotCarriedOutError(f"git {args[0]}: {ended.stderr.decode('utf-8', 'replace').strip()}")
        return ended.stdout

    def word(self, *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> str:
        return self.git(*args, stdin=stdin, env=env).decode("utf-8", "replace").strip()

    def branch(self) -> str:
        head = self.word("symbolic-ref", "HEAD")
        heads = self.word("for-each-ref", "--format=%(refname)", "refs/heads").split()
        return heads[0] if heads and head not in heads else head

    def tip(self) -> str | None:
        found = self.word("for-each-ref", "--format=%(objectname)", self.branch()).split()
        return found[0] if found else None

    def parents(self, commit: str) -> list[str]:
        return self.word("rev-list", "--parents", "-n", "1", commit).split()[1:]

    def changed(self, commit: str) -> list[File]:
        """The files the commit added or changed, the largest first, then by name."""
        against = ["--root"] if not self.parents(commit) else []
        raw = self.git("diff-tree", "-r", "-z", "--no-renames", "--no-commit-id", "--diff-filter=AMT", *against, commit)
        pieces = raw.split(b"\0")
        files = []
        for meta, name in zip(pieces[0::2], pieces[1::2], strict=False):
            _, mode, _, blob, _ = meta.decode().lstrip(":").split()
            files.append(File(name, mode, blob))
        return sorted(files, key=lambda file: (-len(self.content(file)), file.name))

    def content(self, file: File) -> bytes:
        return self.git("cat-file", "blob", file.blob)

    def commit(self, tree_of: str | None, changes: Sequence[tuple[File, bytes | None]], like: str | None) -> str:
        """A commit with another tree: `like` gives parents, message and author, None makes a new one by somebody."""
        with tempfile.TemporaryDirectory() as folder:
            env = {"GIT_INDEX_FILE": os.path.join(folder, "index")}
            self.git("read-tree", *([tree_of] if tree_of else ["--empty"]), env=env)
            for file, data in changes:
                self._put(file, data, env)
            tree = self.word("write-tree", env=env)
        if like is None:
            parents = [tree_of] if tree_of else []
            return self._commit_tree(tree, parents, b"a change by somebody else\n", {})
        message = self.git("log", "-1", "--format=%B", like)
        author = self.word("log", "-1", "--format=%an%n%ae%n%ad", "--date=raw", like).split("\n")
        names = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE")
        return self._commit_tree(tree, self.parents(like), message, dict(zip(names, author, strict=False)))

    def _put(self, file: File, data: bytes | None, env: Mapping[str, str]) -> None:
        if data is None:
            line = b"0 " + b"0" * len(file.blob) + b"\t" + file.name
        else:
            blob = self.word("hash-object", "-w", "--stdin", stdin=data)
            line = f"{file.mode} {blob}\t".encode() + file.name
        self.git("update-index", "-z", "--index-info", stdin=line + b"\0", env=env)

    def _commit_tree(self, tree: str, parents: Sequence[str], message: bytes, author: Mapping[str, str]) -> str:
        flags = [flag for parent in parents for flag in ("-p", parent)]
        return self.word("commit-tree", tree, *flags, stdin=message, env=author)

    def move(self, commit: str) -> None:
        self.git("update-ref", self.branch(), commit)


def _identity() -> dict[str, str]:
    return {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", _SOMEBODY), ("EMAIL", "somebody@example.invalid"))
    }


def init_bare(path: Path) -> Repository:
    """An empty bare repository whose branch is main."""
    path.parent.mkdir(parents=True, exist_ok=True)
    repository = Repository(path)
    subprocess_env = {"GIT_TEMPLATE_DIR": ""}
    repository.git("init", "--quiet", "--bare", "--initial-branch=main", env=subprocess_env)
    return repository


def first_commit(repository: Repository, files: Mapping[bytes, tuple[bytes, str]]) -> None:
    """One first commit that holds these files: name to content and git mode."""
    none = "0" * 40
    changes = [(File(name, mode, none), data) for name, (data, mode) in files.items()]
    repository.move(repository.commit(None, changes, None))


def edit(path: Path, what: str) -> None:
    """Makes one change behind the owner's back; all but rollback and foreign_commit replace the newest commit."""
    repository = Repository(path)
    tip = repository.tip()
    if what == "foreign_commit":
        foreign = File(b"somebody-elses.txt", _REGULAR, "0" * 40)
        repository.move(repository.commit(tip, [(foreign, b"written by somebody else\n")], None))
        return
    if tip is None:
        raise NotCarriedOutError(f"remote_edit {what}: the branch has no commit")
    if what == "rollback":
        parents = repository.parents(tip)
        if not parents:
            raise NotCarriedOutError("remote_edit rollback: there is no commit before the newest")
        repository.move(parents[0])
        return
    repository.move(repository.commit(tip, _changes(repository, tip, what), tip))


def _changes(repository: Repository, tip: str, what: str) -> list[tuple[File, bytes | None]]:
    if what == "extra_file":
        return [(File(b"zz-extra-file", _REGULAR, "0" * 40), b"nobody asked for this\n")]
    files = repository.changed(tip)
    if not files:
        raise NotCarriedOutError(f"remote_edit {what}: the newest commit adds or changes no file")
    largest, data = files[0], repository.content(files[0])
    match what:
        case "flip_bit":
            return [(largest, flipped(data))]
        case "cut_byte":
            return [(largest, data[:-1])]
        case "drop_file":
            return [(largest, None)]
        case "swap_files" if len(files) == 1:
            return [(largest, flipped(data))]
        case "swap_files":
            return [(largest, repository.content(files[1])), (files[1], data)]
        case _:
            raise UnknownWordError(f"remote_edit {what}")


def flipped(data: bytes) -> bytes:
    """The bytes with one bit of the middle one turned; refuses where there is none.

    >>> flipped(b"abc")
    b'acc'
    """
    if not data:
        raise NotCarriedOutError("remote_edit flip_bit: the file is empty")
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def everything_in(path: Path) -> bytes:
    """All that the repository says to whoever reads it: every object unpacked, every ref's name."""
    repository = Repository(path)
    objects = repository.git("cat-file", "--batch-all-objects", "--batch", "--buffer")
    refs = repository.git("for-each-ref", "--format=%(refname) %(objectname) %(contents)")
    return objects + b"\n" + refs + b"\n" + repository.git("symbolic-ref", "HEAD")
