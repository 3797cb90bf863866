"""Apptainer (or Singularity) through its command line."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from apuflow.containers.host import remove_leftover_processes, run_process
from apuflow.containers.job import Exit, Job
from apuflow.core.errors import EngineError
from apuflow.core.host import home

_PROGRAMS = ("apptainer", "singularity")


class ApptainerEngine:
    """Rootless containers where Docker is not allowed; images are ``.sif`` files or ``docker://`` names.

    Its processes are children of this one, so limits, stop rules and leftovers are the host engine's.
    """

    name = "apptainer"

    def __init__(self, program: str | None = None) -> None:
        self._program = program

    @property
    def program(self) -> str:
        """Path of the command line tool. Raises EngineError if there is none."""
        program = self._program or next((path for name in _PROGRAMS if (path := shutil.which(name))), None)
        if program is None:
            raise EngineError(
                "Apptainer is not on this machine",
                value="apptainer",
                remedy="install apptainer, or set `container: docker` (podman, host) in configs/site.yaml",
            )
        return program

    def check(self) -> None:
        """Check that the tool answers."""
        result = subprocess.run([self.program, "--version"], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise EngineError(
                "Apptainer does not start",
                value=result.stderr.strip(),
                remedy="run `apptainer version` by hand",
            )

    def command(self, job: Job) -> tuple[str, ...]:
        """Command line of a job."""
        if job.image is None:
            raise EngineError(
                "the apptainer engine needs an image",
                key="image",
                remedy="name one under image in configs/site.yaml",
            )
        words = [self.program, "--silent", "exec", "--containall", "--cleanenv", "--no-home", "--no-privs"]
        if not job.network:
            words += ["--net", "--network", "none"]
        for mount in job.mounts:
            path = str(mount.path)
            if set(path) & set(",:"):
                raise EngineError(
                    "Apptainer cannot mount a path with a comma or colon",
                    value=path,
                    remedy="move the project to a directory without them",
                )
            words += ["--bind", f"{path}:{path}:{'rw' if mount.writable else 'ro'}"]
        # Apptainer's --env expands values by a shell and refuses HOME: `env` sets them inside.
        values = {**job.labels.as_environment(), **job.environment()}
        inside = ["/usr/bin/env", *(f"{name}={value}" for name, value in values.items())]
        words += ["--pwd", str(job.cwd), job.image, *inside, *job.command]
        return tuple(words)

    def run(self, job: Job) -> Exit:
        """Run a job through ``apptainer exec``."""
        job.home.mkdir(parents=True, exist_ok=True)
        host = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(home() or job.home),
        }
        return run_process(self.command(job), job, host, cwd=job.cwd)

    def remove_leftovers(self, project: Path) -> list[str]:
        """See ``Engine``; found by their environment."""
        return remove_leftover_processes(project)
