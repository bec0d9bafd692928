"""Our own repository in the home, and the commits that are made in it for the remote's branch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from . import head as heads
from .body import Sealed, new_id
from .errors import BackupError, DamagedError, KeyFaultError, RemoteError
from .fetched import Holdings
from .git import Git, Item
from .head import Head
from .places import Places, State, remove_tree

TIP = "refs/heads/tip"
"""What was proven last."""
PENDING = "refs/heads/pending"
_BLOB = ("100644", "blob")


class Branch:
    """The sets as this machine keeps them, sealed."""

    def __init__(self, places: Places) -> None:
        self.git = Git(places.repository, places.environment)

    def ask(self, state: State) -> str | None:
        """The commit that the remote's branch is at. Raises RemoteError."""
        self.git.make()
        return self.git.ask(state.remote)[1].get(state.branch)

    def holdings(self, state: State, key: bytes) -> Holdings | None:
        """What was proven last; None before the first set. Raises BackupError where our repository is damaged."""
        return None if state.tip is None or state.tip == state.base else Holdings(self.git, state.tip, key)

    def is_whole(self, state: State) -> bool:
        """Whether the commits that we build on are here."""
        return all(self.git.holds(commit) for commit in (state.base, state.tip) if commit is not None)

    def fetch_again(self, state: State) -> State:
        """Make our repository anew from what the remote holds: ours was lost, or is damaged. Raises RemoteError."""
        remove_tree(self.git.folder)
        self.git.make()
        if state.expects is None:
            return replace(state, tip=None, base=None)
        self.git.fetch(state.remote, state.branch, TIP)
        found = self.git.word("rev-parse", "--verify", f"{TIP}^{{commit}}")
        if state.base is not None and not self.git.holds(state.base):
            # Its files are found in the newest commit as well.
            self.git.run("fetch", "--quiet", "--unshallow", "--", state.remote, f"+refs/heads/{state.branch}:{TIP}")
        return replace(state, tip=found, expects=found)

    def base_items(self, state: State) -> list[Item]:
        """The files that were there before us; they are carried along untouched."""
        return [] if state.base is None else self.git.items(state.base, deep=True)

    def commit(self, state: State, head: Head, new: Iterable[Sealed], work: Path, key: bytes, *, anew: bool) -> str:
        """Make a commit that holds what a head names, on top of the tip, or of what was there before us (``anew``)."""
        sealed = [*new, heads.write(work / f"head-{new_id()}", key, head)]
        for one in sealed:
            if one.file.parent != work:
                raise BackupError(f"{one.name}: it does not lie in the folder of this run")
        ids = dict(zip((one.name for one in sealed), self.git.keep([one.file for one in sealed]), strict=True))
        old = {} if state.tip is None or state.tip == state.base else self._old(state.tip)
        named = [heads.NAME, *(one.name for one in head.objects)]
        lost = [name for name in named if name not in ids and name not in old]
        if lost:
            raise DamagedError(f"{lost[0]}: it is missing in {self.git.folder}")
        tree = self._tree({name: ids.get(name) or old[name] for name in named}, state.base)
        above = state.expects if state.expects is not None and self.git.holds(state.expects) else state.tip
        return self.git.commit(tree, state.base if anew else above)

    def keep(self, state: State) -> None:
        """Point to the tip, so that nothing of it is thrown away."""
        if state.tip is not None:
            self.git.point(TIP, state.tip)

    def _old(self, tip: str) -> dict[str, str]:
        prefix = f"{heads.FOLDER}/".encode()
        items = self.git.items(tip, deep=True)
        return {item.name[len(prefix) :].decode(): item.id for item in items if item.name.startswith(prefix)}

    def _tree(self, ids: dict[str, str], base: str | None) -> str:
        folders: dict[str, list[Item]] = {"": []}
        for name, digest in ids.items():
            folder, _, last = name.rpartition("/")
            folders.setdefault(folder, []).append(Item(*_BLOB, digest, last.encode()))
        inner = folders.pop("")
        for folder, items in folders.items():
            inner.append(Item("040000", "tree", self.git.tree(items), folder.encode()))
        ours = Item("040000", "tree", self.git.tree(inner), heads.FOLDER.encode())
        others = [] if base is None else self.git.items(base)
        return self.git.tree([*others, ours])


def expect(state: State, found: str | None, branch: Branch, key: bytes, work: Path) -> State:
    """The state in the light of what the remote's branch is at. Raises BackupError where somebody else moved it."""
    if found == state.expects:
        return state
    if found is not None and found in state.pending:
        # It arrived, and was never proven: the branch goes on from there, but no set builds on it.
        return replace(state, expects=found)
    raise BackupError(_what_happened(state, found, key, work, branch))


def _what_happened(state: State, found: str | None, key: bytes, work: Path, branch: Branch) -> str:
    known = "no branch" if state.expects is None else f"commit {state.expects[:12]}"
    mend = "`muninn backup run --replace-remote` puts this machine's sets back in its place"
    if found is None:
        return (
            f"the remote's branch {state.branch} is gone; this machine left it at {known}. Nothing was sealed. {mend}"
        )
    start = f"the remote's branch {state.branch} is at commit {found[:12]}; this machine left it at {known}"
    try:
        git = Git(work / "moved.git", branch.git.environment)
        git.make()
        git.fetch(state.remote, state.branch, "refs/heads/moved")
        counter = Holdings(git, found, key).head.counter
    except KeyFaultError:
        return f"{start}, and it holds sets of another key. Nothing was sealed. {mend}"
    except (BackupError, RemoteError):
        return f"{start}: somebody else changed it. Nothing was sealed. Look at that commit; {mend}"
    if counter <= state.counter:
        return (
            f"{start}: AN OLDER STATE WAS PUT BACK (counter {counter}, {state.counter} was reached). Nothing was "
            f"sealed. If that was you, {mend}"
        )
    return (
        f"{start}: another machine with this key pushed (counter {counter}). Nothing was sealed. "
        "`muninn backup init --remote URL` here takes its sets over; two machines must not back up to one repository"
    )
