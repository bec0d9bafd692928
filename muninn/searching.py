"""Search: a question in plain words, answered by notes as they stand in the vault at this moment.

The index only proposes. Every proposed note is read again; its text, title and hash in the answer belong together.
Rights are applied before anything is counted. Where the index cannot answer, a scan of the files does, and says so.
"""

from __future__ import annotations

import datetime
import json
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from index import Candidate, Filters, Index, Look, Walk, fallback, hybrid
from index.asking import MOST_COUNTED
from index.confidence import Confidence, confidence
from index.fields import is_retired
from index.guessing import Guess
from index.models import NO_MODELS, Models
from index.passages import Finder
from index.question import MOST_CHARACTERS, MOST_WORDS, Question, idf
from index.rerank import Reranked
from index.semantic import Near
from index.weighing import WEIGHED, Weighed, ordered, see, snippet_of
from muninn import explaining
from muninn.model.content import BadPath, NotePath
from muninn.model.errors import IndexBrokenError
from muninn.model.hits import Found, Hit
from muninn.model.refusal import Code, Refusal, Warn
from muninn.model.rights import Rights

MOST_HITS: Final = 100
_MOST_TAGS: Final = 64
_MOST_BYTES: Final = 17_500
"""Of the 32 KiB of an answer: it goes over the wire twice, as an object and as its text for older clients."""
_LEAST_SNIPPET: Final = 60
_FRAME_BYTES: Final = 280
"""A hit's keys, hash and numbers."""
_WITH_MEANING: Final = 100
"""How many notes are fetched by their words where others come by their meaning, so that those have a score, too."""
_MOST_BARRED: Final = 3
_SCAN_SCALE: Final = 2.5
"""BM25 over one form of each word and without columns gives so much less than the index does (measured)."""
_NO_VECTOR: Final = "the question's meaning was not there in time, so it was answered by words alone"


@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments of ``search``, their types already checked."""

    query: str
    limit: int = 10
    folder: str | None = None
    type: str | None = None
    status: str | None = None
    tags: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    explain: bool = False


def search(
    index: Index, look: Look, walk: Walk | None, rights: Rights, asked: Asked, models: Models = NO_MODELS
) -> Found | Refusal:
    """The notes that answer a question best, or a refusal that names the argument at fault.

    ``models`` may add notes that are near by meaning, and order the best where words hardly tell them apart. Raises
    VaultUnavailableError where the vault is not there. A broken index is no error but to who gives no ``walk``, since
    he has no time to read every note: that raises IndexBrokenError.
    """
    filters = _filters(index, asked)
    if isinstance(filters, Refusal):
        return filters
    query = asked.query[:MOST_CHARACTERS]
    words, names = explaining.split(query) if asked.explain else (query, ())
    question = index.read(words)
    if not question.words:
        note = "the query holds no word to look for"
        return Found((), "bm25", "off", False, "none", False, index.age_s(), note)
    by_meaning = models.semantic if models.semantic is not None and models.semantic.ready else None
    begun = by_meaning.begin(words) if by_meaning is not None else None
    want = max(asked.limit, WEIGHED, _WITH_MEANING if by_meaning is not None else 0) + 5
    try:
        pool = _from_index(index, question, filters, rights, want)
        if by_meaning is not None:
            paths = [row.path for row in pool.rows]
            near = by_meaning.near(begun, index, filters, rights.read, rights.sees, paths)
            pool = replace(pool, near=near) if near is not None else replace(pool, notes=(*pool.notes, _NO_VECTOR))
    except IndexBrokenError:
        if walk is None:
            raise
        pool = _from_files(index, walk, look, question, filters, rights)
        index.mend(walk, look)
    asking = _Asking(index, look, question, filters, rights, asked, words)
    found = _answer(asking, pool, models)
    return replace(found, explain=_explained(asking, found, names)) if asked.explain else found


def _filters(index: Index, asked: Asked) -> Filters | Refusal:
    if not 1 <= asked.limit <= MOST_HITS:
        return _refuse(f"limit: expected 1 to {MOST_HITS}, found {asked.limit}")
    for name, day in (("since", asked.since), ("until", asked.until)):
        if day is not None and not _is_day(day):
            return _refuse(f"{name}: expected a date as YYYY-MM-DD, found {day[:40]!r}")
    tags = tuple(dict.fromkeys(tag.lstrip("#") for tag in asked.tags))
    if len(tags) > _MOST_TAGS:
        return _refuse(f"tags: expected at most {_MOST_TAGS}, found {len(tags)}")
    folder = ""
    if asked.folder is not None and asked.folder.strip("/"):
        parsed = NotePath.parse(asked.folder.removesuffix("/"))
        if isinstance(parsed, BadPath):
            return _refuse(f"folder: expected a folder of the vault, found {asked.folder[:80]!r}: {parsed.why}")
        folder = parsed
    return Filters(
        folder=folder,
        type=asked.type or None,
        status=asked.status or None,
        tags=tags,
        since=asked.since,
        until=asked.until,
        with_retired=is_retired(asked.status, index.settings),
    )


def _refuse(message: str) -> Refusal:
    return Refusal(Code.INVALID_ARGUMENTS, message)


def _is_day(text: str) -> bool:
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


# --- candidates ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Pool:
    """What was proposed, and what is known of the question's words in the vault."""

    rows: tuple[Candidate, ...]
    meanings: dict[str, int]
    weights: tuple[float, ...]
    more: bool
    retired: int
    notes: tuple[str, ...] = ()
    degraded: bool = False
    near: Near | None = None
    """What is near by meaning; None where words answer alone."""
    guessed: dict[int, Guess] = field(default_factory=dict)
    unknown: float | None = None
    """The weight of a word that stands in no note; None where the weights come from visible notes alone."""
    barred: tuple[Candidate, ...] = ()
    """Notes that the question names and that the filters leave out."""


