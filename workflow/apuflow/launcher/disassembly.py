"""What the instructions of compiled kernels say, in LLVM's disassembly.

Which of them gem5 does not implement, so that a kernel that reaches one ends gem5 with ``fatal``; and whether
a kernel does the same work in each workgroup if fewer workgroups are launched. Source of the first: gem5's
decoder and ``execute`` methods, as ``tests/unit/unimplemented_sources.py`` reads them into
``unimplemented.yaml`` next to this file. Later releases are assumed equal to the last one read.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from apuflow.core.errors import EngineError
from apuflow.core.gpus import BuildTarget, gpu
from apuflow.miopen.compiler import host_compiler
from apuflow.miopen.elf import BrokenObject, read_code_object

_FUNCTION = re.compile(r"^[0-9a-f]+ .{6}F \.text\t[0-9a-f]+ (?:\.\w+ )?(\S+)$", re.MULTILINE)
_LABEL = re.compile(r"^[0-9a-f]+ <(\S+)>:$", re.MULTILINE)
_CALL: Final = "s_swappc_b64"


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


def executed(path: Path, gfx: str) -> list[str]:
    """Instructions of a code object's kernels, one a line, and of its functions if a kernel calls one.

    Compilers leave inlined functions in the object. Of an object without kernels, all instructions count.
    """
    text = disassembled(path, gfx, "-d", "-t")
    entries = _kernels(path)
    functions = set(_FUNCTION.findall(text)) - set(entries)
    _, *parts = _LABEL.split(text)
    kernels, within = list[str](), True
    for label, code in zip(parts[::2], parts[1::2], strict=True):
        if label in functions or label in entries:
            within = label not in functions
        kernels += instructions(code) if within else ()
    if not entries or any(line.startswith(_CALL) for line in kernels):
        return instructions(text)
    return kernels


def _kernels(path: Path) -> tuple[str, ...]:
    try:
        return read_code_object(path.read_bytes()).kernels
    except (BrokenObject, OSError):
        return ()


# what gem5 does not implement ------------------------------------------------------------------------------
_FORM = re.compile(r"_(?:e32|e64|sdwa|dpp)$")
"""LLVM's suffix of a name for the encoding."""


def missing(objects: Iterable[Path], gfx: str, releases: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """By release, names of the code objects' instructions that its gem5 does not implement.

    Finds nothing without llvm-objdump next to the machine's clang. ``releases`` are gem5's own, as ``v24.0``;
    those after the table's last one equal it.
    """
    present = {_FORM.sub("", line.split()[0]) for path in objects for line in executed(path, gfx) if line}
    build = gpu(gfx).isa.build_target
    return {release: tuple(sorted(present & not_executed(build, release))) for release in releases}


@cache
def not_executed(build: BuildTarget, release: str) -> frozenset[str]:
    """Names of the instructions that a build of a release of gem5's own does not implement."""
    last = {name: _number(until) for name, until in _table()[build].items()}
    number = min(_number(release), max(last.values()))
    return frozenset(name for name, until in last.items() if number <= until)


def _number(release: str) -> tuple[int, ...]:
    """``v24.0`` as (24, 0): v9.1 comes before v21.1."""
    return tuple(map(int, release.removeprefix("v").split(".")))


@lru_cache(maxsize=1)
def _table() -> Mapping[str, Mapping[str, str]]:
    """By build and instruction, the last release without it."""
    import yaml

    text = Path(__file__).with_name("unimplemented.yaml").read_text(encoding="utf-8")
    return {
        build: {name: release for release, names in by_release.items() for name in names.split()}
        for build, by_release in yaml.safe_load(text).items()
    }


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
