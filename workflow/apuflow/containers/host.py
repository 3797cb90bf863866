"""Jobs as process groups of this machine, with limits, log, stop rules and leftovers: host and Apptainer."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from apuflow.containers.job import Exit, Job, Sample, StopWatch, intervals, needs_image
from apuflow.containers.shared_start import Fork, SharedStart, start_process, taken
from apuflow.core import proc
from apuflow.core.errors import EngineError
from apuflow.core.host import home
from apuflow.core.owner import OWNER, PROJECT, is_leftover, variable

_LIBRARIES = ("LD_LIBRARY_PATH", "LD_PRELOAD", "ROCM_PATH")
_PASSED_ON = ("PATH", "LANG", "TMPDIR", "TZ", "SSL_CERT_FILE", *_LIBRARIES)
_APPTAINERS = ("apptainer", "singularity")
_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37
_MEMORY_LOOK_SECONDS = 0.2
_STRAY_ROUNDS = 200
"""Checks, 10 ms apart, until killed processes are gone."""
_reaping = threading.Lock()
_reapers: list[int] = []
"""By running job of this process, in all threads: whether this process was a subreaper before."""


class HostEngine:
    """Runs jobs as process groups of this machine, with its network. Mounts have no effect."""

    name = "host"

    def check(self) -> None:
        """Do nothing: the host can always start a process."""

    def run(self, job: Job) -> Exit:
        """Run a job in its own session.

        Its environment is the job's plus PATH and a few of ours, independent of other exported variables.
        """
        job.home.mkdir(parents=True, exist_ok=True)
        passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        env = {**passed, **job.environment()}
        if job.shared is not None and (exit_ := _forked(job, job.shared, env)) is not None:
            return exit_
        return run_process(job.command, job, env)

    def remove_leftovers(self, project: Path) -> list[str]:
        """See ``ContainerEngine``; found by their environment."""
        removed = []
        for pid, command in list(_leftovers(project)):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                session = os.getsid(pid)
                if session == pid:
                    _end_session(session)
                else:
                    os.kill(pid, signal.SIGKILL)
                removed.append(f"process {pid}: {command}")
        return removed


class ApptainerEngine(HostEngine):
    """Rootless containers where Docker is not allowed; images are ``.sif`` files or ``docker://`` names.

    Its processes are children of this one, so limits, stop rules and leftovers are the host engine's.
    """

    name = "apptainer"

    def __init__(self, program: str | None = None) -> None:
        self._program = program

    @property
    def program(self) -> str:
        """Path of the command line tool. Raises EngineError if there is none."""
        program = self._program or next((path for name in _APPTAINERS if (path := shutil.which(name))), None)
        if program is None:
            remedy = "install apptainer, or set `container: docker` (podman, host) in configs/site.yaml"
            raise EngineError("Apptainer is not on this machine", value="apptainer", remedy=remedy)
        return program

    def check(self) -> None:
        """Check that the tool answers."""
        result = subprocess.run([self.program, "--version"], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            remedy, said = "run `apptainer version` by hand", result.stderr.strip()
            raise EngineError("Apptainer does not start", value=said, remedy=remedy)

    def command(self, job: Job) -> tuple[str, ...]:
        """Command line of a job."""
        if job.image is None:
            raise needs_image(self.name)
        words = [self.program, "--silent", "exec", "--containall", "--cleanenv", "--no-home", "--no-privs"]
        words += ["--net", "--network", "none"]
        for mount in job.mounts:
            path = str(mount.path)
            if set(path) & set(",:"):
                remedy = "move the project to a directory without them"
                message = "Apptainer cannot mount a path with a comma or colon"
                raise EngineError(message, value=path, remedy=remedy)
            words += ["--bind", f"{path}:{path}:{'rw' if mount.writable else 'ro'}"]
        # Apptainer's --env expands values by a shell and refuses HOME: `env` sets them inside.
        values = {**job.labels.as_environment(), **job.environment()}
        inside = ["/usr/bin/env", *(f"{name}={value}" for name, value in values.items())]
        return (*words, "--pwd", str(job.cwd), job.image, *inside, *job.command)

    def run(self, job: Job) -> Exit:
        """Run a job through ``apptainer exec``."""
        job.home.mkdir(parents=True, exist_ok=True)
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        return run_process(self.command(job), job, {"PATH": path, "HOME": str(home() or job.home)})


def _forked(job: Job, shared: SharedStart, env: Mapping[str, str]) -> Exit | None:
    """Run a job as a fork of a shared start; None if that process ended before the fork."""
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


def run_process(command: Sequence[str], job: Job, env: Mapping[str, str]) -> Exit:
    """Start ``command`` in its own session, follow it to its end, return how it ended.

    The memory limit counts resident memory of the process tree; a limit on address space would include what
    gem5 only reserves. If this process is killed, the kernel kills the first process, and a later start finds
    its children. This process is a subreaper until the job ends, so it can also kill children in other
    sessions. Raises EngineError if the command cannot be started.
    """

    def before_exec() -> None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return _run(job, lambda log: start_process(command, job.cwd, env, job.labels, log, before_exec))


def _run(job: Job, start: Callable[[BinaryIO], subprocess.Popen[bytes] | Fork]) -> Exit:
    """Start a job's process with its log, follow it to its end, and kill what it leaves."""
    job.log.parent.mkdir(parents=True, exist_ok=True)
    kills_before = proc.kernel_oom_kills()
    children_before = set(proc.children(os.getpid()))
    with job.log.open("ab") as log, _subreaper(), StopWatch(job.limits) as watch:
        process = start(log)
        kept = process.kept if isinstance(process, Fork) else set()
        try:
            exit_ = _follow(process, job, watch)
        finally:
            strays = set(proc.process_tree(process.pid)) - {process.pid}
            _end_session(process.pid)
            if process.returncode is None:
                process.wait()
            _end_strays(job, strays, children_before | kept)
    if exit_.signal == signal.SIGKILL and exit_.stopped is None and not exit_.oom_killed:
        by_kernel = proc.killed_for_memory(f"Killed process {process.pid} ", kills_before)
        return replace(exit_, oom_killed=by_kernel)
    return exit_