@dataclass(frozen=True, slots=True)
class _Asking:
    """One question on its way: who asks what of which vault. ``words`` is what is searched for."""

    index: Index
    look: Look
    question: Question
    filters: Filters
    rights: Rights
    asked: Asked
    words: str


def _from_index(index: Index, question: Question, filters: Filters, rights: Rights, want: int) -> _Pool:
    answers = index.ask(
        question, filters, rights.sees, want, private=rights.sees_private, everything=rights.sees_everything
    )
    every = (row for answer in answers for row in answer.rows)
    rows = sorted(every, key=lambda row: (not row.named, -row.score, row.path))
    meanings: dict[str, int] = {}
    guessed: dict[int, Guess] = {}
    for answer in answers:
        meanings |= answer.plan.meanings
        guessed |= answer.plan.guessed
    plans = [answer.plan for answer in answers]
    largest = max(answers, key=lambda answer: answer.notes)
    notes: tuple[str, ...] = ()
    if any(plan.too_common for plan in plans):
        notes = (
            "its words stand in so many notes that titles, names and headings were searched first, and of the rest"
            " only the newest notes",
        )
    elif question.common:
        notes = ("it holds only very common words, so only titles, names and headings were searched",)
    return _Pool(
        rows=tuple(rows[:want]),
        meanings=meanings,
        weights=largest.plan.weights,
        more=len(rows) > want or any(answer.more for answer in answers),
        retired=sum(answer.retired for answer in answers),
        notes=notes,
        guessed=guessed,
        unknown=idf(largest.notes, 0),
        barred=tuple(row for answer in answers for row in answer.barred),
    )


def _from_files(index: Index, walk: Walk, look: Look, question: Question, filters: Filters, rights: Rights) -> _Pool:
    want = MOST_HITS + 5
    found = fallback.scan(walk, look, question, filters, rights.sees, index.settings, index.lexicon, want + 1)
    notes = () if found.whole else ("the scan of the files was cut for time: not every note was looked at",)
    more = len(found.rows) > want or not found.whole
    return _Pool(found.rows[:want], found.meanings, found.weights, more, found.retired, notes, degraded=True)


# --- hits ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Ranked:
    """Notes in the order to show, and how they came into it."""

    rows: list[Weighed]
    engine: Literal["bm25", "hybrid", "scan"]
    reranked: Reranked
    finder: Finder


def _rank(asking: _Asking, pool: _Pool, models: Models) -> _Ranked:
    index, look, question, filters, asked = asking.index, asking.look, asking.question, asking.filters, asking.asked
    finder = Finder(question, pool.meanings, index.lexicon)
    seen: list[Weighed] = []
    for candidate in pool.rows:
        if len(seen) > max(asked.limit, WEIGHED):
            break
        weighed = see(candidate, look, filters, index.settings, finder, pool.weights)
        if weighed is not None:
            seen.append(weighed)
    count = WEIGHED
    if pool.near is not None:
        words, head = {row.path: row.score for row in pool.rows}, {row.path for row in seen[:WEIGHED]}
        near = [replace(row, score=words.get(row.path, 0.0)) for row in pool.near.rows if row.path not in head]
        added = [row for found in near if (row := see(found, look, filters, index.settings, finder, pool.weights))]
        more = [hybrid.at_passage(row, pool.near.places) for row in added]
        count, named = len(head) + len(more), {row.path for row in more}
        seen = [*seen[:WEIGHED], *more, *(row for row in seen[WEIGHED:] if row.path not in named)]
    union = {row.path for row in seen[:count]}
    best = ordered(seen, question, index.lexicon, count)
    if pool.degraded:
        return _Ranked(best, "scan", "off" if models.reranking.worker is None else "no", finder)
    if pool.near is not None:
        best = hybrid.mixed(best, union, pool.near.cosines, len(question.words))
    best, reranked = models.reranking.reorder(asking.words, best, lambda row, text: index.clear(row.path, text))
    return _Ranked(best, "bm25" if pool.near is None else "hybrid", reranked, finder)


