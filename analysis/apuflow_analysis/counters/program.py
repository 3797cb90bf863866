"""Cycles of a whole program of which some launches ran (``weight`` in their records).

A launch that stands for others adds their time by its own: the weight is the number of instructions that all
of them execute, over its own (ratio estimator; Cochran, *Sampling Techniques*; Sieve, ISPASS 2023). How far
time per instruction differs among the launches of the same kernel that ran gives the interval (95 %,
Student's distribution). It is never narrower than ``FLOOR``, and nothing else of a kernel with one launch.
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
    ran = [each.time / each.instructions for each in launches if each.instructions and each.time]
    if len(ran) < 2:
        return least
    logs = [math.log(value) for value in ran]
    mean = math.fsum(logs) / len(logs)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in logs) / (len(logs) - 1))
    apart = student_quantile(CONFIDENCE, len(logs) - 1) * deviation
    return max(least, math.expm1(apart) * math.sqrt(math.fsum(value**2 for value in added)))
