"""``python -P -m tests.conformance``: print what passed, failed and does not apply.

Exit status: 0 all that applies passed; 1 something that applies failed; 2 the gateway or a suite did not run;
3 Node or a suite could not be fetched.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Final

from . import suite
from .fetching import NODE, PACKAGES, Kit, NotFetchedError, fetch
from .gateway import Address, NotStartedError, running
from .inspecting import inspect
from .suite import NotRunError, Scenario

_KEPT: Final = Path(".run/conformance").absolute()


def main() -> int:
    """Fetch, start, run, and say it."""
    print(f"Fetching {NODE}, {', '.join(PACKAGES)} into .run/conformance (once) …", flush=True)
    try:
        kit = fetch(_KEPT)
    except NotFetchedError as error:
        print(f"not fetched, so nothing was checked: {error}", file=sys.stderr)
        return 3
    with tempfile.TemporaryDirectory(prefix="muninn-conformance-") as folder:
        try:
            with running(Path(folder)) as address:
                faults = _check(kit, address)
        except (NotStartedError, NotRunError) as error:
            print(f"not run to the end: {error}", file=sys.stderr)
            return 2
    print(f"\n{'All that applies passed.' if not faults else 'Failed: ' + '; '.join(faults)}")
    return 1 if faults else 0


def _check(kit: Kit, address: Address) -> list[str]:
    faults: list[str] = []
    for revision in (suite.HANDSHAKE, suite.STATELESS):
        found = suite.run(kit, address.open_door, revision, _KEPT / f"results-{revision}")
        _show(revision, found)
        faults += [f"{row.name} ({revision})" for row in found if row.verdict == "failed"]
    print("\nInspector, over HTTP with a token")
    for name, fault in inspect(kit, address):
        print(f"  {'failed ' if fault else 'passed '} {name}{': ' + fault if fault else ''}", flush=True)
        faults += [f"inspector {name}"] if fault else []
    return faults


def _show(revision: str, found: list[Scenario]) -> None:
    count = Counter(row.verdict for row in found)
    print(f"\nConformance, revision {revision}: {len(found)} scenarios")
    print(
        f"  {count['passed']} passed, {count['partly']} passed as far as they apply, {count['failed']} failed, ", end=""
    )
    print(f"{count['not applicable']} not applicable")
    absent: dict[str, list[str]] = {}
    for row in found:
        match row.verdict:
            case "passed" | "partly":
                print(f"  passed   {row.name}: {row.passed} checks")
                for reason in row.reasons:
                    print(f"             the rest does not apply: {reason}")
            case "failed":
                for check in row.checks:
                    if check.failed and check.excuse is None:
                        print(f"  FAILED   {row.name}: {check.id}: {check.message[:400]}")
            case "not applicable":
                for reason in row.reasons:
                    absent.setdefault(reason, []).append(row.name)
    for reason, names in absent.items():
        print(f"  not applicable: {reason}\n             {', '.join(names)}")


if __name__ == "__main__":
    sys.exit(main())
