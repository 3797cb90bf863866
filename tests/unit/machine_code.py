"""Machine code from assembly, and single instructions executed on chosen registers."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Collection, Mapping, Sequence
from functools import cache

import needs
import numpy as np
from numpy.typing import NDArray

from apuflow.interpret.blocks import step_of
from apuflow.interpret.encodings import Instruction, decode
from apuflow.interpret.opcodes import PROCESSORS, IsaName
from apuflow.interpret.state import LANES, Lds, Memory, Waves


def llvm_mc() -> str:
    """LLVM's assembler beside the machine's clang."""
    return needs.CLANG.required_program().replace("clang", "llvm-mc")


@cache
def assembled(isa: IsaName, lines: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """The words of each line."""
    command = [llvm_mc(), "-triple=amdgcn", f"-mcpu={PROCESSORS[isa]}", "--show-encoding"]
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=True)
    found = re.findall(r"encoding: \[(.*)\]", done.stdout)
    assert len(found) == len(lines), done.stdout
    return tuple(
        tuple(np.array([int(byte, 16) for byte in each.split(",")], np.uint8).view(np.uint32).tolist())
        for each in found
    )


def instruction(isa: IsaName, line: str) -> Instruction:
    """One line of assembly, decoded."""
    (words,) = assembled(isa, (line,))
    return decode([*words, 0, 0], 0x1000, isa)


def execute(
    isa: IsaName,
    lines: Sequence[str],
    registers: Mapping[str, object],
    lds: int = 256,
    defects: Collection[str] = (),
) -> Waves:
    """One wavefront after some instructions.

    Args:
        registers: values at first: ``v1`` (one, or one for each lane), ``s2``, ``exec``, ``scc``.
        defects: of the gem5 that executes them.
    """
    group = np.zeros(1, np.int64)
    waves = Waves(
        np.zeros((128, 1), np.uint32),
        np.zeros((300, 1, LANES), np.uint32),
        np.ones((1, LANES), np.bool_),
        np.zeros(1, np.bool_),
        group,
        group,
        group,
        Memory({"data": 4096}),
        Lds(1, lds),
        256,
    )
    for name, value in registers.items():
        if name == "exec":
            assert isinstance(value, int)
            waves.set_exec(np.array([[bool(value >> lane & 1) for lane in range(LANES)]]))
        elif name == "scc":
            waves.scc[:] = bool(value)
        elif name[0] == "s":
            waves.s[int(name[1:])] = np.asarray(value)
        else:
            waves.v[int(name[1:])] = bits(value)
    with np.errstate(all="ignore"):
        for line in lines:
            step = step_of(instruction(isa, line), isa, defects)
            if step is not None:
                step(waves)
    return waves


def bits(value: object) -> NDArray[np.uint32]:
    """Words of 32 bits: of floats as they are stored, of whole numbers their low bits."""
    array = np.asarray(value)
    if array.dtype.kind == "f":
        return array.astype(np.float32).view(np.uint32)
    return (array.astype(np.int64) & 0xFFFFFFFF).astype(np.uint32)
