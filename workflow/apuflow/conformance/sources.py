"""Where a gem5 checkout executes an instruction."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from apuflow.forms.form import Form

_EXECUTE: Final = re.compile(r"^\s*(Inst_(\w+?)__(\w+))(?:<[^>]*>)?::execute\(", re.MULTILINE)
_ALIAS: Final = re.compile(r"^\s*using (Inst_(\w+?)__(\w+)) =", re.MULTILINE)
_ENCODINGS: Final = {"global": "flat", "scratch": "flat"}
"""gem5's name of an encoding, where it has another one."""


@dataclass(frozen=True)
class Sources:
    """The sources of a build's instructions, ``src/arch/amdgpu/vega`` or ``gcn3`` of a checkout."""

    directory: Path

    @cached_property
    def _found(self) -> Mapping[tuple[str, str], str]:
        found: dict[tuple[str, str], str] = {}
        for file in sorted((self.directory / "insts").glob("*.[ch][ch]")):
            text = file.read_text(encoding="utf-8", errors="replace")
            place = f"{self.directory.name}/insts/{file.name}"
            for pattern in (_EXECUTE, _ALIAS):
                for match in pattern.finditer(text):
                    name = match[3].lower().replace("_", "")
                    found.setdefault((match[2].lower(), name), f"{place}: {match[1]}::execute")
        return found

    def of(self, form: Form) -> str:
        """File and function; empty where it has none."""
        encoding = _ENCODINGS.get(form.encoding, form.encoding)
        name = form.instruction.replace("_", "")
        names = [name, name.replace("global", "flat", 1).replace("scratch", "flat", 1)]
        kinds = [
            encoding,
            *("vop3p_mai",) * (encoding in ("vop3", "vop3p")),
            *("vop3p",) * (encoding == "vop3"),
        ]
        return next(
            (self._found[kind, each] for kind in kinds for each in names if (kind, each) in self._found), ""
        )
