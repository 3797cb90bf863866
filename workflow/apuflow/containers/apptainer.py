"""Apptainer (or Singularity) through its command line."""

from __future__ import annotations

import shutil
import subprocess

from apuflow.containers.host import HostEngine, run_process
from apuflow.containers.job import Exit, Job, needs_image
from apuflow.core.errors import EngineError
from apuflow.core.host import home

_PROGRAMS = ("apptainer", "singularity")


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
