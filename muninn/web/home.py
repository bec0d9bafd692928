"""Home: whether all is well, at a glance. Nothing is computed here that the tool ``status`` does not keep ready."""

from __future__ import annotations

from starlette.responses import Response

from muninn import canary, proof, standing

from .visit import Visit


def home(visit: Visit) -> Response:
    """The state of vault, index, ledger, backup and canary, as far as this client may know it."""
    door = visit.door
    status = standing.status(door, visit.rights)
    overdue = proof.overdue(door.home)
    warnings = (*status.warnings, *((overdue,) if overdue is not None else ()))
    return visit.page("home.html", status=status, warnings=warnings, canary=canary.last(door.home))
