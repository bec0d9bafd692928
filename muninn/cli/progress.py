"""A progress bar on stderr, for a person at a terminal; nothing for a program."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

Progress = Callable[[int, int | None], None]


@contextlib.contextmanager
def bar(what: str, quiet: bool) -> Iterator[Progress]:
    """Gives a function to call with (done, all); all is None where it is not known."""
    if quiet or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)
