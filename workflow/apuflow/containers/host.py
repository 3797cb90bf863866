"""No container: the tools are on this machine."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from apuflow.containers.base import Exit, Job
from apuflow.containers.process import end_session, leftover_sessions, run_process

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
        return run_process(job.command, job, {**passed, **job.environment()}, cwd=job.cwd)

    def remove_leftovers(self, project: Path) -> list[str]:
        return remove_leftover_processes(project)


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
