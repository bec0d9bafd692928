"""What a child takes from itself before it runs a script: priority, limits of the system, and nearly all system calls.

Loaded by path in a bare interpreter (``child.py``), so it imports nothing of ours. After ``raise_fence`` the process
can compute, take memory up to its limit, read and write the one descriptor it has, and end. It can open nothing,
connect nowhere, start nothing and signal nobody, also where a script should break the engine itself.
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_SECCOMP = 22
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_SIGKILL = 9

# Numbers from the kernel's system call tables; what is not named here answers EPERM.
_ALLOWED = {
    # read write mmap mprotect munmap brk, rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack, mremap madvise futex,
    # getpid gettid sched_yield gettimeofday clock_gettime getrandom getrusage, restart_syscall exit exit_group
    "x86_64": (
        *(0, 1, 9, 10, 11, 12),
        *(13, 14, 15, 131),
        *(25, 28, 202),
        *(39, 186, 24, 96, 228, 318, 98),
        *(219, 60, 231),
    ),
    "arm64": (
        *(63, 64, 222, 226, 215, 214),
        *(134, 135, 139, 132),
        *(216, 233, 98),
        *(172, 178, 124, 169, 113, 278, 165),
        *(128, 93, 94),
    ),
}
_AUDIT = {"x86_64": 0xC000003E, "arm64": 0xC00000B7}

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000 | 1, 0x80000000
_X32 = 0x40000000


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def follow_parent() -> None:
    """Die when the thread that started this process does. Where the system has no such call, nothing is done."""
    _prctl(_PR_SET_PDEATHSIG, _SIGKILL)


def raise_fence(cpu_s: int, memory: int) -> list[str]:
    """Give up everything a script does not need; gives the names of what held.

    ``cpu_s`` is processor time in seconds, ``memory`` what may be taken beyond the present, in bytes.
    """
    held = ["limits"] if _limit(cpu_s, memory) else []
    if _prctl(_PR_SET_NO_NEW_PRIVS, 1) and _filter_calls():
        held.append("seccomp")
    return held


def _limit(cpu_s: int, memory: int) -> bool:
    held = True
    try:
        os.nice(10)
    except OSError:
        held = False
    for name, most in (
        ("RLIMIT_CORE", 0),
        ("RLIMIT_FSIZE", 0),
        ("RLIMIT_NOFILE", 1),
        ("RLIMIT_NPROC", 0),
        ("RLIMIT_CPU", cpu_s),
        ("RLIMIT_AS", _present() + memory),
    ):
        try:
            resource.setrlimit(getattr(resource, name), (most, most))
        except (AttributeError, OSError, ValueError):
            held = False
    return held


def _present() -> int:
    """The address space in use, in bytes; a guess on the high side where the system does not say."""
    try:
        place = os.open("/proc/self/statm", os.O_RDONLY)
    except OSError:
        return 64 * 1024 * 1024
    try:
        return int(os.read(place, 100).split()[0]) * resource.getpagesize()
    finally:
        os.close(place)


def peak() -> int:
    """The most memory this process ever held, in bytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def _filter_calls() -> bool:
    machine = "arm64" if os.uname().machine == "aarch64" else os.uname().machine
    if not sys.platform.startswith("linux") or machine not in _ALLOWED:
        return False
    code = _program(_AUDIT[machine], _ALLOWED[machine])
    program = _Program(len(code) // 8, code)
    return _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(program))


def _program(audit: int, allowed: tuple[int, ...]) -> bytes:
    """The filter in the kernel's classic BPF: another architecture's numbers end the process, unnamed ones EPERM."""
    steps = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, len(allowed), 0, _X32),
    ]
    steps += [(_EQUAL, len(allowed) - at, 0, number) for at, number in enumerate(allowed)]
    steps += [(_RETURN, 0, 0, _REFUSE), (_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _prctl(option: int, *values: int) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    call = ctypes.CDLL(None, use_errno=True).prctl
    words = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    return bool(call(ctypes.c_int(option), *words) == 0)
