"""Carries steps out and gives their records."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import calls, outside, server
from .process import Ended
from .raw import http_request
from .records import Record, composite
from .schema import misfit
from .scope import Key, Scope
from .values import Sight, as_bytes
from .variants import run_variants
from .verdict import BlockedError, CaseError, NotCarriedOutError, UndefinedError, UnknownWordError
from .vocabulary import TOOLS
from .watch import Alive, Memory
from .wire import LateError, exchange


def run_steps(steps: Sequence[Any], scope: Scope) -> None:
    """Carries out the steps of a scope, numbered from 1; what stops one is told with its number."""
    for number, step in enumerate(steps, 1):
        run_step(step, (number,), scope.sight, scope)


def run_step(held: Any, key: Key, sight: Sight, scope: Scope) -> Record:
    """Carries out one step, with the looks and watches its checks ask for around it."""
    try:
        step = sight.step(held)
        scope.look("before", key, sight)
        stops = _watch(key, sight, scope)
        try:
            record = _carry_out(step, key, sight, scope)
        finally:
            for stop in stops:
                stop()
        scope.remember(key, record)
        scope.look("after", key, sight)
        for trouble in scope.world.faults.troubles():
            raise NotCarriedOutError(f"the change of a fault: {trouble}")
    except (NotCarriedOutError, UndefinedError) as wrong:
        if str(wrong).startswith("step "):
            raise
        op = held.get("op") if isinstance(held, Mapping) else held
        raise NotCarriedOutError(f"step {'.'.join(map(str, key))} ({op}): {wrong}") from wrong
    return record


def _watch(key: Key, sight: Sight, scope: Scope) -> list[Callable[[], None]]:
    stops: list[Callable[[], None]] = []
    for watch in scope.watches_of(key):
        path = str(sight.value(watch.path)) if watch.path else None
        seen = Alive(scope.world, path) if watch.kind == "alive" else Memory(scope.world)

        def stop(seen: Alive | Memory = seen, watch: Any = watch) -> None:
            scope.watched[watch] = seen.finish()

        stops.append(stop)
    return stops


def _carry_out(step: Mapping[str, Any], key: Key, sight: Sight, scope: Scope) -> Record:
    match step["op"]:
        case "tool":
            return _tool(step, key, sight, scope)
        case "http":
            return _http(step, key, sight, scope)
        case "cli":
            return _cli(step, sight, scope)
        case "scan":
            return _command_record("scan", scope.world.command(["index", "scan", "--json"]))
        case "server":
            return _server(step, sight, scope)
        case "parallel":
            return _parallel(step, key, sight, scope)
        case "seq":
            return _sequence(step, key, sight, scope)
        case "repeat":
            return _repeat(step, key, sight, scope)
        case "variants":
            return run_variants(step, key, sight, scope, run_steps)
        case op:
            began = time.monotonic()
            _change(op, step, sight, scope)
            return Record(op, {}, seconds=time.monotonic() - began)


def _change(op: str, step: Mapping[str, Any], sight: Sight, scope: Scope) -> None:
    places = scope.world.places
    match op:
        case "outside":
            outside.make(outside.plain(step, sight), places.remote, places.locks)
        case "fault":
            scope.world.faults.arm(step, sight)
        case "heal":
            scope.world.faults.heal(sight.value(step["point"]) if "point" in step else None)
        case "sleep":
            time.sleep(float(sight.value(step["s"])))
        case strange:
            raise UnknownWordError(f"op {strange}")


def _tool(step: Mapping[str, Any], key: Key, sight: Sight, scope: Scope) -> Record:
    name, args = sight.value(step["name"]), sight.value(step["args"])
    client = str(sight.value(step["as"])) if "as" in step else scope.world.first_client()
    door = scope.world.door(client)
    cut = sight.value(step.get("cut"))
    if cut is None:
        record = calls.call(door, name, args)
    else:
        record = calls.cut_call(door, name, args, cut["how"], float(cut.get("after_s", 0)))
    meant = name in TOOLS or not step.get("odd")
    if meant and calls.speaks_of_unknown_tool(record) and not scope.expects_unknown_tool(key):
        raise BlockedError(f"tool {name}")
    if name == "search":
        _refuse_unbuilt_reranker(record, scope)
    return judged_by_schema(record, client, name, scope)


def _refuse_unbuilt_reranker(record: Record, scope: Scope) -> None:
    """With the stub behind it and nothing disturbed, a search of several hits never says `off`."""
    world, data = scope.world, record.data
    behind = world.server is not None and world.server.stub and not world.faults.armed_at("reranker.")
    chosen = any("rerank" in str(key) for key in world.given.get("config", {}))
    if not behind or chosen or not isinstance(data, dict) or data.get("degraded") is not False:
        return
    if data.get("reranked") == "off" and len(data.get("hits", [])) >= 2:
        raise BlockedError("reranker")


def judged_by_schema(record: Record, client: str, name: str, scope: Scope) -> Record:
    """The record, not ok where its answer does not fit the tool's output schema."""
    if record.fault:
        return record
    schema = scope.world.output_schema(client, name)
    wrong = "tools/list shows no output schema" if schema is None else misfit(record.data, schema)
    return dataclasses.replace(record, fault=f"output schema: {wrong}") if wrong else record


