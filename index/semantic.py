"""Notes by meaning: which notes' passages lie nearest to a question, among those that may be a hit at all.

The question is turned into a vector in a thread of its own and within a time; what is late, loading or broken leaves
the words to answer alone. Filters, retired notes and rights leave notes out before any is compared with another.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from muninn.model.content import NotePath
from muninn.model.rights import Globs

from .asking import Candidate, Filters, among, fitting
from .catalogue import Index
from .encoding import Encoder
from .waiting import FailedError, LateError, NotReadyError, Promise, Worker

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from .vectors import Matrix

NEAREST: Final = 15
LEAST_COSINE: Final = 0.25
"""Every note lies somewhere; what is further away than that has nothing to do with the question."""
LEAST_SHARE: Final = 0.9
"""Of the public notes that must have vectors before they may take part in ranking."""
BUDGET_S: Final = 0.5
_QUESTION_CHARS: Final = 2_000
_REMEMBERED_RIGHTS: Final = 64


@dataclass(frozen=True, slots=True)
class Near:
    """The nearest notes as the index knows them, best first, and the cosine of every note asked for."""

    rows: tuple[Candidate, ...]
    cosines: dict[str, float]
    places: dict[str, int]
    """Which passage of each of the nearest notes it is that is near."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is known of the vectors at one moment; replaced as a whole."""

    matrix: Matrix | None = None
    share: float = 0.0
    """Of the public notes, those that have vectors."""
    seen: dict[Globs, NDArray[numpy.bool_]] = field(default_factory=dict, repr=False)
    """Which notes the holder of some read globs sees; filled as clients ask."""


class Semantic:
    """The encoder and the vectors, as a search asks them. ``snapshot`` is set by whoever fills, into ``cache``."""

    def __init__(
        self,
        worker: Worker[Encoder],
        cache: Path,
        budget_s: float = BUDGET_S,
        least_share: float = LEAST_SHARE,
    ) -> None:
        self.worker = worker
        self.cache = cache
        self.snapshot = Snapshot()
        self.filled = threading.Event()
        self._budget_s = budget_s
        self._least_share = least_share

    @property
    def ready(self) -> bool:
        """Whether there are vectors of most of the vault."""
        return self.snapshot.matrix is not None and self.snapshot.share >= self._least_share

    def begin(self, question: str) -> Promise[list[float]] | None:
        """Start to turn a question into a vector; None where that cannot be done now."""
        try:
            return self.worker.ask(
                lambda encoder: [float(number) for number in encoder.question(question[:_QUESTION_CHARS])],
                self._budget_s,
            )
        except (NotReadyError, LateError, FailedError):
            return None

    def near(
        self,
        begun: Promise[list[float]] | None,
        index: Index,
        filters: Filters,
        read: Globs,
        sees: Callable[[str], bool],
        also: Iterable[str],
    ) -> Near | None:
        """The nearest notes that fit, and how near the notes ``also`` are. None where the vector did not come in time.

        Raises IndexBrokenError where the index cannot say which notes fit.
        """
        snapshot = self.snapshot
        matrix = snapshot.matrix
        if matrix is None or begun is None:
            return None
        try:
            vector = begun.take()
        except (LateError, FailedError):
            return None
        with index.public() as connection:
            paths, leaves_out = fitting(connection, filters)
            allowed = _allowed(snapshot, matrix, paths, leaves_out, read, sees)
            chosen = _nearest(matrix, vector, allowed, also)
            rows = {row.path: row for row in among(connection, chosen)}
        # A vector counts for the very bytes it was made of; others' words must do until it is made anew.
        cosines = {path: cosine for path, cosine in chosen.items() if _is_of(matrix, rows.get(NotePath(path)))}
        best = sorted(cosines, key=lambda path: (-cosines[path], path))
        near = tuple(rows[NotePath(path)] for path in best if cosines[path] >= LEAST_COSINE)[:NEAREST]
        return Near(near, cosines, {row.path: matrix.place(row.path, vector) for row in near})


def _allowed(
    snapshot: Snapshot,
    matrix: Matrix,
    paths: frozenset[str],
    leaves_out: bool,
    read: Globs,
    sees: Callable[[str], bool],
) -> NDArray[numpy.bool_]:
    import numpy

    named = [matrix.numbers[path] for path in paths if path in matrix.numbers]
    allowed = numpy.full(len(matrix.paths), leaves_out)
    allowed[named] = not leaves_out
    if "**" in read.patterns:
        return allowed
    seen = snapshot.seen.get(read)
    if seen is None:
        if len(snapshot.seen) >= _REMEMBERED_RIGHTS:
            snapshot.seen.clear()
        seen = snapshot.seen[read] = numpy.fromiter(map(sees, matrix.paths), bool, len(matrix.paths))
    both: NDArray[numpy.bool_] = allowed & seen
    return both


def _nearest(
    matrix: Matrix, vector: list[float], allowed: NDArray[numpy.bool_], also: Iterable[str]
) -> dict[str, float]:
    """Path and cosine of the nearest notes that are allowed, and of the others that are asked for."""
    import numpy

    cosines = matrix.cosines(vector)
    cosines[~allowed] = -2.0
    count = min(2 * NEAREST, len(cosines))
    numbers = set(numpy.argpartition(-cosines, count - 1)[:count].tolist())
    numbers |= {matrix.numbers[path] for path in also if path in matrix.numbers}
    return {matrix.paths[number]: float(cosines[number]) for number in numbers if allowed[number]}


def _is_of(matrix: Matrix, row: Candidate | None) -> bool:
    return row is not None and matrix.hashes[matrix.numbers[row.path]] == row.hash
