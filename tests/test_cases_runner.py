"""The case runner, tried without the product: a small door of the tests' own answers where one is needed."""

from __future__ import annotations

import base64
import doctest
import hashlib
import importlib
import json
import os
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import tomllib
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.cases import calls, content, looks, outside, remote, schema, tomltext, verdict, wire
from tests.cases.__main__ import main, select
from tests.cases.judge import judge
from tests.cases.laying import laid_over, lay_files, lay_root
from tests.cases.load import CaseFileError, load, parse
from tests.cases.ops import holds_op
from tests.cases.process import run
from tests.cases.raw import http_request
from tests.cases.records import NOTHING, Record, composite, find, keys_of
from tests.cases.run import run_case
from tests.cases.scope import Scope
from tests.cases.steps import run_steps
from tests.cases.variants import picks
from tests.cases.watch import resident_mib
from tests.cases.world import World

Step = Mapping[str, Any]
SHA_OF_A = hashlib.sha256(b"a").hexdigest()


@pytest.fixture
def world() -> Iterator[World]:
    """A world whose files are laid down and whose door nobody has started."""
    made = World({"files": [{"path": "a.md", "text": "a"}, {"path": "raw.bin", "b64": "//4="}]})
    lay_root(made.places, is_link=False)
    lay_files(made.given, made.put, made.path)
    yield made
    made.stop()
    made.remove(keep=False)


def scope_of(world: World, *checks: Mapping[str, Any], variant: Mapping[str, Any] | None = None) -> Scope:
    variants = (variant,) if variant is not None else ()
    return Scope(world, checks, variants, frozenset(variant or {}))


def case_of(*when: Any, then: Sequence[Mapping[str, Any]] = (), **given: Any) -> dict[str, Any]:
    return {"id": "c", "needs": ["door"], "given": given, "when": list(when), "then": list(then)}


def tool_record(data: Any, fault: str = "", **more: Any) -> Record:
    text = json.dumps(data)
    return Record("tool", data, text, len(text), 0.1, fault, status=200, **more)


def refusal(code: str = "conflict", message: str = "it changed", **more: Any) -> Record:
    data = {"error": {"code": code, "message": message, "changed": False, **more}}
    return tool_record(data, f"refused with {code}", refused=True)


# Values.


def test_counters_are_padded_and_those_that_do_not_run_stay(world: World) -> None:
    sight = scope_of(world).sight.counting(i=7)
    assert sight.value("n{i:03}-{i}-{k}.md") == "n007-7-{k}.md"


def test_the_inner_counter_wins(world: World) -> None:
    assert scope_of(world).sight.counting(i=1).counting(i=2).value("{i}") == "2"


def test_places_are_replaced_and_other_brackets_stay(world: World) -> None:
    sight = scope_of(world).sight
    assert sight.value("<vault>-x <b> <port>") == f"{world.places.vault}-x <b> {world.port}"
    assert sight.value("Bearer <token client-a>") == f"Bearer {world.token('client-a')}"
    assert sight.path("<vault_name>.md") == world.places.vault / "vault.md"
    assert sight.path("<parent>/up.md") == world.places.parent / "up.md"
    assert Path(sight.value("<other_fs>")).is_dir()


def test_a_path_never_leaves_the_cases_folder(world: World) -> None:
    with pytest.raises(verdict.UnknownWordError):
        scope_of(world).sight.path("../../../../etc/passwd")
    assert scope_of(world).sight.path("/etc/passwd") == Path(f"{world.places.vault}/etc/passwd")


def test_forms(world: World) -> None:
    sight = scope_of(world, variant={"p": 'say "hi"'}).sight
    assert sight.value({"repeat": {"head": "h", "unit": "{i};", "times": 3, "tail": "t"}}) == "h0;1;2;t"
    assert sight.value({"fixture": "a.md"}) == "a"
    assert sight.value({"fixture": "raw.bin"}) == b"\xff\xfe"
    assert sight.value({"b64": "//4="}) == b"\xff\xfe"
    assert sight.value({"join": ["read(", {"json": "@p"}, ", ", 5, ")"]}) == 'read("say \\"hi\\"", 5)'
    assert sight.value({"each": {"from": 0, "to": 2, "value": {"path": "n{k:02}"}}}) == [
        {"path": "n00"},
        {"path": "n01"},
        {"path": "n02"},
    ]
    assert sight.value({"text": "no form", "more": 1}) == {"text": "no form", "more": 1}


def test_the_counter_of_a_repeat_form_hides_the_outer_one_in_its_unit_only(world: World) -> None:
    sight = scope_of(world).sight.counting(i=9)
    assert sight.value({"repeat": {"head": "{i}:", "unit": "{i}", "times": 2, "tail": ":{i}"}}) == "9:01:9"


def test_references_to_answers_files_and_fields(world: World) -> None:
    scope = scope_of(world, variant={"text": "from the variant", "bad": None})
    scope.remember((1,), tool_record({"hash": "h1", "hits": [{"path": "x"}, {"path": "y"}], "nothing": None}))
    scope.remember((2,), tool_record({"hash": None, "source_hash": "s2"}))
    parts = [refusal(), tool_record({"hash": "won"})]
    scope.remember((3,), composite("parallel", parts, 1.0))
    value = scope.sight.value
    assert [value("@read1"), value("@read2"), value("@step1.hits.*.path")] == ["h1", "s2", ["x", "y"]]
    assert [value("@step3.1.hash"), value("@step3.winner.hash")] == ["won", "won"]
    assert value("@step1.nothing") is None
    assert [value("@file:a.md"), value("@file:<vault>/a.md")] == [SHA_OF_A, SHA_OF_A]
    assert [value("@text"), value("@bad"), value("@no-field"), value("mail@text")] == [
        "from the variant",
        None,
        "@no-field",
        "mail@text",
    ]


@pytest.mark.parametrize("reference", ["@read9", "@step9.a", "@step1.b", "@file:none.md", "@step1.hits.7.path"])
def test_a_reference_to_nothing_is_undefined(world: World, reference: str) -> None:
    scope = scope_of(world)
    scope.remember((1,), tool_record({"a": 1, "hits": []}))
    with pytest.raises(verdict.UndefinedError):
        scope.sight.value([reference])


def test_more_than_one_winner_is_none() -> None:
    both = composite("parallel", [tool_record({"a": 1}), tool_record({"a": 2})], 1.0)
    assert find(both, keys_of("winner.a")) is NOTHING


