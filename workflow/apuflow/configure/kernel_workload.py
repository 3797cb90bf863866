"""Workloads of kind ``kernels``: the file, its parameters as layer keys, the files beside it, its points."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from typing_extensions import override

from apuflow.configure import yaml_source
from apuflow.configure.base import Model
from apuflow.configure.kernel_file import ContentsFile, KernelsFile
from apuflow.configure.kernel_program import own_buffers, own_launches, own_model, own_pointers
from apuflow.configure.meant import meant_key
from apuflow.configure.work import Work, value_part
from apuflow.configure.workload import Note, Workload
from apuflow.core import paths
from apuflow.core.engines import EngineName
from apuflow.core.errors import ApuflowError, ConfigError, NotModelled
from apuflow.core.files import sha256_file
from apuflow.core.gpus import GPUS
from apuflow.core.scalar import Scalar
from apuflow.kernels.element_types import ELEMENT_TYPES, ElementType
from apuflow.kernels.iree_compiler import IREE
from apuflow.kernels.iree_model import ModelProgram
from apuflow.kernels.program import OwnBuffer, OwnProgram
from apuflow.kernels.sources import check_gpu, is_compiled, language, source_files, source_identity
from apuflow.miopen.launch import Launch
from apuflow.operations.layer_keys import LayerKey

if TYPE_CHECKING:
    from apuflow.preview.profile import Profile

GUEST_BYTES = 64 * 1024**2
"""Simulated memory for the launcher, its list, the code object and the data file beside the buffers."""


@dataclass(frozen=True)
class KernelsWork(Work):
    """Kernels of the user's own with this point's parameters, in a directory of the project's ``root``.

    ``canonical`` is everything that decides what is computed, as it enters the identity.
    """

    name: str
    directory: Path
    root: Path = field(compare=False)
    spec: KernelsFile = field(compare=False)
    parameters: tuple[tuple[str, int | str], ...]
    canonical: str
    label: tuple[str, ...] = field(default=(), compare=False)
    direction: None = None
    executed: ClassVar[bool] = True

    @property
    @override
    def text(self) -> str:
        return self.canonical

    @property
    @override
    def of_workload(self) -> str:
        return self.name

    @property
    @override
    def device_bytes(self) -> int:
        return sum(buffer.size for buffer in self.buffers())

    @property
    @override
    def simulated_bytes(self) -> int:
        return 2 * self.device_bytes + GUEST_BYTES

    @override
    def launches(self, compute_units: int) -> tuple[Launch, ...]:
        message = "these are kernels of your own, which no layer launches"
        raise NotModelled(message, key="workload", value=self.name, remedy="name a workload of layers")

    @override
    def previewed(self, compute_units: int, gfx: str) -> tuple[tuple[Launch, ...], tuple[Profile, ...]]:
        return _previewed(self, compute_units, gfx)

    @override
    def kept(self, compute_units: int, gfx: str) -> bool:
        from apuflow.kernels.previewed import kept_profiles

        try:
            program = self.program(compute_units, gfx)
            return kept_profiles(program, _identity(self, compute_units), gfx, self.root).exists()
        except ApuflowError:
            return True

    @override
    def weights(self, compute_units: int, gfx: str) -> tuple[float, ...]:
        if all(each.weight == 1 for each in self.spec.launches):
            return ()
        return tuple(each.weight for each in self.program(compute_units, gfx).launches)

    def execute(self, compute_units: int, gfx: str, total: int) -> None:
        """Execute its launches for :meth:`previewed`, at most ``total`` wavefront instructions of them.

        Raises:
            TooLong: they are more. EngineError: they cannot be executed.
            NotModelled: a kernel waits for other workgroups.
        """
        _previewed(self, compute_units, gfx, total)

    @override
    def not_compiled(self, gfx: str) -> ConfigError | None:
        for name in {each.source or self.spec.source for each in self.spec.launches} | {self.spec.source}:
            try:
                check_gpu(Path(name), gfx)
            except ConfigError as error:
                return error
        return None

    @property
    def usual_gpu(self) -> str:
        """A GPU that its kernels compile for."""
        usual = {"triton": "gfx90a", "iree": "gfx942"}
        return usual.get(language(Path(self.spec.source)), "gfx801")

    def buffers(self) -> tuple[OwnBuffer, ...]:
        """Its memory; raises ConfigError for a size that cannot be."""
        return _buffers(self)

    def program(self, compute_units: int, gfx: str) -> OwnProgram:
        """What runs on a machine; ConfigError for a wrong expression or too many launches."""
        names = dict(self.parameters) | {"compute_units": compute_units}
        given = self.spec.reference
        reference = self.root / self.directory / given if given is not None else None
        tolerance = self.spec.tolerance
        if self.spec.is_model:
            made = _model(self, gfx)
            return OwnProgram(
                *(self.name, made.buffers, made.launches, tuple(made.views), reference, tolerance, names),
                model=made.model,
                views=made.views,
            )
        buffers = self.buffers()
        launches = tuple(own_launches(self.spec, names, gfx, buffers, self.directory, self.root))
        return OwnProgram(
            *(self.name, buffers, launches, self.spec.outputs, reference, tolerance, names),
            pointers=tuple(own_pointers(self.spec, gfx, buffers, launches, self.directory)),
        )


@lru_cache(maxsize=4096)
def _previewed(
    work: KernelsWork, compute_units: int, gfx: str, total: int | None = None
) -> tuple[tuple[Launch, ...], tuple[Profile, ...]]:
    from apuflow.kernels.previewed import as_launches, profiles_of

    program = work.program(compute_units, gfx)
    identity = _identity(work, compute_units)
    return as_launches(program), profiles_of(program, identity, gfx, work.root, total=total)


def _identity(work: KernelsWork, compute_units: int) -> str:
    """What decides what its launches do; most do not depend on the number of compute units."""
    return f"{work.canonical} {compute_units if 'compute_units' in work.canonical else ''}"


@lru_cache(maxsize=4096)
def _model(work: KernelsWork, gfx: str) -> ModelProgram:
    return own_model(work.spec, dict(work.parameters), gfx, work.directory, work.root)


@lru_cache(maxsize=4096)
def _buffers(work: KernelsWork) -> tuple[OwnBuffer, ...]:
    if work.spec.is_model:
        return _model(work, work.usual_gpu).buffers
    return own_buffers(work.spec, dict(work.parameters), work.root / work.directory)


def canonical_text(spec: KernelsFile, parameters: Mapping[str, int | str], files: Mapping[str, str]) -> str:
    """Everything that decides what is computed, as JSON; ``files``: hash of each that it reads, by role."""
    parts = spec.model_dump(
        mode="json", exclude={"description", "notes", "runs_on", "parameters"}, exclude_defaults=True
    )
    parts |= {"parameters": dict(sorted(parameters.items())), "files": dict(files)}
    return json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@dataclass(frozen=True)
class KernelsWorkload(Workload):
    """Kernels of the user's own, in a directory of the project's ``root``."""

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
        directory = path.parent.relative_to(root)
        return {"spec": spec, "directory": directory, "root": root, "program": spec.source}

    @override
    def refusal(self, engine: EngineName) -> str:
        if engine == "gem5":
            return "kernels without a host program: engine gem5-kernels starts them"
        return super().refusal(engine)

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
        contents = {name: buffer.contents for name, buffer in self.spec.buffers.items()} | self.spec.inputs
        for name, each in contents.items():
            if isinstance(each, ContentsFile) and each.file is not None:
                yield f"contents of {name}", place / each.file

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
        hashes = {"compiler": f"IREE {IREE}"} if self.spec.is_model else {}
        for role, path in self._beside():
            if role.startswith("source "):
                language(path)
                hashes[role] = source_identity(path)
                continue
            try:
                hashes[role] = sha256_file(path)
            except OSError as error:
                remedy = "put it beside the workload's file, or correct its name there"
                raise ConfigError(
                    f"cannot read the {role}: {error.strerror}", file=path, remedy=remedy
                ) from None
        return hashes

    @override
    def layer_keys(self) -> Iterator[LayerKey]:
        for name, value in self.spec.parameters.items():
            kind = "whole number" if isinstance(value, int) else ", ".join(ELEMENT_TYPES)
            choices = () if isinstance(value, int) else tuple(ELEMENT_TYPES)
            yield LayerKey(self.name, name, kind, str(value), "parameter of the workload's file", choices)

    @override
    def work(self, layer: Mapping[str, Scalar], note: Note) -> KernelsWork | None:
        parameters = dict(self.spec.parameters)
        for name, value in layer.items():
            word = isinstance(self.spec.parameters.get(name), str)
            right = value in ELEMENT_TYPES if word else isinstance(value, int) and not isinstance(value, bool)
            if name not in parameters or not right:
                known = ", ".join(parameters) or "none"
                kind = "a type of elements" if word else "a whole number"
                wrong = f"not {kind}" if name in parameters else "not a parameter of this workload"
                remedy = f"{meant_key(name, parameters)}its parameters: {known}"
                note(ConfigError(wrong, key=f"layer.{name}", value=value, remedy=remedy))
                return None
            parameters[name] = cast("int | ElementType", value)
        changed = sorted(name for name in layer if layer[name] != self.spec.parameters[name])
        try:
            work = KernelsWork(
                *(self.name, self.directory, self.root, self.spec),
                tuple(parameters.items()),
                canonical_text(self.spec, parameters, self._hashes),
                tuple(value_part(name, parameters[name]) for name in changed),
            )
            work.program(1, work.usual_gpu if self.spec.is_model else next(iter(GPUS)))
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
            f"  {each.kernel}: grid {' x '.join(map(str, each.grid))}"
            + (f", workgroup {' x '.join(map(str, each.workgroup))}" if each.workgroup else " programs")
            for each in self.spec.launches
        ]
        model = self.spec.is_model
        unnamed = "IREE on the CPU" if model else "none: nothing is compared"
        parameters = ", ".join(f"{name} = {value}" for name, value in self.spec.parameters.items())
        return [
            f"parameters (layer keys of a sweep): {parameters or 'none'}",
            *(["buffers and launches: IREE's"] if model else ["buffers:", *buffers, "launches:", *launches]),
            f"reference: {self.spec.reference or unnamed}",
        ]
