"""A total over many operations from a few that are simulated, with an interval.

The profile is the preview: its cycles are known for every kernel of every operation. What is simulated
tells by which factor the preview is off there; kernels alike share part of that factor. Model: the
logarithms of ``measured / predicted`` are normal with mean 0, and their covariance is a sum over what two
kernels share: the preview itself (``COMMON``) and a trend with the size (``SIZE``), the program
(``FAMILY``), the kernel (``KERNEL``), the kernel at a like size (``ALIKE``); ``OWN`` is each one's alone. The
others are predicted from those measured (best linear prediction). A measurement that is itself extrapolated
(the first workgroups of a launch) is the factor and an error of its own, as large as its interval says.

Sources: Cochran, Sampling Techniques, chapter 6 (ratio estimation); Cressie, Statistics for Spatial Data,
chapter 3 (kriging); Sieve (ISPASS 2023) and Photon (MICRO 2023), which have a hardware profile.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from apuflow.configure.sweep_keys import Sampling
from apuflow.core.interval import student_quantile
from apuflow.sampling.audit import MISSED_FACTOR, Audit, draw, missed_size

Array = NDArray[np.float64]

COMMON, SIZE, FAMILY, KERNEL, ALIKE = 0.03, 0.10, 0.03, 0.05, 0.15
"""Standard deviations of log(measured / predicted), by what kernels share, before any is measured.

``SIZE`` is of a slope per power of ten. Chosen by three networks on gem5 (``docs/sampling.md``): of several
sets of values the one whose estimates are nearest, and whose intervals hold. The likeliest values of
``data/gem5_runs/networks.csv`` alone are 0.03, -, 0.04, 0.14, 0.09.
"""
OWN = np.array([0.03, 0.05, 0.07, 0.1, 0.14, 0.2, 0.28])
"""What it may be of each kernel alone, beside these; the measurements choose."""
USUAL_OWN, OWN_SPREAD = 0.07, 0.7
"""What it most likely is before they do, and the standard deviation of its logarithm."""
ALIKE_WITHIN = 0.3
"""Powers of ten between predicted cycles of a kernel's launches over which likeness falls to 1/e."""
PRIOR_WEIGHT = 4.0
"""How many observations the size of all of these counts for, against what is measured."""
ROUNDS = 4
"""Parts of the budget; after each, what was measured decides anew whether and where more is needed."""
OF_INTERVALS = 1.96
"""Half width over standard deviation, of the intervals of extrapolated launches (95 %, normal)."""
FAR_QUANTILE = 2.326
"""Half width over standard deviation, of the preview's intervals where it is unmeasured (98 %)."""
COLUMNS = ("family", "kernel", "predicted")


@dataclass(frozen=True)
class Estimate:
    """A total and what it rests on.

    Attributes:
        members: a row per operation: ``weight``, ``predicted``, ``cycles`` (measured, else estimated),
            ``low`` and ``high`` (interval of one occurrence; equal to ``cycles`` where all workgroups were
            simulated), ``is_measured`` and ``cost`` (predicted cycles of what is simulated of it, once).
        total: weighted sum of cycles; ``low`` and ``high``: ends of its interval.
        missed: the part of the interval that is for operations that are off and that no run has shown.
        simulated: share of the weighted predicted cycles whose operations were simulated.
        cost: predicted cycles that were simulated over those of a run of everything, with repeats.
    """

    members: pd.DataFrame
    total: float
    low: float
    high: float
    missed: float
    simulated: float
    cost: float

    @property
    def half_width(self) -> float:
        """The wider side of the interval, in cycles."""
        return max(self.total - self.low, self.high - self.total)

    @property
    def relative(self) -> float:
        """Half width of the interval over the total."""
        return self.half_width / self.total


