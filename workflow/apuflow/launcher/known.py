"""What is known of the instructions of a gem5, asked about the code objects of a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from apuflow.core.errors import EngineError
from apuflow.forms.table import Table


@dataclass(frozen=True)
class Known:
    """What is known of the instructions that a gem5 executes otherwise than the GPU.

    Attributes:
        tables: what the suite of instructions gave on this gem5, or else on the nearest releases.
        measured_on: those releases; empty: this gem5.
    """

    tables: tuple[Table, ...] = ()
    measured_on: tuple[str, ...] = ()

    @property
    def gem5(self) -> str:
        """Whose instructions these are: the subject of a sentence."""
        others = " and ".join(self.measured_on)
        return f"gem5 (as measured on {others})" if others else "gem5"

    def suspects(
        self, objects: Iterable[Path], *, certain: bool = False, message: str = ""
    ) -> tuple[str, ...]:
        """A line for each kind of instruction in the code objects that gem5 executes otherwise.

        Finds nothing in files that are no code objects.

        Args:
            certain: only what gives wrong values in a run that completes, whatever the operands are. Else
                that comes first, too: what depends on operands is named where nothing else is.
            message: what gem5 said: instructions that it ended at with the same words are named alone.
        """
        if not self.tables:
            return ()
        from apuflow.forms.objects import met, told  # with NumPy, which most commands do without

        try:
            found = met(objects, self.tables, certain=certain)
        except EngineError:
            return ()
        rows = [row for row in found if row.verdict == "wrong" or not certain]
        same = [row for row in rows if (words := _words(row.message)) and words in message]
        return told(same or [row for row in rows if row.certain] or rows)

    def explained(self, text: str, objects: Iterable[Path]) -> str:
        """``text`` with the result of :meth:`suspects`, if any."""
        named = "; ".join(self.suspects(objects, message=text))
        return f"{text}; {self.gem5} executes wrongly {named}" if named else text


def _words(message: str) -> str:
    """A message without its place in gem5's sources, which differs between releases, and its cut end."""
    return message.partition(": ")[2].removesuffix("...")


NOTHING: Final = Known()
