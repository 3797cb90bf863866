"""A launch of the user's held against its compiled kernel: arguments, LDS, geometry.

Arguments lie as the code object's metadata lays them out, with the hidden ones of code object V5.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from apuflow.core.errors import ApuflowError, EngineError
from apuflow.core.gpus import CDNA3, Isa
from apuflow.kernels.element_types import ELEMENT_BYTES
from apuflow.kernels.metadata import (
    GEOMETRY,
    IGNORED,
    LDS_POINTER,
    Kernel,
    Parameter,
    find_kernel,
)
from apuflow.kernels.program import Given, KernelsByCode, OwnLaunch, OwnProgram
from apuflow.launcher.dispatch_list import Argument
from apuflow.miopen.launch import Extent

_REAL = {"half": (2, "<e"), "float": (4, "<f"), "double": (8, "<d")}
_BY_SIZE = {2: "half", 4: "float", 8: "double"}
_WORDS = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong"}
NULL = Given("integer", 0)
"""The address of no buffer."""


def arguments(kernel: Kernel, launch: OwnLaunch, program: OwnProgram) -> tuple[Argument, ...]:
    """The argument block of a launch, as the dispatch list writes it: gaps are filled with bytes of 0.

    Raises:
        EngineError: as :func:`argument_problems` says.
    """
    problems = list(argument_problems(kernel, launch, program))
    if problems:
        raise EngineError(
            f"launch of {launch.kernel}: {'; '.join(problems)}",
            key="arguments",
            value=program.name,
            remedy="correct the launch in the workload's file, or the kernel",
        )
    given = dict(zip(kernel.given, launch.arguments, strict=True))
    lds = dynamic_lds(kernel, launch)
    hidden = hidden_values(launch.grid, launch.workgroup, lds.size, launch.offset)
    block: list[Argument] = []
    end = 0
    for parameter in kernel.parameters:
        if parameter.kind in IGNORED:
            continue
        block += [Argument("uchar", 0)] * (parameter.offset - end)
        end = parameter.offset + parameter.size
        if parameter.hidden:
            block.append(Argument(_WORDS[parameter.size], hidden[parameter.kind]))
        elif parameter in lds.places:
            block.append(Argument(_WORDS[parameter.size], lds.places[parameter]))
        else:
            block += _words(given[parameter], parameter, program)
    return tuple(block)


def argument_problems(kernel: Kernel, launch: OwnLaunch, program: OwnProgram) -> Iterator[str]:
    """What is wrong with a launch's arguments, held against the compiled kernel's."""
    for parameter in kernel.parameters:
        if parameter.hidden and parameter.kind not in GEOMETRY | IGNORED:
            yield f"it wants {parameter.kind}, which only a runtime has"
    wanted = kernel.given
    if len(wanted) != len(launch.arguments):
        names = ", ".join(parameter.name or parameter.kind for parameter in wanted)
        yield f"it takes {len(wanted)} arguments ({names}), the launch gives {len(launch.arguments)}"
        return
    for number, (parameter, given) in enumerate(zip(wanted, launch.arguments, strict=True), 1):
        shown = f"argument {number}{f' ({parameter.name})' if parameter.name else ''}"
        problem = _problem(parameter, given, program)
        if problem:
            yield f"{shown} {problem}"
    if launch.lds and any(given.kind == "lds" for given in launch.arguments):
        yield "its arguments point to the LDS that the launch adds, so lds of the launch would lie over it"


def _problem(parameter: Parameter, given: Given, program: OwnProgram) -> str | None:
    if parameter.kind not in ("global_buffer", "by_value", LDS_POINTER):
        return f"is of kind {parameter.kind}, which the launcher cannot give"
    if (parameter.kind == LDS_POINTER) != (given.kind == "lds"):
        if given.kind == "lds":
            return f"is no pointer to LDS, the launch gives {given.value} bytes of it"
        return (
            f"points to LDS: give the bytes that it needs, as {{lds: 1024}}; the launch gives {given.value}"
        )
    if parameter.kind == "global_buffer" and given == NULL:
        return None
    if (parameter.kind == "global_buffer") != (given.kind == "buffer"):
        if given.kind == "buffer":
            return f"is a value of {parameter.size} bytes, the launch gives buffer {given.value}"
        return f"is a buffer, the launch gives {given.value}"
    match given.kind:
        case "buffer":
            buffer = program.buffer(str(given.value))
            if not 0 <= given.offset < buffer.elements:
                return f"begins at element {given.offset} of {buffer.name}, which has {buffer.elements}"
        case "bytes":
            if len(str(given.value)) != 2 * parameter.size:
                return f"takes {parameter.size} bytes, the launch gives {len(str(given.value)) // 2}"
        case "real":
            if (given.type or _BY_SIZE.get(parameter.size)) != _BY_SIZE.get(parameter.size):
                return f"takes {parameter.size} bytes, the launch gives a {given.type}"
        case "integer":
            return _integer_problem(parameter, int(given.value))
    return None


def _integer_problem(parameter: Parameter, value: int) -> str | None:
    if parameter.type_name in _REAL:
        return None
    if parameter.size not in _WORDS:
        return f"is a structure of {parameter.size} bytes: give it as {{bytes: hexadecimal digits}}"
    bits = 8 * parameter.size
    if not -(1 << bits - 1) <= value < 1 << bits:
        return f"has {bits} bits, {value} needs more"
    return None


def _words(given: Given, parameter: Parameter, program: OwnProgram) -> tuple[Argument, ...]:
    if given.kind == "buffer":
        size = ELEMENT_BYTES[program.buffer(str(given.value)).type]
        return (Argument("buffer", str(given.value), given.offset * size),)
    if given.kind == "bytes":
        raw, places = bytes.fromhex(str(given.value)), dict(given.addresses)
        inside = {place + byte for place in places for byte in range(1, 8)}
        return tuple(
            Argument("buffer", places[place]) if place in places else Argument("uchar", byte)
            for place, byte in enumerate(raw)
            if place not in inside
        )
    if given.kind == "real" or parameter.type_name in _REAL:
        name = given.type or _BY_SIZE[parameter.size]
        size, code = _REAL[name]
        return (Argument(_WORDS[size], int.from_bytes(struct.pack(code, given.value), "little")),)
    return (Argument(_WORDS[parameter.size], int(given.value) & (1 << 8 * parameter.size) - 1),)


def hidden_values(grid: Extent, workgroup: Extent, lds: int, offset: Extent = (0, 0, 0)) -> dict[str, int]:
    """Hidden arguments of code object V5 (LLVM's User Guide for the AMDGPU backend, implicit arguments).

    Args:
        lds: bytes that the launch adds.
        offset: of the first work-item's numbers.
    """
    values = {
        "hidden_grid_dims": 3 if grid[2] > 1 else 2 if grid[1] > 1 else 1,
        "hidden_dynamic_lds_size": lds,
    }
    for axis, items, group, first in zip("xyz", grid, workgroup, offset, strict=True):
        values[f"hidden_global_offset_{axis}"] = first
        values[f"hidden_block_count_{axis}"] = items // group
        values[f"hidden_group_size_{axis}"] = group
        values[f"hidden_remainder_{axis}"] = items % group
    return values


class DynamicLds(NamedTuple):
    """What a launch adds to the LDS that its kernel was compiled with.

    Attributes:
        places: by argument that points to LDS, its address in bytes from the workgroup's first.
        size: bytes in all, with the gaps of alignment.
    """

    places: Mapping[Parameter, int]
    size: int


def dynamic_lds(kernel: Kernel, launch: OwnLaunch) -> DynamicLds:
    """The LDS that a launch adds: its arguments' one after the other behind the kernel's own, as ROCm does.

    ``extern __shared__`` begins where the kernel's own LDS ends, which the compiler has aligned for it.
    """
    places = {}
    end = kernel.lds_bytes
    for parameter, given in zip(kernel.given, launch.arguments, strict=False):
        if parameter.kind == LDS_POINTER and given.kind == "lds":
            places[parameter] = -(-end // parameter.alignment) * parameter.alignment
            end = places[parameter] + int(given.value)
    return DynamicLds(places, end - kernel.lds_bytes + launch.lds)


def compiled_otherwise(kernel: Kernel, launch: OwnLaunch, isa: Isa) -> Iterator[str]:
    """Why no GPU would run a kernel with this workgroup."""
    items = math.prod(launch.workgroup)
    if kernel.wave_size != isa.wave_size:
        yield f"it is compiled for wavefronts of {kernel.wave_size}; gem5's have {isa.wave_size}"
    if items > kernel.largest_workgroup:
        yield (
            f"a workgroup has {items} work-items, it is compiled for at most {kernel.largest_workgroup}: add "
            f"__attribute__((amdgpu_flat_work_group_size(1, {items}))) to the kernel, in HIP "
            f"__launch_bounds__({items})"
        )


def geometry_problems(kernel: Kernel, launch: OwnLaunch, isa: Isa) -> Iterator[str]:
    """Why gem5 would not run a kernel with this grid and workgroup."""
    items, wave = math.prod(launch.workgroup), isa.wave_size
    yield from compiled_otherwise(kernel, launch, isa)
    if kernel.dynamic_stack:
        yield "its private memory is not known before it runs (recursion, or a call through a pointer)"
    if kernel.private_bytes and isa is CDNA3:
        yield (
            f"it uses private memory ({kernel.private_bytes} bytes a work-item), and gem5 gives all "
            f"wavefronts of {isa.name} the same: take smaller tiles, more warps or num_stages: 1, or a gfx90a"
        )
    if kernel.private_bytes and items % wave:
        yield (
            f"it uses private memory ({kernel.private_bytes} bytes a work-item), so its workgroups must be "
            f"whole wavefronts: gem5 would place them over each other; {items} is no multiple of {wave}"
        )


def problems(program: OwnProgram, kernels: KernelsByCode, isa: Isa) -> Iterator[str]:
    """Everything that is wrong with a program, held against its kernels as compiled for ``isa``."""
    from apuflow.kernels.reference import expected_outputs

    for launch in dict.fromkeys(program.launches):
        try:
            kernel = find_kernel(kernels[launch.code], launch.kernel, launch.code.source)
        except ApuflowError as error:
            yield str(error)
            continue
        wrong = *argument_problems(kernel, launch, program), *geometry_problems(kernel, launch, isa)
        yield from (f"{launch.kernel}: {each}" for each in wrong)
    if program.compared:
        try:
            expected_outputs(program)
        except ApuflowError as error:
            yield str(error)
