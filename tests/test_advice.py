"""Advice on writes: given to creates and edits, for dry runs as well, and never in the way of one."""

from __future__ import annotations

import dataclasses
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from index import Index, IndexSettings
from muninn import advice, contract, tools
from muninn.door import Searches
from muninn.model import note as notes
from muninn.model.answer import Written
from muninn.model.listing import Entry
from muninn.model.refusal import Refusal, Warn
from muninn.model.rights import Globs, Rights
from muninn.model.sight import File
from muninn.tool import Call
from muninn.vault import Vault
from tests.conftest import Room, furnish, note_text, path
from tests.shared import shared

GATE = (
    "The canary deploy gate stops a rollout when the error budget of the pilot boats is spent before noon.\n"
    "Ask the harbour desk for a waiver, write the reason into the log, and start the rollout again by hand.\n"
)


class Desk:
    """A door with a real index, and a clock that the tests turn."""

    def __init__(self, folder: Path) -> None:
        self.room: Room = furnish(folder)
        self.now = 1_000.0
        index = Index(folder / "cache", Globs(("private/",)).cover, IndexSettings())
        self.door = dataclasses.replace(self.room.door, index=index, searches=Searches(lambda: self.now))

    def lay(self, name: str, content: bytes) -> None:
        self.room.lay(name, content)

    def sweep(self) -> None:
        self.door.index.sweep(self.door.vault.walk, self.door.vault.look)

    def call(self, tool: str, rights: Rights | None = None, **arguments: Any) -> Any:
        rights = rights or self.rights()
        answer = tools.run(tools.BY_NAME[tool], Call(self.door, rights), arguments)
        assert not isinstance(answer, Refusal), answer
        return answer

    def rights(self, client: str = "ada", scopes: str = "read write archive", read: str = "**") -> Rights:
        return Rights(client, frozenset(scopes.split()), Globs((read,)), private_paths=self.door.contract.private)

    def create(self, name: str, content: bytes, rights: Rights | None = None, **more: Any) -> dict[str, Warn]:
        """Create a note; the warnings of the answer by their codes."""
        answer: Written = self.call(
            "write", rights, path=name, content=content.decode(), expected_hash="missing", **more
        )
        assert answer.state in ("committed", "dry_run")
        return {warning.code: warning for warning in answer.warnings}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    for number in range(12):
        made.lay(f"filler/f{number}.md", note_text(f"plain padding sentence number {number}\n", f"Filler {number}"))
    made.lay("ops/gate.md", note_text(GATE))
    made.lay("private/pay.md", note_text("salary table of the whole crew\n", "Pay"))
    made.sweep()
    yield made
    made.door.index.close()
    made.door.ledger.close()


def test_a_create_without_a_search_is_told_so_and_lands(desk: Desk) -> None:
    given = desk.create("a.md", note_text("one\n", "One"), dry_run=True)
    assert "search_first" in given
    assert "30 minutes" in given["search_first"].message
    assert "search_first" in desk.create("a.md", note_text("one\n", "One"))
    assert desk.room.bytes_of("a.md") is not None


def test_a_search_counts_for_its_client_and_for_half_an_hour(desk: Desk) -> None:
    desk.call("search", query="canary")
    assert "search_first" not in desk.create("a.md", note_text("one\n", "One"))
    assert "search_first" in desk.create("b.md", note_text("two\n", "Two"), desk.rights("bob"))
    desk.now += 30 * 60
    assert "search_first" not in desk.create("c.md", note_text("three\n", "Three"))
    desk.now += 1
    assert "search_first" in desk.create("d.md", note_text("four\n", "Four"))


def test_a_refused_search_does_not_count(desk: Desk) -> None:
    refused = tools.run(tools.BY_NAME["search"], Call(desk.door, desk.rights()), {"query": "x", "since": "never"})
    assert isinstance(refused, Refusal)
    assert "search_first" in desk.create("a.md", note_text("one\n", "One"))


def test_only_creates_are_told_to_search_first(desk: Desk) -> None:
    digest = desk.call("read", path="ops/gate.md").hash
    answer = desk.call("edit", path="ops/gate.md", edits=[{"append": "more\n"}], expected_hash=digest)
    assert answer.warnings == ()
    gone = desk.call("archive", path="ops/gate.md", expected_hash=answer.hash, reason="obsolete")
    assert gone.warnings == ()
    assert desk.call("restore", path="ops/gate.md", revision=answer.hash).warnings == ()


