"""From a layer's launches to the guest process that runs them: dispatch list, files, proof.

All launches run in one process, in order, on shared buffers, so caches keep the previous kernel's lines.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from apuflow.core.errors import ConfigError
from apuflow.launcher.dispatch_list import (
    Argument,
    Buffer,
    Contents,
    Dispatch,
    DispatchList,
    Dump,
    Statistics,
)
from apuflow.miopen.launch import Launch, Row, definitions, expand, first_uses
from apuflow.miopen.rocm_4_0_1.gemm import TILE
from apuflow.operations import own
from apuflow.rocblas.call import SCALE_SOURCE

PAGE = 4096
DIRECTORY = Path("all")
"""Directory of a process's list and outputs, below its working directory."""
LIST = DIRECTORY / "dispatch.list"
"""The guest program's only argument."""
SGEMM_SOURCE = Path(__file__).with_name("gemm.cl")
SGEMM = "sgemm"
"""The tiled kernel that stands in for rocBLAS; tables name it as a stand-in."""
FLOAT_BYTES = 4


@dataclass(frozen=True)
class Output:
    """A buffer of 32-bit floats that the guest writes to ``path`` at its end."""

    buffer: str
    elements: int
    path: Path


@dataclass(frozen=True)
class GuestRun:
    """One guest process: its list, the launch of each of its dispatches, the files that it leaves."""

    contents: DispatchList
    launches: tuple[Launch, ...]
    outputs: tuple[Output, ...]

    def without_outputs(self) -> GuestRun:
        """The same run without dumped buffers."""
        steps = tuple(step for step in self.contents.steps if not isinstance(step, Dump))
        return replace(self, contents=replace(self.contents, steps=steps), outputs=())


def output_file(number: int) -> Path:
    """Where the guest writes its output of that number."""
    return DIRECTORY / f"out{number}.bin"


def kernel_source(launch: Launch) -> Row:
    """The source of a launch: a program of MIOpen, a kernel of rocBLAS, or one of ours."""
    if launch.kernel == SGEMM:
        assert launch.gemm is not None
        turned = int(launch.gemm.transpose_a), int(launch.gemm.transpose_b)
        arguments = f" -DTRANSPOSE_A={turned[0]} -DTRANSPOSE_B={turned[1]} -DTILE={TILE}"
        return Row(SGEMM_SOURCE.name, arguments)
    assert launch.program is not None
    assert launch.arguments is not None
    return Row(launch.program, launch.arguments)


def source_directory(program: str, kernels: Path) -> Path:
    """Directory of a program's source: MIOpen's ``kernels``, or that of the code that launches it."""
    for source in (SGEMM_SOURCE, SCALE_SOURCE):
        if program == source.name:
            return source.parent
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
        objects: the compiled code object of every kernel source.
        data, data_bytes: file of uniform floats for the inputs (DNNMark's ``-mmap``), and its size; without
            it the guest computes them.
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
    return GuestRun(contents, every, outputs)


def initial_contents(runs: GuestRun) -> dict[str, Buffer]:
    """The buffers of a run by their names in its launches."""
    return dict(zip(first_uses(runs.launches), runs.contents.buffers, strict=True))


def arguments_of(launch: Launch) -> tuple[Argument, ...]:
    """Kernel arguments as the list has them; buffers by their names in the launch."""
    if launch.kernel != SGEMM:
        return tuple(Argument(arg.kind, arg.value, arg.offset) for arg in launch.args)
    gemm = launch.gemm
    assert gemm is not None
    offsets = (gemm.offset_a, gemm.offset_b, gemm.offset_c)
    return (
        *(
            Argument("buffer", str(arg.value), FLOAT_BYTES * offset)
            for arg, offset in zip(launch.args[:3], offsets, strict=True)
        ),
        *(Argument("int", value) for value in (gemm.m, gemm.n, gemm.k, gemm.lda, gemm.ldb, gemm.ldc)),
        *(Argument("long", value) for value in (gemm.stride_a, gemm.stride_b, gemm.stride_c)),
        *(Argument("float", value) for value in (gemm.alpha, gemm.beta)),
    )


def _dispatch(launch: Launch, names: Mapping[str, str], objects: Mapping[Row, Path]) -> Dispatch:
    arguments = tuple(
        replace(one, value=names[str(one.value)]) if one.kind == "buffer" else one
        for one in arguments_of(launch)
    )
    return Dispatch(objects[kernel_source(launch)], launch.kernel, launch.grid, launch.workgroup, arguments)


def _buffers(part: Sequence[Launch], data_bytes: int, in_memory: bool) -> dict[str, tuple[int, Contents]]:
    """Size and contents of every buffer: outputs are touched, inputs filled in order of first use."""
    offset = 0
    buffers: dict[str, tuple[int, Contents]] = {}
    for number, (name, (used, launch, arg)) in enumerate(first_uses(part).items()):
        size = -(-used // 4) * 4
        if arg.role == "out":
            buffers[name] = size, Contents("touch")
        elif arg.name == "mask":
            buffers[name] = size, Contents("modulo", (number, _window(launch)))
        elif arg.name == "index":
            rows = next(int(arg.value) for arg in launch.args if arg.name == "rows")
            buffers[name] = size, Contents("indices", (number, rows))
        elif not data_bytes:
            buffers[name] = size, Contents("uniform", (number,))
        else:
            if size > data_bytes:
                raise ConfigError(
                    "the data file is smaller than a buffer that it fills",
                    key="mmap",
                    value=data_bytes,
                    remedy=f"make it at least {size} bytes",
                )
            offset = 0 if offset + size > data_bytes else offset
            buffers[name] = size, Contents("loaded", (offset,)) if in_memory else Contents("file", (offset,))
            offset += -(-size // PAGE) * PAGE
    return buffers


def _window(launch: Launch) -> int:
    """Elements of a pooling window, which bound its mask."""
    given = definitions(launch.arguments)
    return min(math.prod(int(given.get(f"MLO_POOLING_KERNEL_SZ{axis}", 1)) for axis in (0, 1)), 256)


def _written(part: Sequence[Launch]) -> tuple[Output, ...]:
    sizes: dict[str, int] = {}
    for arg in (arg for launch in part for arg in launch.args):
        if arg.kind == "buffer" and arg.role in ("out", "inout"):
            sizes[str(arg.value)] = max(sizes.get(str(arg.value), 0), arg.elements)
    return tuple(Output(name, size, output_file(i)) for i, (name, size) in enumerate(sizes.items()))
