"""What a change did to the text of a note, from the bytes the ledger keeps, for a person to read."""

from __future__ import annotations

from typing import Final

import click

from ledger import Ledger
from muninn import diffs
from muninn.model.content import MISSING, Basis

_COLOURS: Final = (("+++", None), ("---", None), ("@@", "cyan"), ("+", "green"), ("-", "red"))


def difference(ledger: Ledger, name: str, before: Basis, after: Basis) -> str:
    """A unified diff of one change; where bytes are not kept, a line that says so."""
    sides = []
    for side, basis in (("before", before), ("after", after)):
        content = b"" if basis is MISSING else ledger.content(basis)
        if content is None:
            return f"{name}: the bytes {side} are not kept ({str(basis)[:12]})\n"
        sides.append(content)
    return diffs.unified(sides[0], sides[1], name)


def coloured(text: str) -> str:
    """The diff with the colours that a terminal shows; whoever prints it leaves them out elsewhere."""
    return "".join(_line(line) for line in text.splitlines(keepends=True))


def _line(line: str) -> str:
    colour = next((colour for start, colour in _COLOURS if line.startswith(start)), None)
    return click.style(line, fg=colour) if colour else line
