"""The processes of this machine, as Linux shows them in /proc.

psutil does not fit: its start time moves when the clock is set, so a living owner would count as dead, and
its tree of a process reads all processes of the machine (15 to 70 times the CPU time of :func:`tree_memory`).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

_STATE, _PARENT, _STARTED = 0, 1, 19
"""Fields of /proc/PID/stat after the name (proc(5) counts them from 3)."""


def pids() -> Iterator[int]:
    """Numbers of all processes."""
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def boot_id() -> str:
    """Identifier of this boot."""
    path = Path("/proc/sys/kernel/random/boot_id")
    return path.read_text().strip() if path.exists() else "unknown"


def start_time(pid: int) -> int | None:
    """Start of a process in clock ticks since boot; None if it does not exist or is a zombie."""
    try:
        fields = _stat(pid)
    except OSError:
        return None
    return None if fields[_STATE] in "ZX" else int(fields[_STARTED])


def parent(pid: int) -> int:
    """Parent of a process. Raises OSError if there is no such process."""
    return int(_stat(pid)[_PARENT])


def command_line(pid: int) -> list[bytes]:
    """A process's program and arguments. Raises OSError if there is no such process."""
    return Path(f"/proc/{pid}/cmdline").read_bytes().removesuffix(b"\0").split(b"\0")


def session_members(session: int) -> list[int]:
    """Processes of a session, living ones only."""
    members = []
    for pid in pids():
        with contextlib.suppress(OSError):
            if os.getsid(pid) == session and start_time(pid) is not None:
                members.append(pid)
    return members


def children(pid: int) -> list[int]:
    """Children of this process, without reading all of /proc."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found += [int(child) for child in (task / "children").read_text().split()]
    return found


def process_tree(root: int) -> list[int]:
    """A process and its living descendants."""
    tree = [root]
    for pid in tree:
        tree += children(pid)
    return tree


def tree_memory(root: int) -> int:
    """Resident bytes of a process and its descendants."""
    page = os.sysconf("SC_PAGE_SIZE")
    total = 0
    for pid in process_tree(root):
        with contextlib.suppress(OSError, IndexError, ValueError):
            total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page
    return total


def kernel_oom_kills() -> int:
    """Number of the kernel's out-of-memory kills since boot (0 if unknown)."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def killed_for_memory(victim: str, kills_before: int) -> bool:
    """Whether the kernel has killed a job for lack of memory, since it counted ``kills_before``.

    The count alone could belong to another job: the kernel's log must name the victim (``Killed process PID``
    or the container of its memory cgroup), unless only root may read it.
    """
    if kernel_oom_kills() == kills_before:
        return False
    try:
        return any(victim in message for message in _kernel_messages())
    except OSError:
        return True


def _kernel_messages() -> Iterator[str]:
    """Messages of the kernel's log. Raises OSError without permission."""
    log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    try:
        while True:
            with contextlib.suppress(BrokenPipeError):  # overwritten before it was read
                yield os.read(log, 8192).decode(errors="replace")
    except BlockingIOError:
        return
    finally:
        os.close(log)


def _stat(pid: int) -> list[str]:
    """Fields of /proc/PID/stat after the name. Raises OSError without such a process."""
    return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
