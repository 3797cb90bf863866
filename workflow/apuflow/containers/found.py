"""The container engine of a site without key ``container``: the first that answers, else the host."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Final

from apuflow.containers.apptainer import ApptainerEngine
from apuflow.containers.sockets import candidate_urls, socket_problem
from apuflow.core.errors import EngineError

ORDER: Final = ("docker", "podman", "apptainer")
"""Engines in the order in which they are tried."""
DECIDED: Final = "APUFLOW_CONTAINER"
"""Environment variable that passes the found engine to child processes."""

_SECONDS = 5
"""A daemon that does not answer within this time counts as dead."""


@dataclass(frozen=True)
class Found:
    """The container engine that was found.

    Attributes:
        name: ``docker``, ``podman``, ``apptainer`` or ``host``; ``docker`` if nothing was found.
        passed: by engine, why it was rejected.
        usable: something was found.
    """

    name: str
    passed: dict[str, str] = field(default_factory=dict)
    usable: bool = True

    def __str__(self) -> str:
        """The choice and its reason."""
        taken = (
            "none, the tools of this machine are used"
            if self.name == "host"
            else f"{self.name}, the first that answers"
        )
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
    """The first of ``ORDER`` that answers, else the host if gem5 exists or can be built.

    Each is tried once per command: child processes read the result from their environment.

    Args:
        socket: address of the Docker or Podman daemon; None: the usual places.
        own_gem5: whether the site names its own gem5.
    """
    found = _inherited() or _find(socket, own_gem5)
    os.environ[DECIDED] = json.dumps(asdict(found))
    return found


def _inherited() -> Found | None:
    try:
        found = Found(**json.loads(os.environ.get(DECIDED, "")))
    except (ValueError, TypeError):
        return None
    return found if found.name in (*ORDER, "host") else None


def _find(socket: str | None, own_gem5: bool) -> Found:
    passed: dict[str, str] = {}
    for name in ORDER:
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
    from apuflow.containers.docker_connection import connect  # loads Docker's client

    connect(name, socket, timeout=_SECONDS).close()
