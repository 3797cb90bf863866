"""Source lines of addresses in code objects, by LLVM's symbolizer where it is there."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from apuflow.interpret.state import Place

SYMBOLIZERS: Final = ("llvm-symbolizer-19", "llvm-symbolizer-15", "llvm-symbolizer")
_ADDRESS: Final = re.compile(r"\bat (0x[0-9a-f]+)")


def named_lines(text: str, objects: Mapping[Path, Place]) -> str:
    """A message, its addresses of instructions with the source line behind them.

    Args:
        objects: code objects, and where each lies.
    """

    def named(found: re.Match[str]) -> str:
        address = int(found[1], 16)
        for path, place in objects.items():
            if place.address <= address < place.address + place.size:
                inside = address - place.address
                return f"at {_line(path, inside) or f'instruction {inside:#x} of its code object'}"
        return found[0]

    return _ADDRESS.sub(named, text)


def _line(path: Path, address: int) -> str:
    """File and line; "" where the code object has no such table, or no symbolizer is there."""
    program = next(filter(None, map(shutil.which, SYMBOLIZERS)), None)
    if program is None:
        return ""
    command = [
        program,
        f"--obj={path}",
        "--functions=none",
        "--output-style=GNU",
        "--no-inlines",
        hex(address),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    file, _, line = done.stdout.strip().partition("\n")[0].rpartition(":")
    return f"{Path(file).name}, line {line}" if line.isdigit() and int(line) else ""
