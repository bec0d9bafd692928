"""`/metrics` over HTTP: who gets it, what it counts, what it tells of private notes, and that it outlives its parts."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from muninn.metrics import COUNTED, LOOKED, MOST_CLIENTS, OUTCOMES, Metrics
from muninn.model.refusal import Code
from muninn.tools import BY_NAME
from tests.conftest import note_text
from tests.door.gateway import Gateway, Heard, places, served, until_ready

SCRAPER = frozenset({"metrics"})
HIDDEN = "whistleblower"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    made = places(tmp_path_factory.mktemp("metrics"))
    made.add("m", SCRAPER)
    made.add("secret", SCRAPER | {"private"})
    made.add("narrow", SCRAPER, read="team/**")
    made.add("quiet", SCRAPER)
    for name in ("a.md", "b.md", f"private/{HIDDEN}.md"):
        file = made.vault / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(note_text())
    with served(made):
        until_ready(made)
        yield made


def scrape(gateway: Gateway, client: str = "m", method: str = "GET") -> Heard:
    return gateway.ask(method, "/metrics", {"Authorization": f"Bearer {gateway.tokens[client]}"})


def values(heard: Heard) -> dict[tuple[str, tuple[str, ...]], float]:
    """Every sample by its name and its labels' values."""
    assert heard.status == 200
    families = text_string_to_metric_families(heard.body.decode())
    return {
        (sample.name, tuple(v for _, v in sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def test_only_a_client_with_the_scope_gets_it(gateway: Gateway) -> None:
    assert scrape(gateway).headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert scrape(gateway, "a").status == 403
    assert "scope metrics" in scrape(gateway, "a").json["error"]
    assert gateway.ask("GET", "/metrics", {}).status == 401
    foreign = {"Authorization": f"Bearer {gateway.tokens['m']}", "Host": "elsewhere.example"}
    assert gateway.ask("GET", "/metrics", foreign).status == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"])
def test_other_methods_are_405(gateway: Gateway, method: str) -> None:
    heard = scrape(gateway, method=method)
    assert (heard.status, heard.headers["allow"]) == (405, "GET")


def test_the_scope_metrics_opens_nothing_else(gateway: Gateway) -> None:
    assert gateway.call("read", {"path": "a.md"}, "m")["error"]["code"] == "forbidden"


def test_calls_are_counted_by_tool_outcome_and_client(gateway: Gateway) -> None:
    before = values(scrape(gateway))
    gateway.call("read", {"path": "a.md"})
    gateway.call("read", {"path": "nothing.md"})
    gateway.call("search", {"query": "canary gate"})
    gateway.rpc("a", "tools/call", {"name": "no such tool", "arguments": {}})
    gateway.ask("POST", "/mcp", {})
    after = values(scrape(gateway))

    def more(name: str, *labels: str) -> float:
        return after[(name, labels)] - before.get((name, labels), 0.0)

    assert more("muninn_calls_total", "ok", "read") == 1
    assert more("muninn_calls_total", "not_found", "read") == 1
    assert more("muninn_calls_total", "protocol_error", "unknown") == 1
    assert more("muninn_refusals_total", "not_found") == 1
    assert more("muninn_client_calls_total", "a", "ok") == 2
    assert more("muninn_client_calls_total", "a", "refused") == 1
    assert more("muninn_client_calls_total", "a", "error") == 1
    assert more("muninn_call_seconds_count", "read") == 2
    assert 0 < more("muninn_call_seconds_sum", "read") < 10
    assert more("muninn_searches_total", "bm25") == 1
    assert more("muninn_searches_reranked_total", "off") == 1
    assert more("muninn_gate_turned_away_total", "401") == 1
    assert more("muninn_http_responses_total", "401") == 1


def test_every_label_is_of_a_closed_set(gateway: Gateway) -> None:
    for number in range(20):
        gateway.rpc("a", "tools/call", {"name": f"made-up-{number}", "arguments": {}})
        gateway.rpc("a", f"made/up/{number}", {})
        gateway.ask("GET", f"/made/up/{number}", {"Authorization": f"Bearer {gateway.tokens['a']}"})
    families = list(text_string_to_metric_families(scrape(gateway).body.decode()))
    found: dict[str, set[str]] = {}
    for sample in (sample for family in families for sample in family.samples):
        for label, value in sample.labels.items():
            found.setdefault(label, set()).add(value)
    assert found["tool"] <= {*BY_NAME, "unknown", "tools/list", "resources/read"}
    assert found["outcome"] <= {*OUTCOMES, "yes", "no", "off", "loading", "timeout", "failed"}
    assert found["code"] == {code.value for code in Code}
    assert found["client"] <= {"a", "m"}
    assert found["status"] <= {"200", "202", "400", "401", "403", "404", "405", "429", "500", "503"}
    assert b"made" not in scrape(gateway).body
    assert len(scrape(gateway).body.splitlines()) < 1500


def test_every_defined_name_is_on_the_page_and_no_other(gateway: Gateway) -> None:
    families = text_string_to_metric_families(scrape(gateway).body.decode())
    named = {family.name + ("_total" if family.type == "counter" else "") for family in families}
    defined = {series.name for series in COUNTED} | {row.series.name for row in LOOKED}
    assert named == defined | {"muninn_start_time_seconds", "muninn_build_info"}


def test_private_notes_are_counted_only_for_a_client_with_the_scope(gateway: Gateway) -> None:
    assert values(scrape(gateway, "m"))[("muninn_index_notes", ())] == 2
    assert values(scrape(gateway, "secret"))[("muninn_index_notes", ())] == 3
    smaller, larger = (values(scrape(gateway, name))[("muninn_index_bytes", ())] for name in ("m", "secret"))
    assert smaller < larger


def test_a_client_with_narrow_globs_gets_no_number_about_notes(gateway: Gateway) -> None:
    found = {name for name, _ in values(scrape(gateway, "narrow"))}
    assert found & {"muninn_index_notes", "muninn_index_bytes", "muninn_undoable_ratio"} == set()
    assert "muninn_index_age_seconds" in found


def test_what_happens_to_a_private_note_changes_no_number_about_notes(gateway: Gateway) -> None:
    # The size of the file is left out: each scan writes its time into it.
    about_notes = {f"muninn_{name}" for name in ("index_notes", "index_faults", "undoable_ratio", "held_files")}

    def told() -> dict[str, float]:
        return {name: value for (name, _), value in values(scrape(gateway, "m")).items() if name in about_notes}

    for _ in range(200):
        if "muninn_undoable_ratio" in told():
            break
        time.sleep(0.05)
    before = told()
    gateway.add("owner", frozenset({"read", "write", "private"}))
    path = "private/another.md"
    written = gateway.call("write", {"path": path, "content": "one\n", "expected_hash": "missing"}, "owner")
    again = gateway.call("write", {"path": path, "content": "two\n", "expected_hash": written["hash"]}, "owner")
    assert again["state"] == "committed"
    assert values(scrape(gateway, "secret"))[("muninn_held_files", ())] > 0
    assert told() == before


def test_no_path_title_or_token_stands_on_the_page(gateway: Gateway) -> None:
    gateway.call("read", {"path": f"private/{HIDDEN}.md"}, "a")
    page = scrape(gateway, "secret").body.decode()
    assert all(word not in page for word in (HIDDEN, ".md", "Canary", str(gateway.folder), *gateway.tokens.values()))


def test_a_vault_and_a_ledger_that_are_down_are_told_with_200(tmp_path: Path) -> None:
    made = places(tmp_path)
    made.add("m", SCRAPER)
    (made.vault / "a.md").write_bytes(note_text())
    with served(made):
        until_ready(made)
        up = values(scrape(made))
        assert (up[("muninn_vault_up", ())], up[("muninn_ledger_up", ())]) == (1, 1)
        assert up[("muninn_ledger_fault", ())] == 0
        shutil.move(made.vault, tmp_path / "elsewhere")
        ledger = made.home / "ledger.db"
        for beside in made.home.glob("ledger.db*"):
            beside.write_bytes(b"\xff" * max(4096, beside.stat().st_size))
        assert ledger.exists()
        began = time.monotonic()
        down = values(scrape(made))
        assert time.monotonic() - began < 2
        assert down[("muninn_vault_up", ())] == 0
        assert down[("muninn_ledger_up", ())] == 0
        assert ("muninn_ledger_events_total", ()) not in down


def test_two_apps_count_apart() -> None:
    one, other = Metrics(["read"]), Metrics(["read"])
    one.called("read", "a", "ok", 0.1)
    assert b'muninn_calls_total{outcome="ok",tool="read"} 1.0' in one.counts()
    assert b'muninn_calls_total{outcome="ok",tool="read"} 0.0' in other.counts()


def test_only_so_many_clients_get_a_series_and_nothing_is_made_up() -> None:
    counts = Metrics(["read"])
    for number in range(MOST_CLIENTS + 50):
        counts.called("read", f"client-{number}", "ok", 0.001)
    page = counts.counts().decode()
    assert page.count("muninn_client_calls_total{") == MOST_CLIENTS + 1
    assert 'client="other",result="ok"} 50.0' in page
    with pytest.raises(ValueError, match="made up"):
        counts.called("other", "a", "ok", 0.1)
    with pytest.raises(ValueError, match="made up"):
        counts.called("read", "a", "fine", 0.1)
