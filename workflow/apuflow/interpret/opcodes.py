"""Names of machine instructions by encoding and opcode, for each instruction set.

The table ``opcodes.csv`` is what LLVM's disassembler prints of every opcode; ``python -m
apuflow.interpret.opcodes LLVM_MC`` writes it. The layouts of encodings are those of AMD's manuals: "Graphics
Core Next Architecture, Generation 3", "Vega", "Instinct MI100", "MI200" and "MI300" Instruction Set
Architecture, chapter "Microcode Formats".
"""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Final, Literal, TypeAlias, cast

Encoding: TypeAlias = Literal[
    "sop2", "sopk", "sop1", "sopc", "sopp", "smem", "vop2", "vop1", "vopc", "vop3", "vop3p",
    "ds", "flat", "scratch", "global", "mubuf", "mtbuf",
]  # fmt: skip
IsaName: TypeAlias = Literal["gcn3", "vega", "gfx906", "gfx908", "gfx90a", "gfx940"]

PROCESSORS: Final[Mapping[IsaName, str]] = {
    "gcn3": "gfx803",
    "vega": "gfx900",
    "gfx906": "gfx906",
    "gfx908": "gfx908",
    "gfx90a": "gfx90a",
    "gfx940": "gfx940",
}
"""LLVM's processor of each instruction set."""


@cache
def opcodes(isa: IsaName) -> Mapping[tuple[Encoding, int], str]:
    """Names of the instructions of an instruction set, without suffixes of their encoding."""
    text = files(__package__).joinpath("opcodes.csv").read_text(encoding="utf-8")
    return {
        (cast(Encoding, row["encoding"]), int(row["opcode"])): row["name"]
        for row in csv.DictReader(text.splitlines())
        if isa in row["isas"].split()
    }


_SCALAR: Final[dict[Encoding, tuple[int, int, int]]] = {
    "sop2": (0x80000000 | 8 << 16 | 4 << 8 | 6, 23, 0x60),
    "sopk": (0xB0000000 | 8 << 16 | 4, 23, 0x20),
    "sop1": (0xBE800000 | 8 << 16 | 6, 8, 0x100),
    "sopc": (0xBF000000 | 4 << 8 | 6, 16, 0x80),
    "sopp": (0xBF800000 | 1, 16, 0x80),
    "vop2": (4 << 17 | 4 << 9 | 0x106, 25, 0x3E),
    "vop1": (0x7E000000 | 4 << 17 | 0x106, 9, 0x100),
    "vopc": (0x7C000000 | 4 << 9 | 0x106, 17, 0x100),
}
"""Encodings of one word: the word with operands, where the opcode begins, how many opcodes there are."""


def _samples() -> Iterator[tuple[Encoding, int, tuple[int, ...]]]:
    """Words that may be an instruction; several for one opcode are tried in turn."""
    for encoding, (word, shift, count) in _SCALAR.items():
        for op in range(count):
            for operands in (word, word & ~0x1FF, word & ~0x7F00FF, word & ~0x7F01FF):
                yield encoding, op, (operands | op << shift, 0x3F800000)  # a literal, or one more instruction
    for op in range(0x100):
        for operands in (0x20402, 0x400, 0):
            yield "smem", op, (0xC0000000 | op << 18 | operands, 0)
        for data in (0x0C080402, 0x0C000402, 0x00080402, 0x00000402, 0x0C000002, 0x00000000):
            yield "ds", op, (0xD8000000 | op << 17, data)
    for op in range(0x80):
        yield "mubuf", op, (0xE0001000 | op << 18, 0x06020402)
        yield "mubuf", op, (0xE0000000 | op << 18, 0)
        for segment, name in enumerate(("flat", "scratch", "global")):
            for address in (0x0C7F0402, 0x007F0402, 0x0C7F0002, 0x0C000402, 0x00000402, 0x0C000002):
                yield name, op, (0xDC000000 | segment << 14 | op << 18, address)  # type: ignore[misc]
    for op in range(0x10):
        yield "mtbuf", op, (0xE8001000 | 7 << 23 | 4 << 19 | op << 15, 0x06020402)
    vector, scalar = 0x104, 4
    for op in range(0x400):
        for first, second, third in (
            *((vector, vector, vector), (vector, vector, scalar), (vector, vector, 0), (vector, scalar, 0)),
            *((vector, 0, 0), (scalar, scalar, 0), (scalar, 0, 0), (0, 0, 0)),
        ):
            yield "vop3", op, (0xD0000000 | op << 16 | 12, first | second << 9 | third << 18)
            yield "vop3", op, (0xD0000000 | op << 16 | 4 << 8 | 12, first | second << 9 | third << 18)
    for op in range(0x80):
        sources = vector | vector << 9 | vector << 18
        for high in (
            0x18000000,
            0,
            0x18000000 ^ vector << 18,
            vector << 18,
            0x18000000 ^ (vector << 9 | vector << 18),
        ):
            for low in (0x4000, 0):
                yield "vop3p", op, (0xD3800000 | op << 16 | low | 32, sources ^ high)
        yield "vop3p", op, (0xD3800000 | op << 16 | 0x8000 | 32, sources)
        yield "vop3p", op, (0xD3800000 | op << 16 | 32, vector | 0x08000000)


def _named(llvm_mc: str, isa: IsaName) -> Mapping[tuple[Encoding, int], str]:
    found: dict[tuple[Encoding, int], str] = {}
    samples = list(_samples())
    text = "\n".join(
        ",".join(f"0x{byte:02x}" for word in words for byte in word.to_bytes(4, "little"))
        for _, _, words in samples
    )
    command = [llvm_mc, "--disassemble", "--show-encoding", "-triple=amdgcn", f"-mcpu={PROCESSORS[isa]}"]
    printed = subprocess.run(command, input=text, capture_output=True, text=True, check=False).stdout
    names = dict[str, str]()
    for name, code in re.findall(r"^\t(\w+).*; encoding: \[([\w,]+)\]", printed, re.MULTILINE):
        names[code] = re.sub(r"_(e32|e64|sdwa|dpp)$", "", name)
    for encoding, op, words in samples:
        code = ",".join(f"0x{byte:02x}" for word in words for byte in word.to_bytes(4, "little"))
        for ending in (code, code[:19]):
            if ending in names:
                found.setdefault((encoding, op), names[ending])
    return found


def main(llvm_mc: str) -> None:
    """Write the table with this ``llvm-mc``."""
    table: dict[tuple[Encoding, int, str], list[str]] = defaultdict(list)
    for isa in PROCESSORS:
        for (encoding, op), name in _named(llvm_mc, isa).items():
            table[encoding, op, name].append(isa)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(("encoding", "opcode", "name", "isas"))
    writer.writerows((*key, " ".join(isas)) for key, isas in sorted(table.items()))


if __name__ == "__main__":
    import typer

    typer.run(main)
