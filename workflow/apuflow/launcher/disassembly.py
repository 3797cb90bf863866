"""What LLVM's disassembler says of a code object."""

from __future__ import annotations

import subprocess
from pathlib import Path

from apuflow.core.errors import EngineError


def disassembled(path: Path, gfx: str, *options: str) -> str:
    """What the llvm-objdump beside the machine's clang prints of a code object; "" where there is none."""
    from apuflow.miopen.compiler import host_compiler

    try:
        tool = Path(host_compiler(code_object=4).command[0]).resolve().with_name("llvm-objdump")
        command = [str(tool), *(options or ("-d",)), f"--mcpu={gfx}", str(path)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.SubprocessError, EngineError):
        return ""


def instructions(text: str) -> list[str]:
    """The instructions in a disassembly, one a line, without addresses."""
    return [line.partition("//")[0].strip() for line in text.splitlines() if line.startswith("\t")]
