"""The guest process of a program of the user's own: its dispatch list and its data file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from apuflow.kernels.element_types import stored
from apuflow.kernels.launches import arguments, dynamic_lds
from apuflow.kernels.metadata import find_kernel
from apuflow.kernels.program import (
    COMPUTED,
    Code,
    KernelsByCode,
    OwnProgram,
    from_data,
    guest_contents,
    initial_value,
)
from apuflow.kernels.reference import made_contents
from apuflow.launcher.dispatch_list import (
    Buffer,
    Contents,
    Dispatch,
    DispatchList,
    Dump,
    Pointer,
    Statistics,
)
from apuflow.launcher.plan import PAGE, output_file

DATA: Final = "data.bin"


class OwnGuest(NamedTuple):
    """The list of one guest process, and the data file that it names; None where no buffer needs it."""

    contents: DispatchList
    data: bytes | None


def object_file(number: int) -> Path:
    """Where the guest finds the program's code object of that number."""
    return Path(f"kernels{number or ''}.o")


def own_guest(
    program: OwnProgram,
    kernels: KernelsByCode,
    *,
    gfx: str,
    statistics: Statistics,
    outputs: bool = True,
    in_memory: bool = False,
) -> OwnGuest:
    """The guest process of a program; nothing is written yet.

    Args:
        outputs: have it write the buffers that the program wants to be read.
        in_memory: no cache holds what buffers hold at first, but for one line of each page that is touched.

    Raises:
        EngineError: a launch that does not fit its kernel.
        ConfigError: contents that cannot be made.
    """
    data, places = _data(program, computed=in_memory)
    buffers = []
    for buffer in program.buffers:
        place = places.get(buffer.name)
        loaded = in_memory and place is not None
        fill = Contents("loaded", (place or 0,)) if loaded else guest_contents(buffer, place or 0)
        buffers.append(Buffer(buffer.name, buffer.size, fill))
    objects = _objects(program)
    dispatches = own_dispatches(program, kernels)
    outputs_of = map(program.output, program.outputs)
    dumps = [Dump(each.buffer, output_file(number)) for number, each in enumerate(outputs_of)]
    contents = DispatchList(
        gfx,
        tuple(buffers),
        (*dispatches, *(dumps if outputs else ())),
        statistics=statistics,
        data=Path(DATA) if data else None,
        pointers=tuple(
            Pointer(each.into if isinstance(each.into, str) else objects[each.into], *each[1:])
            for each in program.pointers
        ),
    )
    return OwnGuest(contents, data or None)


def own_dispatches(program: OwnProgram, kernels: KernelsByCode) -> list[Dispatch]:
    """The launches of a program; raises EngineError for one that does not fit its kernel."""
    objects = _objects(program)
    dispatches = []
    for launch in program.launches:
        kernel = find_kernel(kernels[launch.code], launch.kernel, launch.code.source)
        given = arguments(kernel, launch, program)
        lds, file = dynamic_lds(kernel, launch).size, objects[launch.code]
        dispatches.append(Dispatch(file, kernel.name, launch.grid, launch.workgroup, given, lds))
    return dispatches


def _objects(program: OwnProgram) -> dict[Code, Path]:
    return {code: object_file(number) for number, code in enumerate(program.codes)}


def _data(program: OwnProgram, *, computed: bool) -> tuple[bytes, Mapping[str, int]]:
    """The data file, and where each buffer's contents begin in it.

    Args:
        computed: also those that the guest could compute.
    """
    parts: list[bytes] = []
    places: dict[str, int] = {}
    end = 0
    made = made_contents(program)
    for buffer in program.buffers:
        if not from_data(buffer) and not (computed and buffer.fill.kind in COMPUTED):
            continue
        values = made[buffer.name] if buffer.fill.kind == "reference" else initial_value(buffer)
        raw = stored(values, buffer.type).tobytes()
        size = -(-buffer.size // PAGE) * PAGE
        parts.append(raw + bytes(size - len(raw)))
        places[buffer.name] = end
        end += size
    return b"".join(parts), places
