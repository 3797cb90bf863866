"""Which launches of a program are recorded, and which recorded one each of the others counts to."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from apuflow.capture.asked import Asked
from apuflow.capture.journal import Launched
from apuflow.capture.loops import Loops
from apuflow.interpret.run import LIMIT


@dataclass(frozen=True)
class Choice:
    """Which launches are recorded, and whether launches are executed.

    Attributes:
        pattern: of the kernel's name, a regular expression.
        every: one of so many launches of a kernel.
        iterations: so many of each outermost loop of launches; None: all.
        fold: one of the launches of a kernel with the same geometry and as many executed instructions.
        first: most launches; None: all.
        limit: wavefront instructions of a launch.
    """

    pattern: str = ""
    every: int = 1
    iterations: int | None = None
    fold: bool = False
    first: int | None = None
    execute: bool = True
    limit: int = LIMIT


class _Left(NamedTuple):
    """A launch that is not recorded; ``run``: its wavefront instructions, 0 where they are unknown."""

    kernel: str
    geometry: tuple[object, ...]
    run: int


class Selection:
    """Applies a choice to the launches of a program, in their order.

    The first two launches of a kernel are recorded. The first finds cold caches and stands for itself alone.
    """

    def __init__(self, choice: Choice) -> None:
        self.choice = choice
        self._counts: dict[str, int] = {}
        self._kept: dict[str, list[Launched]] = {}
        self._left: list[_Left] = []
        self._loops = Loops()

    def named(self, kernel: str) -> bool:
        """Whether launches of a kernel are recorded at all."""
        return re.search(self.choice.pattern, kernel) is not None

    def wanted(self, kernel: str) -> bool:
        """Whether the next launch, one of a kernel that is named, may be recorded."""
        before = self._counts.get(kernel, 0)
        self._counts[kernel] = before + 1
        repeated = self._loops.iterations_before(kernel)
        self._loops.add(kernel)
        if self._has_few(kernel):
            return True
        most = self.choice.iterations
        return before % self.choice.every == 0 and (most is None or repeated < most)

    def left_out(self, asked: Asked, run: int, *, wanted: bool) -> bool:
        """Whether a launch that has ended is not recorded.

        Args:
            run: wavefront instructions that it has executed; 0: unknown.
            wanted: it may be recorded, unless it equals one that is.
        """
        name, geometry = asked.kernel.name, _geometry(asked)
        if wanted:
            warm = self._kept.get(name, [])[1:]
            equal = any(_geometry(each) == geometry and each.instructions == run for each in warm)
            if not (self.choice.fold and equal):
                return False
        self._left.append(_Left(name, geometry, run))
        return True

    def keep(self, launched: Launched) -> None:
        """A launch is recorded."""
        self._kept.setdefault(launched.kernel, []).append(launched)

    def settle(self) -> None:
        """Count each launch that is not recorded to one that is.

        Of the same kernel: with the same geometry where there is one, and of these the one with the nearest
        number of instructions.
        """
        for each in self._left:
            kept = self._kept[each.kernel]
            warm = kept[1:] or kept
            alike = [one for one in warm if _geometry(one) == each.geometry]
            _nearest(alike or warm, each.run).count(each.run)
        self._left.clear()

    def _has_few(self, kernel: str) -> bool:
        return len(self._kept.get(kernel, ())) < 2


def _geometry(launch: Asked | Launched) -> tuple[object, ...]:
    return launch.grid, launch.workgroup, launch.lds


def _nearest(launches: Iterable[Launched], run: int) -> Launched:
    return min(
        reversed(list(launches)),
        key=lambda each: abs(math.log(each.instructions / run)) if run and each.instructions else 0.0,
    )
