"""What ``/metrics`` tells, as Prometheus text: counts that are kept while calls come, and gauges that are looked up
when somebody asks. The one room of ``prometheus-client``.

Each app has a registry of its own. Every label is one of a closed set: a tool of the table, a code, a status, or the
name of a registered client. Nothing of what was sent is a label, so nobody can make series by sending.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

import muninn
from muninn import vitals
from muninn.door import Door
from muninn.model.hits import Found
from muninn.model.refusal import Code, Refusal
from muninn.model.rights import Rights
from muninn.vitals import Vitals

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
"""The text format that every Prometheus reads."""
BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds: a read takes some milliseconds, a write waits for the disk, a script may compute for a minute."""
MOST_CLIENTS: Final = 256
"""Names of clients that get a series of their own; those that come later are told together as ``other``."""
UNKNOWN: Final = "unknown"
BESIDE_TOOLS: Final = (UNKNOWN, "tools/list", "resources/read")
"""What is counted like a tool and is none."""
OK: Final = "ok"
PROTOCOL_ERROR: Final = "protocol_error"
INTERNAL_ERROR: Final = "internal_error"
OUTCOMES: Final = (OK, *(code.value for code in Code), PROTOCOL_ERROR, INTERNAL_ERROR)

# Each series would come with a second one that says when it began: twice the lines, and nobody asks.
prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]