class Sample:
    """Operations, what was measured of them, and what follows.

    Args:
        parts: a row per kernel of an operation; index: the operation's name; columns: ``family`` and
            ``kernel`` (text, what is launched), ``predicted`` (the preview's GPU cycles of all its launches
            in one occurrence, above 0); ``away`` (half width of the preview's interval, as a logarithm, where
            the launch is outside of what the preview was measured on; else 0); and, where not all workgroups
            are launched, ``cost`` (those of the launched ones) and ``doubt`` (the relative half width, at
            95 %, that a measurement is expected to have).
        weight: how often an operation occurs, by name; above 0.
        audit: a random sample of operations; None: the interval trusts the model of what kernels share.
        measured: gem5's GPU cycles of one occurrence, by name, of each of its kernels in the order of
            ``parts``; a single number is all of them, which then share their factor.
        aside: names that have no measurement and get none (their runs failed).
        doubts: relative half widths (95 %) of what is measured, one for each number; not named: exact.

    Raises:
        ValueError: a column is missing, a number is not above 0, or what is measured is no operation, or has
            another number of kernels.
    """

    def __init__(
        self,
        parts: pd.DataFrame,
        weight: Mapping[str, float],
        measured: Mapping[str, Sequence[float]],
        aside: Collection[str] = (),
        doubts: Mapping[str, Sequence[float]] | None = None,
        audit: Audit | None = None,
    ) -> None:
        if missing := [name for name in COLUMNS if name not in parts.columns]:
            raise ValueError(f"kernels have no column {', '.join(missing)}")
        if unknown := sorted(set(measured) - set(parts.index)):
            raise ValueError(f"measured, but no operation: {unknown[0]}")
        names = pd.Index(dict.fromkeys(parts.index))
        if not (parts["predicted"].to_numpy(float) > 0).all() or any(not weight[name] > 0 for name in names):
            raise ValueError("weights and predicted cycles are above 0")
        if any(not value > 0 for values in measured.values() for value in values):
            raise ValueError("measured cycles are above 0")
        self._parts = parts
        self._predicted = parts["predicted"].to_numpy(float)
        self._owner = names.get_indexer(parts.index)
        cost = parts.get("cost", parts["predicted"]).to_numpy(float)
        none = pd.Series(0.0, parts.index)
        doubt = parts.get("doubt", none) / OF_INTERVALS
        self._expected_noise: Array = np.asarray(doubt**2, dtype=np.float64)
        self._away = parts.get("away", none).to_numpy(float)
        farthest = np.ones(len(names))
        np.maximum.at(farthest, self._owner, np.exp(self._away))
        self.members = pd.DataFrame({"weight": [float(weight[name]) for name in names]}, index=names)
        self.members["predicted"] = np.bincount(self._owner, self._predicted, len(names))
        self.members["cost"] = np.bincount(self._owner, cost, len(names))
        self.members["unmeasured"] = farthest > 1.0
        self.members["size"] = self.members["weight"] * self.members["predicted"] * farthest
        self._audit = audit
        self._place: dict[str, list[int]] = {name: [] for name in names}
        for row, name in enumerate(parts.index):
            self._place[name].append(row)
        for name, values in measured.items():
            if len(values) not in (1, kernels := len(self._place[name])):
                raise ValueError(f"{name} has {kernels} kernels, {len(values)} measured")
        self._measured = set(measured)
        self._aside = tuple(aside)
        self._used = {name: sum(values) for name, values in measured.items() if name not in set(aside)}
        self._rows = np.array([row for name in self._used for row in self._place[name]], dtype=np.int64)
        doubts = doubts or {}
        self._doubted = {name for name, values in doubts.items() if any(values)}
        observed = (self._factors(name, measured[name]) for name in self._used)
        noise = (self._noise_of(name, doubts.get(name, (0.0,))) for name in self._used)
        self._observed: Array = np.log(np.concatenate([np.empty(0), *observed]))
        self._noise: Array = np.concatenate([np.empty(0), *noise])

    def _factors(self, name: str, cycles: Sequence[float]) -> Array:
        """What is measured over what is predicted, of each kernel of an operation."""
        predicted = self._predicted[self._place[name]]
        if len(cycles) == 1:
            return np.full(len(predicted), cycles[0] / predicted.sum())
        factors: Array = np.array(cycles, dtype=float) / predicted
        return factors

    def _noise_of(self, name: str, doubts: Sequence[float]) -> Array:
        """Variance of the logarithm of each kernel's factor; kernels share the error of their sum."""
        kernels = len(self._place[name])
        variances: Array = (np.array(doubts, dtype=float) / OF_INTERVALS) ** 2
        return variances if len(doubts) == kernels else np.full(kernels, kernels * variances[0])

    @cached_property
    def _shared(self) -> Array:
        """Covariance of the logarithms of all kernels' factors by what they share, before any is measured."""
        family, kernel = (pd.factorize(self._parts[name])[0] for name in ("family", "kernel"))
        size = np.log10(self._predicted)
        near = np.exp(-np.abs(size[:, None] - size[None, :]) / ALIKE_WITHIN)
        same = kernel[:, None] == kernel[None, :]
        above = size - np.average(size, weights=self._predicted)
        shared: Array = COMMON**2 + SIZE**2 * np.outer(above, above)
        shared += FAMILY**2 * (family[:, None] == family[None, :])
        away = (self._away / FAR_QUANTILE) ** 2
        shared += same * (KERNEL**2 + (ALIKE**2 + np.sqrt(np.outer(away, away))) * near)
        return shared

    @cached_property
    def _size(self) -> tuple[float, float]:
        """The likeliest standard deviation of each kernel alone and scale (inverse gamma) of all squares."""
        measured = self._shared[np.ix_(self._rows, self._rows)]
        freedom, found = PRIOR_WEIGHT + len(self._rows), []
        for own in OWN:
            covariance = measured + own**2 * np.eye(len(measured)) + np.diag(self._noise)
            squares = PRIOR_WEIGHT + float(self._observed @ np.linalg.solve(covariance, self._observed))
            unlikely = freedom * np.log(squares) + np.linalg.slogdet(covariance)[1]
            unlikely += (np.log(own / USUAL_OWN) / OWN_SPREAD) ** 2
            found.append((float(unlikely), float(own), squares / freedom))
        return min(found)[1:]

    @cached_property
    def _posterior(self) -> tuple[Array, Array]:
        """Mean and covariance of the logarithms of all kernels' factors, given what is measured."""
        own, scale = self._size
        rows, prior = self._rows, self._shared + own**2 * np.eye(len(self._shared))
        gain, covariance = _measured(prior, rows, self._noise / scale)
        return self._observed @ gain, scale * covariance

    def _quantile(self, confidence: float) -> float:
        return student_quantile(confidence, PRIOR_WEIGHT + len(self._rows))

    @cached_property
    def _cycles(self) -> Array:
        """Cycles of each kernel in one occurrence: measured, else the lognormal's mean, exp(m + v / 2)."""
        mean, covariance = self._posterior
        cycles: Array = self._predicted * np.exp(mean + np.diag(covariance) / 2)
        return cycles

    @cached_property
    def _weighted(self) -> Array:
        weighted: Array = self._cycles * self.members["weight"].to_numpy(float)[self._owner]
        return weighted

    def next(self, aim: Sampling) -> list[str]:
        """Operations to simulate next; none when the bound is expected to hold or the budget is spent.

        Each is the one that narrows the interval most per predicted cycle that it costs.
        """
        own = self.members["cost"].to_numpy(float)
        names = self.members.index.to_numpy()
        free = ~np.isin(names, [*self._used, *self._aside])
        covariance: Array = self._posterior[1]
        quantile = self._quantile(aim.confidence)
        allowed = aim.bound * self._weighted.sum() / quantile
        spent = np.isin(names, [*self._measured, *self._aside])
        left = self._allowed(aim) - own[spent].sum()
        chosen: list[str] = []
        audited = [name for name in (self._audit.names if self._audit else ()) if name not in self._measured]
        missed = self._missed(aim)
        while free.any():
            change = covariance @ self._weighted
            known = [*self._used, *chosen]
            if (self._weighted @ change) ** 0.5 <= allowed - max(missed(known)) / quantile:
                break
            candidates = np.flatnonzero(free & (own <= left))
            if not len(candidates):
                break
            if audited := [name for name in audited if name not in chosen and name not in self._aside]:
                best = int(np.flatnonzero(names == audited[0])[0])
            else:
                gain = self._gain(candidates, covariance, change) / own[candidates]
                best = int(candidates[np.argmax(gain)])
            rows = self._place[str(names[best])]
            covariance = _measured(covariance, rows, self._expected_noise[rows])[1]
            chosen.append(str(names[best]))
            free[best] = False
            left -= own[best]
        return chosen

    def _gain(self, candidates: NDArray[Any], covariance: Array, change: Array) -> Array:
        """By how much the variance of the total falls when an operation, by its number, is measured.

        ``change``: covariance of each kernel with the total.
        """
        places = [self._place[str(self.members.index[number])] for number in candidates]
        found = np.empty(len(places))
        for size in {len(place) for place in places}:
            those = [number for number, place in enumerate(places) if len(place) == size]
            rows = np.array([places[number] for number in those])
            blocks, with_total = covariance[rows[:, :, None], rows[:, None, :]], change[rows]
            blocks += self._expected_noise[rows][:, :, None] * np.eye(size)
            found[those] = (with_total * np.linalg.solve(blocks, with_total[..., None])[..., 0]).sum(axis=1)
        return found

    def first(self, following: Sequence[str], aim: Sampling) -> list[str]:
        """The first of ``next``: as many as a part of the budget allows (``ROUNDS``), and one at least."""
        cost = self.members["cost"][list(following)].cumsum()
        allowed = self._allowed(aim) / ROUNDS
        return list(following[: max(1, int((cost <= allowed).sum()))])

    def audit(self, aim: Sampling, seed: str) -> Audit:
        """The random sample of operations (``apuflow.sampling.audit``)."""
        members = self.members
        return draw(members["size"], members["cost"], self._allowed(aim), aim.audit, seed)

    @cached_property
    def held_out(self) -> pd.DataFrame:
        """Every measured operation as the others estimate it: ``cycles`` and ``spread`` (of their logarithm).

        Leave-one-out prediction from the inverse of the covariance (Dubrule, Math. Geology 15, 1983).
        """
        own, scale = self._size
        covariance = self._shared[np.ix_(self._rows, self._rows)] + own**2 * np.eye(len(self._rows))
        inverse = np.linalg.inv(scale * covariance + np.diag(self._noise))
        weighted, start, found = inverse @ self._observed, 0, []
        for name in self._used:
            part = slice(start, start := start + len(self._place[name]))
            left = np.linalg.inv(inverse[part, part])
            mean = self._observed[part] - left @ weighted[part]
            cycles = self._predicted[self._place[name]] * np.exp(mean + np.diag(left) / 2)
            share = cycles / cycles.sum()
            found.append((float(cycles.sum()), float(share @ left @ share) ** 0.5))
        return pd.DataFrame(found, columns=["cycles", "spread"], index=list(self._used), dtype=float)

    def contradicted(self, aim: Sampling) -> list[str]:
        """Operations of the audit whose measurement is outside of what the others say of them."""
        if self._audit is None:
            return []
        audited = self.held_out.loc[[name for name in self._audit.names if name in self._used]]
        off = np.abs(np.log([self._used[name] for name in audited.index] / audited["cycles"]))
        return [str(name) for name in audited.index[off > self._quantile(aim.confidence) * audited["spread"]]]

    def _missed(self, aim: Sampling) -> Callable[[Collection[str]], tuple[float, float]]:
        """Cycles that the audit may have missed, by what is measured: the total may be too high, too low."""
        if (audit := self._audit) is None:
            return lambda _: (0.0, 0.0)
        off = self.contradicted(aim)
        factors = [self._used[name] / self.held_out["cycles"][name] for name in off]
        factor = max([MISSED_FACTOR, *factors, *(1 / one for one in factors)])
        sizes = {str(name): float(size) for name, size in self.members["size"].items()}

        def missed(measured: Collection[str]) -> tuple[float, float]:
            known = set(measured)
            unknown = [name for name in sizes if name not in known]
            size = missed_size(audit, sizes, unknown, off, self._aside, aim.confidence)
            return size * (1 - 1 / factor), size * (factor - 1)

        return missed

    def _allowed(self, aim: Sampling) -> float:
        """The budget, in predicted cycles."""
        return aim.budget * float(self.members["predicted"].sum())

    def estimate(self, aim: Sampling) -> Estimate:
        """The total, its interval, and every operation's cycles."""
        members, quantile = self.members.copy(), self._quantile(aim.confidence)
        covariance = self._posterior[1]
        cycles = np.bincount(self._owner, self._cycles, len(members))
        of_total = self._cycles / cycles[self._owner]
        spread = [
            float(of_total[rows] @ covariance[np.ix_(rows, rows)] @ of_total[rows]) ** 0.5
            for rows in self._place.values()
        ]
        members["cycles"] = cycles
        members["low"] = cycles * np.exp(-quantile * np.array(spread))
        members["high"] = cycles * np.exp(quantile * np.array(spread))
        members["is_measured"] = members.index.isin(list(self._used))
        exact = {name: cycles for name, cycles in self._used.items() if name not in self._doubted}
        used = pd.Series(exact, dtype=float)
        for column in ("cycles", "low", "high"):
            members.loc[used.index, column] = used
        weighted = members["weight"] * members["predicted"]
        simulated = members.index.isin(list(self._measured))
        of_each = members["weight"] * members["cycles"]
        total, least = float(of_each.sum()), float(of_each[members["is_measured"]].sum())
        least = least if self._audit is not None and not self._doubted else 0.0
        spread = quantile * float(self._weighted @ covariance @ self._weighted) ** 0.5
        too_high, too_low = self._missed(aim)(self._used)
        return Estimate(
            members,
            total=total,
            low=max(least, total - spread - too_high),
            high=total + spread + too_low,
            missed=max(too_high, too_low),
            simulated=float(weighted[simulated].sum() / weighted.sum()),
            cost=float(members["cost"][simulated].sum() / weighted.sum()),
        )


def _measured(covariance: Array, rows: Any, noise: Array) -> tuple[Array, Array]:
    """What follows when ``rows`` (numbers) are known: their weights, and the covariance that is left.

    ``noise``: variance of the error of each measurement; 0: it is exact.
    """
    gain: Array = np.linalg.solve(covariance[np.ix_(rows, rows)] + np.diag(noise), covariance[rows])
    left: Array = covariance - covariance[:, rows] @ gain
    known = np.asarray(rows)[noise == 0.0]
    left[known] = left[:, known] = 0.0
    return gain, left
