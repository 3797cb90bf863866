"""Vector instructions as functions that change wavefronts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from apuflow.interpret.encodings import VECTOR, Instruction, lacking
from apuflow.interpret.media import quad_distances
from apuflow.interpret.operands import FLOATS, Read, dpp_written, put, scalar, source, target, vector
from apuflow.interpret.saturated import saturated
from apuflow.interpret.state import M0, Step, Waves
from apuflow.interpret.vector import TYPES, Meaning, meaning


def vector_step(found: Instruction, isa: str) -> Step:
    """What an instruction of VOP1, VOP2, VOPC, VOP3 or VOP3P does.

    Raises:
        EngineError: the interpreter does not have it.
    """
    from apuflow.interpret.matrix import matrix_step
    from apuflow.interpret.packed import packed_step

    if special := _SPECIAL.get(found.name):
        return special(found)
    if known := meaning(found.name):
        return computed(found, known, isa)
    if found.name.startswith(("v_mfma_", "v_smfmac_", "v_accvgpr_")):
        return matrix_step(found, isa)
    if step := packed_step(found, isa):
        return step
    raise lacking(found)


def computed(found: Instruction, known: Meaning, isa: str, first: Read | None = None) -> Step:
    """The step of an instruction of this meaning; ``first``: in place of its first source."""
    count = len(known.sources) - known.accumulates
    reads = [source(found, number, known.sources[number]) for number in range(count)]
    if first is not None:
        reads[0] = first
    if known.accumulates:
        reads.append(vector(found.target, known.sources[-1]))
    written = None if found.dpp is None else dpp_written(found.dpp)
    if known.results == "m":
        return _compare(found, known, reads)
    write = target(found, known.results[0], isa)
    compute, flag = known.compute, found.scalar_target
    if found.clamp and known.results[0] not in FLOATS:
        limited = saturated(found.name, compute, TYPES[known.results[0]])
        if limited is None:
            raise lacking(found, " with CLAMP")
        compute = limited

    if len(known.results) == 2:

        def with_flag(waves: Waves) -> None:
            lanes = None if written is None else written(waves)
            value, flags = compute(*(read(waves) for read in reads))
            active = waves.exec if lanes is None else lanes
            write(waves, value, lanes)
            waves.set_mask(flag, np.broadcast_to(flags, active.shape) & active)

        return with_flag

    if written is not None:
        lanes_of = written

        def moved(waves: Waves) -> None:
            lanes = lanes_of(waves)
            write(waves, compute(*(read(waves) for read in reads)), lanes)

        return moved

    match reads:
        case [one]:
            return lambda waves: write(waves, compute(one(waves)), None)
        case [one, two]:
            return lambda waves: write(waves, compute(one(waves), two(waves)), None)
        case [one, two, three]:
            return lambda waves: write(waves, compute(one(waves), two(waves), three(waves)), None)
    return lambda waves: write(waves, compute(*(read(waves) for read in reads)), None)


def _compare(found: Instruction, known: Meaning, reads: list[Read]) -> Step:
    flag, changes_exec = found.scalar_target, found.name.startswith("v_cmpx")

    def compare(waves: Waves) -> None:
        result = known.compute(*(read(waves) for read in reads))
        lanes = np.broadcast_to(result, waves.exec.shape) & waves.exec
        waves.set_mask(flag, lanes)
        if changes_exec:
            waves.set_exec(lanes)

    return compare


def _read_lane(found: Instruction) -> Step:
    register = found.sources[0] - VECTOR
    lane = scalar(found.sources[1], "u", found.literal)

    def read(waves: Waves) -> None:
        chosen = np.broadcast_to(lane(waves), len(waves)) & np.uint32(63)
        waves.set_word(found.scalar_target, waves.v[register, np.arange(len(waves)), chosen])

    return read


def _read_first_lane(found: Instruction) -> Step:
    register = found.sources[0] - VECTOR
    if register < 0:
        value = scalar(found.sources[0], "u", found.literal)
        return lambda waves: waves.set_word(found.scalar_target, value(waves))

    def read(waves: Waves) -> None:
        chosen = waves.exec.argmax(1)
        waves.set_word(found.scalar_target, waves.v[register, np.arange(len(waves)), chosen])

    return read


def _write_lane(found: Instruction) -> Step:
    value, lane = (scalar(code, "u", found.literal) for code in found.sources[:2])

    def write(waves: Waves) -> None:
        chosen = np.broadcast_to(lane(waves), len(waves)) & np.uint32(63)
        waves.v[found.target, np.arange(len(waves)), chosen] = value(waves)

    return write


def _swap(found: Instruction) -> Step:
    first, second = found.target, found.sources[0] - VECTOR

    def swap(waves: Waves) -> None:
        kept = waves.v[first].copy()
        put(waves, waves.v[first], waves.v[second], None)
        put(waves, waves.v[second], kept, None)

    return swap


def _masked_distances(found: Instruction) -> Step:
    """V_MQSAD_U32_U8: four sums of distances, each added to a word of the last operand."""
    reads = [source(found, number, letter) for number, letter in enumerate("Uu")]
    code = found.sources[2]
    if found.clamp or code < VECTOR:
        raise lacking(found, " with CLAMP or a scalar operand")

    def step(waves: Waves) -> None:
        sums = quad_distances(*(read(waves) for read in reads), masked=True)
        totals = [each.astype(np.uint32) + waves.v[code - VECTOR + place] for place, each in enumerate(sums)]
        for place, total in enumerate(totals):
            put(waves, waves.v[found.target + place], total, None)

    return step


def _move_relative(found: Instruction) -> Step:
    """V_MOVRELS_B32, V_MOVRELD_B32: a register whose number is M0 more."""
    from_there, to_there = "rels" in found.name, "reld" in found.name or "relsd" in found.name
    register = found.sources[0] - VECTOR

    def move(waves: Waves) -> None:
        offset = waves.s[M0].astype(np.int64)
        for number in np.unique(offset):
            lanes = waves.exec & (offset == number)[:, None]
            value = waves.v[register + int(number) * from_there]
            put(waves, waves.v[found.target + int(number) * to_there], value, lanes)

    return move


_SPECIAL: Final[dict[str, Callable[[Instruction], Step]]] = {
    "v_nop": lambda _found: lambda _waves: None,
    "v_clrexcp": lambda _found: lambda _waves: None,
    "v_readlane_b32": _read_lane,
    "v_readfirstlane_b32": _read_first_lane,
    "v_writelane_b32": _write_lane,
    "v_swap_b32": _swap,
    "v_mqsad_u32_u8": _masked_distances,
    "v_movrels_b32": _move_relative,
    "v_movreld_b32": _move_relative,
    "v_movrelsd_b32": _move_relative,
}
