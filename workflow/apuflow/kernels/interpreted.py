"""A dispatch list executed by the interpreter in the place of gem5."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from apuflow.interpret.image import load_image
from apuflow.interpret.native import Library
from apuflow.interpret.run import LIMIT, Executed, Launch, Machine, Value
from apuflow.interpret.state import Memory
from apuflow.interpret.trace import Trace, Traced
from apuflow.kernels.guest import object_file, own_guest
from apuflow.kernels.program import Code, KernelsByCode, OwnProgram
from apuflow.kernels.program import Pointer as OwnPointer
from apuflow.kernels.reference import expected_outputs
from apuflow.launcher.dispatch_list import SCALARS, Argument, Dispatch, DispatchList, Dump, Pointer
from apuflow.launcher.plan import output_file
from apuflow.launcher.reference import difference


@dataclass(frozen=True)
class Interpreted:
    """What a list has done.

    Attributes:
        executed: of each dispatch. traced: the same in detail, where it was asked for.
        dumps: bytes of each buffer that the list writes to a file, by the file.
    """

    executed: tuple[Executed, ...]
    traced: tuple[Traced, ...]
    dumps: Mapping[Path, NDArray[np.uint8]]


def interpret_list(
    contents: DispatchList,
    *,
    objects: Mapping[str, Path] | None = None,
    data: NDArray[np.uint8] | None = None,
    trace: bool = False,
    limit: int = LIMIT,
    total: int | None = None,
    defects: Collection[str] = (),
    library: Library | None = None,
) -> Interpreted:
    """Run the dispatches of a list in order.

    Args:
        objects: code objects by the name that the list gives them; none: the names are paths.
        data: bytes of the list's data file.
        trace: follow waits and memory accesses of each dispatch; one whose number of instructions depends
            on time is not traced.
        limit: wavefront instructions after which a dispatch is taken for endless.
        total: the same for all dispatches together.
        defects: names of what a gem5 executes otherwise.
        library: the compiled executor.

    Raises:
        WaitsForOthers: wavefronts of a traced dispatch wait for other workgroups.
        EngineError: as :meth:`apuflow.interpret.run.Machine.run` says.
    """
    codes = list(dict.fromkeys(dispatch.object for dispatch in contents.dispatches))
    images = [load_image(objects[str(code)] if objects else code) for code in codes]
    sizes = {buffer.name: buffer.size for buffer in contents.buffers}
    machine = Machine(sizes, images, library=library, heed="stop" if trace else "no")
    for buffer in contents.buffers:
        machine.memory.view(buffer.name)[:] = buffer.contents.values(buffer.size, data)
    put_addresses(machine.memory, contents.pointers, codes)
    executed: list[Executed] = []
    traced: list[Traced] = []
    dumps: dict[Path, NDArray[np.uint8]] = {}
    for step in contents.steps:
        match step:
            case Dispatch():
                launch = launch_of(step, codes)
                watch = Trace(launch, images[launch.image].kernels[launch.kernel]) if trace else None
                most = limit if total is None else min(limit, total - sum(each.total for each in executed))
                executed.append(machine.run(launch, watch=watch, limit=most, defects=defects))
                if watch:
                    traced.append(watch.result(executed[-1]))
            case Dump():
                dumps[step.path] = machine.memory.view(step.buffer).copy()
    return Interpreted(tuple(executed), tuple(traced), dumps)


def put_addresses(memory: Memory, pointers: Iterable[Pointer | OwnPointer], codes: Sequence[object]) -> None:
    """Write the addresses that buffers and variables hold; ``codes``: the images' code objects in order."""
    for each in pointers:
        into = each.into if isinstance(each.into, str) else f"code object {codes.index(each.into)}"
        memory.put_address(into, each.place, memory.places[each.to].address + each.offset)


def launch_of(dispatch: Dispatch, codes: list[Path]) -> Launch:
    """A dispatch as the interpreter takes it; ``codes``: its images' code objects in order."""
    return Launch(
        codes.index(dispatch.object),
        dispatch.kernel,
        dispatch.grid,
        dispatch.workgroup,
        tuple(map(_value, dispatch.arguments)),
        dispatch.lds,
    )


def _value(argument: Argument) -> Value:
    if argument.kind == "buffer":
        return Value(buffer=str(argument.value), offset=argument.offset)
    return Value(struct.pack("<" + SCALARS[argument.kind][1], argument.value))


def interpret_program(
    program: OwnProgram,
    kernels: KernelsByCode,
    codes: Mapping[Code, Path],
    gfx: str,
    *,
    trace: bool = False,
    limit: int = LIMIT,
    total: int | None = None,
    defects: Collection[str] = (),
    library: Library | None = None,
) -> tuple[Interpreted, Mapping[str, float]]:
    """Run a program of the user's own, and how far its outputs are from its reference.

    Args:
        kernels: of its code objects.
        codes: where each code object is.
        trace, limit, total, defects, library: as of :func:`interpret_list`.

    Returns:
        What it did, and of each output the largest difference over the reference's largest element; no
        output where the program has no reference.

    Raises:
        EngineError: as :func:`interpret_list`, or a launch does not fit its kernel.
        ConfigError: the reference or contents cannot be made.
    """
    import numpy as np

    guest = own_guest(program, kernels, gfx=gfx, statistics="run")
    objects = {str(object_file(number)): codes[code] for number, code in enumerate(program.codes)}
    data = None if guest.data is None else np.frombuffer(guest.data, np.uint8)
    done = interpret_list(
        guest.contents,
        objects=objects,
        data=data,
        trace=trace,
        limit=limit,
        total=total,
        defects=defects,
        library=library,
    )
    if not program.compared or not program.outputs:
        return done, {}
    wanted = expected_outputs(program)
    errors = {}
    for number, name in enumerate(program.outputs):
        actual = program.output(name).values(done.dumps[output_file(number)])
        errors[name] = difference(actual, wanted[name])
    return done, errors
