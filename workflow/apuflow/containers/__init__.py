"""Container engines behind one small interface: Docker, Podman, Apptainer, and none (``host``)."""

from __future__ import annotations

from apuflow.containers.apptainer import ApptainerEngine
from apuflow.containers.base import Engine, Exit, Job, Limits, Mount, Sample
from apuflow.containers.docker_engine import DockerEngine
from apuflow.containers.host import HostEngine
from apuflow.containers.identity import Labels, Owner
from apuflow.errors import ConfigError

ENGINES = ("docker", "podman", "apptainer", "host")

__all__ = [
    "ENGINES",
    "ApptainerEngine",
    "DockerEngine",
    "Engine",
    "Exit",
    "HostEngine",
    "Job",
    "Labels",
    "Limits",
    "Mount",
    "Owner",
    "Sample",
    "get_engine",
]


def get_engine(name: str, socket: str | None = None) -> Engine:
    """The engine of a name of :data:`ENGINES`; connects to nothing yet.

    Args:
        socket: address of the Docker or Podman daemon, as a URL or path; None: where it usually is.

    Raises:
        ConfigError: another name.
    """
    if name in ("docker", "podman"):
        return DockerEngine(name, socket)
    if name == "apptainer":
        return ApptainerEngine()
    if name == "host":
        return HostEngine()
    raise ConfigError(
        "unknown container engine", key="engine", value=name, remedy=f"one of {', '.join(ENGINES)}"
    )
