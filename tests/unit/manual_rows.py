"""Tables of single instructions: each table is assembled at once."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

import machine_code
import numpy as np

from apuflow.interpret.blocks import step_of
from apuflow.interpret.encodings import decode
from apuflow.interpret.opcodes import IsaName
from apuflow.interpret.state import Waves


class Row(NamedTuple):
    """An instruction with its first operand v0, v[0:1], s0 or s[0:1], or VCC.

    Attributes:
        given: registers before; whole numbers above 32 bits take the next register as well.
        expected: bits of the result in every lane.
        flag: SCC, or lane 17's bit of VCC, where the instruction has one.
    """

    text: str
    given: dict[str, object]
    expected: int
    flag: int | None = None


def h(value: float) -> int:
    """Bits of an fp16."""
    return int(struct.unpack("<H", struct.pack("<e", value))[0])


def f(value: float) -> int:
    """Bits of an fp32."""
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def d(value: float) -> int:
    """Bits of an fp64."""
    return int(struct.unpack("<Q", struct.pack("<d", value))[0])


def wrong_rows(isa: IsaName, table: Sequence[Row]) -> list[str]:
    """What does not come out as the table says."""
    found = []
    codes = machine_code.assembled(isa, tuple(row.text for row in table))
    for row, words in zip(table, codes, strict=True):
        waves = machine_code.execute(isa, [], _registers(row.given))
        step = step_of(decode([*words, 0, 0], 0x1000, isa), isa)
        with np.errstate(all="ignore"):
            if step is not None:
                step(waves)
        got, flag = _result(row.text, waves)
        if got != row.expected or (row.flag is not None and flag != row.flag):
            found.append(f"{row.text}: {got:#x} {flag}, not {row.expected:#x} {row.flag}")
    return found


def _registers(given: dict[str, object]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in given.items():
        found[name] = value
        if isinstance(value, int) and name[0] in "vs" and name[1:].isdigit() and value >= 1 << 32:
            found[name] = value & 0xFFFFFFFF
            found[f"{name[0]}{int(name[1:]) + 1}"] = value >> 32
    return found


def _result(text: str, waves: Waves) -> tuple[int, int]:
    target = text.split(None, 1)[1].split(",")[0] if " " in text else ""
    vcc = int(waves.s[106, 0] >> np.uint32(17) & np.uint32(1))
    if target == "vcc":
        return vcc, vcc
    lane = (0, 17) if target.startswith("v") else (0,)
    file = waves.v if target.startswith("v") else waves.s
    low, high = (int(file[(number, *lane)]) for number in (0, 1))
    flag = vcc if target.startswith("v") else int(waves.scc[0])
    if ":3]" in target:
        return sum(int(waves.v[number, 0, 17]) << 32 * number for number in range(4)), flag
    return (low | high << 32 if ":" in target else low), flag