def test_noise_and_fixtures() -> None:
    data = content.noise({"seed": "s", "bytes": 40})
    assert data == (hashlib.sha256(b"s:0").digest() + hashlib.sha256(b"s:1").digest())[:40]
    entry = {"repeat": {"head": "{n}", "unit": "{i}{n}", "times": 2, "tail": "{n:02}"}}
    assert content.fixture_bytes(entry, {"n": 5}) == b"50{n}1{n}05"
    assert content.fixture_bytes({"text": "\ufeffx\r\n"}) == b"\xef\xbb\xbfx\r\n"
    assert content.wrong_fixture({"path": "a", "text": "a", "bytes": 1, "sha256": SHA_OF_A}) is None
    assert "bytes said" in str(content.wrong_fixture({"path": "a", "text": "a", "bytes": 2}))
    assert "sha256" in str(content.wrong_fixture({"path": "a", "text": "b", "sha256": SHA_OF_A}))


def test_toml_comes_back_as_it_went() -> None:
    values = {
        "baseline": False,
        "n": 3,
        "f": 0.5,
        "big": 1e300,
        "text": 'quote " and \\ and\nline and \u007f and é',
        "odd key": [1, "two", [True]],
        "table": {"inner": {"deep": []}, "rows": [{"id": "a"}, {"id": "b", "x": {}}]},
    }
    assert tomllib.loads(tomltext.document(values)) == values
    with pytest.raises(ValueError, match="None"):
        tomltext.document({"a": None})


# Ops.


@pytest.mark.parametrize(
    ("op", "found", "value", "expected"),
    [
        ("eq", 1, 1.0, True),
        ("eq", True, 1, False),
        ("eq", None, None, True),
        ("eq", {"a": [1]}, {"a": [1]}, True),
        ("ne", 1, 2, True),
        ("ne", None, 1, False),
        ("has", "abc", "b", True),
        ("has", ["abc"], "b", False),
        ("has", [{"a": 1, "b": 2}], {"a": 1}, True),
        ("has", {"a": 1}, "a", False),
        ("lacks", "abc", "x", True),
        ("lacks", [{"a": 1}], {"a": 1}, False),
        ("lacks", {"a": 1}, "x", False),
        ("lacks", None, "x", False),
        ("text_has", {"a": "é"}, '"a": "é"', True),
        ("text_lacks", [{"a": "salary"}], "salary", False),
        ("text_lacks", [], "salary", True),
        ("in", None, [None, 1], True),
        ("in", 2, [1], False),
        ("le", 1, 1, True),
        ("ge", "b", "a", True),
        ("ge", True, 0, False),
        ("set", 0, None, True),
        ("set", "", None, False),
        ("set", False, None, False),
        ("unset", None, None, True),
        ("unset", 0, None, False),
        ("empty", 0, None, True),
        ("empty", [], None, True),
        ("empty", "x", None, False),
        ("len_eq", [1], 1, True),
        ("len_le", "abc", 2, False),
        ("len_ge", {"a": 1}, 1, True),
        ("len_eq", 3, 3, False),
        ("all_len_le", ["ab", "a"], 2, True),
        ("all_len_le", ["ab", None], 2, False),
        ("same_set", [1, 2, 2], [2, 1], True),
        ("same_set", [1], [1, 2], False),
        ("distinct", [1, True, "1"], None, True),
        ("distinct", [{"a": 1}, {"a": 1}], None, False),
    ],
)
def test_ops(op: str, found: Any, value: Any, *, expected: bool) -> None:
    assert holds_op(op, found, value) is expected


@pytest.mark.parametrize(
    "op", ["eq", "ne", "has", "lacks", "text_lacks", "in", "le", "len_le", "set", "distinct", "count"]
)
def test_where_nothing_is_every_op_but_two_fails(op: str) -> None:
    assert holds_op(op, NOTHING, None, 0) is False
    assert holds_op("unset", NOTHING, None) is holds_op("empty", NOTHING, None) is True


@pytest.mark.parametrize(
    "op", ["ne", "has", "lacks", "text_has", "text_lacks", "le", "set", "len_eq", "same_set", "count"]
)
def test_where_null_is_most_ops_fail(op: str) -> None:
    assert holds_op(op, None, 0, 0) is False


def test_count_and_paths_in_any_unicode_form() -> None:
    assert holds_op("count", "a-a-a", "a", 3)
    assert holds_op("count", [1, 2, 1], 1, 2)
    nfc, nfd = unicodedata.normalize("NFC", "é.md"), unicodedata.normalize("NFD", "é.md")
    assert holds_op("has", [nfd], nfc, is_path=True)
    assert holds_op("has", [{"path": nfd}], {"path": nfc})
    assert not holds_op("eq", nfd, nfc)


def test_fields_by_number_star_object_and_whole_answer() -> None:
    record = Record("tool", {"s": [{"path": "x", "b": [{"why": "w"}]}, {"path": "y", "b": []}]}, "text", 4, 0.5)
    assert find(record, ["s", {"path": "x"}, "b", 0, "why"]) == "w"
    assert find(record, keys_of("s.*.b.*.why")) == ["w"]
    assert find(record, keys_of("s.*.none")) is NOTHING
    assert [find(record, keys_of(name)) for name in ("$text", "$bytes", "$seconds")] == ["text", 4, 0.5]
    assert find(record, keys_of("s.2")) is NOTHING


# The closed vocabulary.


@pytest.mark.parametrize(
    "case",
    [
        case_of({"op": "dance"}),
        case_of({"op": "tool", "name": "read", "args": {}, "colour": 1}),
        case_of({"op": "tool", "name": "delete", "args": {}}),
        case_of({"op": "tool", "name": "read", "args": {}, "cut": {"how": "slowly"}}),
        case_of({"op": "outside", "do": "explode", "path": "a"}),
        case_of({"op": "outside", "do": "rename", "path": "a"}),
        case_of({"op": "outside", "do": "remove", "path": "a", "sql": "x"}),
        case_of({"op": "outside", "do": "remote_edit", "what": "burn"}),
        case_of({"op": "fault", "point": "vault.dream", "kind": "raise"}),
        case_of({"op": "fault", "point": "vault.read", "kind": "sing"}),
        case_of({"op": "server", "do": "dance"}),
        case_of({"op": "http", "method": "GET", "path": "/", "headers": {}, "body": {"cbor": 1}}),
        case_of({"op": "parallel", "n": 2}),
        case_of("@x"),
        case_of({"op": "variants", "variants": [{"a": 1}], "steps": ["@step_of_mine"]}),
        case_of({"op": "variants", "variants": [{"b": {"op": "dance"}}], "steps": ["@b"]}),
        case_of({"op": "variants", "variants": [{"given": {"wind": 1}}], "steps": []}),
        case_of(then=[{"check": "feels_right"}]),
        case_of(then=[{"check": "ok"}]),
        case_of(then=[{"check": "field", "step": 1, "field": "a", "op": "approximately", "value": 1}]),
        case_of(then=[{"check": "each", "of": 1, "checks": [{"check": "nope"}]}]),
        case_of(then=[{"check": "either", "lists": [[{"check": "ok", "step": 1, "why": 2}]]}]),
        case_of(weather="fine"),
        case_of(files=[{"path": "a", "text": "a", "sha256": "0"}]),
        case_of(files=[{"path": "a"}]),
        case_of(special=[{"path": "a", "kind": "door"}]),
        {**case_of(), "mood": 1},
        {"id": "c", "given": {}},
    ],
)
def test_an_unknown_word_makes_the_case_unknown(case: dict[str, Any]) -> None:
    loaded = parse(case)
    assert loaded.unknown
    assert run_case(loaded) == verdict.Unknown(loaded.unknown)


