"""Home: whether all is well, at a glance. No view looks at every note: who sees a part of them gets no count."""

from __future__ import annotations

from collections.abc import Iterator

from starlette.responses import Response

from muninn import proof, standing
from muninn.model.answer import Status

from . import nights
from .nights import Bird
from .visit import Visit


def home(visit: Visit) -> Response:
    """The state of vault, index, ledger, backup and canary, as far as this client may know it."""
    door = visit.door
    status = standing.status(door, visit.rights, counting=False)
    overdue, asked = proof.overdue(door.home), nights.bird(door.home, visit.rights)
    matters = [warn.message for warn in (*status.warnings, *((overdue,) if overdue is not None else ()))]
    matters += _matters(status, asked)
    return visit.page("home.html", status=status, overdue=overdue, canary=asked, matters=matters)


def _matters(status: Status, asked: Bird | None) -> Iterator[str]:
    """What a person should look at, beside the warnings that the gateway has words for."""
    if not status.vault["readable"]:
        yield "the vault cannot be read: is it mounted, and may the gateway read it?"
    if status.index["state"] == "building":
        yield "the index is being made; until it is there a search looks through the files, which is slow"
    if status.index["faults"]:
        yield f"{status.index['faults']} files could not be taken into the index: `muninn index status` names them"
    if status.pending:
        yield f"{len(status.pending)} writes of this client are kept and not finished: the tool recover settles them"
    if status.backup["last_ok"] is None:
        yield "no backup was proven yet: `muninn backup` sets one up"
    if asked is not None and not asked.ok:
        # What a question is called may name a private note, and who may see those alone is told it.
        named = f" ({', '.join(asked.failing[:5])})" if asked.failing else ""
        yield f"the canary missed {asked.failed} of {asked.asked} questions{named}: `muninn canary run` says why"
