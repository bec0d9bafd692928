"""What can be said of a case, and the four ways in which running one can end early.

CaseError
  UnknownWordError     the case uses a word the runner does not know
  BlockedError         a part of the product is not built
  NotCarriedOutError   a step could not be carried out
  UndefinedError       a reference stands for nothing
"""

from __future__ import annotations

from dataclasses import dataclass


class CaseError(Exception):
    """A case ended before its checks could be judged."""


class UnknownWordError(CaseError):
    """The case uses a word the runner does not know; it can never pass."""


class BlockedError(CaseError):
    """The case needs a part that is not built; the text names it."""


class NotCarriedOutError(CaseError):
    """A step, or what comes before the first one, could not be carried out."""


class UndefinedError(CaseError):
    """A reference stands for nothing."""


@dataclass(frozen=True, slots=True)
class Passed:
    """Every check holds."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A check does not hold, or a step could not be carried out."""

    why: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """The case uses a word the runner does not know."""

    what: str


@dataclass(frozen=True, slots=True)
class Blocked:
    """The case needs a part that is not built."""

    what: str


Verdict = Passed | Failed | Unknown | Blocked


def line(case_id: str, verdict: Verdict) -> str:
    """The one line that reports a case.

    >>> line("a", Blocked("tool links"))
    'blocked a (tool links)'
    """
    match verdict:
        case Passed():
            return f"passed {case_id}"
        case Failed(why):
            return f"failed {case_id}: {one_line(why)}"
        case Unknown(what):
            return f"unknown {case_id}: {one_line(what)}"
        case Blocked(what):
            return f"blocked {case_id} ({one_line(what)})"


def closing_line(verdicts: list[Verdict]) -> str:
    """The last line: how many of each, of all.

    >>> closing_line([Passed(), Failed("x")])
    'passed 1, failed 1, unknown 0, blocked 0 of 2'
    """
    counts = [sum(isinstance(verdict, kind) for verdict in verdicts) for kind in (Passed, Failed, Unknown, Blocked)]
    return "passed {}, failed {}, unknown {}, blocked {} of {}".format(*counts, len(verdicts))


def exit_status(verdicts: list[Verdict], *, strict: bool) -> int:
    """0 where nothing failed or was unknown; with `strict` nothing may be blocked either."""
    bad = (Failed, Unknown, Blocked) if strict else (Failed, Unknown)
    return 1 if any(isinstance(verdict, bad) for verdict in verdicts) else 0


def one_line(text: str, limit: int = 2000) -> str:
    """The text without line ends, cut in the middle when it is long.

    >>> one_line("a\\nb")
    'a\\\\nb'
    """
    flat = text.replace("\r", "\\r").replace("\n", "\\n")
    return flat if len(flat) <= limit else f"{flat[: limit // 2]} … {flat[-limit // 2 :]}"


def shown(value: object, limit: int = 300) -> str:
    """A value as it stands in a report: on one line and not too long."""
    return one_line(repr(value), limit)
