"""Compare the outputs of a run's kernels with NumPy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from apuflow.core.errors import NotModelled
from apuflow.core.record import Results
from apuflow.launcher.defects import WRONG_VALUES, DefectName, explained, suspects
from apuflow.launcher.plan import GuestRun

LARGEST = 1 << 24
"""Largest number of elements of all buffers for a comparison, which takes NumPy about 1 GB."""


@dataclass(frozen=True)
class ProgramJudge:
    """Judges a program without readable outputs by the instructions of its kernels.

    Attributes:
        objects: its code objects.
        defects: instructions that its gem5 executes wrongly.
    """

    objects: tuple[Path, ...]
    gfx: str
    defects: tuple[DefectName, ...]

    def results(self, _directory: Path, /) -> Results | None:
        """Known causes of wrong results in a completed run; None if there are none."""
        named = suspects(self.objects, self.gfx, WRONG_VALUES.intersection(self.defects))
        if not named:
            return None
        return Results(note=f"the program keeps its outputs; gem5 executes wrongly {'; '.join(named)}")

    def explained(self, text: str) -> str:
        """``text``, and what in the kernels gem5 is known to execute wrongly, if there is anything."""
        return explained(text, self.objects, self.gfx, self.defects)


@dataclass(frozen=True)
class KernelJudge:
    """Judges a process of engine gem5-kernels.

    Attributes:
        run: what the guest ran.
        objects: its code objects by their names in the list.
        data: the file with the inputs.
        defects: instructions that its gem5 executes wrongly.
        shares: the launched share of each dispatch's grid; empty: all of it.
    """

    run: GuestRun
    objects: Mapping[str, Path]
    data: Path | None
    defects: tuple[DefectName, ...] = ()
    shares: tuple[float, ...] = ()

    def results(self, directory: Path) -> Results:
        """Compare the outputs in a finished process's ``directory``; remove those that agree.

        Elements of workgroups that were not launched are left out.
        """
        if not self.run.outputs:
            elements = sum(buffer.size // 4 for buffer in self.run.contents.buffers)
            return self._unchecked(f"{elements:,} elements are more than are compared ({LARGEST:,})")
        import numpy as np

        from apuflow.launcher.reference import compare

        data = None if self.data is None else np.memmap(self.data, np.uint8, "r")
        try:
            comparisons = compare(self.run, data, directory, self.shares)
        except NotModelled as error:
            return self._unchecked(f"NumPy has no reference for {error.value}")
        except OSError as error:
            return self._unchecked(f"an output is missing: {error}")
        if not comparisons:
            return self._unchecked("every output depends on workgroups that were not launched")
        compared = {comparison.buffer: comparison.agrees for comparison in comparisons}
        for output in self.run.outputs:
            if compared.get(output.buffer, True):
                (directory / output.path).unlink()
        worst = max(comparisons, key=lambda comparison: comparison.error)
        return Results(
            outputs=len(comparisons),
            agree=worst.agrees,
            max_relative_error=worst.error if math.isfinite(worst.error) else None,
            worst=worst.buffer,
            note=None if worst.agrees else self._differ(worst.error, worst.buffer),
        )

    def explained(self, text: str) -> str:
        """``text``, and what in the kernels gem5 is known to execute wrongly, if there is anything."""
        return explained(text, self.objects.values(), self.run.contents.device, self.defects)

    def _differ(self, error: float, buffer: str) -> str:
        from apuflow.launcher.reference import TOLERANCE

        return self.explained(
            f"{buffer} differs from NumPy by {error:.2g} of its largest element (allowed {TOLERANCE:g})"
        )

    def _unchecked(self, why: str) -> Results:
        return Results(note=self.explained(why))