def test_a_step_number_without_step_is_unknown(world: World) -> None:
    with pytest.raises(verdict.UnknownWordError):
        judge({"check": "ok", "step": 4}, scope_of(world))


def _shared_cases() -> Path | None:
    beside = Path(__file__).resolve().parents[2] / "shared"
    for folder in filter(None, (os.environ.get("MUNINN_SHARED"), str(beside))):
        file = Path(folder) / "cases" / "cases.json"
        if file.is_file():
            return file
    return None


def test_every_word_of_the_shared_cases_is_known() -> None:
    file = _shared_cases()
    if file is None:
        pytest.skip("NOT CHECKED: no shared/cases/cases.json; set MUNINN_SHARED to the folder that holds it")
    cases = load(file)
    assert len(cases) == 48
    assert [(case.id, case.unknown) for case in cases if case.unknown] == []


def test_the_vocabulary_is_that_of_the_conventions() -> None:
    file = _shared_cases()
    if file is None:
        pytest.skip("NOT CHECKED: no shared/cases/cases.json; set MUNINN_SHARED to the folder that holds it")
    said = json.loads(file.read_text("utf-8"))["conventions"]
    words = importlib.import_module("tests.cases.vocabulary")
    for ours, theirs in ((words.STEPS, said["steps"]), (words.CHECKS, said["checks"])):
        assert ours.keys() == theirs.keys()
        for name, keys in ours.items():
            assert (set(keys.must), set(keys.may)) == (set(theirs[name]["must"]), set(theirs[name]["may"])), name
    assert set(said["outside"]) == words.OUTSIDE.keys()
    assert set(said["given"]) == words.GIVEN
    assert set(said["ops"]) == words.OPS
    assert set(said["faults"]["points"]) == words.POINTS
    assert set(said["faults"]["kinds"]) == words.KINDS
    assert set(said["tools"]) == words.TOOLS
    assert set(said["needs"]) == words.PARTS
    assert set(said["codes"]) == words.CODES


# Laying down, looks, outside changes.


def test_everything_given_is_laid_down(world: World) -> None:
    given = {
        "files": [
            {"path": "m/ro.md", "text": "x", "mode": "0440", "mtime": 1000},
            {"name_b64": base64.b64encode(b"odd-\xff.md").decode(), "text": "odd"},
        ],
        "outside_vault": [{"path": "<parent>/out/s.md", "text": "<vault>"}, {"path": "<home>/note", "text": "h"}],
        "empty_dirs": ["void/deep"],
        "symlinks": [{"path": "links/l.md", "to": "<parent>/out"}, {"path": "links/r.md", "to": "ro.md"}],
        "special": [{"path": "s/fifo", "kind": "fifo"}, {"path": "s/socket", "kind": "socket"}],
        "generated": [{"path": "g/n{n:02}.md", "times": 3, "text": "{n}"}],
    }
    lay_files(given, world.put, world._given_path)
    vault = world.places.vault
    seen = looks.tree(vault)
    assert (seen["m/ro.md"].mode, (vault / "m/ro.md").stat().st_mtime) == (0o440, 1000)
    assert (world.places.parent / "out/s.md").read_text() == "<vault>"
    assert world.places.home.stat().st_mode & 0o777 == 0o700
    assert [seen[name].kind for name in ("void/deep", "s/fifo", "s/socket")] == ["folder", "fifo", "socket"]
    assert seen["links/l.md"].content == f"{world.places.parent}/out"
    assert seen["links/r.md"].content == "ro.md"
    assert [(vault / f"g/n{n:02}.md").read_text() for n in range(3)] == ["0", "1", "2"]
    assert os.fsdecode(b"odd-\xff.md") in seen
    odd = {"check": "present", "path": "<vault>", "name_b64": base64.b64encode(b"odd-\xff.md").decode(), "kind": "file"}
    assert judge(odd, scope_of(world)) is None


def test_a_variants_given_lies_over_that_of_the_case() -> None:
    under = {"files": [{"path": "a", "text": "1"}, {"path": "b", "text": "1"}], "env": {"X": "1"}, "serve": ["--a"]}
    over = {"files": [{"path": "a", "text": "2"}], "env": {"Y": "2"}, "serve": ["--b"]}
    assert laid_over(under, over) == {
        "files": [{"path": "b", "text": "1"}, {"path": "a", "text": "2"}],
        "env": {"X": "1", "Y": "2"},
        "serve": ["--b"],
    }


