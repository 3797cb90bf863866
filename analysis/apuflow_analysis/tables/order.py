"""Ordered pairs: of runs that gem5 tells apart, the share that another engine puts in the same order."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

APART = 0.10
"""Cycles this far apart (relative to the fewer) are told apart by gem5: twice its usual scatter."""


def ordered_pairs(runs: Iterable[tuple[float, float]]) -> tuple[int, int]:
    """Pairs in the measured order, and all pairs whose measured values are ``APART``.

    Args:
        runs: measured and predicted value of each; equal predictions are not in order.
    """
    right = pairs = 0
    for (a, model_a), (b, model_b) in combinations(runs, 2):
        if max(a, b) <= min(a, b) * (1.0 + APART):
            continue
        pairs += 1
        right += (a - b) * (model_a - model_b) > 0
    return right, pairs