@dataclass(frozen=True, slots=True)
class Series:
    """One name of the page: what it counts, and its labels. The reference is made from these."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    says: str
    labels: tuple[str, ...] = ()


CALLS: Final = Series(
    "muninn_calls_total",
    "counter",
    "Calls that were answered, by tool and outcome: ok, the code of the refusal, protocol_error or internal_error",
    ("tool", "outcome"),
)
SECONDS: Final = Series(
    "muninn_call_seconds",
    "histogram",
    "Time from a call's arrival to its answer in seconds, waiting for a turn included",
    ("tool",),
)
BY_CLIENT: Final = Series(
    "muninn_client_calls_total",
    "counter",
    f"Calls by registered client and result: ok, refused or error; beyond {MOST_CLIENTS} names the client is other",
    ("client", "result"),
)
REFUSALS: Final = Series("muninn_refusals_total", "counter", "Refused calls by code", ("code",))
TURNED: Final = Series(
    "muninn_gate_turned_away_total",
    "counter",
    "Requests that the gate answered itself, by HTTP status: 401 no valid token, 403 foreign host, 429 too many …",
    ("status",),
)
RESPONSES: Final = Series(
    "muninn_http_responses_total", "counter", "HTTP answers of every route by status", ("status",)
)
ENGINES: Final = Series(
    "muninn_searches_total", "counter", "Answers of the tool search, by what found the notes", ("engine",)
)
DEGRADED: Final = Series("muninn_searches_degraded_total", "counter", "Answers of search that the index could not give")
RERANKED: Final = Series(
    "muninn_searches_reranked_total",
    "counter",
    "Answers of search by what the reranker did: yes, no (no close call), off, loading, timeout, failed",
    ("outcome",),
)
CONFIDENCE: Final = Series(
    "muninn_searches_confidence_total",
    "counter",
    "Answers of search by confidence: high, medium, low, none",
    ("confidence",),
)

COUNTED: Final = (
    CALLS, SECONDS, BY_CLIENT, REFUSALS, TURNED, RESPONSES, ENGINES, DEGRADED, RERANKED, CONFIDENCE
)  # fmt: skip
"""What is counted from the start of the gateway on."""

Samples = Iterable[tuple[tuple[str, ...], float]]


@dataclass(frozen=True, slots=True)
class Looked:
    """One name that is looked up at a scrape, and how its samples come from what was found; none where not known."""

    series: Series
    samples: Callable[[Vitals], Samples]


def _value(value: float | None) -> Samples:
    return () if value is None else (((), float(value)),)


def _gauge(name: str, says: str, value: Callable[[Vitals], float | None]) -> Looked:
    return Looked(Series(name, "gauge", says), lambda found: _value(value(found)))


LOOKED: Final = (
    _gauge("muninn_vault_up", "1 while the vault can be opened", lambda found: found.vault_readable),
    Looked(
        Series("muninn_index_state", "gauge", "1 for the present state: ready, building or broken", ("state",)),
        lambda found: [((word,), float(word == found.index.state)) for word in ("ready", "building", "broken")],
    ),
    _gauge("muninn_index_age_seconds", "Since the last whole scan began", lambda found: found.index.age_s),
    _gauge("muninn_index_notes", "Notes in the index", lambda found: found.index.notes),
    _gauge("muninn_index_faults", "Notes that could not be taken in whole", lambda found: found.index.faults),
    _gauge("muninn_index_bytes", "What the index takes on disk", lambda found: found.index.size),
    _gauge("muninn_ledger_up", "1 while the ledger can be read", lambda found: found.ledger.readable),
    _gauge("muninn_ledger_fault", "1 once damage was met; writes stop", lambda found: found.ledger.fault),
    Looked(
        Series("muninn_ledger_events_total", "counter", "Events in the ledger, since its beginning"),
        lambda found: _value(found.ledger.events),
    ),
    _gauge("muninn_pending_plans", "Writes that are kept but not finished", lambda found: found.ledger.pending),
    _gauge("muninn_undoable_ratio", "Share of the notes whose bytes are kept, 0 to 1", lambda found: found.undoable),
    _gauge("muninn_held_files", "Replaced files that are held for two seconds", lambda found: found.held),
    _gauge("muninn_scripts_running", "Scripts of run_code that run now", lambda found: found.scripts),
    _gauge("muninn_backup_set_up", "1 where a backup was set up", lambda found: found.backup.set_up),
    _gauge("muninn_backup_overdue", "1 where answers warn that none was proven", lambda found: found.backup.overdue),
    _gauge(
        "muninn_backup_last_ok_timestamp_seconds",
        "When a backup was last proven, since 1970",
        lambda found: found.backup.last_ok,
    ),
    _gauge("muninn_backup_age_seconds", "Since the last proven backup", lambda found: found.backup.age_s),
    _gauge(
        "muninn_canary_failing",
        "Questions that failed in the last run of the canary",
        lambda found: found.canary.failing if found.canary is not None else None,
    ),
    _gauge(
        "muninn_canary_last_ok_timestamp_seconds",
        "When the canary last ran without a failure, since 1970",
        lambda found: found.canary.last_ok if found.canary is not None else None,
    ),
)
"""What is looked up when somebody asks."""

STARTED: Final = Series("muninn_start_time_seconds", "gauge", "When the gateway was started, since 1970")
BUILD: Final = Series("muninn_build_info", "gauge", "1, with the versions as labels", ("version", "contract", "python"))


@dataclass(frozen=True, slots=True)
class _Kept:
    """What one kind of call counts into."""

    counters: tuple[Counter, ...]
    seconds: Histogram


class Metrics:
    """The counts of one app. Safe to use from several threads."""

    def __init__(self, tools: Iterable[str]) -> None:
        self._registry = CollectorRegistry()
        self._calls = self._counter(CALLS)
        self._by_client = self._counter(BY_CLIENT)
        self._refusals = self._counter(REFUSALS)
        self._turned = self._counter(TURNED)
        self._responses = self._counter(RESPONSES)
        self._engines = self._counter(ENGINES)
        self._degraded = self._counter(DEGRADED)
        self._reranked = self._counter(RERANKED)
        self._confidence = self._counter(CONFIDENCE)
        self._seconds = Histogram(SECONDS.name, SECONDS.says, SECONDS.labels, buckets=BUCKETS, registry=self._registry)
        self._tools = frozenset((*tools, *BESIDE_TOOLS))
        self._clients: set[str] = set()
        self._kept: dict[tuple[str, str | None, str], _Kept] = {}
        """To look a counter up by its labels costs more than to count; as many as there are series."""
        self._started = time.time()
        self._begin()

    def called(self, tool: str, client: str | None, outcome: str, seconds: float) -> None:
        """Count one call. A tool or an outcome outside the closed sets is a bug, and raises ValueError."""
        key = (tool, client, outcome)
        kept = self._kept.get(key) or self._keep(key)
        for counter in kept.counters:
            counter.inc()
        kept.seconds.observe(seconds)

    def searched(self, found: Found) -> None:
        """Count how a question was answered."""
        self._engines.labels(found.engine).inc()
        self._reranked.labels(found.reranked).inc()
        self._confidence.labels(found.confidence).inc()
        if found.degraded:
            self._degraded.inc()

    def turned(self, status: int) -> None:
        """Count a request that the gate answered itself."""
        self._turned.labels(str(status)).inc()

    def answered(self, status: int) -> None:
        """Count an HTTP answer, whoever gave it."""
        self._responses.labels(str(status)).inc()

    def page(self, door: Door, rights: Rights) -> bytes:
        """The whole page, as far as a client with these rights may know it."""
        scrape = CollectorRegistry()
        scrape.register(_Scrape(door, vitals.take(door, rights), self._started))
        return self.counts() + generate_latest(scrape)

    def counts(self) -> bytes:
        """The part of the page that was counted."""
        return generate_latest(self._registry)

    def _keep(self, key: tuple[str, str | None, str]) -> _Kept:
        tool, client, outcome = key
        if tool not in self._tools or outcome not in OUTCOMES:
            raise ValueError(f"neither tool nor outcome may be made up: {tool[:40]!r}, {outcome[:40]!r}")
        refused = outcome not in (OK, PROTOCOL_ERROR, INTERNAL_ERROR)
        result = OK if outcome == OK else "refused" if refused else "error"
        counters = (self._calls.labels(tool, outcome), self._by_client.labels(self._shown(client), result))
        kept = _Kept((*counters, self._refusals.labels(outcome)) if refused else counters, self._seconds.labels(tool))
        if client in self._clients:
            self._kept[key] = kept
        return kept

    def _shown(self, client: str | None) -> str:
        name = client or UNKNOWN
        if name not in self._clients:
            if len(self._clients) >= MOST_CLIENTS:
                return "other"
            self._clients.add(name)
        return name

    def _counter(self, series: Series) -> Counter:
        return Counter(series.name, series.says, series.labels, registry=self._registry)

    def _begin(self) -> None:
        """Begin at 0 what an alarm may wait for: a series that is born with its first fault shows no increase."""
        for tool in self._tools:
            self._seconds.labels(tool)
            for outcome in (OK, INTERNAL_ERROR):
                self._calls.labels(tool, outcome)
        for code in Code:
            self._refusals.labels(code.value)
        for status in ("401", "403", "429"):
            self._turned.labels(status)
        for status in ("200", "500", "503"):
            self._responses.labels(status)


class _Scrape(Collector):
    """The gauges of one moment."""

    def __init__(self, door: Door, found: Vitals, started: float) -> None:
        self._door, self._found, self._started = door, found, started

    def collect(self) -> Iterator[Family]:
        for row in LOOKED:
            yield _family(row.series, row.samples(self._found))
        yield _family(STARTED, _value(self._started))
        versions = (muninn.__version__, self._door.contract.version, platform.python_version())
        yield _family(BUILD, [(versions, 1.0)])


def _family(series: Series, samples: Samples) -> Family:
    make = CounterMetricFamily if series.kind == "counter" else GaugeMetricFamily
    family = make(series.name, series.says, labels=series.labels)
    for labels, value in samples:
        family.add_metric(labels, value)
    return family


def outcome_of(answer: object) -> str:
    """The outcome of a call that was answered, as its label."""
    return answer.code.value if isinstance(answer, Refusal) else OK