def test_trees_tell_names_bytes_modes_and_links_apart(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("1")
    (tmp_path / "l").symlink_to("f")
    (tmp_path / "d").mkdir()
    before = looks.tree(tmp_path)
    (tmp_path / "f").write_text("2")
    (tmp_path / "d").chmod(0o700 if (tmp_path / "d").stat().st_mode & 0o777 != 0o700 else 0o750)
    (tmp_path / "l").unlink()
    (tmp_path / "x.tmp").touch()
    said = looks.difference(before, looks.tree(tmp_path))
    assert all(part in said for part in ("f has other bytes", "d had mode", "l is gone", "x.tmp is new"))
    assert looks.difference(before, before) == ""
    assert looks.tree(tmp_path / "none") == {".": looks.Entry("absent", 0)}
    assert set(looks.without(before, ["d", "f"])) == {".", "l"}


def make(world: World, **step: Any) -> None:
    scope = scope_of(world)
    outside.make(outside.plain({"op": "outside", **step}, scope.sight), world.places.remote, world.places.locks)


def test_outside_changes_of_files(world: World) -> None:
    vault = world.places.vault
    inode = (vault / "a.md").stat().st_ino
    make(world, do="write", path="a.md", text="0123456789")
    assert (vault / "a.md").stat().st_ino == inode
    make(world, do="append", path="a.md", text="x", times=3)
    make(world, do="patch", path="a.md", offset=2, zeros=2)
    make(world, do="patch", path="a.md", offset=-1, text="E")
    assert (vault / "a.md").read_bytes() == b"01\0\x00456789xxE"
    make(world, do="write", path="new/n.bin", noise={"seed": "s", "bytes": 3}, mode="0600")
    make(world, do="copy", path="new/n.bin", to="new/copy.bin")
    assert (vault / "new/copy.bin").stat().st_mode & 0o777 == 0o600
    make(world, do="rename", path="new/copy.bin", to="<parent>/moved.bin")
    make(world, do="mkdir", path="deep/er", mode="0711")
    make(world, do="chmod", path="deep/er", mode="0755")
    make(world, do="symlink", path="deep/link", to="nowhere.md")
    make(world, do="utime", path="a.md", mtime=12)
    assert (vault / "a.md").stat().st_mtime == 12
    make(world, do="write", path="a.md", fixture="a.md")
    assert (vault / "a.md").read_text() == "a"
    make(world, do="remove", path="deep/link")
    make(world, do="remove", path="deep", recursive=True)
    make(world, do="git_init", path="<parent>/bare.git")
    assert not (vault / "deep").exists()
    assert (world.places.parent / "bare.git/HEAD").is_file()


@pytest.mark.parametrize(
    "step",
    [
        {"do": "remove", "path": "none"},
        {"do": "rename", "path": "none", "to": "x"},
        {"do": "sql", "path": "none.db", "sql": "SELECT 1"},
        {"do": "lock", "path": "none.db", "s": 1},
        {"do": "patch", "path": "none", "offset": 0, "zeros": 1},
    ],
)
def test_a_change_that_cannot_be_made_says_so(world: World, step: Step) -> None:
    with pytest.raises(verdict.NotCarriedOutError):
        make(world, **step)


def test_sql_and_locks_on_a_database(world: World) -> None:
    file = world.places.vault / "x.db"
    with closing(sqlite3.connect(file)) as made:
        made.executescript(
            "PRAGMA journal_mode = WAL; CREATE TABLE a_data (b); CREATE TABLE c_data (b); CREATE TABLE d (b)"
        )
        made.executescript("INSERT INTO a_data VALUES (1); INSERT INTO c_data VALUES (1); INSERT INTO d VALUES (1)")
    make(world, do="sql", path="x.db", sql="DELETE FROM {table:_data}")
    with closing(sqlite3.connect(file, timeout=0.1, isolation_level=None)) as other:
        counts = [other.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in ("a_data", "c_data", "d")]
        assert counts == [0, 0, 1]
        make(world, do="lock", path="x.db", s=60)
        assert outside.locked(world.places.locks) == [file]
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("INSERT INTO d VALUES (2)")
        world.faults.heal(None)
        other.execute("INSERT INTO d VALUES (2)")
    assert outside.locked(world.places.locks) == []


def test_faults_are_written_whole_and_do_makes_its_changes(world: World) -> None:
    scope = scope_of(world)
    steps = [{"op": "outside", "do": "write", "path": "slipped.md", "text": "in <vault_name>"}]
    world.faults.arm({"point": "ledger.commit", "kind": "enospc", "times": 2}, scope.sight)
    world.faults.arm({"point": "vault.write", "kind": "do", "path": "a.md", "outside": steps}, scope.sight)
    written = json.loads(world.places.faults.read_text())
    assert written[0] == {"point": "ledger.commit", "kind": "enospc", "times": 2}
    assert (written[1]["path"], world.ledger_is_disturbed()) == ("a.md", True)
    subprocess.run(written[1]["run"], cwd="/", check=True, env={"PATH": os.environ["PATH"]})
    assert (world.places.vault / "slipped.md").read_text() == "in vault"
    world.faults.heal("ledger.commit")
    assert [fault["point"] for fault in json.loads(world.places.faults.read_text())] == ["vault.write"]
    world.faults.heal(None)
    assert json.loads(world.places.faults.read_text()) == []


def test_a_change_of_a_fault_that_cannot_be_made_stops_the_step(world: World) -> None:
    steps = [{"op": "outside", "do": "remove", "path": "none.md"}]
    world.faults.arm({"point": "vault.write", "kind": "do", "outside": steps}, scope_of(world).sight)
    [fault] = json.loads(world.places.faults.read_text())
    assert subprocess.run(fault["run"], cwd="/", check=False, capture_output=True).returncode == 1
    with pytest.raises(verdict.NotCarriedOutError, match=r"step 1 .*none\.md"):
        run_steps([{"op": "sleep", "s": 0}], scope_of(world))


# The remote.


@pytest.fixture
def repository(tmp_path: Path) -> remote.Repository:
    """Two commits on main; the newest adds `big` and changes `a`."""
    bare = remote.init_bare(tmp_path / "r.git")
    remote.first_commit(bare, {b"a": (b"a1", "100644"), b"old": (b"o" * 50, "100644")})
    tip = bare.tip()
    assert tip is not None
    changes = [
        (remote.File(b"a", "100644", "0" * 40), b"a-second"),
        (remote.File(b"dir/big", "100644", "0" * 40), b"B" * 20),
    ]
    bare.move(bare.commit(tip, changes, None))
    return bare


def contents(bare: remote.Repository) -> dict[str, bytes]:
    names = bare.word("ls-tree", "-r", "--name-only", "main").split()
    return {name: bare.git("show", f"main:{name}") for name in names}


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("flip_bit", {"dir/big": b"B" * 10 + b"C" + b"B" * 9}),
        ("cut_byte", {"dir/big": b"B" * 19}),
        ("drop_file", {"dir/big": None}),
        ("swap_files", {"dir/big": b"a-second", "a": b"B" * 20}),
        ("extra_file", {"zz-extra-file": b"nobody asked for this\n"}),
        ("foreign_commit", {"somebody-elses.txt": b"written by somebody else\n"}),
        ("rollback", {"dir/big": None, "a": b"a1"}),
    ],
)
def test_remote_edits(repository: remote.Repository, what: str, expected: Mapping[str, bytes | None]) -> None:
    before, tip = contents(repository), repository.tip()
    assert tip is not None
    remote.edit(repository.path, what)
    changed = {**before, **expected}
    assert contents(repository) == {name: data for name, data in changed.items() if data is not None}
    new = repository.tip()
    assert new is not None
    if what == "rollback":
        assert [new] == repository.parents(tip)
    elif what == "foreign_commit":
        assert repository.parents(new) == [tip]
    else:
        assert (new != tip, repository.parents(new)) == (True, repository.parents(tip))
    repository.git("fsck", "--strict")


