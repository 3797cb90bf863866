"""A total over many kernels or layers from a few that are simulated, with an interval.

The profile is the preview: its cycles are known for every member. Members of one *stratum* (the same
kernels, a like size) share the factor between gem5's cycles and the preview's; what is simulated tells that
factor, the others are estimated by it. Model: ``log(measured / predicted) = m + d_h + e``, with ``d_h`` the
stratum's own deviation (standard deviation ``BETWEEN``) and ``e`` the member's (``WITHIN``), until
measurements say otherwise.

Sources: ratio estimation and allocation as in Cochran, Sampling Techniques, chapters 5 and 6; strata of
kernels as in Sieve (ISPASS 2023) and Photon (MICRO 2023), with a timing model in place of a hardware profile.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from apuflow.configure.sampling import Sampling
from apuflow.core.interval import student_quantile

WITHIN = 0.15
"""Standard deviation of log(measured / predicted) among members of a stratum, before any is measured."""
BETWEEN = 0.15
"""The same between strata. Layers that no constant was chosen by: median error 10.9 %, 90th percentile 35.6
%."""
PRIOR_WEIGHT = 2.0
"""How many observations the two values above count for, against those measured."""
SIZES_PER_DECADE = 1
"""Size classes of a stratum: members whose predicted cycles lie within one factor of ten."""
ROUNDS = 4
"""Parts of the budget; after each, what was measured decides anew whether and where more is needed."""
COLUMNS = ("kernels", "weight", "predicted")


@dataclass(frozen=True)
class Estimate:
    """A total and what it rests on.

    Attributes:
        members: the members with ``stratum``, ``cycles`` (measured, else estimated), ``low`` and ``high``
            (interval of
            one occurrence; equal to ``cycles`` where measured) and ``is_measured``.
        total: weighted sum of cycles. half_width: of its interval, in cycles.
        simulated: share of the weighted predicted cycles whose members were simulated.
        cost: predicted cycles of the simulated members over those of one run of everything, repeats included.
    """

    members: pd.DataFrame
    total: float
    half_width: float
    simulated: float
    cost: float

    @property
    def relative(self) -> float:
        """Half width of the interval over the total."""
        return self.half_width / self.total


def strata(members: pd.DataFrame) -> pd.Series:
    """Name of each member's stratum: its ``kernels`` and its size class.

    Args:
        members: columns ``kernels`` (text, what is launched), ``predicted`` (cycles of one, above 0).
    """
    sizes = np.floor(np.log10(members["predicted"].to_numpy(float)) * SIZES_PER_DECADE).astype(int)
    pairs = zip(members["kernels"], sizes, strict=True)
    return pd.Series([f"{kernels} 1e{size}" for kernels, size in pairs], index=members.index, dtype=object)


class Sample:
    """Members, what was measured of them, and what follows.

    Args:
        members: a row per distinct member; index: its name; columns: ``kernels`` (text), ``weight`` (how
            often it
            occurs, above 0), ``predicted`` (the preview's GPU cycles of one occurrence, above 0).
        measured: gem5's GPU cycles of one occurrence, by name.
        aside: names whose measurement takes no part (the audit).

    Raises:
        ValueError: a column is missing, a name stands twice, a number is not above 0, or something is
            measured that is
            no member.
    """

    def __init__(
        self, members: pd.DataFrame, measured: Mapping[str, float], aside: Collection[str] = ()
    ) -> None:
        missing = [name for name in COLUMNS if name not in members.columns]
        if missing:
            raise ValueError(f"members have no column {', '.join(missing)}")
        if not members.index.is_unique:
            raise ValueError("a member stands twice")
        unknown = sorted(set(measured) - set(members.index))
        if unknown:
            raise ValueError(f"measured, but no member: {unknown[0]}")
        if not (members[["weight", "predicted"]].to_numpy(float) > 0).all():
            raise ValueError("weights and predicted cycles are above 0")
        if any(not value > 0 for value in measured.values()):
            raise ValueError("measured cycles are above 0")
        self.members = members.assign(stratum=strata(members))
        self._used = {name: float(value) for name, value in measured.items() if name not in set(aside)}
        self._measured = dict(measured)
        self._aside = tuple(aside)

    @cached_property
    def _deviation(self) -> pd.Series:
        """log(measured / predicted) of the members that the estimate rests on."""
        names = list(self._used)
        predicted = self.members.loc[names, "predicted"].to_numpy(float)
        return pd.Series(np.log(np.array([self._used[name] for name in names]) / predicted), index=names)

    @cached_property
    def _variances(self) -> tuple[float, float, float]:
        """Variance within strata, between them, and the degrees of freedom of the first."""
        of = self.members["stratum"]
        groups = [values for _, values in self._deviation.groupby(of[self._deviation.index])]
        squares = sum(float(((values - values.mean()) ** 2).sum()) for values in groups)
        freedom = sum(len(values) - 1 for values in groups)
        within = (PRIOR_WEIGHT * WITHIN**2 + squares) / (PRIOR_WEIGHT + freedom)
        means = np.array([values.mean() for values in groups])
        counts = np.array([len(values) for values in groups])
        spread = float(((means - means.mean()) ** 2).sum()) if len(means) else 0.0
        noise = within * float((1 / counts).sum()) if len(means) else 0.0
        between = (PRIOR_WEIGHT * BETWEEN**2 + max(0.0, spread - noise)) / (
            PRIOR_WEIGHT + max(0, len(means) - 1)
        )
        return within, between, PRIOR_WEIGHT + freedom

    @cached_property
    def _common(self) -> tuple[float, float]:
        """Mean of the log factor over strata, and the variance of that mean."""
        within, between, _ = self._variances
        groups = self._deviation.groupby(self.members["stratum"][self._deviation.index])
        precision = 1 / (between + within / groups.count())
        if precision.empty:
            return 0.0, between
        return float((groups.mean() * precision).sum() / precision.sum()), 1 / float(precision.sum())

    @cached_property
    def _factors(self) -> pd.DataFrame:
        """Per stratum the mean of its log factor, and how uncertain that mean is.

        Best linear prediction of a one-way random effects model: a stratum's mean is drawn to the common one
        by as much as its own measurements are few. ``own`` is the variance that the stratum has by itself,
        ``common`` its share of the standard deviation that all strata have together.
        """
        within, between, _ = self._variances
        common, variance = self._common
        groups = self._deviation.groupby(self.members["stratum"][self._deviation.index])
        every = self.members["stratum"].unique()
        count = groups.count().reindex(every, fill_value=0)
        mean = groups.mean().reindex(every).fillna(common)
        open_part = within / (count * between + within)
        return pd.DataFrame(
            {
                "mean": common + (1 - open_part) * (mean - common),
                "own": between * open_part,
                "common": open_part * variance**0.5,
            }
        )

    def _variance(self, cycles: pd.Series) -> float:
        """Variance of the total, in cycles squared.

        Args:
            cycles: of all members, with their weight.
        """
        rest = cycles[~cycles.index.isin(list(self._used))]
        shared = rest.groupby(self.members["stratum"][rest.index]).sum()
        factors = self._factors.loc[shared.index]
        own = float((shared**2 * factors["own"]).sum() + (rest**2).sum() * self._variances[0])
        return own + float((shared * factors["common"]).sum()) ** 2

    def _quantile(self, confidence: float) -> float:
        return student_quantile(confidence, self._variances[2])

    def next(self, aim: Sampling) -> list[str]:
        """Members to simulate next; none when the bound is expected to hold or the budget is spent.

        Each is the one that narrows the interval most per predicted cycle that it costs.
        """
        names = self.members.index.to_numpy()
        own = self.members["predicted"].to_numpy(float)
        cycles = self.members["weight"].to_numpy(float) * own
        codes, strata_names = pd.factorize(self.members["stratum"])
        free = ~np.isin(names, [*self._used, *self._aside])
        count = np.bincount(codes[~free], minlength=len(strata_names)).astype(float)
        within, between, _ = self._variances
        common = self._common[1] ** 0.5
        allowed = aim.bound * cycles.sum() / self._quantile(aim.confidence)
        left = aim.budget * own.sum() - own[np.isin(names, [*self._measured, *self._aside])].sum()
        chosen: list[str] = []
        while free.any():
            rest = np.bincount(codes[free], cycles[free], len(strata_names))
            open_now, open_then = (
                within / (count * between + within),
                within / ((count + 1) * between + within),
            )
            together = (rest * open_now).sum() * common
            variance = (rest**2 * between * open_now).sum() + within * (cycles[free] ** 2).sum() + together**2
            if variance**0.5 <= allowed:
                break
            after = rest[codes] - cycles
            shared = together + common * (after * open_then[codes] - rest[codes] * open_now[codes])
            narrower = between * (rest[codes] ** 2 * open_now[codes] - after**2 * open_then[codes])
            gain = narrower + within * cycles**2 + together**2 - shared**2
            candidates = np.flatnonzero(free & (own <= left))
            if not len(candidates):
                break
            best = candidates[np.argmax(gain[candidates] / own[candidates])]
            chosen.append(str(names[best]))
            free[best] = False
            count[codes[best]] += 1
            left -= own[best]
        return chosen

    def first(self, following: Sequence[str], aim: Sampling) -> list[str]:
        """The first of ``next``: as many as a part of the budget allows (``ROUNDS``), and one at least."""
        cost = self.members["predicted"][list(following)].cumsum()
        allowed = aim.budget * float(self.members["predicted"].sum()) / ROUNDS
        return list(following[: max(1, int((cost <= allowed).sum()))])

    def audit(self, aim: Sampling, seed: str) -> list[str]:
        """Random members, for the audit: by their names and the seed alone; half of the budget at most."""
        free = [name for name in self.members.index if name not in self._used]
        order = sorted(free, key=lambda name: hashlib.sha256(f"{seed}/{name}".encode()).digest())
        limit = aim.budget * float(self.members["predicted"].sum())
        small = self.members["predicted"][order]
        small = small[small <= limit / 10][: aim.audit]
        return [str(name) for name in small.index[small.cumsum() <= limit / 2]]

    def estimate(self, aim: Sampling) -> Estimate:
        """The total, its interval, and every member's cycles."""
        members = self.members.copy()
        factors = self._factors
        quantile = self._quantile(aim.confidence)
        mean = members["stratum"].map(factors["mean"])
        single = members["stratum"].map(factors["own"] + factors["common"] ** 2) + self._variances[0]
        # The mean of a lognormal is exp(m + v / 2); of an error of 10 % that is half a percent.
        members["cycles"] = members["predicted"] * np.exp(mean + single / 2)
        members["low"] = members["predicted"] * np.exp(mean - quantile * np.sqrt(single))
        members["high"] = members["predicted"] * np.exp(mean + quantile * np.sqrt(single))
        members["is_measured"] = members.index.isin(list(self._used))
        used = pd.Series(self._used, dtype=float)
        for column in ("cycles", "low", "high"):
            members.loc[used.index, column] = used
        variance = self._variance(members["weight"] * members["cycles"])
        weighted = members["weight"] * members["predicted"]
        simulated = members.index.isin(list(self._measured))
        return Estimate(
            members,
            total=float((members["weight"] * members["cycles"]).sum()),
            half_width=quantile * variance**0.5,
            simulated=float(weighted[simulated].sum() / weighted.sum()),
            cost=float(members["predicted"][simulated].sum() / weighted.sum()),
        )
