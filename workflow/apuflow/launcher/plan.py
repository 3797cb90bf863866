"""From a layer's launches to the guest process that runs them: dispatch list, files, proof.

All launches run in one process, in order, on shared buffers, so caches keep the previous kernel's lines.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from apuflow.core.errors import ConfigError
from apuflow.launcher import gemm
from apuflow.launcher.dispatch_list import (
    Argument,
    Buffer,
    Contents,
    Dispatch,
    DispatchList,
    Dump,
    Statistics,
)
from apuflow.miopen.launch import Arg, Launch, Row, definitions, expand, first_uses
from apuflow.operations import own
from apuflow.rocblas.call import SCALE_SOURCE

PAGE = 4096
DIRECTORY = Path("all")
"""Directory of a process's list and outputs, below its working directory."""


@dataclass(frozen=True)
class Output:
    """A buffer of 32-bit floats that the guest writes to ``path`` at its end."""

    buffer: str
    elements: int
    path: Path


@dataclass(frozen=True)
class GuestRun:
    """One guest process.

    Attributes:
        list_file: the guest program's only argument, relative to its working directory.
        contents: the list.
        launches: parallel to the list's dispatches; loops are unrolled.
        outputs: files that the run leaves.
    """

    list_file: Path
    contents: DispatchList
    launches: tuple[Launch, ...]
    outputs: tuple[Output, ...]

    @property
    def end_marker(self) -> str:
        """The line of standard output that proves that every dispatch has finished."""
        return self.contents.end_marker

    def without_outputs(self) -> GuestRun:
        """The same run without dumped buffers."""
        steps = tuple(step for step in self.contents.steps if not isinstance(step, Dump))
        return replace(self, contents=replace(self.contents, steps=steps), outputs=())


def kernel_source(launch: Launch) -> Row:
    """The source of a launch: a program of MIOpen, a kernel of rocBLAS, or one of ours."""
    if launch.kernel == gemm.KERNEL:
        assert launch.gemm is not None
        return Row(gemm.PROGRAM.name, gemm.compile_arguments(launch.gemm))
    assert launch.program is not None
    assert launch.arguments is not None
    return Row(launch.program, launch.arguments)


def source_directory(program: str, kernels: Path) -> Path:
    """Directory of a program's source: MIOpen's ``kernels``, or that of the code that launches it."""
    if program == gemm.PROGRAM.name:
        return gemm.PROGRAM.parent
    if program == SCALE_SOURCE.name:
        return SCALE_SOURCE.parent
    return own.DIRECTORY if program in own.PROGRAMS else kernels


def guest_run(
    launches: Sequence[Launch],
    *,
    device: str,
    objects: Mapping[Row, Path],
    data: Path | None = None,
    data_bytes: int = 0,
    statistics: Statistics = "dispatch",
    in_memory: bool = False,
) -> GuestRun:
    """Plan the guest process of a layer or network; nothing is written.

    Args:
        launches: from :func:`apuflow.miopen.launches`; at least one.
        device: a GPU of ``apuflow.core.gpus``.
        objects: the compiled code object of every kernel source.
        data: file of uniform floats for the inputs (DNNMark's ``-mmap``); without it the guest computes them.
        data_bytes: its size.
        statistics: see DispatchList.
        in_memory: gem5 loads inputs of the data file past the caches; otherwise the CPU writes them.

    Raises:
        ConfigError: a data file smaller than a buffer.
    """
    every = tuple(expand(launches))
    buffers = _buffers(every, data_bytes if data else 0, in_memory)
    names = {original: f"b{index}" for index, original in enumerate(buffers)}
    outputs = _written(every)
    contents = DispatchList(
        device,
        tuple(Buffer(names[original], size, fill) for original, (size, fill) in buffers.items()),
        (
            *(_dispatch(launch, names, objects) for launch in every),
            *(Dump(names[output.buffer], output.path) for output in outputs),
        ),
        statistics=statistics,
        data=data,
    )
    return GuestRun(DIRECTORY / "dispatch.list", contents, every, outputs)


def initial_contents(runs: GuestRun) -> dict[str, Buffer]:
    """The buffers of a run by their names in its launches."""
    names = dict.fromkeys(str(arg.value) for launch in runs.launches for arg in _memory(launch))
    return dict(zip(names, runs.contents.buffers, strict=True))


def _memory(launch: Launch) -> tuple[Arg, ...]:
    return tuple(arg for arg in launch.args if arg.kind == "buffer")


def _dispatch(launch: Launch, names: Mapping[str, str], objects: Mapping[Row, Path]) -> Dispatch:
    given = (
        gemm.arguments(launch)
        if launch.kernel == gemm.KERNEL
        else tuple(Argument(arg.kind, arg.value, arg.offset) for arg in launch.args)
    )
    arguments = tuple(
        Argument("buffer", names[str(one.value)], one.offset) if one.kind == "buffer" else one
        for one in given
    )
    return Dispatch(objects[kernel_source(launch)], launch.kernel, launch.grid, launch.workgroup, arguments)


def _buffers(part: Sequence[Launch], data_bytes: int, in_memory: bool) -> dict[str, tuple[int, Contents]]:
    """Size and contents of every buffer: outputs are touched, inputs filled in order of first use."""
    offset = 0
    buffers: dict[str, tuple[int, Contents]] = {}
    for number, (name, (used, launch, arg)) in enumerate(first_uses(part).items()):
        size = -(-used // 4) * 4
        if arg.role == "out":
            buffers[name] = size, Contents.touch()
        elif arg.name == "mask":
            buffers[name] = size, Contents.modulo(number, _window(launch))
        elif arg.name == "index":
            rows = next(int(arg.value) for arg in launch.args if arg.name == "rows")
            buffers[name] = size, Contents.indices(number, rows)
        elif not data_bytes:
            buffers[name] = size, Contents.uniform(number)
        else:
            if size > data_bytes:
                raise ConfigError(
                    "the data file is smaller than a buffer that it fills",
                    key="mmap",
                    value=data_bytes,
                    remedy=f"make it at least {size} bytes",
                )
            offset = 0 if offset + size > data_bytes else offset
            buffers[name] = size, Contents.loaded(offset) if in_memory else Contents.file(offset)
            offset += -(-size // PAGE) * PAGE
    return buffers


def _window(launch: Launch) -> int:
    """Elements of a pooling window, which bound its mask."""
    given = definitions(launch.arguments)
    return min(math.prod(int(given.get(f"MLO_POOLING_KERNEL_SZ{axis}", 1)) for axis in (0, 1)), 256)


def _written(part: Sequence[Launch]) -> tuple[Output, ...]:
    sizes: dict[str, int] = {}
    for launch in part:
        for arg in _memory(launch):
            if arg.role in ("out", "inout"):
                sizes[str(arg.value)] = max(sizes.get(str(arg.value), 0), arg.elements)
    return tuple(
        Output(name, size, DIRECTORY / f"out{i}.bin") for i, (name, size) in enumerate(sizes.items())
    )
