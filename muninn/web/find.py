"""Search: the same as the tool's, for a person. It is not counted as the client's own search before a write."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup
from starlette.responses import Response

from index.passages import Finder
from index.question import MOST_CHARACTERS
from muninn import explaining, searching
from muninn.bound import freshness
from muninn.door import Door
from muninn.model.refusal import Refusal

from .marks import marked, plain
from .visit import Visit

LIMITS: Final = (10, 25, 50)
_FIELDS: Final = ("q", "folder", "type", "status", "tags", "since", "until", "explain", "limit")


def search(visit: Visit) -> Response:
    """The form, and below it what was found; an argument at fault is said beside the form."""
    asked = {name: visit.ask(name) for name in _FIELDS}
    shown = {"asked": asked, "limits": LIMITS, "found": None, "fault": None, "snippet": None}
    if not asked["q"]:
        return visit.page("search.html", **shown)
    door = visit.door
    limit = int(asked["limit"]) if asked["limit"] in map(str, LIMITS) else LIMITS[0]
    question = searching.Asked(
        asked["q"],
        limit,
        asked["folder"] or None,
        asked["type"] or None,
        asked["status"] or None,
        tuple(asked["tags"].replace(",", " ").split()),
        asked["since"] or None,
        asked["until"] or None,
        bool(asked["explain"]),
    )
    found = searching.search(door.index, door.vault.look, door.vault.walk, visit.rights, question, door.models)
    if isinstance(found, Refusal):
        return visit.page("search.html", 400, **shown | {"fault": found.message})
    found = freshness.warned(door, visit.rights, found, [(hit.path, hit.source_hash) for hit in found.hits])
    return visit.page("search.html", **shown | {"found": found, "snippet": _Marker(door, asked["q"])})


class _Marker:
    """Marks a question's words in a text, by the stems that the index goes by."""

    def __init__(self, door: Door, query: str) -> None:
        question = door.index.read(explaining.split(query[:MOST_CHARACTERS])[0])
        terms = {term: number for number, word in enumerate(question.words) for term in word.terms}
        self._finder = Finder(question, terms, door.index.lexicon)

    def __call__(self, text: str) -> Markup:
        places = self._finder.places(text, self._finder.tongue(text, 0))
        return marked(text, [(start, end) for start, end, _ in places]) if places else plain(text)
