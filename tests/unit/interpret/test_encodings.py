"""Decoding against LLVM's disassembler, on random words."""

from __future__ import annotations

import re
import subprocess

import machine_code
import numpy as np
import pytest

from apuflow.core.errors import EngineError
from apuflow.interpret.encodings import decode
from apuflow.interpret.opcodes import PROCESSORS, IsaName

MARK = 0xBF80004D
"""``s_nop 0x4d``, between two samples; four of them, since a sample may take two words more."""
TRIES = 2000


def _disassembled(isa: IsaName, samples: list[tuple[int, int]]) -> list[tuple[str, int] | None]:
    """Name and bytes of the instruction at each sample; None where LLVM knows none."""
    text = "\n".join(
        " ".join(
            f"0x{byte:02x}"
            for word in (*sample, MARK, MARK, MARK, MARK)
            for byte in word.to_bytes(4, "little")
        )
        for sample in samples
    )
    command = [
        machine_code.llvm_mc(),
        "--disassemble",
        "-triple=amdgcn",
        f"-mcpu={PROCESSORS[isa]}",
        "--show-encoding",
    ]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    found: dict[str, tuple[str, int]] = {}
    for name, code in re.findall(r"^\t(\w+).*; encoding: \[([\w,]+)\]", done.stdout, re.MULTILINE):
        found[code] = (re.sub(r"_(e32|e64|sdwa|dpp)$", "", name), code.count(",") + 1)
    result: list[tuple[str, int] | None] = []
    for sample in samples:
        codes = [
            ",".join(f"0x{byte:02x}" for word in sample[:count] for byte in word.to_bytes(4, "little"))
            for count in (2, 1)
        ]
        result.append(next((found[code] for code in codes if code in found), None))
    return result


@pytest.mark.parametrize("isa", ["gcn3", "vega", "gfx90a"])
def test_names_and_sizes_are_those_of_llvm(isa: IsaName) -> None:
    random = np.random.default_rng(1)
    samples = [tuple(map(int, pair)) for pair in random.integers(0, 1 << 32, (TRIES, 2), np.uint32)]
    known = 0
    for (first, second), said in zip(samples, _disassembled(isa, samples), strict=True):  # type: ignore[arg-type]
        if said is None or said[0].startswith(("image_", "exp", "v_interp", "tbuffer_")):
            continue
        try:
            found = decode([first, second, MARK], 0, isa)
        except EngineError as error:
            pytest.fail(f"{first:#x} {second:#x} is {said[0]}: {error}")
        name = found.name.replace("_co_", "_") if isa == "gcn3" else found.name
        assert (name, found.size) == said, f"{first:#x} {second:#x}"
        known += 1
    assert known > TRIES / 4


def test_what_is_no_instruction_is_named_with_its_word_and_address() -> None:
    with pytest.raises(EngineError, match="unknown instruction 0xf0000000 at 0x40: vega has no"):
        decode([0xF0000000, 0, 0], 0x40, "vega")
