"""The children: what they have, how they end, and what the gateway's side does with one that is hostile."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox import Engine, Limits, NoEngineError, Returned, Stopped, fence, process
from sandbox.pool import Pool
from sandbox.process import Child, EndedError, FloodError, TimeUpError
from tests.sandbox.conftest import ask

LINUX = sys.platform.startswith("linux")
needs_proc = pytest.mark.skipif(not LINUX, reason="looks into /proc")
LIMITS = Limits()


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool(LIMITS.line, LIMITS.said)
    yield made
    made.close()


@pytest.fixture
def child(pool: Pool) -> Iterator[Child]:
    taken = pool.take()
    yield taken
    pool.put_away(taken)


# --- what a child has -------------------------------------------------------------------------------


@needs_proc
def test_a_child_has_one_descriptor_and_no_environment(child: Child) -> None:
    place = Path("/proc") / str(_inner(child))
    assert os.listdir(place / "fd") == ["0"]
    assert os.readlink(place / "fd/0").startswith("socket:")
    # bwrap adds the folder it changed to, and nothing else.
    assert (place / "environ").read_bytes() in (b"", b"PWD=/\0")
    assert os.readlink(place / "cwd") == "/"
    assert os.getsid(child.process.pid) != os.getsid(0)


@needs_proc
def test_a_running_child_is_fenced(engine: Engine) -> None:
    status: dict[str, str] = {}
    limits: list[str] = []

    def look(name: str, asked: dict[str, Any]) -> dict[str, Any]:
        pid = _inner(next(iter(engine._pool._out.values())))
        rows = Path(f"/proc/{pid}/status").read_text().splitlines()
        status.update({row.partition(":")[0]: row.partition(":")[2] for row in rows})
        limits.extend(Path(f"/proc/{pid}/limits").read_text().splitlines())
        return {"entries": [], "next_cursor": None}

    assert isinstance(engine.run("return await vault.list()", 5, look), Returned)
    assert status["NoNewPrivs"].strip() == "1"
    assert status["Seccomp"].strip() == "2"
    assert int(status["VmSize"].split()[0]) < 64 * 1024
    asked_for = {row[:26].strip(): row[26:].split()[0] for row in limits[1:]}
    assert asked_for["Max open files"] == "1"
    assert asked_for["Max file size"] == "0"
    assert asked_for["Max core file size"] == "0"
    assert asked_for["Max processes"] == "0"
    assert asked_for["Max cpu time"] == "7"
    assert engine.fences is not None
    assert {"limits", "seccomp"} <= set(engine.fences)


PROBE = """
import os, sys
sys.path.insert(0, sys.argv[1])
import fence
held = fence.raise_fence(5, 64 << 20)
def tried(work):
    try:
        work()
    except OSError as error:
        return error.errno
    return "done"
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(number):
    ctypes.set_errno(0)
    libc.syscall(number, 0, 0, 0)
    return ctypes.get_errno()
said = [tried(lambda: os.open("/etc/passwd", os.O_RDONLY)), tried(os.fork), tried(lambda: os.kill(os.getppid(), 0)),
        tried(lambda: os.execv("/bin/true", ["true"])), call(41), call(59), call(101), call(321)]
os.write(1, (" ".join(map(str, [*held, *said])) + "\\n").encode())
"""


@pytest.mark.skipif(not LINUX or os.uname().machine != "x86_64", reason="numbers of x86-64")
def test_behind_the_fence_the_system_refuses_everything_else() -> None:
    """Python itself, as if a script had broken out of the engine: open, fork, kill, exec, socket, ptrace, bpf."""
    here = str(Path(process.__file__).parent)
    command = [sys.executable, "-I", "-S", "-c", PROBE, here]
    said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20).stdout.split()
    assert said == ["limits", "seccomp", *["1"] * 8]


def _verdict(program: bytes, audit: int, number: int) -> int:
    """What the kernel would answer: the filter's steps, done here."""
    steps = list(struct.iter_unpack("=HBBI", program))
    at, held = 0, 0
    while True:
        code, if_true, if_false, value = steps[at]
        at += 1
        if code == fence._LOAD:
            held = audit if value == 4 else number
        elif code == fence._RETURN:
            return int(value)
        else:
            at += if_true if (held == value if code == fence._EQUAL else held >= value) else if_false


