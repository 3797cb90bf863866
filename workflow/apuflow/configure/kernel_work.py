"""What a point with kernels of the user's own runs, once its parameters and its machine are known."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from apuflow.configure.kernel_file import ArgumentFile, BufferFile, ContentsFile, KernelsFile, LaunchFile
from apuflow.configure.work import Work
from apuflow.core.errors import ConfigError, NotModelled
from apuflow.kernels.expression import evaluate, positive, text_with
from apuflow.kernels.program import Fill, FillKind, Given, OwnBuffer, OwnLaunch, OwnProgram
from apuflow.miopen.launch import Extent, Launch

if TYPE_CHECKING:
    from apuflow.preview.profile import Profile

GUEST_BYTES = 64 * 1024**2
"""Simulated memory for the launcher, its list, the code object and the data file beside the buffers."""
MOST_LAUNCHES = 10_000
"""Of one point: gem5 writes a block of statistics for each."""


@dataclass(frozen=True)
class KernelsWork(Work):
    """Kernels of the user's own with this point's parameters.

    Attributes:
        name: of the workload.
        directory: where its files are, from the project's directory.
        root: the project's directory.
        parameters: with this point's values.
        canonical: everything that decides what is computed, as it enters the identity.
    """

    name: str
    directory: Path
    root: Path = field(compare=False)
    spec: KernelsFile = field(compare=False)
    parameters: tuple[tuple[str, int], ...]
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
    def device_bytes(self) -> int:
        return sum(buffer.size for buffer in self.buffers())

    @property
    @override
    def simulated_bytes(self) -> int:
        return 2 * self.device_bytes + GUEST_BYTES

    @override
    def touched_bytes(self, memory_bytes: int) -> int:
        return min(memory_bytes, self.simulated_bytes)

    @override
    def launches(self, compute_units: int) -> tuple[Launch, ...]:
        raise NotModelled(
            "these are kernels of your own, which no layer launches",
            key="workload",
            value=self.name,
            remedy="name a workload of layers",
        )

    @override
    def previewed(self, compute_units: int, gfx: str) -> tuple[tuple[Launch, ...], tuple[Profile, ...]]:
        return _previewed(self, compute_units, gfx)

    def buffers(self) -> tuple[OwnBuffer, ...]:
        """Its memory; raises ConfigError for a size that cannot be."""
        return _buffers(self)

    def program(self, compute_units: int, gfx: str) -> OwnProgram:
        """What runs on a machine.

        Raises:
            ConfigError: an expression that cannot be evaluated, or more launches than are sensible.
        """
        names = dict(self.parameters) | {"compute_units": compute_units}
        reference = self.spec.reference
        return OwnProgram(
            name=self.name,
            compile=text_with(self.spec.compile, names | {"gfx": gfx}, "compile"),
            buffers=self.buffers(),
            launches=tuple(self._launches(names, gfx)),
            outputs=self.spec.outputs,
            reference=self.root / self.directory / reference if reference is not None else None,
            tolerance=self.spec.tolerance,
            parameters=names,
        )

    def _launches(self, names: Mapping[str, int], gfx: str) -> Iterator[OwnLaunch]:
        count = 0
        for number, spec in enumerate(self.spec.launches):
            key = f"launches.{number}"
            repeat = positive(spec.repeat, names, f"{key}.repeat")
            count += repeat
            if count > MOST_LAUNCHES:
                raise ConfigError(
                    f"more than {MOST_LAUNCHES} launches",
                    key=f"{key}.repeat",
                    value=repeat,
                    remedy="launch a kernel fewer times",
                )
            source = text_with(spec.source or self.spec.source, {"gfx": gfx}, "source")
            launch = _launch(spec, self.directory / source, names, self.spec.buffers, key)
            yield from (launch for _ in range(repeat))


@lru_cache(maxsize=4096)
def _previewed(
    work: KernelsWork, compute_units: int, gfx: str
) -> tuple[tuple[Launch, ...], tuple[Profile, ...]]:
    from apuflow.kernels.previewed import as_launches, profiles_of

    program = work.program(compute_units, gfx)
    return as_launches(program), profiles_of(program, f"{work.canonical} {compute_units}", gfx, work.root)


@lru_cache(maxsize=4096)
def _buffers(work: KernelsWork) -> tuple[OwnBuffer, ...]:
    names = dict(work.parameters)
    return tuple(
        OwnBuffer(
            name,
            spec.type,
            positive(spec.elements, names, f"buffers.{name}.elements"),
            _fill(spec.contents, work.root / work.directory),
        )
        for name, spec in work.spec.buffers.items()
    )


def _fill(contents: ContentsFile | FillKind, directory: Path) -> Fill:
    if isinstance(contents, str):
        return Fill(contents, (0,) if contents == "uniform" else ())
    match contents.kind:
        case "uniform":
            return Fill("uniform", (contents.uniform or 0,))
        case "modulo":
            return Fill("modulo", (contents.seed, contents.modulo or 256))
        case "constant":
            return Fill("constant", (contents.constant or 0,))
        case "values":
            return Fill("values", contents.values or ())
        case "file":
            return Fill("file", (), directory / (contents.file or ""))
        case kind:
            return Fill(kind)


def _launch(
    spec: LaunchFile, source: Path, names: Mapping[str, int], buffers: Mapping[str, BufferFile], key: str
) -> OwnLaunch:
    grid = _extent(spec.grid, names, f"{key}.grid")
    workgroup = _extent(spec.workgroup, names, f"{key}.workgroup")
    given = tuple(
        _given(argument, names, buffers, f"{key}.arguments.{number}")
        for number, argument in enumerate(spec.arguments)
    )
    lds = evaluate(spec.lds, names, f"{key}.lds")
    if lds < 0:
        raise ConfigError("a size is not negative", key=f"{key}.lds", value=lds, remedy="give bytes")
    return OwnLaunch(source, spec.kernel, grid, workgroup, given, lds)


def _extent(sizes: tuple[int | str, ...], names: Mapping[str, int], key: str) -> Extent:
    x, y, z = (*(positive(size, names, key) for size in sizes), 1, 1)[:3]
    return x, y, z


def _given(
    argument: ArgumentFile | float | str, names: Mapping[str, int], buffers: Mapping[str, object], key: str
) -> Given:
    if isinstance(argument, str) and argument in buffers:
        return Given("buffer", argument)
    if isinstance(argument, (int, str)):
        return Given("integer", evaluate(argument, names, key))
    if isinstance(argument, float):
        return Given("real", argument)
    if argument.buffer is not None:
        if argument.buffer not in buffers:
            raise ConfigError(
                "not a buffer", key=key, value=argument.buffer, remedy=f"buffers: {', '.join(buffers)}"
            )
        return Given("buffer", argument.buffer, evaluate(argument.offset, names, key))
    if argument.bytes is not None:
        return Given("bytes", argument.bytes)
    if argument.lds is not None:
        return Given("lds", positive(argument.lds, names, f"{key}.lds"))
    for kind in ("half", "float", "double"):
        if (value := getattr(argument, kind)) is not None:
            return Given("real", value, type=kind)
    raise AssertionError(argument)


def canonical_text(spec: KernelsFile, parameters: Mapping[str, int], files: Mapping[str, str]) -> str:
    """Everything that decides what is computed, as JSON.

    Args:
        files: hash of each file that it reads, by its role.
    """
    parts = spec.model_dump(
        mode="json", exclude={"description", "notes", "runs_on", "parameters"}, exclude_defaults=True
    )
    parts |= {"parameters": dict(sorted(parameters.items())), "files": dict(files)}
    return json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