@pytest.mark.parametrize("dry", [True, False])
def test_a_text_that_is_there_already_is_named(desk: Desk, dry: bool) -> None:
    altered = GATE.replace("before noon", "before lunch")
    given = desk.create("notes/rollout.md", note_text(altered, "How the rollout is stopped"), dry_run=dry)
    assert given["possible_duplicate"].paths == ("ops/gate.md",)
    assert "ops/gate.md" in given["possible_duplicate"].message


def test_the_same_title_needs_less_of_the_text(desk: Desk) -> None:
    short = note_text("The canary deploy gate stops a rollout when the error budget is spent.\n", "Tide table Lowmouth")
    desk.lay("ops/tide.md", short)
    desk.sweep()
    again = short.replace(b"is spent", b"has gone")
    assert desk.create("x/tide.md", again)["possible_duplicate"].paths == ("ops/tide.md",)
    other = again.replace(b"Tide table Lowmouth", b"Stopping rollouts")
    assert "possible_duplicate" not in desk.create("x/other.md", other)


def test_other_texts_are_no_duplicates(desk: Desk) -> None:
    # The same rare words, said otherwise.
    other = (
        "The pilot boats have spent their error budget: whoever wants a waiver writes the reason, asks the harbour\n"
        "desk by hand, and a rollout may start again before noon; the canary and its deploy gate wait for the log.\n"
    )
    assert "possible_duplicate" not in desk.create("x.md", note_text(other, "Harbour desk"))


def test_numbers_of_a_series_are_no_duplicates(desk: Desk) -> None:
    report = "Scan of the image found no new findings, the list of accepted ones stands as it was last week, "
    report += "and nobody has to act.\n"
    desk.lay("scans/5-1-7.md", note_text(report, "Scan 5.1.7"))
    desk.sweep()
    assert "possible_duplicate" not in desk.create("scans/5-1-8.md", note_text(report, "Scan 5.1.8"))
    assert "possible_duplicate" in desk.create("scans/copy.md", note_text(report, "Scan 5.1.7"))


def test_a_note_outside_the_clients_rights_is_not_named(desk: Desk) -> None:
    narrow = desk.rights("nat", read="team/**")
    assert "possible_duplicate" not in desk.create("team/gate.md", note_text(GATE), narrow)
    writer = desk.rights("wil", "write")
    assert desk.create("w.md", note_text(GATE + "[[nowhere]]\n"), writer) == {}


def test_private_notes_are_compared_with_nothing(desk: Desk) -> None:
    keeper = desk.rights("kim", "read write private")
    pay = note_text("salary table of the whole crew\n", "Pay")
    assert "possible_duplicate" not in desk.create("open/pay.md", pay, keeper)
    assert "possible_duplicate" not in desk.create("private/gate.md", note_text(GATE), keeper)


def test_retired_notes_are_no_duplicates(desk: Desk) -> None:
    desk.lay("ops/gate.md", note_text(GATE).replace(b"status: active", b"status: superseded"))
    desk.sweep()
    assert "possible_duplicate" not in desk.create("ops/gate-2.md", note_text(GATE))


def test_links_that_lead_nowhere_are_named_with_their_lines(desk: Desk) -> None:
    body = "[[gate]] [[nope 1.0|n]] ![[pic.png]]\n[x](gone/away.md) `[[code]]` [[self]] [[Me Too]] [[nope 1.0#b]]\n"
    content = note_text(body, "Links", aliases="[Me Too]")
    warning = desk.create("ops/self.md", content, dry_run=True)["broken_links"]
    assert warning.paths == ("nope 1.0", "pic.png", "gone/away.md")
    assert "nope 1.0 (line 9)" in warning.message
    assert "gone/away.md (line 10)" in warning.message
    desk.create("ops/self.md", content)
    digest = desk.call("read", path="ops/self.md").hash
    edits = [{"replace": "[[nope 1.0|n]] ![[pic.png]]", "with": ""}, {"replace": "[[nope 1.0#b]]", "with": ""}]
    (warned,) = desk.call("edit", path="ops/self.md", edits=edits, expected_hash=digest).warnings
    assert (warned.code, warned.paths) == ("broken_links", ("gone/away.md",))