def test_a_lone_file_is_flipped_instead_of_swapped(tmp_path: Path) -> None:
    bare = remote.init_bare(tmp_path / "r.git")
    remote.first_commit(bare, {b"one": (b"abc", "100644")})
    remote.edit(bare.path, "swap_files")
    assert contents(bare) == {"one": b"acc"}
    with pytest.raises(verdict.NotCarriedOutError, match="no commit before"):
        remote.edit(bare.path, "rollback")


def test_remote_lacks_looks_into_objects_names_and_messages(world: World) -> None:
    given = {"files": [{"path": "name-lynx.md", "text": "content-lynx"}]}
    importlib.import_module("tests.cases.laying").lay_remote(world.places.remote, given)
    remote.Repository(world.places.remote).git("update-ref", "refs/tags/tag-lynx", "main")
    for string, there in (("content-lynx", True), ("name-lynx", True), ("tag-lynx", True), ("other", False)):
        wrong = judge({"check": "remote_lacks", "strings": [string]}, scope_of(world))
        assert (wrong is not None) is there


# Checks.


def test_refused_asks_for_all_of_it(world: World) -> None:
    scope = scope_of(world)
    good = {"check": "refused", "step": 1, "codes": ["conflict"], "names": ["IT"], "names_any": ["zzz", "changed"]}
    scope.remember((1,), refusal())
    assert judge(good, scope) is None
    for wrong in (
        refusal("exists"),
        refusal(message=" "),
        refusal(changed=True),
        refusal(message=f"it changed at {world.places.vault}"),
        refusal(message="it changed Traceback"),
        refusal(message="nothing"),
        tool_record({"hash": "x"}),
        tool_record({"protocol_error": {"code": 1, "message": "it"}}, "JSON-RPC error"),
    ):
        scope.remember((1,), wrong)
        assert judge(good, scope) is not None
    sent = refusal(message=f"it changed {world.places.vault}")
    scope.remember((1,), Record(**{**_fields(sent), "sent": f"{world.places.vault}/in.md"}))
    assert judge(good, scope) is None


def _fields(record: Record) -> dict[str, Any]:
    return {name: getattr(record, name) for name in Record.__dataclass_fields__}


def test_answered_lost_protocol_error_and_unknown_tool(world: World) -> None:
    scope = scope_of(world)
    scope.remember((1,), refusal("not_found"))
    scope.remember((2,), tool_record({"protocol_error": {"code": -32602, "message": "Unknown tool: x"}}, "error"))
    scope.remember((3,), Record("tool", {"lost": True}, fault="no answer", lost=True))
    assert judge({"check": "answered", "step": 1}, scope) is None
    assert judge({"check": "answered", "step": 1, "codes": ["exists"]}, scope) is not None
    assert judge({"check": "protocol_error", "step": 2}, scope) is None
    assert judge({"check": "unknown_tool", "step": 2}, scope) is None
    assert judge({"check": "unknown_tool", "step": 1}, scope) is not None
    assert judge({"check": "lost", "step": 3}, scope) is None
    assert judge({"check": "lost", "step": 1}, scope) is not None


def test_hits_http_within_and_exits(world: World) -> None:
    scope = scope_of(world)
    scope.remember((1,), tool_record({"hits": [{"path": unicodedata.normalize("NFD", "é.md")}, {"path": "b"}]}))
    head = {"www-authenticate": "Bearer x"}
    scope.remember(
        (2,), Record("http", {"status": 401, "headers": head, "body": "no"}, "no", 2, 3.0, "HTTP 401", status=401)
    )
    scope.remember((3,), Record("cli", {"exit": 2, "output": "The VAULT is away"}, fault="exit 2"))
    runs = [Record("tool", {}, seconds=seconds) for seconds in (0.1, 0.9)]
    scope.remember((4,), composite("repeat", runs, 30.0))
    holding: list[dict[str, Any]] = [
        {"check": "top1", "step": 1, "path": "é.md"},
        {"check": "hits_have", "step": 1, "paths": ["b", "é.md"]},
        {"check": "hits_lack", "step": 1, "path": "c"},
        {
            "check": "http",
            "step": 2,
            "status": [401, 403],
            "header": "WWW-Authenticate",
            "has": "Bearer",
            "lacks": "meta",
        },
        {"check": "exit_nonzero", "step": 3, "names": ["vault"]},
        {"check": "within", "step": 4, "s": 1},
        {"check": "ok", "step": 4},
    ]
    failing: list[dict[str, Any]] = [
        {"check": "hits_none", "step": 1},
        {"check": "hits_lack", "step": 1, "path": "é.md"},
        {"check": "http", "step": 2, "status": 200},
        {"check": "http", "step": 2, "status": 401, "header": "Location"},
        {"check": "exit_nonzero", "step": 3, "names": ["ledger"]},
        {"check": "within", "step": 4, "s": 0.5},
        {"check": "within", "step": 2, "s": 1},
        {"check": "ok", "step": 3},
        {"check": "lost", "step": "4.0"},
        {"check": "field", "step": 1, "field": "hits", "op": "eq", "value": "@step9.x"},
    ]
    assert [judge(check, scope) for check in holding] == [None] * len(holding)
    assert all(judge(check, scope) for check in failing)


def test_copies_ok_count_same_reasons_and_either(world: World) -> None:
    scope = scope_of(world)
    scope.remember(
        (1,), composite("parallel", [refusal(current_hash="h"), tool_record({"hash": "h"}), refusal("exists")], 1)
    )
    scope.remember((2,), refusal())
    scope.remember((3,), refusal())
    inner = [{"check": "field", "field": "error.code", "op": "in", "value": ["conflict", "exists"]}]
    copies: dict[str, Any] = {"check": "copies", "step": 1, "which": "refused", "checks": inner}
    assert judge(copies, scope) is None
    assert judge({**copies, "min": 3}, scope) is not None
    assert judge({**copies, "checks": [{"check": "refused", "codes": ["conflict"]}]}, scope) is not None
    assert judge({**copies, "which": "any", "min": 3, "checks": []}, scope) is None
    assert judge({"check": "ok_count", "step": 1, "n": 1}, scope) is None
    assert judge({"check": "same_reasons", "steps": [2, 3]}, scope) is None
    assert judge({"check": "same_reasons", "steps": [2, "1.2"]}, scope) is not None
    good, bad = {"check": "ok", "step": "1.1"}, {"check": "ok", "step": 2}
    assert judge({"check": "either", "lists": [[good, bad], [good]]}, scope) is None
    assert judge({"check": "either", "lists": [[bad], [good, bad]]}, scope) is not None