@pytest.mark.parametrize("machine", fence._AUDIT)
def test_the_filter_lets_through_what_is_listed_on_each_machine(machine: str) -> None:
    allowed, audit = fence._ALLOWED[machine], fence._AUDIT[machine]
    program = fence._program(audit, allowed)
    assert len(set(allowed)) == 23
    for number in range(1024):
        assert _verdict(program, audit, number) == (fence._ALLOW if number in allowed else fence._REFUSE), number
        assert _verdict(program, audit, number | 0x40000000) == fence._REFUSE
        assert _verdict(program, audit ^ 1, number) == fence._KILL


@needs_proc
def test_no_child_is_left_over_nor_a_zombie(pool: Pool) -> None:
    child = pool.take()
    pids = [child.process.pid, *(one.process.pid for one in pool._ready)]
    pool.put_away(child)
    pool.close()
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []


@needs_proc
def test_children_die_with_a_killed_gateway() -> None:
    script = (
        "import sys,time\nfrom sandbox import Engine\ne=Engine()\n"
        "import threading\n"
        "threading.Thread(target=lambda: e.run('for(;;);', 60, None), daemon=True).start()\n"
        "time.sleep(1.5)\n"
        "pids=[c.process.pid for c in [*e._pool._out.values(), *e._pool._ready]]\n"
        "print(*pids, flush=True)\ntime.sleep(60)"
    )
    root = str(Path(process.__file__).parents[1])
    gateway = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=root)
    assert gateway.stdout is not None
    pids = [int(pid) for pid in gateway.stdout.readline().split()]
    gateway.kill()
    gateway.wait()
    gateway.stdout.close()
    assert len(pids) == 3
    for _ in range(100):
        if not any(Path(f"/proc/{pid}").exists() and _runs(pid) for pid in pids):
            return
        time.sleep(0.05)
    raise AssertionError("children outlived the gateway")


def _runs(pid: int) -> bool:
    """Whether the process runs; one that nobody has waited for yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# --- the pool ---------------------------------------------------------------------------------------


def test_nothing_is_started_before_the_first_script() -> None:
    pool = Pool(LIMITS.line, LIMITS.said)
    assert (pool._threads, len(pool._ready)) == ((), 0)
    pool.close()
    with pytest.raises(NoEngineError):
        pool.take()


def test_a_warm_child_that_died_is_not_given_out(pool: Pool) -> None:
    pool.put_away(pool.take())
    for _ in range(200):
        if len(pool._ready) == 2:
            break
        time.sleep(0.05)
    for waiting in list(pool._ready):
        os.kill(waiting.process.pid, signal.SIGKILL)
        waiting.process.wait()
    child = pool.take()
    assert child.is_alive
    pool.put_away(child)


def test_many_at_once_get_a_child_each(engine: Engine) -> None:
    ends: list[Returned | Stopped] = []
    threads = [threading.Thread(target=lambda n=n: ends.append(engine.run(f"return {n}", 10, ask))) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(end.value for end in ends if isinstance(end, Returned)) == list(range(8))


def test_a_missing_engine_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    engine = Engine()
    with pytest.raises(NoEngineError):
        engine.run("return 1", 1, ask)
    engine.close()


def test_a_wall_that_does_not_work_is_left_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pool: Pool) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert process.can_wall() is LINUX
    child = pool.take()
    assert child.is_alive
    assert not pool.is_walled
    pool.put_away(child)


@needs_proc
def test_behind_bwrap_a_script_runs_in_namespaces_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    if not process.can_wall():
        with capsys.disabled():
            print("\nSKIPPED: bwrap is not installed, so the wall around a child was not tried")
        pytest.skip("bwrap is not installed")
    engine = Engine()
    seen: dict[str, str] = {}

    def look(name: str, asked: dict[str, Any]) -> dict[str, Any]:
        inner = _inner(next(iter(engine._pool._out.values())))
        seen["user"] = os.readlink(f"/proc/{inner}/ns/user")
        seen["net"] = os.readlink(f"/proc/{inner}/ns/net")
        return {"entries": [], "next_cursor": None}

    try:
        ended = engine.run("await vault.list(); return 1", 10, look)
    finally:
        engine.close()
    if engine.fences is not None and "bwrap" not in engine.fences:
        pytest.skip("bwrap does not work here")
    assert isinstance(ended, Returned)
    assert seen["net"] != os.readlink("/proc/self/ns/net")
    assert seen["user"] != os.readlink("/proc/self/ns/user")


def _inner(child: Child) -> int:
    """The process that runs the script: the child itself, or the innermost one behind bwrap."""
    pids = map(int, filter(str.isdigit, os.listdir("/proc")))
    return max(pid for pid in pids if _group_of(pid) == child.process.pid)


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except OSError:
        return 0


def test_a_script_that_runs_at_shutdown_ends() -> None:
    engine = Engine()
    ended: list[Returned | Stopped] = []
    thread = threading.Thread(target=lambda: ended.append(engine.run("for (;;);", 30, ask)))
    thread.start()
    time.sleep(0.5)
    engine.close()
    thread.join(timeout=5)
    assert isinstance(ended[0], Stopped)


# --- a hostile child --------------------------------------------------------------------------------


def _child(code: str, most_line: int = 1000, most_bytes: int = 5000) -> Child:
    """A process that says what ``code`` lets it say, in a child's place."""
    ours, theirs = socket.socketpair()
    with theirs:
        spawned = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", code], stdin=theirs.fileno(), start_new_session=True
        )
    return Child(spawned, ours, most_line, most_bytes)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("import os\nwhile 1: os.write(0, b'x' * 4096)", FloodError),
        ("import os\nwhile 1: os.write(0, b'x' * 100 + b'\\n')", FloodError),
        ("import os,time\nos.write(0, b'x' * 1500)\ntime.sleep(60)", FloodError),
        ("import time\ntime.sleep(60)", TimeUpError),
        ("import os,time\nwhile 1: os.write(0, b'x'); time.sleep(.1)", TimeUpError),
        ("import os\nos.close(0)\nimport time; time.sleep(60)", EndedError),
        ("raise SystemExit(3)", EndedError),
        ("import os\nos.kill(os.getpid(), 11)", EndedError),
    ],
)
def test_no_child_makes_the_gateway_read_for_ever(code: str, error: type[Exception]) -> None:
    child = _child(code)
    started = time.monotonic()
    try:
        with pytest.raises(error):
            _read_on(child, started + 2)
    finally:
        child.end()
    assert time.monotonic() - started < 4
    assert not child.is_alive


