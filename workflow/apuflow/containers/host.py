"""No container: the tools are on this machine.

Run one process group on this machine: its limits, its log, how it is stopped, what a dead owner left.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from apuflow.containers.job import Exit, Job, Sample, StopWatch, intervals, shell_code
from apuflow.containers.shared_start import Fork, SharedStart, cannot_start, taken
from apuflow.core import proc
from apuflow.core.owner import OWNER, PROJECT, is_leftover, variable

_PASSED_ON = ("PATH", "LANG", "TMPDIR", "TZ", "LD_LIBRARY_PATH", "ROCM_PATH", "SSL_CERT_FILE")


class HostEngine:
    """Runs jobs as process groups of this machine. Mounts and ``network`` mean nothing here."""

    name = "host"

    def check(self) -> None:
        """The host can always start a process; what it lacks shows in the tools' own checks."""

    def run(self, job: Job) -> Exit:
        """Run a job as a session of its own.

        The environment is the job's plus PATH and a few more of ours, so that a run does not depend on what
        else the caller has exported.
        """
        job.home.mkdir(parents=True, exist_ok=True)
        passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        env = {**passed, **job.environment()}
        if job.shared is not None and (exit_ := _forked(job, job.shared, env)) is not None:
            return exit_
        return run_process(job.command, job, env, cwd=job.cwd)

    def remove_leftovers(self, project: Path) -> list[str]:
        """See ``Engine``; found by their environment."""
        return remove_leftover_processes(project)


def _forked(job: Job, shared: SharedStart, env: Mapping[str, str]) -> Exit | None:
    """Run a job as a fork of one that begins like it; None when that one ended before there was a fork."""
    with taken(shared) as place:
        fork: Fork | None = None

        def start(_log: BinaryIO) -> Fork:
            nonlocal fork
            fork = Fork(shared, place, job.cwd, env, job.labels.project)
            return fork

        try:
            exit_ = _run(job, start)
        finally:
            if fork is not None:
                fork.close()
    tried = fork is not None and not fork.forked and exit_.stopped is None and not exit_.oom_killed
    return None if tried else exit_


def remove_leftover_processes(project: Path) -> list[str]:
    """Kill the processes of dead owners of this project directory; return a line for each."""
    removed = []
    for pid, command in list(leftover_sessions(project)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            session = os.getsid(pid)
            if session == pid:
                end_session(session)
            else:
                os.kill(pid, signal.SIGKILL)
            removed.append(f"process {pid}: {command}")
    return removed


_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37
_MEMORY_LOOK_SECONDS = 0.2
_jobs: list[Job] = []
"""What this process runs now, in all its threads."""

_STRAY_ROUNDS = 200
"""Looks, 10 ms apart, until what was killed is gone."""


def run_process(command: Sequence[str], job: Job, env: Mapping[str, str], *, cwd: Path) -> Exit:
    """Start ``command`` as a session of its own, follow it to its end, return how it ended.

    The memory limit counts resident memory of the process tree (a limit on address space would count what
    gem5 only reserves). The first process dies with us even when we are killed by SIGKILL; what it started
    in turn is found by :func:`leftover_sessions`. What it started in a session of its own falls to us when
    its parent ends (until the job has ended we are its subreaper), and is killed with it.

    Raises:
        EngineError: the command cannot be started.
    """

    def before_exec() -> None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def start(log: BinaryIO) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
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
            raise cannot_start(command[0], error) from error

    return _run(job, start)


def _run(job: Job, start: Callable[[BinaryIO], subprocess.Popen[bytes] | Fork]) -> Exit:
    """Start a job's process with its log, follow it to its end, and end what it leaves."""
    job.log.parent.mkdir(parents=True, exist_ok=True)
    kills_before = proc.kernel_oom_kills()
    children_before = set(proc.children(os.getpid()))
    with job.log.open("ab") as log, _subreaper(), _counted(job), StopWatch(job.limits) as watch:
        process = start(log)
        kept = process.kept if isinstance(process, Fork) else set()
        try:
            exit_ = _follow(process, job, watch)
        finally:
            strays = set(proc.process_tree(process.pid)) - {process.pid}
            end_session(process.pid)
            if process.returncode is None:
                process.wait()
            _end_strays(job, strays, children_before | kept)
    killed_by_kernel = (
        exit_.signal == signal.SIGKILL
        and exit_.stopped is None
        and proc.killed_for_memory(f"Killed process {process.pid} ", kills_before)
    )
    return Exit(
        exit_.code,
        exit_.signal,
        exit_.oom_killed or killed_by_kernel,
        exit_.peak_memory_bytes,
        exit_.seconds,
        exit_.stopped,
    )


_reaping = threading.Lock()
_reapers: list[int] = []
"""Of each job that runs now: whether this process was a subreaper before."""


@contextlib.contextmanager
def _subreaper() -> Iterator[None]:
    """What loses its parent falls to this process while a job runs, and only then."""
    before = ctypes.c_int()
    with _reaping:
        _LIBC.prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(before))
        _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1)
        _reapers.append(_reapers[0] if _reapers else before.value)
    try:
        yield
    finally:
        with _reaping:
            was = _reapers.pop()
            if not _reapers:
                _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, was)


