"""The links of vaults that people really keep, against the oracle: what is a link, where it leads, who links back."""

from __future__ import annotations

import tarfile
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index import Index, IndexSettings
from index.fields import name_key
from index.names import Written, resolve
from muninn.linking import LinksPage, links
from muninn.model import links as written
from muninn.model import note as notes
from muninn.model.content import ContentHash, NotePath
from muninn.model.listing import Entry
from muninn.model.rights import Globs, Rights
from muninn.model.sight import File
from muninn.vault import Vault
from tests.index import links_oracle as oracle
from tests.shared import shared

NOBODYS = Globs(())
READER = Rights("a", frozenset({"read"}))


class Real:
    """A vault of the shared material with its index."""

    def __init__(self, folder: Path, name: str) -> None:
        with tarfile.open(shared(f"vaults/{name}.tar.gz")) as packed:
            packed.extractall(folder, filter="data")
        self.vault = Vault(folder / name, None)
        self.index = Index(folder / "cache", NOBODYS.cover, IndexSettings())
        self.index.sweep(self.vault.walk, self.vault.look)
        entries = [entry for entry in self.vault.walk() if isinstance(entry, Entry) and entry.kind != "folder"]
        self.paths = [entry.path for entry in entries]
        self.texts: dict[NotePath, str] = {}
        aliases = []
        for path in self.paths:
            sight = self.vault.look(path)
            if path.is_note and isinstance(sight, File):
                self.texts[path] = sight.content.decode("utf-8", "replace")
                note = notes.parse(path, sight.content, ContentHash(sight.hash))
                aliases += [(alias, str(path)) for alias in (*note.words("aliases"), *note.words("alias"))]
        self.oracle = oracle.Vault(tuple(map(str, self.paths)), tuple(aliases))

    def page(self, path: NotePath, offset: int = 0, page: int = 1_000_000) -> LinksPage:
        found = links(self.index, self.vault.look, self.vault.walk, READER, path, offset, page)
        assert found is not None
        return found


@pytest.fixture(scope="module", params=["kepano", "logseq-docs", "handbook"])
def real(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    made = Real(tmp_path_factory.mktemp(request.param), request.param)
    yield made
    made.index.close()


def test_every_link_is_read_as_the_oracle_reads_it(real: Real) -> None:
    found = 0
    for path, text in real.texts.items():
        mine = sorted((link.line, link.target, link.kind) for link in written.scan(text))
        assert mine == [(seen.line, seen.target, seen.kind) for seen in oracle.links_of(text)], path
        found += len(mine)
    assert found > 200


def test_every_link_leads_where_the_oracle_says(real: Real) -> None:
    back: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for path, text in real.texts.items():
        page = real.page(path)
        expected, broken = set(), []
        for link in written.scan(text):
            seen = oracle.Seen(link.target, link.kind, link.line)
            where = real.oracle.leads(seen, path)
            if where is None:
                broken.append((link.target, link.line))
            else:
                expected.add((link.target, where, link.line, link.kind))
                back[where].add((path, link.line))
        assert {(row.target, row.path, row.line, row.kind) for row in page.outgoing} == expected, path
        assert [(row.target, row.line) for row in page.broken] == broken, path
    for path in real.paths:
        assert {(row.path, row.line) for row in real.page(path).backlinks} == back[path], path


def test_pages_of_the_longest_lists_join_to_the_whole(real: Real) -> None:
    longest = max(real.texts, key=lambda path: sum(1 for _ in written.scan(real.texts[path])))
    whole = real.page(longest)
    outgoing: list[Any] = []
    broken: list[Any] = []
    offset = 0
    while True:
        page = real.page(longest, offset, 7)
        assert page.totals == whole.totals
        outgoing += page.outgoing
        broken += page.broken
        if page.next_offset is None:
            break
        offset = page.next_offset
    assert tuple(outgoing) == whole.outgoing
    assert tuple(broken) == whole.broken
    assert whole.totals.outgoing + whole.totals.broken == len(whole.outgoing) + len(whole.broken) > 12


class Listed:
    """``Names`` over a list of paths."""

    def __init__(self, paths: list[str]) -> None:
        self.paths = paths

    def files(self, key: str) -> list[str]:
        return [path for path in self.paths if name_key(path.rpartition("/")[2]) == key]

    def aliased(self, key: str) -> list[str]:
        return []

    def aliases(self, path: str) -> list[str]:
        return []

    def pointing(self, key: str) -> list[Written]:
        return []


SEGMENTS = st.sampled_from(["a", "B", "b", "\u00e9", "e\u0301", "100% x", "index", "README", "n.v1", "c d"])
PATHS = st.builds(
    lambda folders, name, end: unicodedata.normalize("NFC", "/".join([*folders, name + end])),
    st.lists(SEGMENTS, max_size=3),
    SEGMENTS,
    st.sampled_from([".md", ".md", ".md", ".png", ""]),
)
TARGETS = st.builds(
    lambda lead, steps, end: lead + "/".join(steps) + end,
    st.sampled_from(["", "", "/", "./", "../", "../../"]),
    st.lists(
        st.one_of(SEGMENTS, st.sampled_from(["%C3%A9", "c%20d", "..", "100%25%20x", "A"])), min_size=1, max_size=3
    ),
    st.sampled_from(["", ".md", "/", ".png"]),
)


@settings(max_examples=600)
@given(st.lists(PATHS, max_size=8, unique=True), TARGETS, st.sampled_from(["wikilink", "embed", "markdown"]), PATHS)
def test_any_link_leads_where_the_oracle_says(paths: list[str], target: str, kind: str, source: str) -> None:
    found = resolve(Listed(paths), target, kind, source, lambda _: True)
    assert (found and found.path) == oracle.Vault(tuple(paths), ()).leads(oracle.Seen(target, kind, 1), source)