def _http(step: Mapping[str, Any], key: Key, sight: Sight, scope: Scope) -> Record:
    world = scope.world
    request = http_request(step, sight, world.port)
    tls = world.server is not None and world.server.tls
    began = time.monotonic()
    try:
        response = exchange(world.port, request, tls=tls)
    except LateError as late:
        raise NotCarriedOutError(f"a request took more than 120 s: {late}") from late
    sent = request.body.decode("utf-8", "replace") + request.target
    record = calls.http_record(response, time.monotonic() - began, sent)
    body = step.get("body")
    tool = sight.value(body["tool"]) if isinstance(body, Mapping) and "tool" in body else None
    said = record.data.get("json") if isinstance(record.data, dict) else None
    error = said.get("error") if isinstance(said, dict) else None
    unknown = isinstance(error, dict) and "Unknown tool" in str(error.get("message"))
    if tool in TOOLS and unknown and not scope.expects_unknown_tool(key):
        raise BlockedError(f"tool {tool}")
    return record


def _cli(step: Mapping[str, Any], sight: Sight, scope: Scope) -> Record:
    args = [_argument(value) for value in sight.value(step["args"])]
    stdin = as_bytes(sight.value(step["stdin"])) if step.get("stdin") is not None else None
    env = sight.value(step.get("env", {}))
    return _command_record("cli", scope.world.command(args, stdin, env))


def _argument(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return value if isinstance(value, str) else json.dumps(value)


def _command_record(op: str, ended: Ended) -> Record:
    stdout, stderr = (said.decode("utf-8", "replace") for said in (ended.stdout, ended.stderr))
    data: dict[str, Any] = {"exit": ended.exit, "output": stdout + stderr, "stdout": stdout, "stderr": stderr}
    with contextlib.suppress(ValueError):
        data["json"] = json.loads(stdout)
    fault = f"exit {ended.exit}: {stderr[-400:] or stdout[-400:]}" if ended.exit != 0 else ""
    return Record(op, data, stdout + stderr, len(ended.output), ended.seconds, fault)


def _server(step: Mapping[str, Any], sight: Sight, scope: Scope) -> Record:
    world, second = scope.world, bool(step.get("second"))
    do = sight.value(step["do"])
    if do == "start":
        at = {name: sight.path(step[name]) for name in ("vault", "home", "cache") if name in step}
        return world.start(**at, second=second, stub=sight.value(step.get("reranker")) != "off")
    if do not in ("stop", "kill"):
        raise UnknownWordError(f"server {do}")
    one = world.seconds[-1] if second and world.seconds else world.server
    if one is None or (second and not world.seconds):
        raise NotCarriedOutError(f"server {do}: none was started")
    return server.stop(one) if do == "stop" else server.kill(one)


def _sequence(step: Mapping[str, Any], key: Key, sight: Sight, scope: Scope) -> Record:
    began = time.monotonic()
    records = [run_step(inner, (*key, k), sight, scope) for k, inner in enumerate(step["steps"])]
    return composite("seq", records, time.monotonic() - began)


def _repeat(step: Mapping[str, Any], key: Key, sight: Sight, scope: Scope) -> Record:
    began = time.monotonic()
    records = []
    for i in range(int(sight.value(step["n"]))):
        if i and step.get("pause_s"):
            time.sleep(float(sight.value(step["pause_s"])))
        records.append(run_step(step["step"], (*key, i), sight.counting(i=i), scope))
    return composite("repeat", records, time.monotonic() - began)


def _parallel(step: Mapping[str, Any], key: Key, sight: Sight, scope: Scope) -> Record:
    inner = [step["step"]] if "step" in step else step["steps"]
    copies = int(sight.value(step.get("n", 1)))
    work = [(one, sight.counting(i=i)) for i in range(copies) for one in inner]
    barrier = threading.Barrier(len(work))
    records: list[Record | None] = [None] * len(work)
    wrong: list[CaseError] = []

    def do(number: int) -> None:
        one, seeing = work[number]
        barrier.wait()
        try:
            records[number] = run_step(one, (*key, number), seeing, scope)
        except CaseError as stopped:
            wrong.append(stopped)

    began = time.monotonic()
    threads = [threading.Thread(target=do, args=(number,)) for number in range(len(work))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for kind in (UnknownWordError, BlockedError, CaseError):
        for stopped in wrong:
            if isinstance(stopped, kind):
                raise stopped
    done = [record for record in records if record is not None]
    if len(done) != len(work):
        raise RuntimeError("a parallel step ended without a record")
    return composite("parallel", done, time.monotonic() - began)
