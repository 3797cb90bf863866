"""What a run's kernels have computed: each output that the guest left, against NumPy."""

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
"""Elements of all buffers together up to which outputs are compared: NumPy takes about 1 GB for it."""


@dataclass(frozen=True)
class ProgramJudge:
    """Judges a whole program whose outputs nobody can read, by the instructions in its kernels.

    Attributes:
        objects: code objects that it loads.
        defects: instructions that its gem5 executes wrongly.
    """

    objects: tuple[Path, ...]
    gfx: str
    defects: tuple[DefectName, ...]

    def results(self, _directory: Path, /) -> Results | None:
        """What may have made the results wrong without a word; None: nothing is known to."""
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
        objects: its code objects, by the name that the list gives them.
        data: the file that inputs were filled from.
        defects: instructions that its gem5 executes wrongly.
        shares: of each dispatch the share of its grid that is launched; none: all of it.
    """

    run: GuestRun
    objects: Mapping[str, Path]
    data: Path | None
    defects: tuple[DefectName, ...] = ()
    shares: tuple[float, ...] = ()

    def results(self, directory: Path) -> Results:
        """Compare the outputs in a finished process's ``directory``; those that agree are removed.

        Where not all workgroups were launched, what the others would have written is left out.
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