def _read_on(child: Child, deadline: float) -> None:
    while True:
        child.receive(deadline)


def test_no_child_makes_the_gateway_write_for_ever() -> None:
    child = _child("import time\ntime.sleep(60)")
    started = time.monotonic()
    with pytest.raises(TimeUpError):
        child.send(b"x" * 50_000_000, started + 1)
    child.end()
    assert time.monotonic() - started < 3


@pytest.mark.parametrize(
    "line",
    [
        b'["calls",[["read","a"]],[],0]\n' * 3,
        b'["done"]\n',
        b'["done",1,[],0,{"citations":[1]}]\n',
        b"[" * 100_000 + b"\n",
        b'["done",' + b"9" * 10_000 + b",[],0]\n",
        b'["done",NaN,[],0]\n',
        b'["done",1e400,[],0]\n',
        b'["failed","E","' + b"m" * 60_000 + b'","","s",[],0]\n',
        b'["failed","","x","' + b"c" * 60_000 + b'","s",[],0]\n',
        b'["done",1,[' + b'"log",' * 9_999 + b'"log"],0]\n',
        b"\xff\xfe\n",
        b"\n",
        b'["calls",[["eval","a"],["__class__"],["write","x"]],[],0]\n["done",1,[],0]\n',
    ],
)
def test_whatever_a_child_says_is_data(monkeypatch: pytest.MonkeyPatch, line: bytes) -> None:
    """A child that has been taken over: it says what it likes, and gets nothing but answers that are noted."""
    code = (
        "import os,time\nos.write(0, b'[\"ready\"]\\n')\nos.read(0, 65536)\n"
        f'os.write(0, b\'["fenced",["all"]]\\n\')\nos.write(0, {line!r})\ntime.sleep(60)'
    )
    monkeypatch.setattr(process, "_command", lambda *, walled: [sys.executable, "-I", "-S", "-c", code])
    engine = Engine()
    try:
        ended = engine.run("return 1", 1, ask)
    finally:
        engine.close()
    assert sum(map(len, ended.logs)) <= LIMITS.logs
    if isinstance(ended, Returned):
        assert ended.value == 1
        assert ended.citations == ()
    else:
        assert ended.limit in ("output", "time", None)
        assert len(ended.message) < 3000
