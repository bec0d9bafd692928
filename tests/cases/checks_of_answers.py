"""Checks that look at what a step answered."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .bench import Bench
from .ops import OPS_ON_NOTHING, holds_op, speaks_of_paths
from .records import NOTHING, Record, find, keys_of
from .verdict import UnknownWordError, shown
from .vocabulary import CODES, OPS

_SERVER_ENDS_S = 30.0
Check = Mapping[str, Any]


def ok(check: Check, at: Bench) -> str | None:
    """The step went well: answer, schema, status, exit or the whole of a composite."""
    record = at.of(check)
    return f"expected ok, found {shown(record.fault, 500)}" if record.fault else None


def refused(check: Check, at: Bench) -> str | None:
    """A well-formed refusal with one of the codes, which gives nothing of the machine away and names what it must."""
    record = at.of(check)
    codes = at.values(check["codes"])
    wrong = _wrong_refusal(record, codes) or _given_away(record, at)
    if wrong is not None:
        return wrong
    error = record.data["error"]
    lacking = _not_named(at, check.get("names", []), error)
    if lacking:
        return f"expected the error to name {shown(lacking)}, found {shown(error, 500)}"
    if "names_any" in check:
        any_of = at.values(check["names_any"])
        if len(_not_named(at, any_of, error)) == len(any_of):
            return f"expected the error to name one of {shown(any_of)}, found {shown(error, 500)}"
    return None


def _wrong_refusal(record: Record, codes: Sequence[Any]) -> str | None:
    error = record.data.get("error") if isinstance(record.data, Mapping) else None
    if not record.refused or not isinstance(error, Mapping):
        return f"expected a refusal with {codes}, found {shown(record.fault or record.data, 500)}"
    if error.get("code") not in codes:
        return f"expected code in {codes}, found {error.get('code')}: {shown(error.get('message'))}"
    if not isinstance(error.get("message"), str) or not error["message"].strip():
        return f"expected a message, found {shown(error.get('message'))}"
    if error.get("changed") is not False:
        return f"expected changed false, found {shown(error.get('changed'))}"
    return None if record.status == 200 else f"expected HTTP 200, found {record.status}"


def _given_away(record: Record, at: Bench) -> str | None:
    whole = "\n".join([record.text, *_strings(record.data)])
    if "Traceback" in whole:
        return "the answer holds a Traceback"
    for root in sorted(at.scope.world.roots):
        if root in whole and root not in record.sent:
            return f"the answer holds the path {root}"
    return None


def _not_named(at: Bench, names: Any, value: Any) -> list[Any]:
    text = _folded("\n".join(_strings(value)))
    return [name for name in at.values(names) if name is None or _folded(str(name)) not in text]


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _strings(value: Any) -> Iterator[str]:
    """All that a value says, keys and numbers included, without the escapes of JSON."""
    match value:
        case Mapping():
            for key, inner in value.items():
                yield str(key)
                yield from _strings(inner)
        case list():
            for inner in value:
                yield from _strings(inner)
        case bool():
            yield "true" if value else "false"
        case None:
            return
        case _:
            yield str(value)


def answered(check: Check, at: Bench) -> str | None:
    """Ok, or a refusal with one of the codes."""
    if at.of(check).ok:
        return None
    return refused({"codes": sorted(CODES), **check}, at)


def _protocol_message(record: Record) -> str | None:
    error = record.data.get("protocol_error") if isinstance(record.data, Mapping) else None
    body = record.data.get("json") if record.op == "http" and isinstance(record.data, Mapping) else None
    if error is None and isinstance(body, Mapping):
        error = body.get("error")
    return str(error.get("message")) if isinstance(error, Mapping) else None


def protocol_error(check: Check, at: Bench) -> str | None:
    """A JSON-RPC error, with HTTP 200 or 400."""
    record = at.of(check)
    if _protocol_message(record) is None or record.status not in (200, 400):
        return f"expected a JSON-RPC error, found HTTP {record.status} {shown(record.data)}"
    return None


def unknown_tool(check: Check, at: Bench) -> str | None:
    """A JSON-RPC error whose message holds `Unknown tool`."""
    record = at.of(check)
    message = _protocol_message(record)
    if message is None or "Unknown tool" not in message:
        return f"expected the JSON-RPC error `Unknown tool`, found {shown(record.data)}"
    return None


def lost(check: Check, at: Bench) -> str | None:
    """The connection ended without an answer."""
    record = at.of(check)
    return None if record.lost else f"expected no answer, found {shown(record.data)}"


def exit_nonzero(check: Check, at: Bench) -> str | None:
    """A command or a starting server ended by itself, not with 0, without Traceback, naming all of names."""
    record = at.of(check)
    data = record.data if isinstance(record.data, Mapping) else {}
    status = data.get("exit")
    if record.op == "server" and (data.get("running") or record.seconds > _SERVER_ENDS_S):
        return f"expected the server to end within 30 s, found it {'running' if data.get('running') else 'late'}"
    if not isinstance(status, int) or status == 0:
        return f"expected an exit status not 0, found {status}"
    output = str(data.get("output"))
    if "Traceback" in output:
        return f"the output holds a Traceback: {shown(output[-400:], 500)}"
    lacking = _not_named(at, check.get("names", []), output)
    return f"expected the output to name {shown(lacking)}, found {shown(output, 500)}" if lacking else None


def http(check: Check, at: Bench) -> str | None:
    """The status is the one asked for or one of a list; the header is there and holds what it must."""
    record = at.of(check)
    wanted = at.values(check["status"])
    if record.status not in wanted:
        return f"expected HTTP {wanted}, found {record.status} {shown(record.text or record.data)}"
    text = record.text
    if "header" in check:
        headers = record.data.get("headers", {}) if isinstance(record.data, Mapping) else {}
        name = str(at.value(check["header"]))
        if name.lower() not in headers:
            return f"expected a header {name}, found {sorted(headers)}"
        text = headers[name.lower()]
    for part in at.values(check.get("has", [])):
        if str(part) not in text:
            return f"expected {part!r} in {shown(text)}"
    for part in at.values(check.get("lacks", [])):
        if str(part) in text:
            return f"expected no {part!r} in {shown(text)}"
    return None


def field(check: Check, at: Bench) -> str | None:
    """An op between a field of the record and a value."""
    record = at.of(check)
    keys = keys_of(at.value(check["field"]))
    found = find(record, keys)
    op = str(at.value(check["op"]))
    if op not in OPS:
        raise UnknownWordError(f"op {op}")
    value = at.value(check.get("value")) if op not in OPS_ON_NOTHING else None
    if holds_op(op, found, value, at.value(check.get("n")), is_path=speaks_of_paths(keys)):
        return None
    times = f" {check['n']} times" if "n" in check else ""
    seen = "nothing there" if found is NOTHING else shown(found)
    hint = f" ({shown(record.fault)})" if record.fault and found is NOTHING else ""
    return f"expected {op} {shown(value)}{times}, found {seen}{hint}"


def _hits(record: Record) -> list[str] | None:
    hits = record.data.get("hits") if record.ok and isinstance(record.data, Mapping) else None
    if not isinstance(hits, list):
        return None
    return [_composed(str(hit.get("path"))) if isinstance(hit, Mapping) else "" for hit in hits]


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _paths(check: Check, at: Bench) -> list[str]:
    paths = [path for key in ("path", "paths") if key in check for path in at.values(check[key])]
    return [_composed(str(path)) for path in paths]


def top1(check: Check, at: Bench) -> str | None:
    """The search is ok and its first hit is the path."""
    hits, wanted = _hits(at.of(check)), _paths(check, at)
    if hits is None:
        return f"expected an ok search, found {shown(at.of(check).fault or at.of(check).data)}"
    return None if hits[:1] == wanted else f"expected {wanted[0]} first, found {shown(hits)}"


def hits_have(check: Check, at: Bench) -> str | None:
    """The search is ok and each path is among the hits."""
    hits = _hits(at.of(check))
    if hits is None:
        return f"expected an ok search, found {shown(at.of(check).fault or at.of(check).data)}"
    lacking = [path for path in _paths(check, at) if path not in hits]
    return f"expected {lacking} among the hits, found {shown(hits)}" if lacking else None


def hits_lack(check: Check, at: Bench) -> str | None:
    """The search is ok and none of the paths is among the hits."""
    hits = _hits(at.of(check))
    if hits is None:
        return f"expected an ok search, found {shown(at.of(check).fault or at.of(check).data)}"
    there = [path for path in _paths(check, at) if path in hits]
    return f"expected none of {there} among the hits, found {shown(hits)}" if there else None


def hits_none(check: Check, at: Bench) -> str | None:
    """The search is ok and has no hits."""
    hits = _hits(at.of(check))
    if hits is None:
        return f"expected an ok search, found {shown(at.of(check).fault or at.of(check).data)}"
    return f"expected no hits, found {shown(hits)}" if hits else None


def within(check: Check, at: Bench) -> str | None:
    """The step, or each run of a repeat, took at most so long."""
    record, limit = at.of(check), float(at.value(check["s"]))
    runs = record.parts if record.op == "repeat" else (record,)
    slowest = max((run.seconds for run in runs), default=0.0)
    return None if slowest <= limit else f"expected at most {limit:g} s, took {slowest:.2f} s"


def same_reasons(check: Check, at: Bench) -> str | None:
    """All steps are ok, or all are refused with the same code and message."""
    records = [at.scope.record_at(number) for number in check["steps"]]
    if all(record.ok for record in records):
        return None
    reasons = [_reason(record) for record in records]
    if None not in reasons and len(set(reasons)) == 1:
        return None
    found = [reason or record.fault or "ok" for reason, record in zip(reasons, records, strict=True)]
    return f"expected the same reasons, found {shown(found, 600)}"


def _reason(record: Record) -> tuple[str, str] | None:
    error = record.data.get("error") if record.refused and isinstance(record.data, Mapping) else None
    return (str(error.get("code")), str(error.get("message"))) if isinstance(error, Mapping) else None


def ok_count(check: Check, at: Bench) -> str | None:
    """Exactly so many records of the composite step are ok."""
    record, wanted = at.of(check), at.value(check["n"])
    found = sum(part.ok for part in record.parts)
    others = [part.fault for part in record.parts if part.fault][:2]
    return None if found == wanted else f"expected {wanted} ok, found {found} of {len(record.parts)}; {shown(others)}"
