"""Compare the outputs of a run's kernels with NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from apuflow.core.errors import NotModelled
from apuflow.core.record import Results
from apuflow.launcher.known import NOTHING, Known
from apuflow.launcher.plan import GuestRun

LARGEST = 1 << 24
"""Largest number of elements of all buffers for a comparison, which takes NumPy about 1 GB."""


def judged(
    errors: Mapping[str, float],
    allowed: Mapping[str, float],
    files: Mapping[str, Path],
    reference: str,
    explained: Callable[[str], str],
) -> Results:
    """The result of a comparison; files of buffers that agree, or were not compared, are removed.

    Args:
        errors, allowed: by buffer, its difference and the largest that counts as equal.
        files: by buffer, what the run left of it.
        reference: what the outputs were compared with.
        explained: adds to a text what gem5 is known to execute wrongly.
    """
    for name, file in files.items():
        if errors.get(name, 0.0) <= allowed.get(name, 0.0):
            file.unlink()
    worst = max(errors, key=lambda name: errors[name] - allowed[name])
    error, agree = errors[worst], errors[worst] <= allowed[worst]
    text = f"{worst} differs from {reference} by {error:.2g} of its largest element"
    return Results(
        outputs=len(errors),
        agree=agree,
        max_relative_error=error if math.isfinite(error) else None,
        worst=worst,
        note=None if agree else explained(f"{text} (allowed {allowed[worst]:g})"),
    )


@dataclass(frozen=True)
class ProgramJudge:
    """Judges a program without readable outputs by the instructions of its kernels.

    Attributes:
        objects: its code objects.
        known: of the instructions of its gem5.
    """

    objects: tuple[Path, ...]
    known: Known

    def results(self, _directory: Path, /) -> Results | None:
        """Known causes of wrong results in a completed run; None if there are none."""
        named = self.known.suspects(self.objects, certain=True)
        if not named:
            return None
        return Results(
            note=f"the program keeps its outputs; {self.known.gem5} executes wrongly {'; '.join(named)}"
        )

    def explained(self, text: str) -> str:
        """``text``, and what in the kernels gem5 is known to execute wrongly, if there is anything."""
        return self.known.explained(text, self.objects)


@dataclass(frozen=True)
class KernelJudge:
    """Judges a process of engine gem5-kernels.

    Attributes:
        run: what the guest ran.
        objects: its code objects by their names in the list.
        data: the file with the inputs.
        known: of the instructions of its gem5.
        shares: the launched share of each dispatch's grid; empty: all of it.
    """

    run: GuestRun
    objects: Mapping[str, Path]
    data: Path | None
    known: Known = NOTHING
    shares: tuple[float, ...] = ()

    def results(self, directory: Path) -> Results:
        """Compare the outputs in a finished process's ``directory``; remove those that agree.

        Elements of workgroups that were not launched are left out.
        """
        if not self.run.outputs:
            elements = sum(buffer.size // 4 for buffer in self.run.contents.buffers)
            return self._unchecked(f"{elements:,} elements are more than are compared ({LARGEST:,})")
        import numpy as np

        from apuflow.launcher.reference import TOLERANCE, compare

        data = None if self.data is None else np.memmap(self.data, np.uint8, "r")
        try:
            errors = compare(self.run, data, directory, self.shares)
        except NotModelled as error:
            return self._unchecked(f"NumPy has no reference for {error.value}")
        except OSError as error:
            return self._unchecked(f"an output is missing: {error}")
        if not errors:
            return self._unchecked("every output depends on workgroups that were not launched")
        files = {output.buffer: directory / output.path for output in self.run.outputs}
        return judged(errors, dict.fromkeys(errors, TOLERANCE), files, "NumPy", self.explained)

    def explained(self, text: str) -> str:
        """``text``, and what in the kernels gem5 is known to execute wrongly, if there is anything."""
        return self.known.explained(text, self.objects.values())

    def _unchecked(self, why: str) -> Results:
        return Results(note=self.explained(why))
