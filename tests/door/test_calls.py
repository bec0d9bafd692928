"""The tools through the door: strict arguments, rights, answers that fit their schema, and nothing internal."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from muninn import clients, cursors
from muninn.model.rights import DEFAULT_SCOPES
from muninn.tools import BY_NAME, TOOLS
from tests.door.gateway import Gateway, places, served, until_ready

ZERO = "0" * 64


def note(title: str, body: str = "text") -> str:
    return f"---\ntitle: {title}\ntype: note\nstatus: active\ntags: [aa, bb]\ndate: 2026-05-04\n---\n{body}\n"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    made = places(tmp_path_factory.mktemp("calls"))
    for path, text in {
        "team/plan.md": note("Plan", "the zebra plan, see [[salary]]"),
        "team/deep/more.md": note("More", "zebra again"),
        "private/salary.md": note("Salary", "zebra salary, see [[plan]]"),
        "other/one.md": note("Other", "zebra other wombat"),
    }.items():
        (made.vault / path).parent.mkdir(parents=True, exist_ok=True)
        (made.vault / path).write_text(text)
    (made.vault / "team/pic.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00")
    made.add("insider", DEFAULT_SCOPES | {"private"})
    made.add("narrow", DEFAULT_SCOPES, read="team/**", write="team/deep/**")
    made.add("reader", frozenset({"read"}))
    made.add("nothing", frozenset())
    with served(made):
        until_ready(made)
        yield made


def refused(answer: dict[str, Any], code: str) -> dict[str, Any]:
    assert answer["error"]["code"] == code, answer
    assert answer["error"]["changed"] is False
    error: dict[str, Any] = answer["error"]
    return error


GOOD: dict[str, dict[str, Any]] = {
    "search": {"query": "zebra", "explain": True},
    "read": {"path": "team/plan.md"},
    "list": {"folder": "team", "hashes": True, "depth": 3},
    "links": {"path": "team/plan.md"},
    "history": {"path": "team/plan.md"},
    "write": {"path": "team/new.md", "content": note("New"), "expected_hash": "missing", "dry_run": True},
    "recover": {},
    "claims": {},
    "staleness": {"detail": True},
    "run_code": {"script": "return (await vault.read('team/plan.md')).title"},
    "contract": {},
    "status": {},
}


@pytest.mark.parametrize("tool", GOOD)
def test_an_answer_fits_the_schema_that_the_tool_publishes(gateway: Gateway, tool: str) -> None:
    answer = gateway.call(tool, GOOD[tool])
    assert "error" not in answer
    jsonschema.validate(answer, BY_NAME[tool].output_schema)


@pytest.mark.parametrize("tool", [tool.name for tool in TOOLS])
def test_an_unknown_argument_is_refused_by_name(gateway: Gateway, tool: str) -> None:
    error = refused(gateway.call(tool, GOOD.get(tool, {}) | {"surprise": 1}), "invalid_arguments")
    assert "surprise" in error["message"]


@pytest.mark.parametrize(
    ("tool", "arguments", "named"),
    [
        ("read", {}, "path"),
        ("read", {"path": 5}, "path"),
        ("read", {"path": "team/plan.md", "start_line": "1"}, "start_line"),
        ("read", {"path": "team/plan.md", "start_line": 1.0}, "start_line"),
        ("read", {"path": "team/plan.md", "start_line": True}, "start_line"),
        ("read", {"path": "team/plan.md", "start_line": 0}, "start_line"),
        ("read", {"path": "team/plan.md", "start_line": 5, "end_line": 4}, "end_line"),
        ("read", {"path": "team/plan.md", "start_line": 999}, "start_line"),
        ("search", {"query": "x", "limit": 0}, "limit"),
        ("search", {"query": "x", "limit": 101}, "limit"),
        ("search", {"query": "x", "since": "yesterday"}, "since"),
        ("search", {"query": None}, "query"),
        ("list", {"cursor": "nonsense"}, "cursor"),
        ("list", {"depth": 0}, "depth"),
        ("write", {"path": "a.md", "content": "x", "expected_hash": "latest"}, "expected_hash"),
        ("write", {"path": "a.md", "content": "x", "expected_hash": ZERO.upper()[:-1] + "A"}, "expected_hash"),
        ("write", {"path": "a.md", "content": "x", "expected_hash": "missing", "request_id": ""}, "request_id"),
        ("write", {"path": "a.md", "content": "x", "expected_hash": "missing", "request_id": "a\nb"}, "request_id"),
        ("archive", {"path": "a.md", "expected_hash": ZERO, "reason": "because"}, "reason"),
        ("claim", {"statement": "x", "path": "a.md"}, "revision"),
        ("claim", {"statement": "", "path": "a.md", "revision": ZERO}, "statement"),
        ("claims", {"path": "team/plan.md", "query": "x"}, "query"),
        ("claims", {"query": "x", "cursor": "nonsense"}, "cursor"),
        ("retract", {"claim_id": "x"}, "reason"),
        ("register_summary", {"path": "a.md", "hash": ZERO, "sources": []}, "sources"),
        ("register_summary", {"path": "a.md", "hash": ZERO, "sources": [{"path": "b.md"}]}, "sources.0.hash"),
        ("staleness", {"cursor": "nonsense"}, "cursor"),
        ("edit", {"path": "team/plan.md", "edits": [], "expected_hash": ZERO}, "edits"),
        ("edit", {"path": "team/plan.md", "edits": [{"foo": 1}], "expected_hash": ZERO}, "edits.0"),
    ],
)
def test_a_wrong_argument_is_refused_by_name(
    gateway: Gateway, tool: str, arguments: dict[str, Any], named: str
) -> None:
    assert named in refused(gateway.call(tool, arguments), "invalid_arguments")["message"]


def test_a_client_is_shown_only_what_it_may_call(gateway: Gateway) -> None:
    def shown(client: str) -> set[str]:
        return {tool["name"] for tool in gateway.rpc(client, "tools/list", {}).json["result"]["tools"]}

    assert shown("nothing") == {"contract", "status"}
    reading = {"search", "read", "list", "links", "history", "claims", "staleness"}
    assert shown("reader") == {*reading, "contract", "status"}
    assert shown("a") == set(BY_NAME)
    refused(gateway.call("write", GOOD["write"], client="reader"), "forbidden")
    refused(gateway.call("read", GOOD["read"], client="nothing"), "forbidden")


@pytest.mark.parametrize("client", ["a", "narrow"])
@pytest.mark.parametrize("path", ["private/salary.md", "private/nothing-there.md", "Private/SALARY.md"])
def test_a_private_note_cannot_be_told_from_one_that_is_not_there(gateway: Gateway, client: str, path: str) -> None:
    def masked(answer: dict[str, Any]) -> str:
        return json.dumps(answer).replace(path, "PATH")

    other = "private/quite-another.md"
    for tool in ("read", "links", "history"):
        answer = gateway.call(tool, {"path": path}, client=client)
        refused(answer, "not_found")
        assert masked(answer) == json.dumps(gateway.call(tool, {"path": other}, client=client)).replace(other, "PATH")
    for tool, more in (
        ("write", {"content": note("X"), "expected_hash": "missing"}),
        ("archive", {"expected_hash": ZERO, "reason": "obsolete"}),
        ("edit", {"edits": [{"append": "x"}], "expected_hash": ZERO}),
        ("restore", {"revision": ZERO}),
    ):
        refused(gateway.call(tool, {"path": path} | more, client=client), "forbidden")


def test_no_list_search_link_or_count_shows_a_private_note(gateway: Gateway) -> None:
    everything = [
        gateway.call("list", {"depth": 9}),
        gateway.call("search", {"query": "salary zebra", "limit": 100}),
        gateway.call("links", {"path": "team/plan.md"}) | {"broken": []},
        gateway.call("status", {}) | {"vault": None},
    ]
    assert "private" not in json.dumps(everything).replace('"private/"', "").replace('"private": false', "")
    links = gateway.call("links", {"path": "team/plan.md"})
    assert links["broken"] == [{"target": "salary", "line": 8}]
    assert links["totals"] == {"outgoing": 0, "backlinks": 0, "broken": 1}
    assert gateway.call("status", {})["vault"]["notes"] == 3
    assert gateway.call("status", {}, client="insider")["vault"]["notes"] == 4
    assert gateway.call("list", {"folder": "private"})["error"]["code"] == "not_found"


def test_a_client_with_the_scope_sees_private_notes(gateway: Gateway) -> None:
    read = gateway.call("read", {"path": "private/salary.md"}, client="insider")
    assert read["private"] is True
    hits = gateway.call("search", {"query": "salary"}, client="insider")["hits"]
    assert "private/salary.md" in [hit["path"] for hit in hits]
    links = gateway.call("links", {"path": "team/plan.md"}, client="insider")
    assert [row["path"] for row in links["backlinks"]] == ["private/salary.md"]


def test_globs_bound_what_a_client_reads_and_writes(gateway: Gateway) -> None:
    refused(gateway.call("read", {"path": "other/one.md"}, client="narrow"), "not_found")
    listed = [row["path"] for row in gateway.call("list", {"depth": 9}, client="narrow")["entries"]]
    assert listed == ["team", "team/deep", "team/deep/more.md", "team/pic.png", "team/plan.md"]
    hits = gateway.call("search", {"query": "zebra", "limit": 100}, client="narrow")["hits"]
    assert {hit["path"] for hit in hits} == {"team/plan.md", "team/deep/more.md"}
    draft = {"content": note("X"), "expected_hash": "missing", "dry_run": True}
    refused(gateway.call("write", {"path": "team/x.md"} | draft, client="narrow"), "forbidden")
    assert gateway.call("write", {"path": "team/deep/x.md"} | draft, client="narrow")["state"] == "dry_run"


def test_resources_obey_the_same_rights(gateway: Gateway) -> None:
    def read(uri: str, client: str = "a") -> Any:
        return gateway.rpc(client, "resources/read", {"uri": uri}).json

    contract = read("muninn://contract")["result"]["contents"][0]["text"]
    assert json.loads(contract)["version"] == "1"
    assert "zebra plan" in read("muninn://note/team/plan.md")["result"]["contents"][0]["text"]
    assert "blob" in read("muninn://note/team/pic.png")["result"]["contents"][0]
    for uri in ("muninn://note/private/salary.md", "muninn://note/../x.md", "muninn://note/%2e%2e/x.md", "file:///x"):
        assert "error" in read(uri)
    assert "error" in read("muninn://note/team/plan.md", client="nothing")


def test_no_answer_or_log_names_a_place_of_the_machine(gateway: Gateway) -> None:
    answers = [gateway.call(tool, GOOD[tool]) for tool in GOOD]
    answers += [gateway.call("read", {"path": path}) for path in ("team", "none.md", "../up.md", ".muninn-vault")]
    assert str(gateway.folder) not in json.dumps(answers)
    assert all(token not in gateway.log() for token in gateway.tokens.values())


def test_lists_go_on_with_a_cursor_until_all_was_shown(gateway: Gateway) -> None:
    many = gateway.vault / "many"
    many.mkdir(exist_ok=True)
    for number in range(230):
        (many / f"n{number:03}.md").write_text("x")
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = gateway.call("list", {"folder": "many"} | cursor)
        seen += [row["path"] for row in page["entries"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert seen == [f"many/n{number:03}.md" for number in range(230)]
    refused(gateway.call("list", {"folder": "team"} | cursor), "invalid_arguments")


def test_an_attachment_comes_as_base64_and_is_never_written(gateway: Gateway) -> None:
    read = gateway.call("read", {"path": "team/pic.png"})
    assert read["encoding"] == "base64"
    draft = {"path": "team/pic.png", "content": note("X"), "expected_hash": read["hash"]}
    refused(gateway.call("write", draft), "invalid_path")
    archive = {"path": "team/pic.png", "expected_hash": read["hash"], "reason": "obsolete"}
    refused(gateway.call("archive", archive), "invalid_path")


def test_a_long_note_is_cut_at_a_line_and_goes_on(gateway: Gateway) -> None:
    text = note("Long") + "".join(f"line {number} of many\n" for number in range(30_000))
    (gateway.vault / "team/long.md").write_text(text)
    pieces: list[str] = []
    line: int | None = 1
    while line is not None:
        piece = gateway.call("read", {"path": "team/long.md", "start_line": line})
        assert piece["hash"] is None
        assert len(piece["content"].encode()) <= 256 * 1024
        pieces.append(piece["content"])
        line = piece.get("next_line")
    assert "".join(pieces) == text


def test_a_line_that_is_too_long_is_said_not_cut(gateway: Gateway) -> None:
    (gateway.vault / "team/wide.md").write_text("x" * 300_000)
    refused(gateway.call("read", {"path": "team/wide.md"}), "too_large")


def test_request_ids_replay_the_answer_and_bind_the_arguments(gateway: Gateway) -> None:
    draft = {"path": "team/r.md", "content": note("R"), "expected_hash": "missing", "request_id": "r-1"}
    first = gateway.call("write", draft)
    again = gateway.call("write", draft)
    assert (first["state"], again["state"]) == ("committed", "replayed")
    assert {key: again[key] for key in ("hash", "event", "changes")} == {
        key: first[key] for key in ("hash", "event", "changes")
    }
    refused(gateway.call("write", draft | {"content": note("S")}), "invalid_arguments")
    assert gateway.call("write", draft, client="insider")["error"]["code"] == "exists"


def test_the_rest_of_a_conflict_is_told(gateway: Gateway) -> None:
    path = {"path": "team/c.md"}
    made = gateway.call("write", path | {"content": note("C", "one"), "expected_hash": "missing"})
    gateway.call("edit", path | {"edits": [{"replace": "one", "with": "two"}], "expected_hash": made["hash"]})
    late = gateway.call("edit", path | {"edits": [{"append": "x"}], "expected_hash": made["hash"]}, client="insider")
    error = refused(late, "conflict")
    assert error["changed_by"] == "a"
    assert "-one" in error["diff"]
    assert "+two" in error["diff"]


def test_a_whole_search_answer_stays_under_32_kib_on_the_wire(gateway: Gateway) -> None:
    crowd = gateway.vault / "crowd"
    crowd.mkdir(exist_ok=True)
    for number in range(120):
        (crowd / f"n{number:03}.md").write_text(note(f'The "quoted" gnu {number}', 'a "gnu" says "moo" — ' * 60))
    assert gateway.muninn("index", "scan").returncode == 0
    heard = gateway.rpc("a", "tools/call", {"name": "search", "arguments": {"query": "gnu", "limit": 100}})
    found = heard.json["result"]["structuredContent"]
    assert len(heard.body) <= 32 * 1024
    assert len(found["hits"]) >= 15
    assert found["more"] is True


def test_a_forged_cursor_is_refused_by_every_tool(gateway: Gateway) -> None:
    for tool, asked in (("links", {"path": "team/plan.md"}), ("history", {"path": "team/plan.md"})):
        forged = cursors.make(tool, asked, "a string where a number stands")
        refused(gateway.call(tool, asked | {"cursor": forged}), "invalid_arguments")


def test_a_note_too_long_for_a_resource_is_refused_not_cut(gateway: Gateway) -> None:
    (gateway.vault / "team/big.md").write_text(note("Big") + "line\n" * 100_000)
    heard = gateway.rpc("a", "resources/read", {"uri": "muninn://note/team/big.md"}).json
    assert "use the tool read" in heard["error"]["message"] or "with the tool" in heard["error"]["message"]


def test_a_link_in_place_of_a_note_is_told_alike_by_read_and_links(gateway: Gateway) -> None:
    (gateway.vault / "team/away.md").symlink_to("plan.md")
    for tool in ("read", "links"):
        refused(gateway.call(tool, {"path": "team/away.md"}), "invalid_path")


def test_a_replayed_edit_carries_its_diff_again(gateway: Gateway) -> None:
    made = gateway.call("write", {"path": "team/re.md", "content": note("Re"), "expected_hash": "missing"})
    edit = {"path": "team/re.md", "edits": [{"append": "more\n"}], "expected_hash": made["hash"], "request_id": "re-1"}
    first, again = gateway.call("edit", edit), gateway.call("edit", edit)
    assert again["state"] == "replayed"
    assert again["diff"] == first["diff"]


def test_a_vault_that_went_away_is_said_in_every_answer(gateway: Gateway) -> None:
    away = gateway.vault.with_name("away")
    gateway.vault.rename(away)
    try:
        for tool in ("search", "read", "list", "links", "history", "write", "recover"):
            refused(gateway.call(tool, GOOD[tool]), "vault_unavailable")
        assert gateway.call("status", {})["vault"]["readable"] is False
        assert gateway.ask("GET", "/health", {}).status == 503
    finally:
        away.rename(gateway.vault)
    assert gateway.call("read", GOOD["read"])["hash"]


def test_narrow_globs_leave_no_oracle_for_hidden_words(gateway: Gateway) -> None:
    def said(query: str) -> tuple[str, bool]:
        found = gateway.call("search", {"query": query}, client="narrow")
        return found["confidence"], "notaword" in (found.get("query_note") or "").replace(query.split()[0], "notaword")

    # "wombat" stands only outside the narrow client's globs; "notaword" nowhere.
    assert said("wombat zebra") == said("notaword zebra")


def test_a_replay_is_judged_by_the_rights_of_now(gateway: Gateway) -> None:
    gateway.add("shrinking", DEFAULT_SCOPES)
    draft = {"path": "team/s.md", "content": note("S"), "expected_hash": "missing", "request_id": "s-1"}
    assert gateway.call("write", draft, client="shrinking")["state"] == "committed"
    path = gateway.home / "clients.toml"
    with clients.changing(path) as known:
        known["shrinking"] = replace(known["shrinking"], read=("zzz/**",))
    refused(gateway.call("write", draft, client="shrinking"), "forbidden")
