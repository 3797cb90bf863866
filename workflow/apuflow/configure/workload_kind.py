"""What every kind of workload says about itself; ``configure.workloads`` has the kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from apuflow import dnnmark
from apuflow.configure.work import Work
from apuflow.configure.workload import Need, Runs
from apuflow.core.engines import EngineName
from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar

Note = Callable[[ConfigError], None]
"""Is told what is wrong; so that one message can list everything."""


@dataclass(frozen=True)
class Workload(ABC):
    """What a sweep runs at each of its points.

    Attributes:
        runs: by engine, what its file says of whether it runs there.
        direction: passes that it runs; None where that has no meaning.
        needs: libraries whose kernels it launches.
    """

    kind: ClassVar[str]
    derives_kernels: ClassVar[bool]
    """Whether the kernels that it launches are known before it runs."""

    name: str
    description: str
    runs: Mapping[EngineName, Runs] = field(default_factory=dict)
    notes: str | None = None
    direction: dnnmark.Direction | None = None
    needs: tuple[Need, ...] = ()

    @property
    @abstractmethod
    def program(self) -> str:
        """What is started."""

    @property
    def files(self) -> tuple[Path, ...]:
        """Configuration files that it consists of, besides its own."""
        return ()

    @property
    def supplied(self) -> tuple[str, ...]:
        """Programs of the user's own that it runs: paths as configured."""
        return ()

    @property
    def cpu_cores(self) -> int:
        """CPU cores that its machine must have."""
        return 0

    @abstractmethod
    def work(self, layer: Mapping[str, Scalar], note: Note) -> Work | None:
        """What runs with these layer values; None when something is wrong with it (noted)."""

    def about(self) -> list[str]:
        """Lines that describe it to a user, after its name, program and engines."""
        return []
