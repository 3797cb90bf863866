"""The guest process of a program of the user's own: its dispatch list and its data file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from apuflow.kernels.launches import arguments, dynamic_lds
from apuflow.kernels.metadata import KernelsBySource, find_kernel
from apuflow.kernels.program import (
    COMPUTED,
    FROM_DATA,
    NUMPY_TYPES,
    OwnProgram,
    guest_contents,
    initial_value,
)
from apuflow.kernels.reference import made_contents
from apuflow.launcher.dispatch_list import Buffer, Contents, Dispatch, DispatchList, Dump, Statistics
from apuflow.launcher.plan import PAGE, output_file

DATA: Final = "data.bin"


class OwnGuest(NamedTuple):
    """The list of one guest process, and the data file that it names; None where no buffer needs it."""

    contents: DispatchList
    data: bytes | None


def object_file(number: int) -> Path:
    """Where the guest finds the code object of the program's source of that number."""
    return Path(f"kernels{number or ''}.o")


def own_guest(
    program: OwnProgram,
    kernels: KernelsBySource,
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
    data, places = _data(program, (*FROM_DATA, *COMPUTED) if in_memory else FROM_DATA)
    buffers = []
    for buffer in program.buffers:
        place = places.get(buffer.name)
        loaded = in_memory and place is not None
        fill = Contents("loaded", (place or 0,)) if loaded else guest_contents(buffer, place or 0)
        buffers.append(Buffer(buffer.name, buffer.size, fill))
    objects = {source: object_file(number) for number, source in enumerate(program.sources)}
    dispatches = []
    for launch in program.launches:
        kernel = find_kernel(kernels[launch.source], launch.kernel, launch.source)
        given = arguments(kernel, launch, program)
        lds, code = dynamic_lds(kernel, launch).size, objects[launch.source]
        dispatches.append(Dispatch(code, kernel.name, launch.grid, launch.workgroup, given, lds))
    dumps = [Dump(name, output_file(number)) for number, name in enumerate(program.outputs)]
    contents = DispatchList(
        gfx,
        tuple(buffers),
        (*dispatches, *(dumps if outputs else ())),
        statistics=statistics,
        data=Path(DATA) if data else None,
    )
    return OwnGuest(contents, data or None)


def _data(program: OwnProgram, kinds: Collection[str]) -> tuple[bytes, Mapping[str, int]]:
    """The data file, of buffers with contents of these kinds, and where those of each begin in it."""
    parts: list[bytes] = []
    places: dict[str, int] = {}
    end = 0
    made = made_contents(program)
    for buffer in program.buffers:
        if buffer.fill.kind not in kinds:
            continue
        values = made[buffer.name] if buffer.fill.kind == "reference" else initial_value(buffer)
        raw = values.astype(f"<{values.dtype.str[1:]}").tobytes()
        assert values.dtype == NUMPY_TYPES[buffer.type]
        size = -(-buffer.size // PAGE) * PAGE
        parts.append(raw + bytes(size - len(raw)))
        places[buffer.name] = end
        end += size
    return b"".join(parts), places
