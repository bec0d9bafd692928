"""The command line from the outside: the wall time of a whole ``muninn search``, and of a hook on a prompt."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from .gates import Row, row
from .place import Place, questions
from .timing import WALL, Effort, in_turn, percentile

_LIMIT_S: Final = 60


def measure(place: Place, effort: Effort) -> Iterator[Row]:
    """The installed command where there is one beside this Python, else the module."""
    script = Path(sys.executable).with_name("muninn")
    command = [str(script)] if script.is_file() else [sys.executable, "-P", "-m", "muninn"]
    rounds = 2 * effort.rounds - 1
    asked = questions(place, rounds + 1)

    # As it is once installed: compiled before, here beside the vault and not in the checkout.
    compiled = {"PYTHONPYCACHEPREFIX": str(place.folder / "compiled"), "PYTHONDONTWRITEBYTECODE": ""}
    own = {**place.environment, **compiled}

    def search(number: int) -> None:
        found = json.loads(_run([*command, "search", "--json", asked[number]], own))
        if found["degraded"] or not found["hits"]:
            raise RuntimeError(f"expected hits from the index for {asked[number]!r}")

    def hook(number: int) -> None:
        sent = json.dumps({"hook_event_name": "UserPromptSubmit", "prompt": asked[number]})
        found = json.loads(_run([*command, "hook", "prompt", "--client", place.client], own, sent))
        if "source_hash" not in found["hookSpecificOutput"]["additionalContext"]:
            raise RuntimeError(f"expected notes for the prompt {asked[number]!r}")

    pair = in_turn(search, lambda _: _run([sys.executable, "-c", "pass"], compiled), rounds, WALL)
    yield row("cli", *pair.medians(), f"most {max(pair.subject):.3f} s")
    pair = in_turn(hook, search, rounds, WALL)
    yield row("cli/hook", *pair.medians(), f"p95 {percentile(pair.subject, 0.95):.3f} s")


def _run(command: Sequence[str], environment: dict[str, str], sent: str | None = None) -> str:
    done = subprocess.run(
        command,
        env={**os.environ, **environment},
        input=sent,
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{Path(command[0]).name} ended with status {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout
