"""Claims, summaries and the worklist through the door: from the first claim to the warning and `muninn lint`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from muninn.model.rights import DEFAULT_SCOPES
from muninn.tools import BY_NAME
from tests.door.gateway import Gateway, places, served, until_ready

PORT = "The gateway listens on port 8443.\n"


def note(title: str, body: str) -> str:
    return f"---\ntitle: {title}\ntype: note\nstatus: active\ntags: [aa, bb]\ndate: 2026-05-04\n---\n{body}"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    made = places(tmp_path_factory.mktemp("claims"))
    made.add("insider", DEFAULT_SCOPES | {"private"})
    made.add("writer", frozenset({"write"}))
    (made.vault / "private").mkdir()
    (made.vault / "private/pay.md").write_text("pay is 8443\n")
    with served(made):
        until_ready(made)
        yield made


def call(gateway: Gateway, tool: str, client: str = "a", **arguments: Any) -> dict[str, Any]:
    """A tool's answer, which fits the schema that the tool publishes."""
    answer = gateway.call(tool, arguments, client)
    assert "error" not in answer, answer
    jsonschema.validate(answer, BY_NAME[tool].output_schema)
    return answer


def write(gateway: Gateway, path: str, text: str, expected: str = "missing") -> dict[str, Any]:
    return call(gateway, "write", path=path, content=text, expected_hash=expected)


def warned(answer: dict[str, Any], code: str) -> list[str]:
    return [path for warning in answer["warnings"] if warning["code"] == code for path in warning["paths"]]


def test_from_a_claim_to_the_worklist(gateway: Gateway) -> None:
    source = write(gateway, "ops/port.md", note("Port", PORT))["hash"]
    copy = write(gateway, "ops/runbook.md", note("Runbook", "First of all.\n\n- The gateway listens on port 8443\n"))
    summary = write(gateway, "ops/all.md", note("All", "One gateway, on port 8443. Nobody else.\n"))["hash"]
    sources = [{"path": "ops/port.md", "hash": source}, {"path": "ops/runbook.md", "hash": copy["hash"]}]
    registered = call(gateway, "register_summary", path="ops/all.md", hash=summary, sources=sources)
    assert registered["state"] == "committed"
    assert registered["sources"][0] == {"path": "ops/port.md", "source_hash": source}
    claim = call(gateway, "claim", statement="gateway listens on port 8443", path="ops/port.md", revision=source)
    assert call(gateway, "claims", query="gateway ports")["held"][0]["claim_id"] == claim["claim_id"]
    read = call(gateway, "read", path="ops/all.md")
    assert read["warnings"] == []
    assert gateway.muninn("lint").returncode == 0

    edit = {"replace": "8443", "with": "8080"}
    changed = call(gateway, "edit", path="ops/port.md", edits=[edit], expected_hash=source)
    # The change itself says who repeats what was claimed of the former bytes; and touches none of them.
    assert set(warned(changed, "possible_duplicate")) == {"ops/runbook.md", "ops/all.md"}
    assert (gateway.vault / "ops/runbook.md").read_text().endswith("- The gateway listens on port 8443\n")

    assert warned(call(gateway, "read", path="ops/port.md"), "abstaining_claims") == ["ops/port.md"]
    assert warned(call(gateway, "read", path="ops/all.md"), "stale_summary") == ["ops/all.md"]
    hits = call(gateway, "search", query="gateway port")
    assert warned(hits, "abstaining_claims") == ["ops/port.md"]
    assert warned(hits, "stale_summary") == ["ops/all.md"]
    script = "await vault.read('ops/all.md'); return (await vault.read('ops/port.md')).warnings.length"
    ran = call(gateway, "run_code", script=script)
    assert ran["value"] == 1
    assert warned(ran, "abstaining_claims") == ["ops/port.md"]
    assert warned(ran, "stale_summary") == ["ops/all.md"]
    old = call(gateway, "read", path="ops/port.md", revision=source)
    assert warned(old, "abstaining_claims") == []
    # A search of the notes finds no claim, whatever becomes of it.
    assert "statement" not in json.dumps(hits)

    (row,) = call(gateway, "staleness", path="ops/all.md", detail=True)["summaries"]
    assert (row["state"], row["because"][0]["path"], row["because"][0]["why"]) == ("stale", "ops/port.md", "changed")
    assert "+The gateway listens on port 8080." in row["because"][0]["diff"]
    assert row["because"][0]["sentences"] == [{"line": 8, "text": "One gateway, on port 8443."}]
    assert row["because"][0]["claims"] == [claim["claim_id"]]

    linted = gateway.muninn("lint", "--json")
    assert linted.returncode == 1
    (found,) = json.loads(linted.stdout)["changed"]
    assert (found["path"], found["why"], found["expected"]) == ("ops/port.md", "changed", source)
    assert [one["path"] for one in found["summaries"]] == ["ops/all.md"]
    assert found["claims"] == [{"claim_id": claim["claim_id"], "why": "changed"}]
    assert "8443" not in json.dumps(found["claims"])
    assert gateway.muninn("lint", "--since", "2099-01-01").returncode == 0
    assert "port 8080" in gateway.muninn("lint", "--since", "1h").stdout

    ended = call(gateway, "retract", claim_id=claim["claim_id"], reason="the port changed")
    assert ended["state"] == "committed"
    assert "ops/runbook.md" in warned(ended, "possible_duplicate")
    assert call(gateway, "claims", path="ops/port.md")["abstaining"] == []


