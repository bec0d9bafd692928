"""The bundled sample vault: every note meets the contract, every link leads to a note, no folder page is shipped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import muninn
from index import Index, IndexSettings
from muninn import linking
from muninn.contract import contract
from muninn.model import note as notes
from muninn.model.listing import Entry
from muninn.model.rights import Rights
from muninn.model.sight import File
from muninn.vault import Vault

SAMPLE = Path(muninn.__file__).with_name("sample")
BUILT_IN = contract.build()
OWNER = Rights(None, frozenset({"read", "private"}))


def files(root: Path) -> Iterator[File]:
    """Every note below ``root``, as the vault sees it."""
    place = Vault(root, None)
    for entry in place.walk():
        if isinstance(entry, Entry) and entry.kind == "note":
            sight = place.look(entry.path)
            assert isinstance(sight, File)
            yield sight


def faults(root: Path) -> list[str]:
    """What the built-in contract has against notes below ``root``, and pages that the door should make itself."""
    found = []
    for file in files(root):
        judged = BUILT_IN.judge(notes.parse(file.path, file.content))
        found += [f"{file.path}: {finding.rule}: {finding.message}" for finding in judged]
        if BUILT_IN.is_page(file.path.name):
            found.append(f"{file.path}: a folder's page")
    return found


def broken(root: Path, cache: Path) -> list[str]:
    """Links below ``root`` that lead nowhere, as the tool ``links`` tells them to the owner."""
    place = Vault(root, None)
    index = Index(cache, lambda path: path.startswith("private/"), IndexSettings())
    try:
        index.sweep(place.walk, place.look)
        found = []
        for file in files(root):
            page = linking.links(index, place.look, place.walk, OWNER, file.path)
            assert page is not None
            found += [f"{file.path}:{link.line} {link.target}" for link in page.broken]
        return found
    finally:
        index.close()


def test_every_note_of_the_sample_meets_the_contract() -> None:
    assert faults(SAMPLE) == []


def test_every_link_of_the_sample_leads_somewhere(tmp_path: Path) -> None:
    assert broken(SAMPLE, tmp_path) == []


def test_the_sample_holds_about_three_hundred_notes_of_every_kind() -> None:
    parsed = [notes.parse(file.path, file.content) for file in files(SAMPLE)]
    assert 280 <= len(parsed) <= 330
    assert len({note.title for note in parsed}) == len(parsed)
    kinds = {note.word("type") for note in parsed}
    assert kinds >= {"daily", "log", "decision", "runbook", "incident", "meeting", "reference", "how-to", "summary"}


def test_a_fault_and_a_broken_link_would_be_found(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "a.md").write_text("[[b]] [[a]]\n", encoding="utf-8")
    (vault / "index.md").write_text(
        "---\ntitle: X\ntype: index\nstatus: active\ntags: [one, two]\ndate: 2026-01-01\n---\n", encoding="utf-8"
    )
    assert any(fault.startswith("a.md: frontmatter") for fault in faults(vault))
    assert "index.md: a folder's page" in faults(vault)
    assert broken(vault, tmp_path / "cache") == ["a.md:1 b"]
