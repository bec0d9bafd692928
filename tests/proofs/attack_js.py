"""Proof: hostile scripts through a real gateway, four at a time, while other clients read and write.

``python -P -m tests.proofs.attack_js`` prints a row a kind and what did not hold, and ends with 0 only where nothing
escaped, no citation is forged or missing, the gateway lives, every script ended within its time and one second more,
and the other clients' calls stayed under a second at the 99th of a hundred.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.bench.timing import percentile
from tests.door.gateway import Gateway, places, served, until_ready

from .hostile_js import ATTACKS, Attack, Ends, Fails, Gives, RunsOut

TIMEOUT_S: Final = 1.0
GRACE_S: Final = 1.0
P99_S: Final = 1.0
_AT_ONCE: Final = 4
_SECRET: Final = "wombatsecret"


@dataclass(slots=True)
class Tally:
    """What did not hold, by kind of harm, and how long everybody took."""

    escapes: list[str] = field(default_factory=list)
    citations: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    deaths: list[str] = field(default_factory=list)
    took: dict[str, list[float]] = field(default_factory=dict)
    others: list[float] = field(default_factory=list)

    @property
    def p99(self) -> float:
        """The other clients' slowest but one of a hundred, in seconds."""
        return percentile(self.others, 0.99)

    @property
    def holds(self) -> bool:
        """Whether nothing was found and the others were served."""
        found = (self.escapes, self.citations, self.ends, self.late, self.deaths)
        return not any(found) and bool(self.others) and self.p99 < P99_S


def prove(folder: Path, attacks: Sequence[Attack] = ATTACKS) -> Tally:
    """Run the attacks and tell what held."""
    tally = Tally()
    gateway = _laid(folder)
    with served(gateway):
        until_ready(gateway)
        with _others(gateway, tally), ThreadPoolExecutor(_AT_ONCE) as pool:
            for lane in range(_AT_ONCE):
                pool.submit(_attack_on, gateway, tally, attacks[lane::_AT_ONCE], f"x{lane}")
            pool.shutdown(wait=True)
        _look_at_the_gateway(gateway, tally)
    return tally


def _laid(folder: Path) -> Gateway:
    made = places(folder)
    (made.home / "muninn.toml").write_text("rate_per_s = 0\n")
    (folder / "outside.md").write_text(_SECRET)
    (made.vault / "private").mkdir()
    for path, body in {
        "a.md": "see [[b]] and [[secret]]\n",
        "b.md": "back to [[a]]\n",
        "long.md": "line\n" * 30,
        "numbat.md": "numbat\n",
        "private/secret.md": f"{_SECRET} numbat\n",
        "w.md": "written\n",
    }.items():
        head = f"---\ntitle: {path}\ntype: note\nstatus: active\ntags: [aa, bb]\ndate: 2026-05-04\n---\n"
        (made.vault / path).write_text(head + body)
    (made.vault / "link.md").symlink_to(folder / "outside.md")
    (made.vault / "linked").symlink_to(folder)
    for number in range(_AT_ONCE):
        made.add(f"x{number}")
    made.add("reader")
    made.add("writer")
    return made


def _attack_on(gateway: Gateway, tally: Tally, attacks: Sequence[Attack], client: str) -> None:
    """One client's attacks, one after the other, so that none waits for a turn of its own client."""
    for attack in attacks:
        _attack(gateway, tally, attack, client)


def _attack(gateway: Gateway, tally: Tally, attack: Attack, client: str) -> None:
    asked = {"script": attack.script, "timeout_s": TIMEOUT_S}
    began = time.monotonic()
    try:
        heard = gateway.rpc(client, "tools/call", {"name": "run_code", "arguments": asked})
        answer = _told(heard.json)
    except Exception as error:
        tally.deaths.append(f"[{attack.kind}] no answer ({error!r}) to {attack.script[:100]!r}")
        return
    took = time.monotonic() - began
    tally.took.setdefault(attack.kind, []).append(took)
    about = f"[{attack.kind}] {attack.script[:120]!r}: {json.dumps(answer)[:300]}"
    if took > TIMEOUT_S + GRACE_S:
        tally.late.append(f"{took:.2f} s {about}")
    text = heard.body.decode("utf-8", "replace")
    if any(word in text for word in (_SECRET, "Traceback", str(gateway.folder), gateway.tokens[client])):
        tally.escapes.append(about)
    if not _is_due(attack, answer):
        tally.ends.append(f"expected {attack.due} {about}")
    if "error" not in answer and not _is_cited(gateway, attack, answer):
        tally.citations.append(about)


def _told(answer: dict[str, Any]) -> dict[str, Any]:
    result = answer["result"]
    found: dict[str, Any] = json.loads(result["content"][0]["text"])
    return found if result.get("isError") else result["structuredContent"]


def _is_due(attack: Attack, answer: dict[str, Any]) -> bool:
    error = answer.get("error")
    match attack.due:
        case Gives(value):
            same = error is None and json.dumps(answer["value"]) == json.dumps(value)
            return same and (answer["complete"] is attack.complete)
        case Fails(said):
            return error is not None and error["code"] == "script_error" and said in error["message"]
        case RunsOut(limits):
            if error is None:
                return False
            without_words = "memory" in limits and "memory limit" in error["message"]
            return without_words or (error["code"] == "script_limit" and error["limit"] in limits)
        case Ends():
            return error is None or error["code"] in ("script_error", "script_limit")