@contextlib.contextmanager
def _subreaper() -> Iterator[None]:
    """Make this process the subreaper of orphans while a job runs."""
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


def _end_strays(job: Job, known: set[int], children_before: set[int]) -> None:
    """Kill processes that a job left outside of its session.

    They were its descendants, carry its labels, or became our children in their own session while no other
    job ran.
    """
    marks = [f"{name}={value}\0".encode() for name, value in job.labels.as_environment().items()]
    for _ in range(_STRAY_ROUNDS):
        fallen = _fallen(children_before)
        if len(_reapers) > 1:  # read last: children that other threads start are counted before
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
    """New children in other sessions, and their descendants."""
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
    waits = intervals()
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
                _end_session(process.pid)
            if job.on_sample is not None and watch.seconds >= next_sample:
                next_sample = watch.seconds + job.sample_seconds
                job.on_sample(Sample(watch.seconds, memory))
        if watch.should_stop():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, job.limits.stop_signal)
        if watch.should_kill():
            _end_session(process.pid)
    status = process.wait()  # negative: ended by that signal
    code, number = (128 - status, -status) if status < 0 else (status, None)
    return Exit(code, number, over_limit, peak or None, watch.seconds, watch.reason)


def _end_session(session: int) -> None:
    """Kill all processes of a session and wait until they are gone, at most 5 s."""
    deadline = time.monotonic() + 5.0
    while members := proc.session_members(session):
        for pid in members:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return
        time.sleep(0.01)


def _leftovers(project: Path) -> Iterator[tuple[int, str]]:
    """Processes of this project directory whose owner is dead: number and command."""
    marker = f"{variable(PROJECT)}=".encode()
    for pid in proc.pids():
        if pid == os.getpid():
            continue
        try:  # the command first: a process that ends in between has no environment
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
