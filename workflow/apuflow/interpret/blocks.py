"""Runs of instructions between branches, compiled once into functions of wavefronts."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from apuflow.interpret.access import memory_step
from apuflow.interpret.arithmetic import Array
from apuflow.interpret.as_gem5 import as_executed, own_step
from apuflow.interpret.encodings import VCC, Instruction, Program, lacking
from apuflow.interpret.lds import lds_step, plain_lds
from apuflow.interpret.operands import scalar
from apuflow.interpret.scalar_unit import scalar_step, store
from apuflow.interpret.state import EXEC, Step, Waves
from apuflow.interpret.vector_units import vector_step

Next: TypeAlias = Callable[[Waves], "int | Array | None"]
"""Where wavefronts go on: one address, one for each, or None at the end of the program."""

_IDLE: Final = frozenset(
    {
        *("s_nop", "s_waitcnt", "s_sleep", "s_setprio", "s_inst_prefetch", "s_icache_inv", "s_ttracedata"),
        *("s_setkill", "s_sethalt", "s_sendmsg", "s_wakeup", "s_incperflevel", "s_decperflevel"),
    }
)
_CONDITIONS: Final[dict[str, Callable[[Waves], Array]]] = {
    "s_cbranch_scc0": lambda waves: ~waves.scc,
    "s_cbranch_scc1": lambda waves: waves.scc,
    "s_cbranch_vccz": lambda waves: (waves.s[VCC] | waves.s[VCC + 1]) == 0,
    "s_cbranch_vccnz": lambda waves: (waves.s[VCC] | waves.s[VCC + 1]) != 0,
    "s_cbranch_execz": lambda waves: np.logical_not(waves.exec.any(1)),
    "s_cbranch_execnz": lambda waves: np.asarray(waves.exec.any(1)),
}


@dataclass
class Block:
    """Instructions that run one after the other.

    Attributes:
        instructions: the last one may branch, end, wait or write EXEC.
        steps: of all that do something, but for the last where it ends the block.
        stepped: the instruction of each step.
        next: where wavefronts go on.
        barrier: they wait for their workgroup first.
        executions: wavefronts that have run it.
    """

    instructions: tuple[Instruction, ...]
    steps: tuple[Step, ...]
    stepped: tuple[Instruction, ...]
    next: Next
    barrier: bool = False
    executions: int = 0


def compile_block(
    program: Program,
    address: int,
    defects: Collection[str] = (),
    data_only: Collection[int] = (),
) -> Block:
    """The block that begins at an address: all of it runs under one EXEC.

    Args:
        data_only: addresses of instructions that compute nothing; memory instructions among them only tell
            where they access it.

    Raises:
        EngineError: an instruction that the interpreter does not have.
    """
    instructions: list[Instruction] = []
    steps: list[Step] = []
    stepped: list[Instruction] = []
    while True:
        found = program.at(address)
        instructions.append(found)
        address += found.size
        if found.name == "s_barrier":
            return Block(tuple(instructions), tuple(steps), tuple(stepped), _always(address), barrier=True)
        if ending := _ending(found, address):
            return Block(tuple(instructions), tuple(steps), tuple(stepped), ending)
        touches = found.address in data_only
        if step := _touching(found) if touches else step_of(found, program.isa, defects):
            steps.append(step)
            stepped.append(found)
        if _writes_exec(found):
            return Block(tuple(instructions), tuple(steps), tuple(stepped), _always(address))


def _writes_exec(found: Instruction) -> bool:
    named = "saveexec" in found.name or found.name.startswith("v_cmpx")
    return named or {found.target, found.scalar_target} & {EXEC, EXEC + 1} != set()


def _always(address: int) -> Next:
    return lambda _waves: address


def _touching(found: Instruction) -> Step | None:
    """What is left of an instruction without its data."""
    if plain_lds(found):
        return lds_step(found, data=False)
    if found.encoding in ("flat", "global", "mubuf"):
        return memory_step(found, data=False)
    return None


def step_of(found: Instruction, isa: str, defects: Collection[str] = ()) -> Step | None:
    """What an instruction that neither branches nor waits for others does; None: nothing.

    Raises:
        EngineError: the interpreter does not have it, or a gem5 with these defects ends at it.
    """
    if defects:
        found = as_executed(found, defects)
        if step := own_step(found, defects):
            return step
    match found.encoding:
        case "sopp":
            if found.name not in _IDLE:
                raise lacking(found)
            return None
        case "sop1" | "sop2" | "sopc" | "sopk":
            return scalar_step(found)
        case "vop1" | "vop2" | "vopc" | "vop3" | "vop3p":
            return vector_step(found, isa)
        case "ds":
            return lds_step(found, defects)
    return memory_step(found, defects)


def _ending(found: Instruction, after: int) -> Next | None:
    """Where a branch goes; None: the instruction is no branch."""
    if found.name in ("s_endpgm", "s_endpgm_saved"):
        return lambda _waves: None
    there = after + 4 * found.immediate
    if found.name == "s_branch":
        return lambda _waves: there
    if condition := _CONDITIONS.get(found.name):
        return lambda waves: np.where(condition(waves), there, after)
    if found.name == "s_call_b64":
        keep = store(found.target, "U")

        def call(waves: Waves) -> int:
            keep(waves, np.full(len(waves), after, np.uint64))
            return there

        return call
    if found.name in ("s_setpc_b64", "s_swappc_b64"):
        goal = scalar(found.sources[0], "U", 0)
        save = store(found.target, "U") if found.name == "s_swappc_b64" else None

        def jump(waves: Waves) -> Array:
            addresses = np.array(goal(waves)).astype(np.int64)
            if save is not None:
                save(waves, np.full(len(waves), after, np.uint64))
            return addresses

        return jump
    return None
