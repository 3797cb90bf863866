"""The owner of a job: labels that survive it, and whether it is alive."""

from __future__ import annotations

import contextlib
import os
import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from apuflow.core import proc

PROJECT = "org.apuflow.project"
POINT = "org.apuflow.point"
OWNER = "org.apuflow.owner"


@dataclass(frozen=True)
class Owner:
    """A process, distinguished from later ones with the same number."""

    host: str
    boot: str
    pid: int
    started: int

    @classmethod
    def current(cls) -> Owner:
        """This process."""
        return cls.of(os.getpid())

    @classmethod
    def of(cls, pid: int) -> Owner:
        """The process ``pid`` of this machine. Raises ProcessLookupError if there is none."""
        started = proc.start_time(pid)
        if started is None:
            raise ProcessLookupError(pid)
        return cls(socket.gethostname(), proc.boot_id(), pid, started)

    def __str__(self) -> str:
        return f"{self.host}/{self.boot}/{self.pid}/{self.started}"

    @classmethod
    def parse(cls, text: str) -> Owner | None:
        """The owner from its ``str``; None for another text."""
        parts = text.rsplit("/", 3)
        if len(parts) != 4 or not (parts[2].isdigit() and parts[3].isdigit()):
            return None
        return cls(parts[0], parts[1], int(parts[2]), int(parts[3]))

    def is_here(self) -> bool:
        """Whether it is or was a process of this machine."""
        return self.host == socket.gethostname()

    def is_dead(self) -> bool:
        """Whether it is certainly dead: of this machine, which has rebooted or has no such process."""
        if not self.is_here():
            return False
        return self.boot != proc.boot_id() or proc.start_time(self.pid) != self.started


@dataclass(frozen=True)
class Labels:
    """Labels of a container or process group."""

    project: Path
    point: str
    owner: Owner

    @classmethod
    def here(cls, project: Path, point: str) -> Labels:
        """Labels for a job of this process."""
        return cls(project.resolve(), point, Owner.current())

    def as_dict(self) -> dict[str, str]:
        """Labels of a container."""
        return {PROJECT: str(self.project), POINT: self.point, OWNER: str(self.owner)}

    def as_environment(self) -> dict[str, str]:
        """The labels as variables, for engines without labels: readable in /proc/PID/environ."""
        return {variable(key): value for key, value in self.as_dict().items()}


def variable(label: str) -> str:
    """Environment variable of a label."""
    return label.upper().replace(".", "_")


def is_leftover(labels: Mapping[str, str], project: Path) -> bool:
    """Whether a job of this project directory has a certainly dead owner."""
    if labels.get(PROJECT) != str(project.resolve()):
        return False
    owner = Owner.parse(labels.get(OWNER, ""))
    return owner is not None and owner.is_dead()


def workflow_owner() -> Owner | None:
    """The nearest ancestor that runs Snakemake; None if there is none."""
    return next(_workflows(), None)


def outermost_workflow() -> Owner | None:
    """The Snakemake that the user started, which outlives its jobs; None if there is none."""
    return next(reversed(list(_workflows())), None)


def _workflows() -> Iterator[Owner]:
    """Ancestors that run ``snakemake``, ``python -m snakemake`` or ``.../snakemake/__main__.py``."""
    pid = os.getppid()
    with contextlib.suppress(OSError):
        while pid > 1:
            words = proc.command_line(pid)[:4]
            if any(re.search(rb"(^|/)snakemake$|/snakemake/__main__\.py$", word) for word in words):
                yield Owner.of(pid)
            pid = proc.parent(pid)
