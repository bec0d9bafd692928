"""What a script was shown: the gateway's own record, from which citations and completeness are made.

Only answers that really went to the script are noted, with the hashes they carried. Nothing that a script says gets
in here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

MOST_RANGES: Final = 1000
"""Cited ranges of one script. Answers that would need more are refused to it, so that none goes uncited."""

_MOST_GAPS: Final = 100

Lines = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Citation:
    """Lines of one revision that a script was shown; no lines where the file has none, or is no text."""

    path: str
    hash: str
    start_line: int | None = None
    end_line: int | None = None


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that a script did not see, and why."""

    call: str
    path: str | None
    why: str


@dataclass(slots=True)
class Trail:
    """Grows with every answer that is handed to a script."""

    _seen: dict[tuple[str, str], list[Lines]] = field(default_factory=dict)
    _gaps: dict[Gap, None] = field(default_factory=dict)
    _more_gaps: int = 0

    def has_room(self, answer: dict[str, Any]) -> bool:
        """Whether an answer's ranges could still be cited."""
        return sum(max(1, len(lines)) for lines in self._seen.values()) + len(_ranges(answer)) <= MOST_RANGES

    def note(self, call: str, asked: dict[str, Any], answer: dict[str, Any]) -> None:
        """Record an answer that is handed to the script, and what it left out."""
        for path, digest, lines in _ranges(answer):
            kept = self._seen.setdefault((path, digest), [])
            if lines is not None:
                kept[:] = merged([*kept, lines])
        for why in _left_out(call, answer):
            place = asked.get("path") if call in ("read", "links") else asked.get("folder")
            self.leave_out(call, place if isinstance(place, str) else None, why)

    def leave_out(self, call: str, path: str | None, why: str) -> None:
        """Record that something was not seen. The same gap counts once; beyond a hundred they are only counted."""
        gap = Gap(call, path, why)
        if gap in self._gaps:
            return
        if len(self._gaps) >= _MOST_GAPS:
            self._more_gaps += 1
        else:
            self._gaps[gap] = None

    @property
    def citations(self) -> tuple[Citation, ...]:
        """Everything shown: by path, then hash, then line; ranges that touch are one."""
        rows: list[Citation] = []
        for (path, digest), ranges in sorted(self._seen.items()):
            rows += [Citation(path, digest, start, end) for start, end in ranges] or [Citation(path, digest)]
        return tuple(rows)

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """What was not seen, in the order of the calls."""
        more = (Gap("run_code", None, f"and {self._more_gaps} more"),) if self._more_gaps else ()
        return (*self._gaps, *more)


def merged(ranges: Iterable[Lines]) -> list[Lines]:
    """Line ranges in order, those that overlap or touch made one.

    >>> merged([(4, 6), (1, 3), (9, 9)])
    [(1, 6), (9, 9)]
    """
    found: list[Lines] = []
    for start, end in sorted(ranges):
        if found and start <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def _ranges(answer: dict[str, Any]) -> list[tuple[str, str, Lines | None]]:
    """The ranges that an answer shows: a read's lines, a search's snippets; listings and links show no text."""
    if "hits" in answer:
        return [(hit["path"], hit["source_hash"], (hit["start_line"], hit["end_line"])) for hit in answer["hits"]]
    if "content" not in answer:
        return []
    digest = answer["hash"] or answer["source_hash"]
    if answer["encoding"] != "utf-8" or answer["lines"] == 0:
        return [(answer["path"], digest, None)]
    return [(answer["path"], digest, (answer.get("start_line") or 1, answer.get("end_line") or answer["lines"]))]


def _left_out(call: str, answer: dict[str, Any]) -> Iterable[str]:
    if answer.get("complete") is False:
        yield f"lines {answer.get('start_line')} to {answer.get('end_line')} of {answer.get('lines')} were read"
    if answer.get("more"):
        yield "further matches exist"
    if answer.get("next_cursor") is not None:
        yield "further rows exist: see next_cursor"
    if answer.get("degraded") or any(warning["code"] == "degraded" for warning in answer.get("warnings", ())):
        yield "degraded: the index could not answer"
