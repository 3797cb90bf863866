"""Disassembly of code objects by LLVM."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Final

from apuflow.core.errors import EngineError

_FUNCTION = re.compile(r"^[0-9a-f]+ .{6}F \.text\t[0-9a-f]+ (?:\.\w+ )?(\S+)$", re.MULTILINE)
_LABEL = re.compile(r"^[0-9a-f]+ <(\S+)>:$", re.MULTILINE)
_CALL: Final = "s_swappc_b64"


def disassembled(path: Path, gfx: str, *options: str) -> str:
    """Output of the llvm-objdump next to the machine's clang for a code object; "" without one."""
    from apuflow.miopen.compiler import host_compiler

    try:
        tool = Path(host_compiler(code_object=4).command[0]).resolve().with_name("llvm-objdump")
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
    from apuflow.miopen.elf import BrokenObject, read_code_object

    try:
        return read_code_object(path.read_bytes()).kernels
    except (BrokenObject, OSError):
        return ()
