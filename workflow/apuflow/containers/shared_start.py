"""Shared starts: one process does the common start of similar jobs, and each job is a fork of it.

That process is kept for later jobs of its kind, in its own directory below the project, until it has been
idle for a while. ``apuflow/run/fork_server.py`` is its side of the connection.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from apuflow.core.errors import EngineError
from apuflow.core.owner import Labels, Owner, outermost_workflow

IDLE_SECONDS = 60
"""A started process without requests for this time ends itself."""

_LOCK, _SOCKET, _LOG = ".lock", "socket", "log"
_LOOK_SECONDS = 0.05
_ANSWER_SECONDS = 60.0
"""A process that has not forked by this time is stuck."""
_started: list[subprocess.Popen[bytes]] = []
"""Processes that this one has started; a deleted Popen warns."""


@dataclass(frozen=True)
class SharedStart:
    """The common start of jobs.

    Attributes:
        place: directory of the started processes of this kind.
        command: starts the process in a given directory.
        files: files to write there before, by name.
        own: names in the job's working directory that are linked into the started process's.
        begun: files of the started process's output directory that each fork continues.
        outdir: name of the output directory in both.
    """

    place: Path
    command: Callable[[Path, Owner], tuple[str, ...]]
    files: Mapping[str, str] = field(default_factory=dict)
    own: tuple[str, ...] = ()
    begun: tuple[str, ...] = ()
    outdir: str = "m5out"


class Fork:
    """A job as a fork, with the interface of ``subprocess.Popen``.

    Before the fork, ``pid`` is that of the starting process.

    Attributes:
        forked: whether the fork happened.
        kept: processes that outlive the job.
    """

    def __init__(
        self, start: SharedStart, place: Path, job_dir: Path, env: Mapping[str, str], project: Path
    ) -> None:
        self.returncode: int | None = None
        self.forked = False
        self._start, self._place, self._job_dir = start, place, job_dir
        self._buffer = b""
        self._connection: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        if (connection := _connect(place)) is not None:
            self._request(connection)
        if not self.forked:
            self._process = _begin(start, place, env, project)
            self.pid = self._process.pid
        self.kept = {self._process.pid} if self._process is not None else set()

    def wait(self, timeout: float | None = None) -> int:
        """Exit status, negative for a signal. Raises ``subprocess.TimeoutExpired`` if it still runs."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._connection is None:
            if self._process is not None and self._process.poll() is not None:
                self.returncode = self._process.returncode
                return self.returncode
            if (connection := _connect(self._place)) is not None:
                self._request(connection)
            elif deadline is not None and time.monotonic() >= deadline:
                raise subprocess.TimeoutExpired(["fork"], timeout or 0.0)
            else:
                time.sleep(_LOOK_SECONDS)
        if self.returncode is None:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            self.returncode = self._answer("status", left)
        return self.returncode

    def close(self) -> None:
        """Close the connection, which ends a running fork."""
        if self._connection is not None:
            self._connection.close()

    def _request(self, connection: socket.socket) -> None:
        """Request a fork; without effect if the process has just ended."""
        outdir = self._job_dir / self._start.outdir
        outdir.mkdir(exist_ok=True)
        for name in self._start.begun:
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(self._place / self._start.outdir / name, outdir / name)
        for name in self._start.own:
            (self._place / name).unlink(missing_ok=True)
            (self._place / name).symlink_to(self._job_dir / name)
        self._connection = connection
        with contextlib.suppress(OSError):
            connection.sendall(json.dumps({"outdir": str(outdir)}).encode() + b"\n")
        pid = -9
        with contextlib.suppress(subprocess.TimeoutExpired):
            pid = self._answer("pid", _ANSWER_SECONDS)
        if pid > 0:
            self.forked, self.pid = True, pid
        else:
            self._connection = None
            connection.close()

    def _answer(self, key: str, timeout: float | None) -> int:
        """The next number; -9 if the connection is closed, as when the fork was killed."""
        assert self._connection is not None
        self._connection.settimeout(timeout)
        while b"\n" not in self._buffer:
            try:
                received = self._connection.recv(4096)
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(["fork"], timeout or 0.0) from None
            except OSError:
                received = b""
            if not received:
                return -9
            self._buffer += received
        line, _, self._buffer = self._buffer.partition(b"\n")
        return int(json.loads(line)[key])


