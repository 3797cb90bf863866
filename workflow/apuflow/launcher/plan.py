"""From a layer's launches to guest processes: what each runs on gem5, from which files, and what proves it.

Two ways to run a network's kernels:

- *apart*: one gem5 process per distinct launch, so that each has a statistics file of its own in every
  release. Inputs of each are prepared from the data file as DNNMark's are; passes of a loop, which differ in
  offsets only, are run once and counted.
- *together*: all in one process, in order, on shared buffers. Caches hold what the kernel before left; the
  guest writes one block of statistics per dispatch itself.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from apuflow.core.errors import ConfigError, EngineError
from apuflow.core.files import write_text
from apuflow.launcher import gemm
from apuflow.launcher.dispatch import (
    Argument,
    Buffer,
    Contents,
    Dispatch,
    DispatchList,
    Dump,
    guest_path,
)
from apuflow.miopen.launch import Arg, Launch, Row, expand

PAGE = 4096
FIXED_BYTES = 64 << 20
"""Memory of the guest beside its buffers: program, stack, code, queue, and what gem5 keeps for its own."""


@dataclass(frozen=True)
class Output:
    """A buffer that the guest writes to ``path`` at its end: ``elements`` of 32-bit floats."""

    buffer: str
    elements: int
    path: Path


@dataclass(frozen=True)
class GuestRun:
    """One guest process.

    Attributes:
        name: of the process among those of its point; a directory name.
        launcher: the guest program.
        list_file: its only argument, written by :meth:`write`.
        contents: what the list says.
        launches: parallel to the list's dispatches; loops are unrolled or stand for all their passes.
        counts: parallel to ``launches``: how often the layer makes this launch.
        outputs: files that the run leaves, if they were asked for.
    """

    name: str
    launcher: Path
    list_file: Path
    contents: DispatchList
    launches: tuple[Launch, ...]
    counts: tuple[int, ...]
    outputs: tuple[Output, ...] = ()

    @property
    def command(self) -> tuple[str, str]:
        """apu_se.py's ``--cmd`` and ``--options``."""
        return str(self.launcher.absolute()), guest_path(self.list_file)

    @property
    def end_marker(self) -> str:
        """The line of standard output that proves that every dispatch has finished."""
        return self.contents.end_marker

    @property
    def inputs(self) -> tuple[Path, ...]:
        """Files that must exist before the run."""
        data = () if self.contents.data is None else (self.contents.data,)
        return (
            self.launcher,
            self.list_file,
            *data,
            *dict.fromkeys(d.object for d in self.contents.dispatches),
        )

    @property
    def memory_bytes(self) -> int:
        """What ``--mem-size`` must at least hold, scratch of kernels with private memory not counted."""
        return FIXED_BYTES + sum(-(-buffer.size // PAGE) * PAGE for buffer in self.contents.buffers)

    def without_outputs(self) -> GuestRun:
        """The same run, leaving no buffers behind."""
        steps = tuple(step for step in self.contents.steps if not isinstance(step, Dump))
        return replace(self, contents=replace(self.contents, steps=steps), outputs=())

    def write(self) -> None:
        """Write the dispatch list."""
        write_text(self.list_file, self.contents.text())

    def verify(self) -> None:
        """Have the guest program itself check list, code objects and data file here, before hours of gem5.

        Raises:
            EngineError: with the program's message.
        """
        done = subprocess.run(
            [str(self.launcher.absolute()), "--check", str(self.list_file)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise EngineError(
                f"the dispatch list does not hold: {done.stderr.strip()}{done.stdout.rstrip()[-500:]}",
                file=self.list_file,
                remedy="remove the objects and the list and let them be made again",
            )


def kernel_source(launch: Launch) -> Row:
    """What has to be compiled for a launch: a program of MIOpen's, or ours where rocBLAS would be called."""
    if launch.gemm is not None:
        return Row(gemm.PROGRAM.name, gemm.compile_arguments(launch.gemm))
    assert launch.program is not None and launch.arguments is not None
    return Row(launch.program, launch.arguments)


def kernel_sources(launches: Iterable[Launch]) -> tuple[Row, ...]:
    """Everything that has to be compiled, once each, in launch order."""
    return tuple(dict.fromkeys(kernel_source(launch) for launch in launches))


def guest_runs(
    launches: Sequence[Launch],
    *,
    device: str,
    launcher: Path,
    objects: Mapping[Row, Path],
    directory: Path,
    data: Path | None = None,
    data_bytes: int = 0,
    together: bool = False,
    outputs: bool = False,
    poll: bool = False,
    guest_statistics: bool = True,
) -> tuple[GuestRun, ...]:
    """The guest processes of a layer or network; nothing is written yet.

    Args:
        launches: from :func:`apuflow.miopen.launches`.
        device: gfx801, gfx803, gfx900 or gfx902.
        objects: the compiled code object of every kernel source.
        directory: for lists and outputs.
        data: file of uniform floats to fill inputs from (DNNMark's ``-mmap``); without it the guest
            computes them.
        data_bytes: its size.
        together: one process for all launches.
        outputs: have every buffer that a kernel writes dumped at the end.
        poll: see :class:`DispatchList`.
        guest_statistics: together, have the guest write a block of statistics per dispatch.

    Raises:
        ConfigError: no launches (a layer without GPU kernels), or a data file smaller than a buffer.
    """
    if not launches:
        raise ConfigError(
            "this workload launches no GPU kernel",
            key="workload",
            remedy="leave it out of sweeps with engine gem5-kernels (Dropout does nothing on HIP)",
        )
    parts: list[tuple[tuple[Launch, ...], tuple[int, ...]]]
    if together:
        every = tuple(expand(launches))
        parts = [(every, (1,) * len(every))]
    else:
        parts = [((replace(one, count=1, loop=0),), (one.count,)) for one in launches]
    runs = []
    for number, (part, counts) in enumerate(parts):
        name = "all" if together else f"{number:03d}-{part[0].kernel}"
        buffers = _buffers(part, data_bytes if data else 0)
        names = {original: f"b{index}" for index, original in enumerate(buffers)}
        steps: list[Dispatch | Dump] = [_dispatch(launch, names, objects) for launch in part]
        written = _written(part, directory / name) if outputs else ()
        steps += [Dump(names[output.buffer], output.path) for output in written]
        contents = DispatchList(
            device,
            tuple(Buffer(names[original], size, fill) for original, (size, fill) in buffers.items()),
            tuple(steps),
            poll=poll,
            per_dispatch_statistics=together and guest_statistics,
            data=data,
        )
        list_file = directory / name / "dispatch.list"
        runs.append(GuestRun(name, launcher, list_file, contents, part, counts, written))
    return tuple(runs)


def initial_contents(runs: GuestRun) -> dict[str, Buffer]:
    """The buffers of a run by the name that its launches use."""
    names = dict.fromkeys(str(arg.value) for launch in runs.launches for arg in _memory(launch))
    return dict(zip(names, runs.contents.buffers, strict=True))


def _memory(launch: Launch) -> tuple[Arg, ...]:
    return tuple(arg for arg in launch.args if arg.kind == "buffer")


def _dispatch(launch: Launch, names: Mapping[str, str], objects: Mapping[Row, Path]) -> Dispatch:
    given = (
        gemm.arguments(launch)
        if launch.gemm is not None
        else tuple(Argument(arg.kind, arg.value) for arg in launch.args)
    )
    arguments = tuple(
        Argument("buffer", names[str(one.value)], one.offset) if one.kind == "buffer" else one
        for one in given
    )
    return Dispatch(objects[kernel_source(launch)], launch.kernel, launch.grid, launch.workgroup, arguments)


def _buffers(part: Sequence[Launch], data_bytes: int) -> dict[str, tuple[int, Contents]]:
    """Size and contents of every buffer: outputs are touched, inputs filled in order of first use."""
    sizes: dict[str, int] = {}
    first: dict[str, tuple[Launch, Arg]] = {}
    for launch in part:
        for arg in _memory(launch):
            name = str(arg.value)
            size = -(-arg.elements * arg.element_bytes // 4) * 4
            sizes[name] = max(sizes.get(name, 0), size)
            first.setdefault(name, (launch, arg))
    offset = 0
    found: dict[str, tuple[int, Contents]] = {}
    for number, (name, (launch, arg)) in enumerate(first.items()):
        size = sizes[name]
        if arg.role == "out":
            found[name] = size, Contents.touch()
        elif arg.name == "mask":
            found[name] = size, Contents.modulo(number, _window(launch))
        elif not data_bytes:
            found[name] = size, Contents.uniform(number)
        else:
            if size > data_bytes:
                raise ConfigError(
                    "the data file is smaller than a buffer that it fills",
                    key="mmap",
                    value=data_bytes,
                    remedy=f"make it at least {size} bytes",
                )
            offset = 0 if offset + size > data_bytes else offset
            found[name] = size, Contents.file(offset)
            offset += -(-size // PAGE) * PAGE
    return found


def _window(launch: Launch) -> int:
    """Elements of a pooling window: the values that its mask may hold."""
    sides = [re.search(rf"-DMLO_POOLING_KERNEL_SZ{axis}=(\d+)", launch.arguments or "") for axis in (0, 1)]
    product = 1
    for side in sides:
        product *= int(side.group(1)) if side else 1
    return min(product, 256)


def _written(part: Sequence[Launch], directory: Path) -> tuple[Output, ...]:
    sizes: dict[str, int] = {}
    for launch in part:
        for arg in _memory(launch):
            if arg.role in ("out", "inout"):
                sizes[str(arg.value)] = max(sizes.get(str(arg.value), 0), arg.elements)
    return tuple(
        Output(name, size, directory / f"out{i}.bin") for i, (name, size) in enumerate(sizes.items())
    )
