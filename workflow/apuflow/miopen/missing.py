"""Find in a run's output the kernel that MIOpen missed, and say which command adds it.

Source: MIOpen ``src/binary_cache.cpp`` (log level 6), ``src/tmp_dir.cpp`` and ``src/hipoc/hipoc_program.cpp``
(the run-time compiler's failure).
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from apuflow.miopen.extra import make_row
from apuflow.miopen.launch import Row

HOW_TO_FIND = (
    "run the workload with MIOPEN_LOG_LEVEL=6 in the guest's environment: MIOpen then prints 'Unable to load "
    "binary for: NAME ;args: ARGUMENTS' for each kernel that it lacks; add those with "
    "apuflow kernels --add 'NAME, ARGUMENTS'"
)
"""The way to a key that cannot be derived."""

_LOOKUP = re.compile(r"Unable to load binary for:\s*(?P<program>\S+)\s*;args:(?P<arguments>[^\n]*)")
_COMPILE = re.compile(
    r"Can't execute [^\n]*?clang-ocl\s(?P<arguments>[^\n]*?)\s(?P<program>[\w.+-]+\.cl)\s+-o\s"
)
_GFX = re.compile(r"-mcpu=(?P<gfx>gfx[0-9a-f]+)")


@dataclass(frozen=True)
class MissingKernel:
    """A kernel object that MIOpen looked for and did not find."""

    row: Row
    gfx: str | None

    @property
    def key(self) -> str:
        """As MIOpen looks it up: name and arguments."""
        suffix = f" -mcpu={self.gfx}" if self.gfx else ""
        return f"{self.row.program}.o;{self.row.arguments}{suffix}"

    @property
    def command(self) -> str:
        """What adds it to the databases that this project builds."""
        return f"apuflow kernels --add {shlex.quote(f'{self.row.program},{self.row.arguments}')}"


def missing_kernels(text: str) -> tuple[MissingKernel, ...]:
    """Kernels that a run's output names as missing, in order, each once.

    Args:
        text: the guest's standard output and error.
    """
    found: dict[tuple[str, str], MissingKernel] = {}
    hits = [match for pattern in (_LOOKUP, _COMPILE) for match in pattern.finditer(text)]
    for match in sorted(hits, key=lambda match: match.start()):
        gfx = _GFX.search(match["arguments"])
        row = make_row(match["program"], match["arguments"])
        found.setdefault(row.key, MissingKernel(row, gfx["gfx"] if gfx else None))
    return tuple(found.values())
