"""Whether a kernel does the same work in each workgroup if fewer workgroups are launched.

The test reads the compiled kernel, so it holds for every source and compiler. In doubt the answer is no.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from apuflow.launcher.disassembly import disassembled, instructions

GRID_SIZE = 12
"""Offset of the grid's sizes in a dispatch packet, 4 bytes per axis (HSA System Architecture)."""

_TOGETHER = re.compile(r"\w*_atomic_|ds_gws_|buffer_wbinvl1|.*\bglc\b")
"""Instructions for communication between workgroups: atomics, bypassed or invalidated caches."""
_SYMBOL = re.compile(r"[0-9a-f]+ <(.+)>:$")
_CALL = re.compile(r"s_(?:swappc|setpc|call)_b64")
_LOAD = re.compile(r"s_load_dword(?:x(\d+))? [^,]+, (s\[\d+:\d+\]), (\S+)$")
_NO_RESULT = re.compile(
    r"s_cmp|s_bitcmp|s_cbranch|s_store|s_waitcnt|flat_store|global_store|buffer_store|ds_write"
)
_TWO_RESULTS = re.compile(
    r"v_(?:div_scale|add|addc|sub|subb|subrev|subbrev|mad_[iu]64)(?:_\w+)? \w+(?:\[[\d:]+\])?, s\["
)
"""Vector instructions whose second operand is also a result: a bit per lane."""
_REGISTERS = re.compile(r"\bs(?:(\d+)|\[(\d+):(\d+)\])")


@lru_cache(maxsize=4096)
def needs_whole_grid(path: Path, kernel: str, others: frozenset[str], gfx: str, axis: int) -> str:
    """Why fewer workgroups along ``axis`` (0 to 2) would change the work of the first ones; "" if not.

    A kernel reads its grid's size from the dispatch packet only (hidden arguments are those of the whole
    grid). The kernel's descriptor names two scalar registers with the packet's address. ``others`` are the
    code object's other kernels.
    """
    descriptor = disassembled(path, gfx, "-D", f"--disassemble-symbols={kernel}.kd")
    code = _code(disassembled(path, gfx), kernel, others)
    if not code or ".amdhsa_user_sgpr_kernarg_segment_ptr" not in descriptor:
        return "its instructions cannot be read: llvm-objdump is not beside clang"
    if any(_CALL.match(line) for line in code):
        return "it calls functions"
    if any(_TOGETHER.match(line) for line in code):
        return "its workgroups may depend on one another (atomics, loads past the caches)"
    if ".amdhsa_user_sgpr_dispatch_ptr 1" not in descriptor:
        return ""
    first = 4 if ".amdhsa_user_sgpr_private_segment_buffer 1" in descriptor else 0
    return "it looks at the size of its grid" if _looks(code, first, axis) else ""


def _code(text: str, kernel: str, others: frozenset[str]) -> list[str]:
    """The instructions of a kernel; its own labels, as in hand-written kernels, do not end it."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if symbol := _SYMBOL.match(line):
            inside = symbol[1] == kernel or (inside and symbol[1] not in others)
        elif inside:
            lines.append(line)
    return instructions("\n".join(lines))


def _looks(code: list[str], first: int, axis: int) -> bool:
    """Whether code reads the grid's size along an axis, or passes on the packet's address in ``first``."""
    pair, wanted = f"s[{first}:{first + 1}]", range(GRID_SIZE + 4 * axis, GRID_SIZE + 4 * axis + 4)
    held = True
    for line in code:
        load = _LOAD.match(line)
        if load and load[2] == pair:
            if not load[3].startswith("0x"):
                return True
            start = int(load[3], 16)
            if start < wanted.stop and wanted.start < start + 4 * int(load[1] or 1):
                return True
        elif held and _names(_sources(line), first):
            return True
        held = held and not _names(_result(line), first)
    return False


def _results(line: str) -> int:
    """Number of an instruction's first operands that it writes."""
    return 0 if _NO_RESULT.match(line) else 2 if _TWO_RESULTS.match(line) else 1


def _result(line: str) -> str:
    return ",".join(line.partition(" ")[2].split(",")[: _results(line)])


def _sources(line: str) -> str:
    return ",".join(line.partition(" ")[2].split(",")[_results(line) :])


def _names(operands: str, first: int) -> bool:
    """Whether they include one of the two registers from ``first`` on."""
    for match in _REGISTERS.finditer(operands):
        low, high = int(match[1] or match[2]), int(match[1] or match[3])
        if low <= first + 1 and first <= high:
            return True
    return False
