"""Cycles of a whole program of which some launches ran (``weight`` in their records).

A launch that stands for others adds their time by its own: the weight is the number of instructions that all
of them execute, over its own (ratio estimator; Cochran, *Sampling Techniques*; Sieve, ISPASS 2023). How well
launches of a kernel that ran predict each other so gives the interval (95 %, Student's distribution): each is
predicted by the one with the nearest number of instructions; the first finds cold caches and is left out. The
interval is never narrower than ``FLOOR``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, NamedTuple

from apuflow.core.interval import student_quantile
from apuflow_analysis.counters.extrapolate import CONFIDENCE, FLOOR

COLUMNS: Final = ("program_cycles", "program_cycles_low", "program_cycles_high")


class Counted(NamedTuple):
    """A launch that ran.

    Attributes:
        weight: how often it counts.
        time, low, high: in one unit, and the ends of its own interval.
        instructions: wavefront instructions that it executed.
    """

    kernel: str
    weight: float
    time: float
    low: float
    high: float
    instructions: float


def program_time(launches: Iterable[Counted]) -> tuple[float, float, float]:
    """The time of the whole program, and the ends of its interval."""
    by_kernel: dict[str, list[Counted]] = {}
    for each in launches:
        by_kernel.setdefault(each.kernel, []).append(each)
    alike = list(by_kernel.values())
    flat = [each for some in alike for each in some]
    doubt = math.fsum(map(_half_width, alike))
    time, low, high = (
        math.fsum(each.weight * end for each, end in zip(flat, ends, strict=True))
        for ends in ([x.time for x in flat], [x.low for x in flat], [x.high for x in flat])
    )
    ran = math.fsum(each.low for each in flat if each.weight)
    return time, max(low - doubt, min(ran, low)), high + doubt


def _half_width(launches: list[Counted]) -> float:
    """Of the time that launches of one kernel add for those that did not run."""
    added = [max(0.0, each.weight - 1) * each.time for each in launches]
    least = FLOOR * math.fsum(added)
    warm = launches[1:]
    errors = [_error(each, warm) for each in warm]
    known = [each for each in errors if each is not None]
    if len(known) < 2:
        return least
    deviation = math.sqrt(math.fsum(each**2 for each in known) / len(known))
    apart = student_quantile(CONFIDENCE, len(known) - 1) * deviation
    return max(least, math.expm1(apart) * math.sqrt(math.fsum(value**2 for value in added)))


def _error(launch: Counted, launches: list[Counted]) -> float | None:
    """How far a launch is from what another one says of it, as a logarithm; None: no other one can tell."""
    others = [each for each in launches if each is not launch and each.instructions and each.time]
    if not others or not launch.instructions or not launch.time:
        return None
    near = min(others, key=lambda each: abs(math.log(each.instructions / launch.instructions)))
    return math.log(launch.time / near.time * near.instructions / launch.instructions)
