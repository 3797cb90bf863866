"""The few operations, and how often each, whose statistics are those of many.

Non-negative least squares gives real weights of all operations (Lawson and Hanson, Solving Least Squares
Problems, chapter 23). Of these the one is left out whose absence does the least harm, and the others are
fitted again, until few enough are left. Then one by one is exchanged for another that makes the largest error
smaller; weights are those with the least largest error, and become whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import linprog, nnls

from apuflow.statsnet.profile import BYTES, FLOP, TOTAL

ITERATIONS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Iterations of the set that whole repeats may represent: the more, the less rounding matters."""
IMPORTANT: Final = 2.0
"""How much more an error of a total counts than one of a part."""
ROUNDING: Final = 1.1
"""Largest error with whole repeats over that with real weights, at which no more iterations are tried."""
CANDIDATES: Final = 60
"""Operations that are tried in exchange for another, those of the best price first."""
LEAVING: Final = 8
"""Of those that are chosen, the ones tried to be left out for it: what they bring is least."""
SHAKEN: Final = 4
"""Operations that are exchanged at once where no single exchange helps."""
ROUNDS: Final = 6
"""How often that is done while the bound does not hold."""
LEAST_GAIN: Final = 0.998
"""An exchange must make the largest error smaller than this share of it."""
_Array = NDArray[np.float64]


@dataclass(frozen=True)
class Mix:
    """Repeats (from 1) of the operations that represent some iterations of a set."""

    repeats: pd.Series[int]
    iterations: int

    def weighted(self, once: pd.Series[float]) -> float:
        """A sum over its operations, per iteration of the set; ``once``: of each operation, run once."""
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
        bound: largest error of a row, in ``scales``. Rounding may not exceed it, and at half of it no more
            iterations are tried.
    """
    target = columns @ weights
    scale, statistic = scales(target), target.index.get_level_values("statistic")
    relative = columns.div(scale, axis=0)
    # Arithmetic intensity is right when its two totals are off by the same share.
    intensity = relative.loc[[(TOTAL, FLOP)]].to_numpy(float) - relative.loc[[(TOTAL, BYTES)]].to_numpy(float)
    matrix = np.vstack([relative.to_numpy(float), intensity])
    goal = np.append((target / scale).to_numpy(float), 0.0)
    important = np.append(np.where(statistic == TOTAL, IMPORTANT, 1.0), IMPORTANT)
    matrix *= important[:, None]
    goal *= important
    even = matrix / np.linalg.norm(matrix, axis=0)
    real = _searched(matrix, goal, _reduced(even, goal, list(range(matrix.shape[1])), most), bound)
    matrix = matrix[:, real.columns]

    def worst(weights: _Array) -> float:
        return float((np.abs(matrix @ weights - goal) / important).max())

    rounded = {many: np.round(real.weights * many) for many in ITERATIONS}
    errors = {many: worst(repeats / many) for many, repeats in rounded.items()}
    least = worst(real.weights)
    allowed = max(bound / 2, ROUNDING * least)
    if least <= bound:
        allowed = min(allowed, bound)
    good_enough = [many for many in ITERATIONS if errors[many] <= allowed]
    iterations = good_enough[0] if good_enough else min(errors, key=errors.__getitem__)
    counts = pd.Series(rounded[iterations].astype(int), index=columns.columns[real.columns])
    return Mix(counts[counts > 0], iterations)


@dataclass(frozen=True)
class _Fit:
    """Columns and their weights, none below 0; the largest error; what each row adds to it (the dual)."""

    columns: list[int]
    weights: _Array
    error: float
    prices: _Array


def _searched(matrix: _Array, goal: _Array, chosen: list[int], bound: float) -> _Fit:
    """The best columns after several exchanges; all but the first begin with a few others in them."""
    best = _exchanged(matrix, goal, chosen)
    for shift in range(ROUNDS):
        if best.error * ROUNDING <= bound:
            break
        least_first = np.argsort(_brings(matrix, best))
        kept = [best.columns[index] for index in least_first[min(SHAKEN, len(least_first) - 1) :]]
        others = _others(matrix, best)[shift * SHAKEN :][: len(best.columns) - len(kept)]
        best = min(best, _exchanged(matrix, goal, [*kept, *others]), key=attrgetter("error"))
    return best


def _exchanged(matrix: _Array, goal: _Array, chosen: list[int]) -> _Fit:
    """Columns, one by one exchanged for another as long as that makes the largest error smaller."""
    found = _least_largest(matrix, goal, chosen)
    while True:
        tried = (_best_exchange(matrix, goal, found, other) for other in _others(matrix, found)[:CANDIDATES])
        better = next(filter(None, tried), None)
        if better is None:
            return found
        found = better


def _best_exchange(matrix: _Array, goal: _Array, found: _Fit, other: int) -> _Fit | None:
    """With another column for one of its own; None: the error is hardly smaller."""
    wanted = LEAST_GAIN * found.error
    wider = _least_largest(matrix, goal, [*found.columns, other])
    if wider.error >= wanted:
        return None
    leaving = np.argsort(_brings(matrix, wider)[:-1])[:LEAVING]
    choices = (wider.columns[:out] + wider.columns[out + 1 :] for out in leaving)
    best = min((_least_largest(matrix, goal, choice) for choice in choices), key=attrgetter("error"))
    return best if best.error < wanted else None


def _brings(matrix: _Array, found: _Fit) -> _Array:
    """The most that each column adds to a row."""
    return np.asarray(found.weights * np.abs(matrix[:, found.columns]).max(axis=0))


def _others(matrix: _Array, found: _Fit) -> list[int]:
    """Columns that it does not have, those of the best price first."""
    by_price = np.argsort(-(matrix.T @ found.prices))
    return [int(column) for column in by_price if column not in found.columns]


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


def _least_largest(matrix: _Array, goal: _Array, columns: list[int]) -> _Fit:
    """Weights of columns whose largest error is least (Chebyshev's criterion, as a linear program)."""
    rows, count = len(goal), len(columns)
    part, slack = matrix[:, columns], np.ones((rows, 1))
    limits = np.block([[part, -slack], [-part, -slack]])
    cost = np.append(np.zeros(count), 1.0)
    found = linprog(cost, A_ub=limits, b_ub=np.concatenate([goal, -goal]))
    duals = found.ineqlin.marginals
    weights, prices = np.asarray(found.x[:count]), np.asarray(duals[:rows] - duals[rows:])
    return _Fit(columns, weights, float(found.fun), prices)
