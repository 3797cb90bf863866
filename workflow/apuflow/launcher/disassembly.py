"""Whether a kernel does the same work in each workgroup if fewer workgroups are launched.

It is read from the instructions, in LLVM's disassembly.
"""

from __future__ import annotations

import re
import subprocess
from functools import lru_cache
from pathlib import Path

from apuflow.core.errors import EngineError
from apuflow.miopen.compiler import host_compiler


def disassembled(path: Path, gfx: str, *options: str) -> str:
    """Output of the llvm-objdump next to the machine's clang for a code object; "" without one."""
    try:
        tool = Path(host_compiler(code_object=4, gfx=gfx).command[0]).resolve().with_name("llvm-objdump")
        command = [str(tool), *(options or ("-d",)), f"--mcpu={gfx}", str(path)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.SubprocessError, EngineError):
        return ""


def instructions(text: str) -> list[str]:
    """Instructions of a disassembly, one a line, without addresses."""
    return [line.partition("//")[0].strip() for line in text.splitlines() if line.startswith("\t")]


# fewer workgroups -----------------------------------------------------------------------------------------
GRID_SIZE = 12
"""Offset of the grid's sizes in a dispatch packet, 4 bytes per axis (HSA System Architecture)."""

_TOGETHER = re.compile(r"\w*_atomic_|ds_gws_|buffer_wbinvl1|.*\bglc\b")
"""Instructions for communication between workgroups: atomics, bypassed or invalidated caches."""
_SYMBOL = re.compile(r"[0-9a-f]+ <(.+)>:$")
_CALLS = re.compile(r"s_(?:swappc|setpc|call)_b64")
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
    if any(_CALLS.match(line) for line in code):
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
        load, (written, read) = _LOAD.match(line), _operands(line)
        if load and load[2] == pair:
            if not load[3].startswith("0x"):
                return True
            start = int(load[3], 16)
            if start < wanted.stop and wanted.start < start + 4 * int(load[1] or 1):
                return True
        elif held and _names(read, first):
            return True
        held = held and not _names(written, first)
    return False


def _operands(line: str) -> tuple[str, str]:
    """Those that an instruction writes, and those that it reads."""
    results = 0 if _NO_RESULT.match(line) else 2 if _TWO_RESULTS.match(line) else 1
    words = line.partition(" ")[2].split(",")
    return ",".join(words[:results]), ",".join(words[results:])


def _names(operands: str, first: int) -> bool:
    """Whether they include one of the two registers from ``first`` on."""
    return any(
        int(match[1] or match[2]) <= first + 1 and first <= int(match[1] or match[3])
        for match in _REGISTERS.finditer(operands)
    )
