"""The few operations, and how often each, whose statistics are those of many.

Non-negative least squares gives real weights of all operations (Lawson and Hanson, Solving Least Squares
Problems, chapter 23). Of these the one is left out whose absence does the least harm, and the others are
fitted again, until few enough are left. Their weights are then those with the least largest error, and
become whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import linprog, nnls

from apuflow.study.statsnet.profile import BYTES, FLOP, TOTAL

ITERATIONS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Iterations of the set that whole repeats may stand for: the more, the less rounding matters."""
IMPORTANT: Final = 2.0
"""How much more an error of a total counts than one of a part."""
ROUNDING: Final = 1.1
"""Largest error with whole repeats over that with real weights, at which no more iterations are tried."""
CANDIDATES: Final = 30
"""Operations that are tried in exchange for another."""
LEAST_GAIN: Final = 0.99
"""An exchange must make what is left smaller than this share of it."""
_Array = NDArray[np.float64]


@dataclass(frozen=True)
class Mix:
    """What stands for a set.

    Attributes:
        repeats: of each operation that is in it, from 1.
        iterations: of the set, that it stands for.
    """

    repeats: pd.Series[int]
    iterations: int

    def weighted(self, once: pd.Series[float]) -> float:
        """A sum over its operations, per iteration of the set.

        Args:
            once: of each operation, run once.
        """
        return float((once[self.repeats.index] * self.repeats).sum() / self.iterations)


def scales(target: pd.Series[float]) -> pd.Series[float]:
    """What an error of each row is a share of: the sum of its statistic; a total, of itself."""
    statistic = target.index.get_level_values("statistic")
    whole = target.groupby(level="statistic").transform("sum").where(statistic != TOTAL, target)
    return whole.where(whole > 0, 1.0)


def fit(columns: pd.DataFrame, weights: pd.Series[float], most: int, bound: float) -> Mix:
    """Find at most ``most`` operations, with whole repeats.

    Args:
        columns: statistics of each operation, as ``profile.statistics`` gives them.
        weights: how often the set runs each.
        bound: largest error of a row, in ``scales``, at which no more iterations are tried.
    """
    target = columns @ weights
    scale, statistic = scales(target), target.index.get_level_values("statistic")
    relative = columns.div(scale, axis=0)
    # Arithmetic intensity is right when its two totals are off by the same share.
    intensity = relative.loc[[(TOTAL, FLOP)]].to_numpy(float) - relative.loc[[(TOTAL, BYTES)]].to_numpy(float)
    matrix = np.vstack([relative.to_numpy(float), intensity])
    goal = np.append((target / scale).to_numpy(float), 0.0)
    important = np.append(np.where(statistic == TOTAL, IMPORTANT, 1.0), IMPORTANT)
    chosen = _few(matrix * important[:, None], goal * important, most)
    matrix = matrix[:, chosen]
    real = _least_largest(matrix * important[:, None], goal * important)

    def worst(weights: _Array) -> float:
        return float(np.abs(matrix @ weights - goal).max())

    rounded = {many: np.round(real * many) for many in ITERATIONS}
    errors = {many: worst(repeats / many) for many, repeats in rounded.items()}
    allowed = max(bound, ROUNDING * worst(real))
    iterations = next(
        (many for many in ITERATIONS if errors[many] <= allowed), min(errors, key=errors.__getitem__)
    )
    counts = pd.Series(rounded[iterations].astype(int), index=columns.columns[chosen])
    return Mix(counts[counts > 0], iterations)


def _few(matrix: _Array, goal: _Array, most: int) -> list[int]:
    """The columns that are left; then one by one exchanged for another while the fit gets better."""
    even = matrix / np.linalg.norm(matrix, axis=0)
    chosen = _reduced(even, goal, list(range(matrix.shape[1])), most)
    rest = _rest(even, goal, chosen)
    while True:
        slope = even.T @ rest
        slope[chosen] = -np.inf
        for other in np.argsort(-slope)[:CANDIDATES]:
            exchanged = _reduced(even, goal, [*chosen, int(other)], most)
            left = _rest(even, goal, exchanged)
            if np.linalg.norm(left) < LEAST_GAIN * np.linalg.norm(rest):
                chosen, rest = exchanged, left
                break
        else:
            return chosen


def _reduced(even: _Array, goal: _Array, chosen: list[int], most: int) -> list[int]:
    """Fitted, and the least useful column left out, until no more than ``most`` are left."""
    while True:
        weights = nnls(even[:, chosen], goal, maxiter=30 * len(chosen))[0]
        chosen = [column for column, weight in zip(chosen, weights, strict=True) if weight > 0]
        if len(chosen) <= most:
            return chosen
        # What leaving a column out of a least-squares fit adds to the sum of squares.
        harm = weights[weights > 0] ** 2 / (np.linalg.pinv(even[:, chosen]) ** 2).sum(axis=1)
        del chosen[int(np.argmin(harm))]


def _rest(even: _Array, goal: _Array, chosen: list[int]) -> _Array:
    weights = nnls(even[:, chosen], goal, maxiter=30 * len(chosen))[0]
    return np.asarray(goal - even[:, chosen] @ weights, dtype=np.float64)


def _least_largest(matrix: _Array, goal: _Array) -> _Array:
    """Weights, none below 0, whose largest error is least (Chebyshev's criterion, as a linear program)."""
    rows, count = matrix.shape
    slack = np.ones((rows, 1))
    limits = np.vstack([np.hstack([matrix, -slack]), np.hstack([-matrix, -slack])])
    cost = np.append(np.zeros(count), 1.0)
    found = linprog(cost, A_ub=limits, b_ub=np.concatenate([goal, -goal]))
    return np.asarray(found.x[:count], dtype=np.float64)