@contextlib.contextmanager
def _counted(job: Job) -> Iterator[None]:
    _jobs.append(job)
    try:
        yield
    finally:
        _jobs.remove(job)


def _end_strays(job: Job, known: set[int], children_before: set[int]) -> None:
    """Kill what a job left outside of its session.

    It was among the job's descendants, or carries its labels, or has fallen to us with a session of its own
    while no other job was ours.
    """
    marks = [f"{name}={value}\0".encode() for name, value in job.labels.as_environment().items()]
    for _ in range(_STRAY_ROUNDS):
        fallen = _fallen(children_before)
        if len(_jobs) > 1:  # looked at last: whoever has started a child in another thread is counted before
            fallen = set()
        ours = proc.process_tree(os.getpid())[1:]
        strays = [pid for pid in ours if pid in known or pid in fallen or _carries(pid, marks)]
        for pid in strays:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        if not strays:
            return
        time.sleep(0.01)


def _fallen(children_before: set[int]) -> set[int]:
    """Children that are new and in another session than ours, and what they have started."""
    found: set[int] = set()
    for child in set(proc.children(os.getpid())) - children_before:
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(child) != os.getsid(0):
                found.update(proc.process_tree(child))
    return found


def _carries(pid: int, marks: Sequence[bytes]) -> bool:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes() + b"\0"
    except OSError:
        return False
    return all(mark in environment for mark in marks)


def _follow(process: subprocess.Popen[bytes] | Fork, job: Job, watch: StopWatch) -> Exit:
    peak, over_limit = 0, False
    next_look = next_sample = 0.0
    waits = itertools.chain(intervals(), itertools.repeat(intervals()[-1]))
    while process.returncode is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(next(waits))
            break
        if watch.seconds >= next_look:
            next_look = watch.seconds + _MEMORY_LOOK_SECONDS
            memory = proc.tree_memory(process.pid)
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


def end_session(session: int, seconds: float = 5.0) -> None:
    """Kill every process of a session and see them gone."""
    deadline = time.monotonic() + seconds
    while members := proc.session_members(session):
        for pid in members:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return
        time.sleep(0.01)


def leftover_sessions(project: Path) -> Iterator[tuple[int, str]]:
    """Process groups of this project directory whose owner is dead: (pid, what it was)."""
    marker = f"{variable(PROJECT)}=".encode()
    for pid in proc.pids():
        if pid == os.getpid():
            continue
        try:  # the command first: a process that ends in between has no environment, and is not named ""
            command = b" ".join(proc.command_line(pid)).decode(errors="replace")
            environment = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            continue
        if marker not in environment:
            continue
        pairs = (item.partition("=") for item in environment.decode(errors="replace").split("\0"))
        variables = {name: value for name, _, value in pairs}
        labels = {name: variables.get(variable(name), "") for name in (PROJECT, OWNER)}
        if is_leftover(labels, project):
            yield pid, command[:120]
