"""FLAT instructions at addresses that mean LDS or private memory.

Source: LLVM's "User Guide for AMDGPU Backend", address spaces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from apuflow.interpret.arithmetic import Array
from apuflow.interpret.atomics import atomic, operation
from apuflow.interpret.deferred import ReadsLeftOut
from apuflow.interpret.encodings import VECTOR, Instruction
from apuflow.interpret.lds import check_lds
from apuflow.interpret.moves import (
    data_register,
    from_registers,
    load,
    save,
    scattered,
    to_registers,
    width_of,
)
from apuflow.interpret.operands import PRIVATE, SHARED, put
from apuflow.interpret.state import Lanes, Step, Waves


def through_apertures(
    found: Instruction, plain: Step, addresses: Callable[[Waves], Array], private: Step | None
) -> Step:
    """A FLAT instruction whose lanes may each mean another kind of memory.

    Args:
        plain: what it does with memory. private: with private memory.
    """
    shared = _in_lds(found, addresses)

    def step(waves: Waves) -> None:
        kinds = addresses(waves) >> 32
        in_lds, in_private = (waves.exec & (kinds == each) for each in (SHARED, PRIVATE))
        if not in_lds.any() and not in_private.any():
            plain(waves)
            return
        if waves.memory.deferred is not None:
            raise ReadsLeftOut("a FLAT instruction accesses LDS or private memory")
        whole = waves.exec
        for lanes, does in ((in_lds, shared), (in_private, private), (whole & ~in_lds & ~in_private, plain)):
            if does is not None and lanes.any():
                waves.set_exec(lanes)
                try:
                    does(waves)
                finally:
                    waves.set_exec(whole)

    return step


def private_instruction(found: Instruction) -> Instruction:
    """The instruction that does with private memory what a FLAT one does there."""
    return replace(found, encoding="scratch", name=found.name.replace("flat_", "scratch_"))


def _in_lds(found: Instruction, addresses: Callable[[Waves], Array]) -> Step | None:
    kind, _, rest = found.name.partition("_")[2].partition("_")
    known, width = operation(rest) if kind == "atomic" else None, width_of(rest)
    data = data_register(found, found.target if kind == "load" else found.sources[1])
    size = known.size if known else width.size if width else 0

    def places(waves: Waves) -> tuple[Array, Lanes]:
        inside = addresses(waves) & 0xFFFFFFFF
        check_lds(waves, found, inside, size)
        if waves.watch is not None:
            waves.watch.lds(waves, inside)
        return (inside + (waves.group * waves.lds.stride)[:, None])[waves.exec], waves.exec

    def move(waves: Waves) -> None:
        assert width is not None
        where, lanes = places(waves)
        if kind == "store":
            save(waves.lds, where, size, from_registers(waves, data(waves), width, lanes))
            return
        values = [scattered(each, lanes) for each in load(waves.lds, where, size)]
        to_registers(waves, data(waves), values, width, None)

    def change(waves: Waves) -> None:
        assert known is not None
        where, lanes = places(waves)
        first = found.sources[1] - VECTOR
        words = size // 4 * known.operands
        old = atomic(waves.lds, where, known, [waves.v[first + each][lanes] for each in range(words)])
        for number, value in enumerate(old if "glc" in found.flags else ()):
            put(waves, waves.v[found.target + number], scattered(np.asarray(value), lanes), None)

    return change if known else move if width else None
