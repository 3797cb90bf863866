"""A random audit of operations, and a bound on the cycles that it may have missed.

Operations are drawn one after the other, without replacement, each with a probability in proportion to its
size: repeats times predicted cycles, times how far the preview is outside of what it was measured on. Each
has a waiting time that is exponential with its size as rate, and the shortest comes first. The waiting time
follows from the operation's name and the seed, so a larger budget adds to what was drawn.

A set of operations of total size D was missed up to time t with the probability exp(-t D). So with
probability c the operations that are off and were missed have a size of at most ``-log(1 - c) / t``. Where
k operations that are off were drawn, the upper confidence limit of a Poisson mean after k events takes the
place of ``-log(1 - c)``. What was found is not subtracted, since a large operation is found once and not as
often as its size says.

Sources: Ohlsson, Sequential Poisson sampling, Journal of Official Statistics 14 (1998) 149-162. The bound
is that of sampling in proportion to size in accounting: Stringer, Proc. Business and Economic Statistics
Section, ASA (1963); Leslie, Teitlebaum, Anderson, Dollar-Unit Sampling (1979); Panel on Nonstandard
Mixtures, Statistical Science 4 (1989) 2-33.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import pandas as pd

from apuflow.core.interval import poisson_limit

MISSED_FACTOR = 2.0
"""How far an operation that the audit missed may be off: 2 is twice the estimate, or half of it.

None of gem5's runs, recorded or kept back, is farther from the preview (95 % at most).
"""


@dataclass(frozen=True)
class Audit:
    """Operations drawn at random, in this order, with their waiting times.

    Attributes:
        until: waiting time up to which every operation in reach was drawn; infinite: all were.
        out_of_reach: operations that alone cost more than the budget; the draw cannot have them.
    """

    names: tuple[str, ...]
    times: Mapping[str, float]
    until: float
    out_of_reach: frozenset[str]


def draw(size: pd.Series[float], cost: pd.Series[float], limit: float, most: int, seed: str) -> Audit:
    """Draw operations (the index of ``size`` and ``cost``) until the next costs more than what is left.

    ``limit``: of the cost of all drawn operations; ``most``: of their number.
    """
    reach = [str(name) for name in size.index[cost <= limit]]
    digests = {name: hashlib.sha256(f"{seed}/{name}".encode()).digest() for name in reach}
    uniform = {name: (int.from_bytes(digest[:6]) + 1) / 2**48 for name, digest in digests.items()}  # (0, 1]
    times = {name: -math.log(uniform[name]) / float(size[name]) for name in reach}
    drawn: list[str] = []
    until, left = math.inf, limit
    for name in sorted(times, key=lambda one: times[one]):
        left -= float(cost[name])
        if left < -1e-9 * limit or len(drawn) == most:
            until = times[name]
            break
        drawn.append(name)
    out_of_reach = frozenset(map(str, size.index)) - set(reach)
    return Audit(tuple(drawn), {name: times[name] for name in drawn}, until, out_of_reach)


def missed_size(
    audit: Audit,
    size: Mapping[str, float],
    unknown: Collection[str],
    off: Collection[str],
    failed: Collection[str],
    confidence: float,
) -> float:
    """Upper bound of the size of the operations that are off and that nobody has measured.

    Args:
        unknown: operations that have not been measured.
        off: drawn operations whose measurement contradicts the estimate.
        failed: operations whose runs failed; nothing is known of them.
    """
    missing = [name for name in audit.names if name in unknown and name not in failed]
    until = audit.times[missing[0]] if missing else audit.until
    certain = [name for name in unknown if name in audit.out_of_reach or name in failed]
    reach = sum(size[name] for name in unknown) - (sure := sum(size[name] for name in certain))
    if until == math.inf:
        return sure + max(0.0, reach)
    return sure + min(max(0.0, reach), poisson_limit(confidence, len(off)) / until)
