"""Scripts through the door: the rights of the caller, the gateway's own citations, and nobody who has to wait."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muninn import lanes
from muninn.model.rights import DEFAULT_SCOPES
from muninn.tools import BY_NAME
from tests.door.gateway import STATELESS, Gateway, places, served, until_ready


def note(title: str, body: str) -> str:
    return f"---\ntitle: {title}\ntype: note\nstatus: active\ntags: [aa, bb]\ndate: 2026-05-04\n---\n{body}\n"


NOTES = {
    "team/plan.md": note("Plan", "the zebra plan, see [[more]] and [[salary]]"),
    "team/more.md": note("More", "zebra again\n" * 20),
    "private/salary.md": note("Salary", "zebra salary"),
    "other/one.md": note("Other", "zebra other"),
}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    made = places(tmp_path_factory.mktemp("scripts"))
    (made.home / "muninn.toml").write_text("rate_per_s = 0\n")
    for path, text in NOTES.items():
        (made.vault / path).parent.mkdir(parents=True, exist_ok=True)
        (made.vault / path).write_text(text)
    made.add("insider", DEFAULT_SCOPES | {"private"})
    made.add("narrow", DEFAULT_SCOPES, read="team/**")
    made.add("reader", frozenset({"read"}))
    for number in range(4):
        made.add(f"busy{number}")
    with served(made):
        until_ready(made)
        yield made


def run(gateway: Gateway, script: str, client: str = "a", **more: Any) -> dict[str, Any]:
    return gateway.call("run_code", {"script": script} | more, client)


def digest(path: str) -> str:
    return hashlib.sha256(NOTES[path].encode()).hexdigest()


@pytest.mark.parametrize(
    ("call", "tool", "arguments"),
    [
        ("vault.read('team/plan.md')", "read", {"path": "team/plan.md"}),
        ("vault.read('team/plan.md', {start_line: 2})", "read", {"path": "team/plan.md", "start_line": 2}),
        ("vault.search('zebra', {limit: 2})", "search", {"query": "zebra", "limit": 2}),
        ("vault.list('team', {hashes: true})", "list", {"folder": "team", "hashes": True}),
        ("vault.list()", "list", {}),
        ("vault.links('team/plan.md')", "links", {"path": "team/plan.md"}),
    ],
)  # fmt: skip
def test_a_call_answers_exactly_as_the_tool(gateway: Gateway, call: str, tool: str, arguments: dict[str, Any]) -> None:
    for client in ("a", "insider", "narrow"):
        seen = run(gateway, f"return await {call}", client)["value"]
        told = gateway.call(tool, arguments, client)
        seen.pop("index_age_s", None), told.pop("index_age_s", None)
        assert seen == told


@pytest.mark.parametrize("call", ["vault.read", "vault.links"])
def test_a_private_note_is_as_absent_in_a_script_as_elsewhere(gateway: Gateway, call: str) -> None:
    script = "try { return await CALL('private/NAME.md') } catch (e) { return [e.code, e.message] }"
    seen = run(gateway, script.replace("CALL", call).replace("NAME", "salary"))
    never = run(gateway, script.replace("CALL", call).replace("NAME", "nothing"))
    assert seen["value"][0] == "not_found"
    assert seen["value"][1].replace("salary", "nothing") == never["value"][1]
    assert (seen["citations"], seen["complete"]) == ([], True)


def test_nothing_of_a_private_note_shows_in_a_script(gateway: Gateway) -> None:
    script = (
        "const all = [await vault.search('zebra salary'), await vault.list('', {depth: 9}),"
        " await vault.links('team/plan.md')]; return JSON.stringify(all)"
    )
    assert "salary.md" not in run(gateway, script)["value"]
    assert "salary.md" in run(gateway, script, "insider")["value"]


def test_globs_hold_in_a_script(gateway: Gateway) -> None:
    script = "try { return (await vault.read('other/one.md')).path } catch (e) { return e.code }"
    assert run(gateway, script)["value"] == "other/one.md"
    assert run(gateway, script, "narrow")["value"] == "not_found"


def test_only_who_has_both_scopes_sees_and_calls_the_tool(gateway: Gateway) -> None:
    for client, there in (("a", True), ("reader", False)):
        listed = gateway.rpc(client, "tools/list", {}).json["result"]["tools"]
        assert ("run_code" in {tool["name"] for tool in listed}) is there
    assert run(gateway, "return 1", "reader")["error"]["code"] == "forbidden"
    assert BY_NAME["run_code"].lacks({"code"}) == "read"


def test_citations_are_what_was_shown(gateway: Gateway) -> None:
    script = (
        "await vault.read('team/more.md', {start_line: 3, end_line: 4});"
        "await vault.read('team/more.md', {start_line: 5, end_line: 9});"
        "const a = await vault.read('team/plan.md'); a.hash = 'forged'; a.path = 'forged.md';"
        "return {citations: [{path: 'forged.md'}], complete: true}"
    )
    answer = run(gateway, script)
    assert answer["citations"] == [
        {"path": "team/more.md", "hash": digest("team/more.md"), "start_line": 3, "end_line": 9},
        {"path": "team/plan.md", "hash": digest("team/plan.md"), "start_line": 1, "end_line": 8},
    ]
    assert answer["complete"] is False
    assert [(gap["call"], gap["path"]) for gap in answer["truncation"]] == [("read", "team/more.md")] * 2
    assert answer["value"]["citations"] == [{"path": "forged.md"}]
    assert answer["usage"]["calls"] == 3


def test_a_snippet_is_cited_by_its_lines(gateway: Gateway) -> None:
    hit = gateway.call("search", {"query": "zebra other"})["hits"][0]
    answer = run(gateway, "await vault.search('zebra other', {limit: 1})")
    cited = {"path": hit["path"], "hash": hit["source_hash"], "start_line": hit["start_line"], "end_line": hit["end_line"]}  # fmt: skip  # noqa: E501
    assert answer["citations"] == [cited]


def test_a_hash_is_the_one_of_the_moment(gateway: Gateway) -> None:
    first = note("Turn", "first")
    (gateway.vault / "team/turn.md").write_text(first)
    cited = run(gateway, "await vault.read('team/turn.md')")["citations"]
    (gateway.vault / "team/turn.md").write_text(note("Turn", "second"))
    again = run(gateway, "await vault.read('team/turn.md')")["citations"]
    assert cited[0]["hash"] == hashlib.sha256(first.encode()).hexdigest() != again[0]["hash"]


def test_an_attachment_is_cited_without_lines(gateway: Gateway) -> None:
    (gateway.vault / "team/pic.png").write_bytes(b"\x89PNG\x00\xff")
    cited = run(gateway, "await vault.read('team/pic.png')")["citations"]
    assert [sorted(row) for row in cited] == [["hash", "path"]]


def test_a_script_that_fails_says_where_in_both_eras(gateway: Gateway) -> None:
    for era in ("2025-11-25", STATELESS):
        answer = gateway.call("run_code", {"script": "console.log('here')\nnull.x"}, era=era)
        assert answer["error"]["code"] == "script_error"
        assert answer["error"]["line"] == 2
        assert answer["error"]["logs"] == ["here"]
        assert "line 2" in answer["error"]["message"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, "script"),
        ({"script": 1}, "script"),
        ({"script": "x" * 100_001}, "script"),
        ({"script": "", "timeout_s": 0.5}, "timeout_s"),
        ({"script": "", "timeout_s": 61}, "timeout_s"),
        ({"script": "", "timeout_s": "5"}, "timeout_s"),
    ],
)
def test_arguments_are_checked(gateway: Gateway, arguments: dict[str, Any], named: str) -> None:
    error = gateway.call("run_code", arguments)["error"]
    assert error["code"] == "invalid_arguments"
    assert named in error["message"]


def test_odd_strings_pass_through_the_door(gateway: Gateway) -> None:
    assert run(gateway, "return 'a\\0\u2028\U0001f600' + '\0'")["value"] == "a\0\u2028\U0001f600\0"
    assert run(gateway, r"return '\ud800'")["error"]["code"] == "script_error"


def test_the_greatest_answer_passes(gateway: Gateway) -> None:
    script = (
        "for (let i = 0; i < 120; i++) console.log('\\u0001'.repeat(100));"
        "const hits = []; for (let i = 0; i < 60; i++) hits.push(await vault.search('zebra', {limit: 1 + i % 3}));"
        "return 'x'.repeat(65000)"
    )
    heard = gateway.rpc("a", "tools/call", {"name": "run_code", "arguments": {"script": script}})
    assert heard.json["result"]["structuredContent"]["value"] == "x" * 65000
    assert len(heard.body) < 1024 * 1024


def test_others_do_not_wait_for_scripts(gateway: Gateway) -> None:
    """More scripts than may run at once, all of them busy: readers come through, and every script gets its turn."""
    ends: list[tuple[float, Any]] = []

    def busy(client: str) -> None:
        answer = run(gateway, "for (;;);", client, timeout_s=1)
        ends.append((time.monotonic() - began, answer["error"]["code"]))

    began = time.monotonic()
    threads = [threading.Thread(target=busy, args=(f"busy{number % 4}",)) for number in range(10)]
    for thread in threads:
        thread.start()
    slowest = 0.0
    while any(thread.is_alive() for thread in threads):
        asked = time.monotonic()
        assert "error" not in gateway.call("read", {"path": "team/plan.md"}, "insider")
        slowest = max(slowest, time.monotonic() - asked)
    for thread in threads:
        thread.join()
    assert slowest < 1
    assert [code for _, code in ends] == ["script_limit"] * 10
    # Four at once: three rounds of a second, and no more than two of a client.
    assert 2.5 < max(at for at, _ in ends) < 12


def test_the_status_says_what_stands_around_a_script(gateway: Gateway) -> None:
    run(gateway, "return 1")
    assert gateway.call("status", {})["versions"]["sandbox"].startswith("a process of its own")


def test_a_gateway_that_ends_leaves_no_child(tmp_path: Path) -> None:
    made = places(tmp_path)
    with served(made):
        assert run(made, "return 1")["value"] == 1
        assert made.process is not None
        children = [int(pid) for pid in _children(made.process.pid)]
        threading.Thread(target=lambda: _quietly(made)).start()
        time.sleep(0.5)
        asked = time.monotonic()
        assert made.stop() == 0
        assert time.monotonic() - asked < 10
    assert children
    assert not any(Path(f"/proc/{pid}").exists() for pid in children)


def _quietly(made: Gateway) -> None:
    try:
        run(made, "for (;;);", timeout_s=60)
    except (OSError, json.JSONDecodeError, KeyError):
        return


def _children(pid: int) -> list[str]:
    found = [child for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()]
    return found or pytest.skip("this system does not list children")


def test_a_script_whose_turn_does_not_come_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import anyio

    monkeypatch.setattr(lanes, "SCRIPT_WAIT_S", 0.2)
    threads = lanes.Lanes()
    seen: list[str] = []

    async def ask(client: str) -> None:
        try:
            await threads.run(client, lambda: time.sleep(1), "script")
            seen.append("ran")
        except lanes.NoTurnError:
            seen.append("refused")

    async def many() -> None:
        async with anyio.create_task_group() as group:
            for number in range(9):
                group.start_soon(ask, f"c{number % 3}")
        # Nothing is held by those that were refused.
        await threads.run("c0", lambda: seen.append("after"), "script")

    anyio.run(many)
    assert sorted(seen) == ["after", *["ran"] * 4, *["refused"] * 5]