def test_each_picks_variants_and_needs_one() -> None:
    steps = [{"op": "outside", "do": "write", "path": "v.md", "text": "@text"}, {"op": "sleep", "s": 0}]
    variants = [{"text": "one", "top": 1}, {"text": "two", "bad": True}, {"text": "three"}]
    when = {"op": "variants", "variants": variants, "steps": steps, "fresh": False}
    each: dict[str, Any] = {"check": "each", "of": 1}
    bytes_of = [
        {"check": "bytes", "path": "v.md", "of": "@text"},
        {"check": "bytes", "path": "v.md", "of": "@text", "after": 1},
    ]
    then = [
        {**each, "checks": bytes_of},
        {**each, "where_has": "top", "checks": [{"check": "bytes", "path": "v.md", "of": "one"}]},
        {**each, "where": {"bad": True}, "checks": [{"check": "unchanged", "step": 2, "path": "<parent>"}]},
        {"check": "bytes", "path": "v.md", "of": "three"},
    ]
    assert run_case(parse(case_of(when, then=then, start=False))) == verdict.Passed()
    wrong = [{**each, "where_not": {"bad": True}, "checks": [{"check": "bytes", "path": "v.md", "of": "two"}]}]
    failed = run_case(parse(case_of(when, then=wrong, start=False)))
    assert isinstance(failed, verdict.Failed)
    assert failed.why.startswith("check 1, each of 1: variant '0 text='one''") or "variant" in failed.why
    none = run_case(parse(case_of(when, then=[{**each, "where": {"text": "four"}, "checks": []}], start=False)))
    assert none == verdict.Failed("check 1, each of 1: no variant was picked")


def test_where_of_each() -> None:
    assert picks({"where": {"ok": False}}, {"ok": False})
    assert not picks({"where": {"ok": False}}, {"ok": 0})
    assert not picks({"where_not": {"a": 1}}, {"a": 1})
    assert picks({"where_has": ["a"]}, {"a": None})


def test_fresh_variants_lie_on_copies_of_their_own() -> None:
    variants: list[dict[str, Any]] = [
        {
            "given": {"files": [{"path": "more.md", "text": "m"}]},
            "break": {"op": "outside", "do": "remove", "path": "a.md"},
        },
        {"break": {"op": "seq", "steps": [{"op": "sleep", "s": 0}]}},
    ]
    when = {"op": "variants", "variants": variants, "steps": ["@break", {"op": "sleep", "s": 0}]}
    then: list[dict[str, Any]] = [
        {
            "check": "each",
            "of": 1,
            "where_has": "given",
            "checks": [{"check": "present", "path": "more.md"}, {"check": "absent", "path": "a.md"}],
        },
        {
            "check": "each",
            "of": 1,
            "checks": [{"check": "zero_side_effects", "step": 2, "deep": True}, {"check": "ok", "step": 1}],
        },
        {"check": "bytes", "path": "a.md", "of": "a"},
    ]
    case = case_of(when, then=then, start=False, files=[{"path": "a.md", "text": "a"}])
    assert run_case(parse(case)) == verdict.Passed()


def test_looks_around_and_after_steps() -> None:
    when: list[Any] = [
        {"op": "outside", "do": "append", "path": "a.md", "text": "1"},
        {"op": "outside", "do": "append", "path": "a.md", "text": "2"},
        {"op": "outside", "do": "symlink", "path": "l.md", "to": "none.md"},
        {"op": "outside", "do": "remove", "path": "a.md"},
        {"op": "outside", "do": "write", "path": "a.md", "text": "a1", "mode": "0640"},
        {"op": "outside", "do": "copy", "path": "<vault>", "to": "<parent>/copy"},
    ]
    good: list[dict[str, Any]] = [
        {"check": "bytes", "path": "a.md", "of": "a12", "after": 2},
        {"check": "bytes", "path": "a.md", "as_after": 1},
        {"check": "bytes", "path": "a.md", "sha256": hashlib.sha256(b"a1").hexdigest()},
        {"check": "absent", "path": "a.md", "after": 4},
        {"check": "present", "path": "l.md", "kind": "link"},
        {"check": "matches", "path": "a.md", "regex": "a[0-9]"},
        {"check": "mode", "path": "a.md", "mode": "0640"},
        {"check": "same_tree", "a": "<vault>", "b": "<parent>/copy"},
        {"check": "unchanged", "step": 5, "since": 1, "path": "<parent>", "except": ["<vault>"]},
        {"check": "files_lack", "path": "<vault>", "strings": ["a2"]},
        {"check": "passed", "step": 1, "order": []},
        {"check": "logs_lack", "string": "Traceback"},
    ]
    bad: list[dict[str, Any]] = [
        {"check": "bytes", "path": "a.md", "as_after": 2},
        {"check": "absent", "path": "l.md"},
        {"check": "matches", "path": "a.md", "regex": "a"},
        {"check": "zero_side_effects", "step": 3},
        {"check": "unchanged", "step": 1, "path": "<parent>"},
        {"check": "same_tree", "a": "<vault>", "b": "<parent>/copy", "after": 1},
        {"check": "files_lack", "path": "<parent>", "strings": ["a1"]},
        {"check": "passed", "step": 1, "order": ["vault.read"]},
        {"check": "reranker_saw", "lacks": [], "min_calls": 1},
    ]
    given: dict[str, Any] = {"start": False, "files": [{"path": "a.md", "text": "a"}]}
    assert run_case(parse(case_of(*when, then=good, **given))) == verdict.Passed()
    for check in bad:
        assert isinstance(run_case(parse(case_of(*when, then=[check], **given))), verdict.Failed), check


def test_passed_points_and_reranker_lines_are_read(world: World) -> None:
    scope = scope_of(world, {"check": "passed", "step": 1, "order": ["ledger.commit", "vault.exchange"]})
    scope.look("before", (1,), scope.sight)
    world.places.trace.write_text("ledger.commit\nvault.write\nvault.exchange\n")
    scope.look("after", (1,), scope.sight)
    assert judge(scope.checks[0], scope) is None
    assert judge({**scope.checks[0], "order": ["vault.exchange", "ledger.commit"]}, scope) is not None
    world.places.reranker.write_text('"a public text"\n{"call": 1}\n')
    assert judge({"check": "reranker_saw", "lacks": ["secret"], "min_calls": 1}, scope) is None
    assert judge({"check": "reranker_saw", "lacks": ["public"], "min_calls": 1}, scope) is not None


