"""What is known of the instructions of a gem5, asked about the code objects of a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from apuflow.core.errors import EngineError
from apuflow.forms.table import Table
from apuflow.launcher.defects import WRONG_VALUES, DefectName, met, told


@dataclass(frozen=True)
class Known:
    """What is known of the instructions that a gem5 executes otherwise than the GPU.

    Attributes:
        names: of ``DEFECTS``.
        table: of the release, where the suite of instructions has run on it; it takes the place of the names.
    """

    names: tuple[DefectName, ...] = ()
    table: Table | None = None

    def suspects(self, objects: Iterable[Path], gfx: str, *, certain: bool = False) -> tuple[str, ...]:
        """A line for each kind of instruction in the code objects that gem5 executes otherwise.

        Finds nothing in files that are no code objects, nor by name without llvm-objdump next to the
        machine's clang.

        Args:
            certain: only what gives wrong values in a run that completes, whatever the operands are. Else
                that comes first, too: what depends on operands is named where nothing else is.
        """
        if self.table is None:
            present = WRONG_VALUES.intersection(self.names) if certain else self.names
            return tuple(told(defect, names) for defect, names in met(objects, gfx, present).items())
        from apuflow.forms import objects as forms  # with NumPy, which most commands do without

        try:
            found = forms.met(objects, self.table, certain=certain)
        except EngineError:
            return ()
        rows = [row for row in found if row.verdict == "wrong" or not certain]
        return forms.told([row for row in rows if row.certain] or rows)

    def explained(self, text: str, objects: Iterable[Path], gfx: str) -> str:
        """``text`` with the result of :meth:`suspects`, if any."""
        named = "; ".join(self.suspects(objects, gfx))
        return f"{text}; gem5 executes wrongly {named}" if named else text


NOTHING: Final = Known()