def test_a_request_id_gives_the_stored_answer_through_the_door(gateway: Gateway) -> None:
    digest = write(gateway, "ops/again.md", note("Again", "again\n"))["hash"]
    asked = {"statement": "again it is", "path": "ops/again.md", "revision": digest, "request_id": "r-1"}
    first = call(gateway, "claim", **asked)
    assert call(gateway, "claim", **asked) == first | {"state": "replayed"}
    assert call(gateway, "claim", **asked, dry_run=True) == {"claim_id": None, "state": "dry_run", "warnings": []}
    other = gateway.call("claim", asked | {"statement": "something else"})
    assert other["error"]["code"] == "invalid_arguments"
    archive = {"path": "ops/again.md", "expected_hash": digest, "reason": "moved", "request_id": "r-1"}
    used = gateway.call("archive", archive)
    assert used["error"]["code"] == "invalid_arguments"
    assert len(call(gateway, "claims", path="ops/again.md")["held"]) == 1


def test_private_claims_and_summaries_show_to_nobody_else(gateway: Gateway) -> None:
    digest = hashlib.sha256(b"pay is 8443\n").hexdigest()
    mine = write(gateway, "ops/pay.md", note("Pay in short", "paid\n"))["hash"]
    claim = call(gateway, "claim", "insider", statement="pay is 8443", path="private/pay.md", revision=digest)
    sources = [{"path": "private/pay.md", "hash": digest}]
    call(gateway, "register_summary", "insider", path="ops/pay.md", hash=mine, sources=sources)
    (gateway.vault / "private/pay.md").write_text("pay is 9000\n")
    assert call(gateway, "claims", "insider", path="private/pay.md")["abstaining"][0]["why"] == "changed"
    assert call(gateway, "staleness", "insider", path="ops/pay.md")["summaries"][0]["state"] == "stale"
    for answer in (
        call(gateway, "claims", query="pay 8443"),
        call(gateway, "claims"),
        call(gateway, "staleness", path="ops/pay.md"),
        call(gateway, "staleness", detail=True),
        call(gateway, "read", path="ops/pay.md"),
        gateway.call("retract", {"claim_id": claim["claim_id"], "reason": "because"}),
        json.loads(gateway.muninn("lint", "--json").stdout),
    ):
        assert "private" not in json.dumps(answer).replace('"private": false', "")
        assert "stale_summary" not in json.dumps(answer)
    assert "private/pay.md" in gateway.muninn("lint", "--json", "--private").stdout


def test_who_may_not_read_is_told_of_no_other_note(gateway: Gateway) -> None:
    source = write(gateway, "lone/a.md", note("Lone", "The crane lifts nine tons.\n"))["hash"]
    write(gateway, "lone/b.md", note("Lone too", "The crane lifts nine tons.\n"))
    call(gateway, "claim", statement="crane lifts nine tons", path="lone/a.md", revision=source)
    edit = {"replace": "nine", "with": "ten"}
    asked = {"path": "lone/a.md", "edits": [edit], "expected_hash": source}
    assert call(gateway, "edit", "writer", **asked)["warnings"] == []