def test_composites_count_repeat_and_run_at_once(world: World) -> None:
    scope = scope_of(world)
    write = {"op": "outside", "do": "write", "path": "n{i}.md", "text": "{i}"}
    nap = {"op": "sleep", "s": 0.3}
    began = time.monotonic()
    run_steps(
        [
            {"op": "repeat", "n": 2, "step": write},
            {"op": "parallel", "n": 3, "steps": [nap, {"op": "repeat", "n": 2, "step": {**write, "path": "p{i}.md"}}]},
            {"op": "seq", "steps": [nap, write | {"path": "q{i}.md"}]},
        ],
        scope,
    )
    assert time.monotonic() - began < 1.5
    assert len(scope.records[(2,)].parts) == 6
    assert scope.records[(2, 1)].op == "repeat"
    names = sorted(path.name for path in world.places.vault.glob("[npq]*.md"))
    assert names == ["n0.md", "n1.md", "p0.md", "p1.md", "q{i}.md"]


# Schemas.

_SCHEMA = {
    "type": "object",
    "properties": {
        "hits": {"type": "array", "items": {"$ref": "#/$defs/Hit"}},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["hits"],
    "additionalProperties": False,
    "$defs": {
        "Hit": {
            "type": "object",
            "properties": {"n": {"type": "integer", "minimum": 1}, "e": {"enum": ["a"]}},
            "required": ["n"],
        }
    },
}


@pytest.mark.parametrize("judged_by", [schema.misfit, schema.plain_misfit])
@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ({"hits": [{"n": 1, "e": "a"}], "note": None}, True),
        ({"hits": []}, True),
        ({"hits": [{"n": 0}]}, False),
        ({"hits": [{"n": True}]}, False),
        ({"hits": [{"n": 1, "e": "b"}]}, False),
        ({"hits": [], "note": 1}, False),
        ({"hits": [], "other": 1}, False),
        ({}, False),
    ],
)
def test_schemas(judged_by: Callable[[Any, Mapping[str, Any]], str | None], value: Any, *, fits: bool) -> None:
    assert (judged_by(value, _SCHEMA) is None) is fits


# A small door.


class SmallDoor(BaseHTTPRequestHandler):
    """Answers a few tools in the product's way and writes down what came."""

    protocol_version = "HTTP/1.1"
    seen: list[bytes]

    def do_POST(self) -> None:
        chunked = "chunked" in self.headers.get("Transfer-Encoding", "")
        length = int(self.headers.get("Content-Length", 0))
        if length > 1_000_000:
            self._answer(413, b"too large")
            return
        body = self._chunks() if chunked else self.rfile.read(length)
        type(self).seen.append(body)
        if chunked or len(body) < length:
            self._answer(408 if len(body) < length else 200, b"{}")
            return
        self._rpc(json.loads(body))

    def do_GET(self) -> None:
        self._answer(200 if self.path == "/health" else 405, b"{}")

    def _chunks(self) -> bytes:
        data = b""
        while size := int(self.rfile.readline(), 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def _rpc(self, message: dict[str, Any]) -> None:
        if message["method"] == "notifications/cancelled":
            self._answer(202, b"")
            return
        if message["method"] == "tools/list":
            tools = [
                {"name": name, "outputSchema": {"type": "object"}} for name in ("read", "search", "status", "contract")
            ]
            self._say(message, {"result": {"tools": tools}})
            return
        params = message.get("params", {})
        match params.get("name"):
            case "read" if params["arguments"].get("path") == "none.md":
                text = json.dumps({"error": {"code": "not_found", "message": "none.md is not there", "changed": False}})
                self._say(message, {"result": {"isError": True, "content": [{"type": "text", "text": text}]}})
            case "read":
                self._say(
                    message, {"result": {"structuredContent": {"hash": SHA_OF_A, "content": "a", "complete": True}}}
                )
            case "search":
                hits = [{"path": "a.md"}, {"path": "b.md"}]
                self._say(
                    message, {"result": {"structuredContent": {"hits": hits, "reranked": "off", "degraded": False}}}
                )
            case "status" | "contract":
                self._say(message, {"result": {"structuredContent": {"ledger": {"events": 1}, "undoable": 1}}})
            case "slow":
                time.sleep(0.3)
                self._say(message, {"result": {"structuredContent": {"slow": True}}}, sse=True)
            case name:
                self._say(message, {"error": {"code": -32602, "message": f"Unknown tool: {name}"}})

    def _say(self, message: dict[str, Any], answer: dict[str, Any], *, sse: bool = False) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}).encode()
        self._answer(200, b"event: message\ndata: " + body + b"\n\n" if sse else body, sse=sse)

    def _answer(self, status: int, body: bytes, *, sse: bool = False) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", "text/event-stream" if sse else "application/json")
            self.send_header("X-Auth", str(self.headers.get_all("Authorization")))
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        return


