"""Whether a check holds: None where it does, else what was expected and what was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import checks_of_answers as answers
from . import checks_of_files as files
from .bench import Bench
from .records import Record
from .scope import Check, Scope
from .verdict import UndefinedError, UnknownWordError, shown

Judgement = Callable[[Check, Bench], str | None]

_JUDGES: Mapping[str, Judgement] = {
    "ok": answers.ok,
    "refused": answers.refused,
    "answered": answers.answered,
    "protocol_error": answers.protocol_error,
    "unknown_tool": answers.unknown_tool,
    "lost": answers.lost,
    "exit_nonzero": answers.exit_nonzero,
    "http": answers.http,
    "field": answers.field,
    "top1": answers.top1,
    "hits_have": answers.hits_have,
    "hits_lack": answers.hits_lack,
    "hits_none": answers.hits_none,
    "within": answers.within,
    "same_reasons": answers.same_reasons,
    "ok_count": answers.ok_count,
    "zero_side_effects": files.zero_side_effects,
    "unchanged": files.unchanged,
    "ledger_delta": files.ledger_delta,
    "ledger_keeps": files.ledger_keeps,
    "bytes": files.exact_bytes,
    "matches": files.matches,
    "absent": files.absent,
    "present": files.present,
    "mode": files.mode,
    "same_tree": files.same_tree,
    "files_lack": files.files_lack,
    "remote_lacks": files.remote_lacks,
    "reranker_saw": files.reranker_saw,
    "logs_lack": files.logs_lack,
    "passed": files.passed,
    "alive": files.alive,
    "memory": files.memory,
}


def judge(check: Check, scope: Scope, record: Record | None = None) -> str | None:
    """Judges one check; a reference that stands for nothing makes it fail, an unknown word makes the case unknown."""
    kind = check["check"]
    try:
        match kind:
            case "either":
                wrong = _either(check, scope, record)
            case "copies":
                wrong = _copies(check, scope)
            case "each":
                wrong = _each(check, scope)
            case _:
                wrong = _one(check, scope, record)
    except UndefinedError as undefined:
        wrong = f"undefined: {undefined}"
    return None if wrong is None else f"{_label(check)}: {wrong}"


def _label(check: Check) -> str:
    names = ("step", "of", "field", "path")
    told = [f"{key} {check[key]}" for key in names if isinstance(check.get(key), str | int)]
    return " ".join([str(check["check"]), *told])


def _one(check: Check, scope: Scope, record: Record | None) -> str | None:
    judgement = _JUDGES.get(check["check"])
    if judgement is None:
        raise UnknownWordError(f"check {check['check']}")
    return judgement(check, Bench(scope, record))


def judge_all(checks: Sequence[Check], scope: Scope, record: Record | None = None) -> str | None:
    """The first of the checks that does not hold, None where all hold."""
    return next((wrong for check in checks if (wrong := judge(check, scope, record)) is not None), None)


def _either(check: Check, scope: Scope, record: Record | None) -> str | None:
    wrongs = []
    for checks in check["lists"]:
        wrong = judge_all(checks, scope, record)
        if wrong is None:
            return None
        wrongs.append(wrong)
    return f"no list holds: {' | '.join(wrongs)}"


def _copies(check: Check, scope: Scope) -> str | None:
    record, which = scope.record_at(check["step"]), check["which"]
    wanted: Mapping[str, Callable[[Record], bool]] = {
        "ok": lambda part: part.ok,
        "refused": lambda part: part.refused,
        "any": lambda _: True,
    }
    picked = [(number, part) for number, part in enumerate(record.parts) if wanted[which](part)]
    least = check.get("min", 1)
    if len(picked) < least:
        others = [part.fault or "ok" for part in record.parts if not wanted[which](part)][:2]
        return f"expected at least {least} records that are {which}, found {len(picked)}; others: {shown(others)}"
    for number, part in picked:
        wrong = judge_all(check["checks"], scope, part)
        if wrong is not None:
            return f"record {number}: {wrong}"
    return None


def _each(check: Check, scope: Scope) -> str | None:
    judged: Sequence[tuple[str, Any]] = scope.variants_judged.get(id(check), [])
    if not judged:
        return "no variant was picked"
    wrongs = [f"variant {label}: {wrong}" for label, wrong in judged if wrong is not None]
    more = f" (and {len(wrongs) - 1} more variants)" if len(wrongs) > 1 else ""
    return f"{wrongs[0]}{more}" if wrongs else None