@contextlib.contextmanager
def taken(start: SharedStart) -> Iterator[Path]:
    """A directory for a started process, locked against other jobs."""
    number = 0
    while True:
        place = start.place / str(number)
        try:
            place.mkdir(parents=True, exist_ok=True)
            lock = _lock(place / _LOCK)
        except FileNotFoundError:  # removed between the two
            continue
        if lock is None:
            number += 1
        elif os.fstat(lock).st_nlink == 0:  # its process has just ended and removed the directory
            os.close(lock)
        else:
            break
    try:
        yield place
    finally:
        for name in start.own:
            (place / name).unlink(missing_ok=True)
        os.close(lock)


def _lock(file: Path) -> int | None:
    """The open and locked file; None if another process has it."""
    handle = os.open(file, os.O_CREAT | os.O_RDWR, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    except OSError as error:
        os.close(handle)
        message = f"a start cannot be shared here: the file system has no locks ({error.strerror})"
        remedy = "remove shared_start from configs/site.yaml"
        raise EngineError(message, file=file, remedy=remedy) from error
    return handle


def _end_idle(root: Path) -> None:
    """End the longest idle ones until no more are idle than in use."""
    places = [lock.parent for lock in root.glob(f"*/*/{_LOCK}")]
    with contextlib.ExitStack() as stack:
        idle = []
        for place in places:
            with contextlib.suppress(FileNotFoundError):
                if (lock := _lock(place / _LOCK)) is not None:
                    stack.callback(os.close, lock)
                    idle.append(place)
        in_use = len(places) - len(idle)
        for place in sorted(idle, key=lambda place: place.stat().st_mtime)[: max(0, len(idle) - in_use)]:
            if (connection := _connect(place)) is not None:
                with connection, contextlib.suppress(OSError):
                    connection.sendall(b"{}\n")
                    connection.recv(1)
            shutil.rmtree(place, ignore_errors=True)


def _begin(start: SharedStart, place: Path, env: Mapping[str, str], project: Path) -> subprocess.Popen[bytes]:
    _end_idle(start.place.parent)
    for entry in place.iterdir():
        if entry.name == _LOCK:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink()
    for name, text in start.files.items():
        (place / name).write_text(text, encoding="utf-8")
    owner = outermost_workflow() or Owner.current()
    command = start.command(place, owner)
    labels = Labels(project, "started for several points", owner)
    with (place / _LOG).open("wb") as log:
        process = start_process(command, place, env, labels, log)
    _started[:] = [*(each for each in _started if each.poll() is None), process]
    return process


def _connect(place: Path) -> socket.socket | None:
    """A connection to the process of a directory; None if none listens."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    directory = os.open(place, os.O_PATH)
    try:
        # The path of a socket holds 107 characters.
        connection.connect(f"/proc/self/fd/{directory}/{_SOCKET}")
    except OSError:
        connection.close()
        return None
    finally:
        os.close(directory)
    return connection


def start_process(
    command: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    labels: Labels,
    log: BinaryIO,
    before_exec: Callable[[], None] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program in its own session. Raises EngineError if it cannot start."""
    try:
        return subprocess.Popen(
            list(command),
            cwd=cwd,
            env={**env, **labels.as_environment()},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=before_exec,
        )
    except OSError as error:
        message = f"cannot start {command[0]}: {error.strerror or error}"
        remedy = "check that the file exists, is executable and is meant for this machine"
        raise EngineError(message, value=command[0], remedy=remedy) from error
