"""The closed grammar of a case: refuses every word that stands in no table, before anything runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import vocabulary as words
from .verdict import UnknownWordError, shown

_STEP_NUMBER = re.compile(r"\d+(\.\d+)*")


def is_reference(value: object) -> bool:
    """Whether the value is a reference, whose meaning is known only when the case runs."""
    return isinstance(value, str) and value.startswith("@")


def check_case(case: Mapping[str, Any]) -> None:
    """Refuses a case with an unknown word anywhere in it."""
    _keys(case, words.CASE, "case")
    check_given(_object(case["given"], "given"))
    for number, step in enumerate(_list(case["when"], "when"), 1):
        check_step(step, f"step {number}", ())
    _checks(case["then"], "check", inside_copies=False)


def check_given(given: Mapping[str, Any]) -> None:
    """Refuses unknown keys of the state before the first step."""
    _words(given, words.GIVEN, "given")
    for key, keys in (
        ("files", words.FILE),
        ("outside_vault", words.OUTSIDE_FILE),
        ("symlinks", words.SYMLINK),
        ("special", words.SPECIAL),
        ("generated", words.GENERATED),
        ("clients", words.CLIENT),
    ):
        for entry in _list(given.get(key, []), f"given.{key}"):
            _keys(entry, keys, f"given.{key}")
            _content(entry, f"given.{key}")
    for entry in given.get("files", []):
        if ("path" in entry) == ("name_b64" in entry):
            raise UnknownWordError("given.files: an entry needs either path or name_b64")
    for entry in given.get("special", []):
        _word(entry["kind"], words.SPECIAL_KINDS, "given.special kind")
    if "remote" in given:
        _keys(given["remote"], words.REMOTE, "given.remote")
    if given.get("reranker", "stub") != "stub":
        raise UnknownWordError(f"given.reranker {shown(given['reranker'])}")
    for fault in _list(given.get("faults", []), "given.faults"):
        check_step({"op": "fault", **_object(fault, "given.faults")}, "given.faults", ())


def check_step(step: Any, where: str, variants: Sequence[Mapping[str, Any]]) -> None:
    """Refuses a step with an unknown op, key or kind; `@x` is looked up in every variant that has x."""
    if is_reference(step):
        held = [variant[step[1:]] for variant in variants if step[1:] in variant]
        if not held:
            raise UnknownWordError(f"{where}: no variant holds the step {step}")
        for inner in held:
            check_step(inner, f"{where} {step}", variants)
        return
    op = _object(step, where).get("op")
    if op not in words.STEPS:
        raise UnknownWordError(f"{where}: op {shown(op)}")
    body = {key: value for key, value in step.items() if key != "op"}
    _keys(body, words.STEPS[op], f"{where} {op}")
    _step_body(op, body, where, variants)


def _step_body(op: str, body: Mapping[str, Any], where: str, variants: Sequence[Mapping[str, Any]]) -> None:
    match op:
        case "tool":
            _tool(body, where)
        case "http":
            _http_body(body.get("body"), where)
        case "outside":
            check_outside(body, where)
        case "server":
            _word(body["do"], words.SERVER_DOINGS, f"{where} server do")
            if body.get("reranker", "off") not in ("off", "stub"):
                raise UnknownWordError(f"{where}: reranker {shown(body['reranker'])}")
        case "fault":
            _word(body["point"], words.POINTS, f"{where} fault point")
            _word(body["kind"], words.KINDS, f"{where} fault kind")
            for inner in body.get("outside", []):
                check_step(inner, f"{where} fault", variants)
        case "heal":
            _word(body.get("point", "@"), words.POINTS, f"{where} heal point")
        case "parallel":
            if ("step" in body) == ("steps" in body):
                raise UnknownWordError(f"{where}: parallel needs either step or steps")
            _steps([body["step"]] if "step" in body else body["steps"], where, variants)
        case "seq":
            _steps(body["steps"], where, variants)
        case "repeat":
            check_step(body["step"], where, variants)
        case "variants":
            _variants(body, where, variants)
        case _:
            return


def _steps(steps: Any, where: str, variants: Sequence[Mapping[str, Any]]) -> None:
    for number, step in enumerate(_list(steps, where)):
        check_step(step, f"{where}.{number}", variants)


def _variants(body: Mapping[str, Any], where: str, outer: Sequence[Mapping[str, Any]]) -> None:
    variants = [_object(variant, f"{where} variant") for variant in _list(body["variants"], where)]
    for variant in variants:
        if "given" in variant:
            check_given(variant["given"])
    for number, step in enumerate(_list(body["steps"], where), 1):
        check_step(step, f"{where}, inner step {number}", [*variants, *outer])


def _tool(body: Mapping[str, Any], where: str) -> None:
    name = body["name"]
    if not is_reference(name) and not body.get("odd") and name not in words.TOOLS:
        raise UnknownWordError(f"{where}: tool {shown(name)}, not said to be odd")
    if "cut" in body and not is_reference(body["cut"]):
        _keys(body["cut"], words.CUT, f"{where} cut")
        _word(body["cut"]["how"], words.CUTS, f"{where} cut how")


def _http_body(body: Any, where: str) -> None:
    if body is None or is_reference(body):
        return
    _words(_object(body, f"{where} body"), words.BODY, f"{where} body")
    if sum(key in body for key in ("rpc", "tool", "text", "fill")) != 1:
        raise UnknownWordError(f"{where}: a body is one of rpc, tool, text, fill")


def check_outside(body: Mapping[str, Any], where: str) -> None:
    """Refuses an outside change that is unknown or has keys of another one."""
    do = body["do"]
    if is_reference(do):
        return
    if do not in words.OUTSIDE:
        raise UnknownWordError(f"{where}: outside {shown(do)}")
    rest = {key: value for key, value in body.items() if key not in ("do", "op", "note")}
    _keys(rest, words.OUTSIDE[do], f"{where} outside {do}")
    if do == "write" and sum(key in rest for key in words.CONTENTS) != 1:
        raise UnknownWordError(f"{where}: outside write needs one content")
    if do == "patch" and ("zeros" in rest) == ("text" in rest):
        raise UnknownWordError(f"{where}: outside patch needs either zeros or text")
    if do == "remote_edit":
        _word(rest["what"], words.REMOTE_EDITS, f"{where} remote_edit")
    _content(rest, where)


def _content(entry: Mapping[str, Any], where: str) -> None:
    for key, keys in (("repeat", words.REPEAT), ("noise", words.NOISE)):
        if key in entry and not is_reference(entry[key]):
            _keys(entry[key], keys, f"{where} {key}")


def _checks(checks: Any, where: str, *, inside_copies: bool) -> None:
    for number, check in enumerate(_list(checks, where), 1):
        _check(_object(check, where), f"{where} {number}", inside_copies=inside_copies)


def _check(check: Mapping[str, Any], where: str, *, inside_copies: bool) -> None:
    kind = check.get("check")
    if kind not in words.CHECKS:
        raise UnknownWordError(f"{where}: check {shown(kind)}")
    body = {key: value for key, value in check.items() if key != "check"}
    keys = words.CHECKS[kind]
    optional = keys.may | {"step"} if inside_copies and "step" in keys.must else keys.may
    _keys(body, words.Keys(keys.must - optional, optional), f"{where} {kind}")
    numbered = ("step", "since", "after", "as_after", *(("of",) if kind == "each" else ()))
    for number in [body[key] for key in numbered if key in body]:
        if not _STEP_NUMBER.fullmatch(str(number)):
            raise UnknownWordError(f"{where}: step {shown(number)}")
    match kind:
        case "field":
            _word(body["op"], words.OPS, f"{where} op")
            if body["op"] not in words.OPS_WITHOUT_VALUE and "value" not in body:
                raise UnknownWordError(f"{where}: op {body['op']} needs a value")
        case "copies":
            _word(body["which"], words.COPY_KINDS, f"{where} which")
            _checks(body["checks"], where, inside_copies=True)
        case "each":
            _checks(body["checks"], where, inside_copies=False)
        case "either":
            for checks in _list(body["lists"], where):
                _checks(checks, where, inside_copies=inside_copies)
        case "present":
            _word(body.get("kind", "@"), words.PRESENT_KINDS, f"{where} kind")
        case "bytes":
            if not any(key in body for key in ("sha256", "of", "as_after")):
                raise UnknownWordError(f"{where}: bytes needs sha256, of or as_after")
        case "hits_have" | "hits_lack":
            if "path" not in body and "paths" not in body:
                raise UnknownWordError(f"{where}: {kind} needs path or paths")
        case _:
            return


def _object(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UnknownWordError(f"{where}: an object expected, found {shown(value)}")
    return value


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise UnknownWordError(f"{where}: a list expected, found {shown(value)}")
    return value


def _words(found: Iterable[str], allowed: frozenset[str], where: str) -> None:
    strange = sorted(set(found) - allowed)
    if strange:
        raise UnknownWordError(f"{where}: {', '.join(strange)}")


def _keys(entry: Any, keys: words.Keys, where: str) -> None:
    _words(_object(entry, where), keys.must | keys.may, where)
    lacking = sorted(keys.must - set(entry))
    if lacking:
        raise UnknownWordError(f"{where}: lacks {', '.join(lacking)}")


def _word(value: Any, allowed: frozenset[str], where: str) -> None:
    if not is_reference(value) and value not in allowed:
        raise UnknownWordError(f"{where}: {shown(value)}")
