"""Container engines by name; for a site without key ``container`` the first that answers, else the host."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Final

from apuflow.containers.host import ApptainerEngine, HostEngine
from apuflow.containers.job import ContainerEngine
from apuflow.containers.sockets import candidate_urls, socket_problem
from apuflow.core.errors import ConfigError, EngineError

ENGINES: Final = ("docker", "podman", "apptainer", "host")
"""Engines in the order in which they are tried."""
DECIDED: Final = "APUFLOW_CONTAINER"
"""Environment variable that passes the found engine to child processes."""
_DEAD_SECONDS = 5
"""A daemon that does not answer within this time counts as dead."""


def container_engine(name: str, socket: str | None = None, answer_seconds: int = 60) -> ContainerEngine:
    """An engine by a name of ``ENGINES``, not yet connected.

    Args:
        socket: address of the Docker or Podman daemon, as a URL or path; None: the usual place.
        answer_seconds: a daemon that answers later has failed.
    """
    if name in ("docker", "podman"):
        from apuflow.containers.docker import DockerEngine  # its client takes longer to load than all else

        return DockerEngine(name, socket, answer_seconds)
    if name == "apptainer":
        return ApptainerEngine()
    if name == "host":
        return HostEngine()
    remedy = f"one of {', '.join(ENGINES)}"
    raise ConfigError("unknown container engine", key="container", value=name, remedy=remedy)


@dataclass(frozen=True)
class Found:
    """The container engine that was found; ``docker``, not usable, if there is none.

    Attributes:
        passed: by engine, why it was rejected.
    """

    name: str
    passed: dict[str, str] = field(default_factory=dict)
    usable: bool = True

    def __str__(self) -> str:
        """The choice and its reason."""
        taken = f"{self.name}, the first that answers"
        if self.name == "host":
            taken = "none, the tools of this machine are used"
        return taken + "".join(f"; not {engine}: {reason}" for engine, reason in self.passed.items())

    def check(self) -> None:
        """Raise EngineError with each engine's reason and the fix if nothing was found."""
        if self.usable:
            return
        listed = "".join(f"\n  {engine}: {reason}" for engine, reason in self.passed.items())
        raise EngineError(
            f"no container engine answers, and this machine has no tools to build gem5:{listed}",
            key="container",
            remedy="start one (`sudo systemctl start docker`, `systemctl --user start podman.socket`), "
            "install one, or name your gem5 in configs/site.yaml (gem5.binary)",
        )


@cache
def find_engine(socket: str | None, own_gem5: bool) -> Found:
    """The first of ``ENGINES`` that answers, else the host if gem5 exists or can be built.

    Each is tried once per command: child processes read the result from their environment. ``own_gem5``:
    whether the site names its own gem5.
    """
    found = _inherited() or _find(socket, own_gem5)
    os.environ[DECIDED] = json.dumps(asdict(found))
    return found


def _inherited() -> Found | None:
    try:
        found = Found(**json.loads(os.environ.get(DECIDED, "")))
    except (ValueError, TypeError):
        return None
    return found if found.name in ENGINES else None


def _find(socket: str | None, own_gem5: bool) -> Found:
    passed: dict[str, str] = {}
    for name in ENGINES[:-1]:
        try:
            _try(name, socket)
        except EngineError as error:
            passed[name] = error.message
        else:
            return Found(name, passed)
    missing = [] if own_gem5 else [tool for tool in ("scons", "g++") if shutil.which(tool) is None]
    if not missing:
        return Found("host", passed)
    return Found("docker", {**passed, "host": f"{' and '.join(missing)} not found"}, usable=False)


def _try(name: str, socket: str | None) -> None:
    """Raise EngineError if an engine does not answer."""
    if name == "apptainer":
        ApptainerEngine().check()
        return
    urls = candidate_urls(name, socket)
    if all(socket_problem(url) == "absent" for url in urls):
        raise EngineError(f"nothing listens at {', '.join(url.removeprefix('unix://') for url in urls)}")
    from apuflow.containers.docker import connect

    connect(name, socket, timeout=_DEAD_SECONDS).close()
