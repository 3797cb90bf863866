"""What every kind of workload says about itself; ``configure.workloads`` has the kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field

from apuflow import dnnmark
from apuflow.configure import yaml_source
from apuflow.configure.base import Model, Text, validate
from apuflow.configure.work import Work
from apuflow.core.engines import EngineName
from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar
from apuflow.operations.layer_keys import LayerKey

Need = Literal["miopen", "rocblas"]


def _state(value: object) -> object:
    """YAML reads a bare yes or no as true or false."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


class Runs(Model):
    """Whether an engine can run a workload."""

    state: Annotated[Literal["yes", "unproven", "no"], BeforeValidator(_state)] = Field(
        description="yes: seen or tested upstream; unproven: nothing known against it; no: it fails"
    )
    reason: Text = Field(description="where that is known from, or why not")


Note = Callable[[ConfigError], None]
"""Is told what is wrong; so that one message can list everything."""


@dataclass(frozen=True)
class Workload(ABC):
    """What a sweep runs at each of its points.

    Attributes:
        runs: by engine, what its file says of whether it runs there.
        direction: passes that it runs; None where that has no meaning.
        needs: libraries whose kernels it launches.
        program: what is started.
    """

    kind: ClassVar[str]
    title: ClassVar[str] = ""
    """What it is, in a few words."""
    schema: ClassVar[type[Model] | None] = None
    """The keys of its file; None: it has none."""
    works: ClassVar[tuple[type[Work], ...]]
    """What its points run."""
    derives_kernels: ClassVar[bool]
    """Whether the kernels that it launches are known before it runs."""
    programs: ClassVar[Mapping[EngineName, str]]
    """By engine that runs gem5: the module of ``apuflow.engines`` whose ``PROGRAM`` runs it; else refused."""

    name: str
    description: str
    runs: Mapping[EngineName, Runs] = field(default_factory=dict)
    notes: str | None = None
    direction: dnnmark.Direction | None = None
    needs: tuple[Need, ...] = ()
    program: str = ""

    @classmethod
    def of_file(cls, name: str, path: Path, document: yaml_source.Document) -> Self:
        """The workload of a file: attributes named as keys, and those of ``beside``."""
        assert cls.schema is not None
        spec: Any = validate(document, cls.schema)
        keys = {each.name for each in fields(cls)} & set(cls.schema.model_fields)
        taken = {key: getattr(spec, key) for key in keys}
        return cls(**{"name": name, "runs": spec.runs_on, **taken, **cls.beside(spec, path, document)})

    @classmethod
    def beside(cls, spec: Any, path: Path, document: yaml_source.Document) -> dict[str, Any]:
        """Attributes that no key of the file, as ``schema`` has read it, is named after."""
        del spec, path, document
        return {}

    @property
    def executed(self) -> bool:
        """Whether the preview has to compile and execute its kernels."""
        return any(work.executed for work in self.works)

    def holds(self, work: Work) -> bool:
        """Whether this work is what its files would make now."""
        del work  # most work carries all that it was made from
        return True

    def refusal(self, engine: EngineName) -> str:
        """Why an engine without a program for it refuses it."""
        return f"{engine} runs DNNMark's layers, not programs"

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

    def layer_keys(self) -> Iterable[LayerKey]:
        """The keys that a sweep's ``layer`` can set; ``default`` is this workload's own value."""
        return ()

    def about(self) -> list[str]:
        """Lines that describe it to a user, after its name, program and engines."""
        return []
