"""Container engines behind one small interface: Docker, Podman, Apptainer, and none (``host``)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from apuflow.containers.apptainer import ApptainerEngine
from apuflow.containers.host import HostEngine
from apuflow.containers.job import ContainerEngine, Exit, Job, Limits, Mount, Sample
from apuflow.core.errors import ConfigError
from apuflow.core.owner import Labels, Owner

if TYPE_CHECKING:
    from apuflow.containers.docker import DockerEngine

CONTAINER_ENGINES = ("docker", "podman", "apptainer", "host")

__all__ = [
    "CONTAINER_ENGINES",
    "ApptainerEngine",
    "ContainerEngine",
    "DockerEngine",
    "Exit",
    "HostEngine",
    "Job",
    "Labels",
    "Limits",
    "Mount",
    "Owner",
    "Sample",
    "container_engine",
]


def __getattr__(name: str) -> Any:
    """Load Docker's client at first use: it takes longer than everything else that a run needs."""
    if name == "DockerEngine":
        return importlib.import_module("apuflow.containers.docker").DockerEngine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def container_engine(name: str, socket: str | None = None, answer_seconds: int = 60) -> ContainerEngine:
    """Return an engine by a name of :data:`CONTAINER_ENGINES`, not yet connected.

    Args:
        socket: address of the Docker or Podman daemon, as a URL or path; None: the usual place.
        answer_seconds: a daemon that answers later has failed.

    Raises:
        ConfigError: unknown name.
    """
    if name in ("docker", "podman"):
        from apuflow.containers.docker import DockerEngine

        return DockerEngine(name, socket, answer_seconds)
    if name == "apptainer":
        return ApptainerEngine()
    if name == "host":
        return HostEngine()
    raise ConfigError(
        "unknown container engine",
        key="container",
        value=name,
        remedy=f"one of {', '.join(CONTAINER_ENGINES)}",
    )
