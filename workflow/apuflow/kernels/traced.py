"""What launches of a program do, of which only what addresses and branches depend on is computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apuflow.interpret.deferred import Deferred, Fill, ReadsLeftOut
from apuflow.interpret.image import load_image
from apuflow.interpret.run import LIMIT, Launch, Machine
from apuflow.interpret.state import Memory
from apuflow.interpret.trace import Trace, Traced
from apuflow.kernels.element_types import stored
from apuflow.kernels.guest import object_file, own_dispatches
from apuflow.kernels.interpreted import interpret_program, launch_of, put_addresses
from apuflow.kernels.program import (
    Code,
    KernelsByCode,
    OwnBuffer,
    OwnProgram,
    from_data,
    guest_contents,
    initial_value,
)
from apuflow.kernels.reference import made_contents
from apuflow.kernels.sampled import Sampled, sampled

_ZEROS: Final = ("zero", "touch", "untouched")
"""Contents that memory has at first."""


def traced_program(
    program: OwnProgram,
    kernels: KernelsByCode,
    codes: Mapping[Code, Path],
    gfx: str,
    *,
    limit: int = LIMIT,
    total: int | None = None,
) -> list[Traced | Sampled]:
    """What each launch does; of many workgroups that do the same elsewhere from some of them.

    Args:
        kernels: of the code objects. codes: where each of these is.
        limit, total: wavefront instructions of a launch and of all launches that are executed at most.

    Raises:
        WaitsForOthers: wavefronts of a launch wait for other workgroups.
        EngineError: as :func:`apuflow.kernels.interpreted.interpret_list` says.
        ConfigError: the contents of a buffer that addresses depend on cannot be made.
    """
    images = [load_image(codes[code]) for code in program.codes]
    machine = Machine({buffer.name: buffer.size for buffer in program.buffers}, images, heed="stop")
    put_addresses(machine.memory, program.pointers, program.codes)
    machine.memory.deferred = Deferred(machine.memory, dict(_fills(program, machine.memory)))
    try:
        return list(_each(machine, program, kernels, limit, total))
    except ReadsLeftOut:
        done, _ = interpret_program(program, kernels, codes, gfx, trace=True, limit=limit, total=total)
        return list(done.traced)


def _each(
    machine: Machine, program: OwnProgram, kernels: KernelsByCode, limit: int, total: int | None
) -> Iterator[Traced | Sampled]:
    files = [object_file(number) for number in range(len(program.codes))]
    left = total
    for dispatch in own_dispatches(program, kernels):
        launch = launch_of(dispatch, files)
        most = limit if left is None else min(limit, left)
        found = sampled(machine, launch, most) or _whole(machine, launch, most)
        left = None if left is None else left - found.executed
        yield found


def _whole(machine: Machine, launch: Launch, limit: int) -> Traced:
    watch = Trace(launch, machine.images[launch.image].kernels[launch.kernel])
    return watch.result(machine.run(launch, watch=watch, limit=limit, sliced=True))


def _fills(program: OwnProgram, memory: Memory) -> Iterator[tuple[str, Fill | None]]:
    """What makes each buffer's contents, once an address depends on them."""
    for buffer in program.buffers:
        yield buffer.name, None if buffer.fill.kind in _ZEROS else _fill(program, buffer, memory)


def _fill(program: OwnProgram, buffer: OwnBuffer, memory: Memory) -> Fill:
    """Contents around the addresses that memory holds already."""
    addresses = [slice(each.place, each.place + 8) for each in program.pointers if each.into == buffer.name]

    def contents() -> NDArray[np.uint8]:
        found = made()
        for place in addresses:
            found[place] = memory.view(buffer.name)[place]
        return found

    def made() -> NDArray[np.uint8]:
        if not from_data(buffer):
            return guest_contents(buffer, 0).values(buffer.size)
        made = made_contents(program, [buffer.name])
        values = made[buffer.name] if made else initial_value(buffer)
        raw = stored(values, buffer.type).tobytes()
        return np.frombuffer(bytearray(raw.ljust(buffer.size, b"\0")), np.uint8)

    return contents