def _is_cited(gateway: Gateway, attack: Attack, answer: dict[str, Any]) -> bool:
    """Whether the answer cites exactly what the attack was shown, by the bytes that lie in the vault."""
    due = [
        {"path": path, "hash": _digest(gateway.vault / path), "start_line": start, "end_line": end}
        for path, start, end in attack.cites
    ]
    if isinstance(attack.due, Ends) and not due:
        return all(row["hash"] == _digest(gateway.vault / row["path"]) for row in answer["citations"])
    return bool(answer["citations"] == due)


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


class _others:  # noqa: N801
    """Two clients that go on reading and writing for the length of a block, and take their times."""

    def __init__(self, gateway: Gateway, tally: Tally) -> None:
        self._gateway, self._tally = gateway, tally
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=work) for work in (self._read, self._write)]

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _timed(self, tool: str, arguments: dict[str, Any], client: str) -> dict[str, Any]:
        began = time.monotonic()
        try:
            answer = self._gateway.call(tool, arguments, client)
        except Exception as error:
            self._tally.deaths.append(f"{client} was not answered: {error!r}")
            self._stop.set()
            return {}
        self._tally.others.append(time.monotonic() - began)
        if "error" in answer:
            self._tally.deaths.append(f"{client} was refused: {answer}")
        return answer

    def _read(self) -> None:
        for number in self._until_stopped():
            if number % 3 == 2:
                self._timed("search", {"query": "numbat"}, "reader")
            else:
                self._timed("read", {"path": "b.md"}, "reader")

    def _write(self) -> None:
        for number in self._until_stopped():
            digest = self._timed("read", {"path": "w.md"}, "writer").get("hash")
            edit = {"replace": "written", "with": "written"} if number == 0 else {"append": f"line {number}"}
            asked = {"path": "w.md", "edits": [edit], "expected_hash": digest}
            self._timed("edit", asked, "writer")

    def _until_stopped(self) -> Iterator[int]:
        number = 0
        while not self._stop.wait(0.02):
            yield number
            number += 1


def _look_at_the_gateway(gateway: Gateway, tally: Tally) -> None:
    """It is the same process, it answers, a plain script runs, and no child is left but those that wait."""
    process = gateway.process
    assert process is not None
    if process.poll() is not None or gateway.ask("GET", "/health", {}).status != 200:
        tally.deaths.append("the gateway is gone")
        return
    if gateway.call("run_code", {"script": "return 1"}).get("value") != 1:
        tally.deaths.append("no script runs any more")
    log = gateway.log()
    if "Traceback" in log:
        tally.deaths.append("a bug was logged: " + log[log.index("Traceback") :][:600])
    tally.deaths.extend(_leftovers(process.pid))


def _leftovers(pid: int) -> Iterator[str]:
    """Zombies of the gateway, and children beyond the warm ones and the one that is just being made."""
    time.sleep(1)
    alive = 0
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            after = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(after[1]) == pid:
            alive += after[0] != "Z"
            if after[0] == "Z":
                yield f"a zombie: {status.parent.name}"
    if alive > 3:
        yield f"{alive} children are left"


def show(tally: Tally, attacks: Sequence[Attack]) -> None:
    """Print what was done and what was found."""
    counted = Counter(attack.kind for attack in attacks)
    for kind, count in counted.items():
        slowest = max(tally.took.get(kind, [0.0]))
        print(f"{kind:<12} {count:4d} scripts, slowest {slowest:5.2f} s")
    print(f"\n{len(attacks)} scripts, {_AT_ONCE} at a time, {TIMEOUT_S:g} s each")
    for what, found in (
        ("escapes", tally.escapes),
        ("forged or missing citations", tally.citations),
        ("ends that were not due", tally.ends),
        (f"runs beyond the limit + {GRACE_S:g} s", tally.late),
        ("deaths of the gateway, refused others, leftovers", tally.deaths),
    ):
        print(f"{what}: {len(found)}")
        for one in found[:20]:
            print(f"  BROKEN {one}")
    print(
        f"other clients: {len(tally.others)} calls, p99 {tally.p99 * 1000:.0f} ms (must be under {P99_S * 1000:.0f} ms)"
    )


def main() -> None:
    """Run all, or the kinds that are named."""
    kinds = list(dict.fromkeys(attack.kind for attack in ATTACKS))
    parser = argparse.ArgumentParser(prog="tests.proofs.attack_js", description="Hostile scripts against a gateway.")
    parser.add_argument("kinds", nargs="*", choices=[*kinds, []], help="only these kinds")
    asked = parser.parse_args()
    attacks = [attack for attack in ATTACKS if not asked.kinds or attack.kind in asked.kinds]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="attack-js-") as folder:
        tally = prove(Path(folder), attacks)
    show(tally, attacks)
    print(f"{time.monotonic() - began:.0f} s; " + ("all held" if tally.holds else "BROKEN"))
    sys.exit(0 if tally.holds else 1)


if __name__ == "__main__":
    main()