@pytest.fixture
def door(world: World) -> Iterator[World]:
    """A world whose port leads to the small door."""

    class Handler(SmallDoor):
        seen: list[bytes] = []  # noqa: RUF012
        timeout = 1.0

    small = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    small.daemon_threads = True
    thread = threading.Thread(target=small.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    world.port = small.server_address[1]
    world.small = Handler  # type: ignore[attr-defined]
    yield world
    small.shutdown()
    small.server_close()
    thread.join()


def step_record(world: World, step: Step, *checks: Mapping[str, Any]) -> Record:
    scope = scope_of(world, *checks)
    run_steps([step], scope)
    return scope.records[(1,)]


def test_tool_calls_make_records(door: World) -> None:
    good = step_record(door, {"op": "tool", "name": "read", "args": {"path": "a.md"}})
    assert (good.ok, good.data["content"], good.status) == (True, "a", 200)
    bad = step_record(door, {"op": "tool", "name": "read", "args": {"path": "none.md"}})
    assert (bad.ok, bad.refused, bad.data["error"]["code"]) == (False, True, "not_found")
    sse = step_record(door, {"op": "tool", "name": "slow", "args": {}, "odd": True})
    assert sse.data == {"slow": True}
    assert sse.fault == "output schema: tools/list shows no output schema"
    door.port = wire_free_port()
    lost = step_record(door, {"op": "tool", "name": "read", "args": {}})
    assert (lost.data, lost.lost) == ({"lost": True}, True)


def wire_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_an_unbuilt_tool_blocks_unless_a_check_looks_for_it(door: World) -> None:
    with pytest.raises(verdict.BlockedError, match="tool links"):
        step_record(door, {"op": "tool", "name": "links", "args": {}})
    check = {"check": "unknown_tool", "step": 1}
    record = step_record(door, {"op": "tool", "name": "links", "args": {}}, check)
    assert record.data["protocol_error"]["message"] == "Unknown tool: links"
    odd = step_record(door, {"op": "tool", "name": "delete", "args": {}, "odd": True})
    assert "protocol_error" in odd.data
    with pytest.raises(verdict.BlockedError, match="tool links"):
        step_record(door, {"op": "parallel", "n": 2, "step": {"op": "tool", "name": "links", "args": {}}})
    body = {"tool": "links", "args": {}}
    with pytest.raises(verdict.BlockedError, match="tool links"):
        step_record(door, {"op": "http", "method": "POST", "path": "/mcp", "headers": {}, "body": body})


def test_cut_calls(door: World) -> None:
    step: dict[str, Any] = {"op": "tool", "name": "read", "args": {"path": "a.md"}}
    seen = door.small.seen  # type: ignore[attr-defined]
    closed = step_record(door, {**step, "cut": {"how": "close", "after_s": 0.05}})
    assert (closed.lost, json.loads(seen[-1])["params"]["name"]) == (True, "read")
    half = step_record(door, {**step, "cut": {"how": "half_body"}})
    assert half.lost
    cancelled = step_record(door, {**step, "name": "slow", "odd": True, "cut": {"how": "cancel", "after_s": 0.05}})
    assert cancelled.data == {"slow": True}
    assert any(b"notifications/cancelled" in body for body in seen)
    before = time.monotonic()
    short = step_record(door, {**step, "cut": {"how": "short_body"}})
    assert short.lost
    assert time.monotonic() - before >= 0.9


def test_raw_requests(door: World) -> None:
    post: dict[str, Any] = {"op": "http", "method": "POST", "path": "/mcp"}
    seen = door.small.seen  # type: ignore[attr-defined]
    raw = {"Authorization": {"b64": base64.b64encode(b"Bearer \xff").decode()}, "Accept": None}
    fields = step_record(door, {**post, "headers": raw, "body": {"rpc": "tools/list"}})
    assert (fields.data["status"], fields.data["json"]["result"]["tools"][0]["name"]) == (200, "read")
    assert "ÿ" in fields.data["headers"]["x-auth"] or "\\xff" in fields.data["headers"]["x-auth"]
    unit = {"unit": "ab", "bytes": 70_001}
    step_record(door, {**post, "headers": {}, "body": {"fill": unit, "chunked": True}})
    assert seen[-1] == b"ab" * 35_000 + b"a"
    large = step_record(door, {**post, "headers": {}, "body": {"text": "{}", "declared": 5_000_000}})
    assert (large.data["status"], large.ok) == (413, False)
    big = step_record(door, {**post, "headers": {}, "body": {"fill": {"unit": "x", "bytes": 8_000_000}}})
    assert big.data.get("status") == 413
    less = step_record(door, {**post, "headers": {}, "body": {"text": "abc", "declared": 50}})
    assert less.lost or less.data["status"] == 408
    get = step_record(door, {"op": "http", "method": "GET", "path": "/mcp", "headers": {}})
    assert get.data["status"] == 405


def test_requests_say_only_what_is_given(world: World) -> None:
    sight = scope_of(world).sight.counting(i=4)
    step = {
        "method": "POST",
        "path": "/mcp?n={i}",
        "headers": {"Host": None, "x": ["1", "2"]},
        "body": {"text": {"b64": "//4="}},
    }
    request = http_request(step, sight, 1)
    assert request.target == "/mcp?n=4"
    assert (request.body, request.length) == (b"\xff\xfe", 2)
    names = [name.lower() for name, _ in request.headers]
    assert "host" not in names
    assert names.count("x") == 2
    own = http_request({**step, "headers": {"Content-Length": "7"}}, sight, 1)
    assert own.head().lower().count(b"content-length") == 1


def test_alive_and_memory_watch_a_step(door: World) -> None:
    check = {"check": "alive", "step": 1, "path": "a.md"}
    scope = scope_of(door, check)
    run_steps([{"op": "sleep", "s": 0.3}], scope)
    assert "process is not the same" in str(judge(check, scope))
    assert (resident_mib(os.getpid()) or 0) > 1
    assert resident_mib(None) is None


def test_an_answer_past_the_limit_is_late(world: World) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        request = wire.Request("GET", "/", (), b"")
        with pytest.raises(wire.LateError):
            wire.exchange(port, request, limit_s=0.2)
        with pytest.raises(verdict.NotCarriedOutError):
            calls.call(calls.Door(port, "t"), "read", {}, limit_s=0.2)


def test_a_command_past_the_limit_is_ended(world: World) -> None:
    argv = [sys.executable, "-c", "import time; time.sleep(60)", "x"]
    with pytest.raises(verdict.NotCarriedOutError, match="still running"):
        run(argv, {}, world.places.person, world.places.logs / "late", limit_s=0.3)


# The command line.


def test_lines_and_exit_status() -> None:
    verdicts: list[verdict.Verdict] = [verdict.Passed(), verdict.Blocked("tool links")]
    assert verdict.line("a", verdicts[0]) == "passed a"
    assert verdict.line("a", verdicts[1]) == "blocked a (tool links)"
    assert verdict.line("a", verdict.Failed("x\ny")) == "failed a: x\\ny"
    assert verdict.line("a", verdict.Unknown("op x")) == "unknown a: op x"
    assert verdict.closing_line(verdicts) == "passed 1, failed 0, unknown 0, blocked 1 of 2"
    assert verdict.exit_status(verdicts, strict=False) == 0
    assert verdict.exit_status(verdicts, strict=True) == 1
    assert verdict.exit_status([verdict.Unknown("x")], strict=False) == 1


def test_files_that_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "absent.json")]) == 2
    assert "No such file" in capsys.readouterr().err
    (tmp_path / "odd.json").write_text('{"cases": [1]}')
    with pytest.raises(CaseFileError, match="list `cases`"):
        load(tmp_path / "odd.json")


def test_selection_by_id_and_parts() -> None:
    cases = [parse({**case_of(), "id": "one"}), parse({**case_of(), "id": "two", "needs": ["door", "ledger"]})]
    assert [case.id for case in select(cases, [], ["door"])] == ["one"]
    assert [case.id for case in select(cases, [], ["door,ledger"])] == ["one", "two"]
    assert [case.id for case in select(cases, [], ["door", "ledger"])] == ["one", "two"]
    assert [case.id for case in select(cases, ["two"], [])] == ["two"]
    with pytest.raises(Exception, match="no such case"):
        select(cases, ["three"], [])
    with pytest.raises(Exception, match="no such part"):
        select(cases, [], ["dor"])


@pytest.mark.parametrize("name", sorted(path.stem for path in (Path(__file__).parent / "cases").glob("[a-z]*.py")))
def test_examples_in_the_docstrings(name: str) -> None:
    module = importlib.import_module(f"tests.cases.{name}")
    assert doctest.testmod(module).failed == 0