def _answer(asking: _Asking, pool: _Pool, models: Models) -> Found:
    ranked = _rank(asking, pool, models)
    question, asked, best = asking.question, asking.asked, ranked.rows
    cosines = pool.near.cosines if pool.near is not None else {}
    reasons = [
        explaining.hit(row, question, cosines.get(row.path)) if asked.explain else None for row in best[: asked.limit]
    ]
    hits = _fitting([_hit(row, why) for row, why in zip(best[: asked.limit], reasons, strict=True)])
    weights = _visible_weights(pool, best, asking.rights)
    sure, missing = confidence(question, best, weights, _SCAN_SCALE if pool.degraded else 1.0)
    mended = explaining.mended(question, pool.guessed, best[: asked.limit], ranked.finder)
    return Found(
        hits=hits,
        engine=ranked.engine,
        reranked=ranked.reranked,
        degraded=pool.degraded,
        confidence=sure,
        more=pool.more or len(best) > len(hits),
        index_age_s=asking.index.age_s(),
        query_note=_note(asking, pool, sure, missing, mended),
        warnings=_warnings(pool, hits, first=asking.index.age_s() is None),
    )


def _visible_weights(pool: _Pool, best: list[Weighed], rights: Rights) -> tuple[float, ...]:
    """The words' weights, where none that only hidden notes hold differs from one that no note holds."""
    if rights.sees_everything or pool.unknown is None:
        return pool.weights
    held = frozenset().union(*(row.held for row in best))
    return tuple(weight if number in held else pool.unknown for number, weight in enumerate(pool.weights))


def _explained(asking: _Asking, found: Found, names: tuple[str, ...]) -> dict[str, Any]:
    """What the answer is made of beyond its hits: the words looked for, and the notes that the query asks about."""
    held = [(hit.explain or {}).get("words", []) for hit in found.hits]
    words = {word.text: sum(word.text in row for row in held) for word in asking.question.words}
    shown = [hit.path for hit in found.hits]
    told = explaining.absent(asking.index, asking.look, asking.rights, asking.question, asking.filters, names, shown)
    return {
        "words": [{"word": word[:60], "hits": count} for word, count in words.items()],
        "languages": [tongue.language for tongue in asking.question.tongues],
        "named": told,
    }


def _hit(row: Weighed, reasons: dict[str, Any] | None) -> Hit:
    cut = snippet_of(row)
    facts = row.facts
    return Hit(
        path=row.path,
        title=facts.title[:300],
        source_hash=row.hash,
        score=row.score,
        snippet=cut.text,
        start_line=cut.start_line,
        end_line=cut.end_line,
        type=facts.type and facts.type[:100],
        status=facts.status and facts.status[:100],
        date=facts.date and facts.date[:100],
        tags=tuple(tag[:100] for tag in facts.tags[:20]),
        explain=reasons,
    )


def _fitting(hits: list[Hit]) -> tuple[Hit, ...]:
    """As many of the best hits as an answer may carry: long lists get shorter snippets before they are cut."""
    over = sum(map(_size, hits)) - _MOST_BYTES
    if over > 0:
        longest = max(_LEAST_SNIPPET, max(len(hit.snippet) for hit in hits) - over // len(hits))
        hits = [replace(hit, snippet=hit.snippet[:longest]) for hit in hits]
    spent, kept = 0, 0
    for hit in hits:
        spent += _size(hit)
        if spent > _MOST_BYTES:
            break
        kept += 1
    return tuple(hits[:kept])


def _size(hit: Hit) -> int:
    values = (hit.path, hit.title, hit.snippet, hit.type, hit.status, hit.date, hit.tags, hit.explain)
    return len(json.dumps(values).encode()) + _FRAME_BYTES


def _note(
    asking: _Asking, pool: _Pool, sure: Confidence, missing: list[str], mended: dict[str, tuple[str, ...]]
) -> str | None:
    notes = list(pool.notes)
    if len(asking.asked.query) > MOST_CHARACTERS:
        notes.append(f"only the first {MOST_CHARACTERS:,} characters were read")
    if asking.question.cut:
        notes.append(f"only the first {MOST_WORDS} words were used")
    if pool.retired:
        count = f"{MOST_COUNTED} or more" if pool.retired >= MOST_COUNTED else str(pool.retired)
        notes.append(f"{count} retired notes that match were left out; name their status to see them")
    for row in pool.barred[:_MOST_BARRED]:
        why = "; ".join(explaining.barred(row.path, row.facts, asking.filters))
        notes.append(f"{row.path[:200]} bears this name and is left out: {why}")
    for typed, words in mended.items():
        notes.append(f"did you mean {' or '.join(word[:40] for word in words)} for {typed[:40]}?")
    if sure in ("low", "none") and missing:
        shown = ", ".join(word[:40] for word in missing[:12])
        notes.append(f"no hit holds: {shown}")
    return "; ".join(notes) or None


def _warnings(pool: _Pool, hits: tuple[Hit, ...], *, first: bool) -> tuple[Warn, ...]:
    """``first``: no scan has been through yet, so that there is an index still to come and none broken."""
    warnings = []
    if pool.degraded:
        why = "the index is being made for the first time" if first else "the index could not answer"
        warnings.append(Warn("degraded", f"{why}, so the files themselves were scanned"))
    copies = tuple(hit.path for hit in hits if NotePath(hit.path).is_conflict_copy)
    if copies:
        warnings.append(Warn("conflict_copy", "a sync tool made these copies of notes; compare and merge them", copies))
    return tuple(warnings)
