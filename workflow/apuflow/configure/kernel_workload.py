"""Workloads of kind ``kernels``: the file, its parameters as layer keys, and the files beside it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from typing_extensions import override

from apuflow.configure import labels, yaml_source
from apuflow.configure.base import Model, did_you_mean
from apuflow.configure.kernel_file import ContentsFile, KernelsFile
from apuflow.configure.kernel_work import KernelsWork, canonical_text
from apuflow.configure.work import Work
from apuflow.configure.workload import Note, Workload
from apuflow.core import paths
from apuflow.core.engines import EngineName
from apuflow.core.errors import ConfigError
from apuflow.core.gpus import GPUS
from apuflow.core.scalar import Scalar
from apuflow.kernels.sources import is_compiled, language, source_files, source_identity


@dataclass(frozen=True)
class KernelsWorkload(Workload):
    """Kernels of the user's own.

    Attributes:
        spec: its file.
        directory: where its files are, from the project's directory ``root``.
    """

    kind: ClassVar[str] = "kernels"
    title: ClassVar[str] = "kernels of your own"
    schema: ClassVar[type[Model] | None] = KernelsFile
    works: ClassVar[tuple[type[Work], ...]] = (KernelsWork,)
    derives_kernels: ClassVar[bool] = False
    programs: ClassVar[Mapping[EngineName, str]] = {"gem5-kernels": "own_kernels"}

    spec: KernelsFile = field(kw_only=True)
    directory: Path = field(kw_only=True)
    root: Path = field(kw_only=True)

    @classmethod
    @override
    def beside(cls, spec: Any, path: Path, document: yaml_source.Document) -> dict[str, Any]:
        root = path.parents[len(Path(paths.workload_file(path.stem)).parts) - 1]
        return {"spec": spec, "directory": path.parent.relative_to(root), "root": root}

    @override
    def refusal(self, engine: EngineName) -> str:
        if engine == "gem5":
            return "kernels without a host program: engine gem5-kernels starts them"
        return super().refusal(engine)

    @property
    @override
    def program(self) -> str:
        return self.spec.source

    @property
    @override
    def files(self) -> tuple[Path, ...]:
        sources = (path for _, path in self._sources())
        included = (part for path in sources if path.is_file() for part in source_files(path))
        return tuple(dict.fromkeys([*(path for _, path in self._beside()), *included]))

    def _beside(self) -> Iterator[tuple[str, Path]]:
        """The files that it reads, by their role."""
        place = self.root / self.directory
        yield from self._sources()
        if self.spec.reference is not None:
            yield "reference", place / self.spec.reference
        for name, buffer in self.spec.buffers.items():
            if isinstance(buffer.contents, ContentsFile) and buffer.contents.file is not None:
                yield f"contents of {name}", place / buffer.contents.file

    def _sources(self) -> Iterator[tuple[str, Path]]:
        """Its source files that are there, by role; one for each GPU where the name has ``{gfx}``."""
        for path in self._for_gpus(self.spec.source):
            yield f"source {path.name}", path
        for name in dict.fromkeys(launch.source for launch in self.spec.launches if launch.source):
            for path in self._for_gpus(name):
                yield f"source of launches {name} {path.name}", path

    @property
    def compiled_here(self) -> bool:
        """Whether clang chooses the instructions of a source, so that they can be changed for a gem5."""
        return any(is_compiled(path) for _, path in self._sources())

    def _for_gpus(self, source: str) -> tuple[Path, ...]:
        names = dict.fromkeys(source.replace("{gfx}", gfx) for gfx in GPUS)
        found = tuple(self.root / self.directory / name for name in names)
        return tuple(path for path in found if path.is_file()) or found[:1]

    @cached_property
    def _hashes(self) -> Mapping[str, str]:
        hashes = {}
        for role, path in self._beside():
            if role.startswith("source "):
                language(path)
                hashes[role] = source_identity(path)
                continue
            try:
                hashes[role] = hashlib.sha256(path.read_bytes()).hexdigest()
            except OSError as error:
                raise ConfigError(
                    f"cannot read the {role}: {error.strerror}",
                    file=path,
                    remedy="put it beside the workload's file, or correct its name there",
                ) from None
        return hashes

    @override
    def work(self, layer: Mapping[str, Scalar], note: Note) -> KernelsWork | None:
        parameters = dict(self.spec.parameters)
        for name, value in layer.items():
            if name not in parameters or not isinstance(value, int) or isinstance(value, bool):
                known = ", ".join(parameters) or "none"
                wrong = "not a whole number" if name in parameters else "not a parameter of this workload"
                remedy = f"{did_you_mean(name, parameters)}its parameters: {known}"
                note(ConfigError(wrong, key=f"layer.{name}", value=value, remedy=remedy))
                return None
            parameters[name] = value
        changed = sorted(name for name in layer if layer[name] != self.spec.parameters[name])
        try:
            work = KernelsWork(
                self.name,
                self.directory,
                self.root,
                self.spec,
                tuple(parameters.items()),
                canonical_text(self.spec, parameters, self._hashes),
                tuple(labels.value_part(name, parameters[name]) for name in changed),
            )
            work.program(1, next(iter(GPUS)))
        except ConfigError as error:
            error.file = error.file or str(self.directory / f"{self.name}.yaml")
            note(error)
            return None
        return work

    @override
    def holds(self, work: Work) -> bool:
        if not isinstance(work, KernelsWork):
            return False
        return canonical_text(self.spec, dict(work.parameters), self._hashes) == work.text

    @override
    def about(self) -> list[str]:
        buffers = [f"  {name}: {each.type} x {each.elements}" for name, each in self.spec.buffers.items()]
        launches = [
            f"  {each.kernel}: grid {' x '.join(map(str, each.grid))}, "
            f"workgroup {' x '.join(map(str, each.workgroup))}"
            for each in self.spec.launches
        ]
        parameters = ", ".join(f"{name} = {value}" for name, value in self.spec.parameters.items())
        return [
            f"parameters (layer keys of a sweep): {parameters or 'none'}",
            *("buffers:", *buffers),
            *("launches:", *launches),
            f"reference: {self.spec.reference or 'none: nothing is compared'}",
        ]
