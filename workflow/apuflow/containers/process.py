"""Run one process group on this machine: its limits, its log, how it is stopped, what a dead owner left."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import resource
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from apuflow.containers.base import Exit, Job, Sample, shell_code
from apuflow.containers.identity import OWNER, PROJECT, is_leftover, variable
from apuflow.containers.stopping import StopWatch, intervals
from apuflow.core.errors import EngineError

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
_MEMORY_LOOK_SECONDS = 0.2


def run_process(command: Sequence[str], job: Job, env: Mapping[str, str], *, cwd: Path) -> Exit:
    """Start ``command`` as a session of its own, follow it to its end, return how it ended.

    The memory limit counts resident memory of the process tree (a limit on address space would count what
    gem5 only reserves). The first process dies with us even when we are killed by SIGKILL; what it started
    in turn is found by :func:`leftover_sessions`.

    Raises:
        EngineError: the command cannot be started.
    """

    def before_exec() -> None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    job.log.parent.mkdir(parents=True, exist_ok=True)
    kills_before = kernel_oom_kills()
    with job.log.open("ab") as log, StopWatch(job.limits) as watch:
        try:
            process = subprocess.Popen(
                list(command),
                cwd=cwd,
                env={**env, **job.labels.as_environment()},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=before_exec,
            )
        except OSError as error:
            raise EngineError(
                f"cannot start {command[0]}: {error.strerror or error}",
                value=command[0],
                remedy="check that the file exists, is executable and is meant for this machine",
            ) from error
        try:
            exit_ = _follow(process, job, watch)
        finally:
            end_session(process.pid)
            if process.returncode is None:
                process.wait()
    killed_by_kernel = (
        exit_.signal == signal.SIGKILL and exit_.stopped is None and kernel_oom_kills() > kills_before
    )
    return Exit(
        exit_.code,
        exit_.signal,
        exit_.oom_killed or killed_by_kernel,
        exit_.peak_memory_bytes,
        exit_.seconds,
        exit_.stopped,
    )


def _follow(process: subprocess.Popen[bytes], job: Job, watch: StopWatch) -> Exit:
    peak, over_limit = 0, False
    next_look = next_sample = 0.0
    waits = itertools.chain(intervals(), itertools.repeat(intervals()[-1]))
    while process.returncode is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(next(waits))
            break
        if watch.seconds >= next_look:
            next_look = watch.seconds + _MEMORY_LOOK_SECONDS
            memory = tree_memory(process.pid)
            peak = max(peak, memory)
            if job.limits.memory_bytes is not None and memory > job.limits.memory_bytes:
                over_limit = True
                end_session(process.pid)
            if job.on_sample is not None and watch.seconds >= next_sample:
                next_sample = watch.seconds + job.sample_seconds
                job.on_sample(Sample(watch.seconds, memory))
        if watch.should_ask():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, job.limits.stop_signal)
        if watch.should_kill():
            end_session(process.pid)
    code, number = shell_code(process.wait())
    return Exit(code, number, over_limit, peak or None, watch.seconds, watch.reason)


def session_members(session: int) -> list[int]:
    """Processes of a session, living ones only."""
    members = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == session and fields[0] not in "ZX":
                    members.append(int(entry.name))
    return members


def process_tree(root: int) -> list[int]:
    """A process and its descendants, without reading all of /proc. Those that end meanwhile are left out."""
    tree = [root]
    for pid in tree:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{pid}/task").iterdir():
                with contextlib.suppress(OSError):
                    tree += [int(child) for child in (task / "children").read_text().split()]
    return tree


def tree_memory(root: int) -> int:
    """Resident bytes of a process and its descendants."""
    page = os.sysconf("SC_PAGE_SIZE")
    total = 0
    for pid in process_tree(root):
        with contextlib.suppress(OSError, IndexError, ValueError):
            total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page
    return total


def end_session(session: int, seconds: float = 5.0) -> None:
    """Kill every process of a session and see them gone."""
    deadline = time.monotonic() + seconds
    while members := session_members(session):
        for pid in members:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return
        time.sleep(0.01)


def leftover_sessions(project: Path) -> Iterator[tuple[int, str]]:
    """Process groups of this project directory whose owner is dead: (pid, what it was)."""
    marker = f"{variable(PROJECT)}=".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            environment = (entry / "environ").read_bytes()
            if marker not in environment:
                continue
            pairs = (item.partition("=") for item in environment.decode(errors="replace").split("\0"))
            variables = {name: value for name, _, value in pairs}
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            continue
        labels = {name: variables.get(variable(name), "") for name in (PROJECT, OWNER)}
        if is_leftover(labels, project):
            yield int(entry.name), command[:120]


def kernel_oom_kills() -> int:
    """How often the kernel has killed for lack of memory since boot (0 where it does not say)."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0