def test_a_link_to_a_private_note_looks_as_one_to_nothing(desk: Desk) -> None:
    def warned(target: str, rights: Rights) -> Warn | None:
        return desk.create(
            "ops/l.md", note_text(f"[[{target}]]\n", "L"), rights, dry_run=True
        ).get("broken_links")  # fmt: skip

    for target in ("pay", "private/pay", "Pay"):
        hidden, absent = warned(target, desk.rights()), warned(target.replace("ay", "oy"), desk.rights())
        assert hidden is not None
        assert absent is not None
        assert hidden.message.replace("ay", "oy") == absent.message
        assert warned(target, desk.rights("kim", "read write private")) is None


def test_a_name_that_several_notes_bear_is_told_by_links(desk: Desk) -> None:
    for name in ("a/same.md", "b/same.md", "private/same.md"):
        desk.lay(name, b"x\n")
    desk.lay("c/from.md", b"[[same]] [[b/same]]\n")
    desk.sweep()
    (warning,) = desk.call("links", path="c/from.md").warnings
    assert (warning.code, warning.paths) == ("ambiguous_links", ("a/same.md", "b/same.md"))
    assert "same leads to a/same.md, not b/same.md" in warning.message
    assert desk.call("links", path="ops/gate.md").warnings == ()


def test_a_link_to_a_note_outside_the_clients_globs_is_broken(desk: Desk) -> None:
    narrow = desk.rights("nat", read="team/**")
    given = desk.create("team/l.md", note_text("[[gate]] [x](../ops/gate.md)\n", "L"), narrow)
    assert given["broken_links"].paths == ("gate", "../ops/gate.md")


def test_many_links_are_bounded(desk: Desk) -> None:
    body = " ".join(f"[[gone {number}]]" for number in range(30_000))
    begun = time.process_time()
    warning = desk.create("many.md", note_text(body, "Many"), dry_run=True)["broken_links"]
    assert time.process_time() - begun < 3
    assert len(warning.paths) == 20
    assert "and 180 more; only the first 200" in warning.message
    assert len(warning.message) < 8_000


def test_a_broken_index_means_no_advice_and_no_trouble(desk: Desk) -> None:
    desk.door.index.close()
    for file in (desk.room.home.parent / "cache").glob("index*"):
        file.write_bytes(b"no index at all" * 1000)
    given = desk.create("x.md", note_text(GATE + "[[nowhere]]\n"))
    assert set(given) == {"search_first"}
    assert desk.room.bytes_of("x.md") is not None


def test_advice_on_a_dry_run_changes_no_file(desk: Desk) -> None:
    desk.call("search", query="canary")
    before = desk.room.state()
    cache = {file.name: file.read_bytes() for file in (desk.room.home.parent / "cache").iterdir()}
    desk.create("dry.md", note_text(GATE + "[[nowhere]]\n"), dry_run=True)
    assert desk.room.state() == before
    assert {file.name: file.read_bytes() for file in (desk.room.home.parent / "cache").iterdir()} == cache


@pytest.mark.parametrize(("name", "most"), [("kepano", 0), ("logseq-docs", 0), ("handbook", 13)])
def test_notes_of_real_vaults_are_seldom_taken_for_duplicates(tmp_path: Path, name: str, most: int) -> None:
    with tarfile.open(shared(f"vaults/{name}.tar.gz")) as packed:
        packed.extractall(tmp_path, filter="data")
    vault = Vault(tmp_path / name, None)
    index = Index(tmp_path / "cache", Globs(()).cover, IndexSettings())
    index.sweep(vault.walk, vault.look)
    desk = dataclasses.replace(furnish(tmp_path).door, vault=vault, index=index, contract=contract.build())
    rights = Rights("ada", frozenset({"read"}))
    flagged = []
    for entry in list(vault.walk()):
        if isinstance(entry, Entry) and entry.kind == "note":
            sight = vault.look(entry.path)
            assert isinstance(sight, File)
            note = notes.parse(entry.path, sight.content, sight.hash)
            flagged += [entry.path for _ in advice._possible_duplicate(desk, rights, note)]
    index.close()
    assert len(flagged) <= most, flagged
    right = "departments/technical-success/support/process/k8-migration.md"
    assert (path(right) in flagged) is (name == "handbook")
