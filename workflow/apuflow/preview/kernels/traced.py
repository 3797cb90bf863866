"""What MIOpen's kernels and our own do, interpolated between launches that the interpreter executed.

``launches.csv.xz`` has, for each kernel, launches with their instructions, waits and memory accesses
(``benchmarks/traced_launches.py`` writes it). A launch between them gets its totals from a Gaussian process
on the logarithms of its numbers (``preview.kernels.numbers``): a linear mean, which is near for products of
powers of large numbers, and a covariance that decays with the sum of the distances. Source: Rasmussen,
Williams, "Gaussian Processes for Machine Learning", 2006, sections 2.2 and 2.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from apuflow.core.errors import NotModelled
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.kernels.numbers import constants, numbers
from apuflow.preview.kernels.totals import profile_of
from apuflow.preview.profile import Profile

Array = NDArray[np.float64]
FILE: Final = Path(__file__).with_name("launches.csv.xz")
REACH: Final = 40.0
"""Sum of the distances of two launches' logarithms at which their covariance is 1/e."""
NOISE: Final = 1e-4
"""Variance of the totals, relative to that of the process."""
PENALTY: Final = 0.01
"""Of the squares of the linear mean's coefficients."""
GIVEN: Final = ("kernel", "arguments", "values", "grid", "workgroup", "vega")
"""Columns that tell the launch; the others are ``Resources`` and totals (``preview.kernels.totals``)."""


class Resources(NamedTuple):
    """LDS bytes of a workgroup, vector and scalar registers of a wavefront."""

    lds_bytes: int
    vgprs: int
    sgprs: int


class Process(NamedTuple):
    """The Gaussian process of a kernel.

    Attributes:
        names: of the numbers that differ between its launches. known: (launches, names), their logarithms.
        totals: columns. centre, slopes: (names), (names, totals), of the linear mean; level: its value at the
            centre. weights: (launches, totals).
        resources: by the constants of the compiled code.
    """

    names: tuple[str, ...]
    known: Array
    totals: tuple[str, ...]
    centre: Array
    level: Array
    slopes: Array
    weights: Array
    resources: Mapping[frozenset[tuple[str, float]], Resources]

    def at(self, found: Mapping[str, float]) -> dict[str, float]:
        """Totals of a launch with these numbers, which are whole."""
        place = logarithms(np.array([found.get(name, 0.0) for name in self.names]))
        near = np.exp(-np.abs(self.known - place).sum(axis=1) / REACH)
        logs = self.level + (place - self.centre) @ self.slopes + near @ self.weights
        return dict(zip(self.totals, np.rint(np.maximum(0.0, np.expm1(logs))).tolist(), strict=True))


def logarithms(values: Array) -> Array:
    """Signed logarithms, which are 0 for 0."""
    return np.sign(values) * np.log1p(np.abs(values))


def fitted(known: Array, logs: Array) -> tuple[Array, Array, Array, Array]:
    """Centre, level, slopes and weights of ``Process`` from logarithms of numbers and of totals."""
    centre, level = known.mean(axis=0), logs.mean(axis=0)
    away = known - centre
    slopes = np.linalg.solve(away.T @ away + PENALTY * np.eye(known.shape[1]), away.T @ (logs - level))
    distances = np.zeros((len(known), len(known)))
    for column in known.T:
        distances += np.abs(column[:, None] - column)
    covariance = np.exp(-distances / REACH) + NOISE * np.eye(len(known))
    return centre, level, slopes, np.linalg.solve(covariance, logs - level - away @ slopes)


@cache
def launches() -> Mapping[str, pd.DataFrame]:
    """The traced launches of each kernel."""
    table = pd.read_csv(FILE, keep_default_na=False, dtype={"arguments": str, "values": str})
    return {str(kernel): rows for kernel, rows in table.groupby("kernel", sort=False)}


def is_traced(kernel: str) -> bool:
    """Whether launches of a kernel were traced."""
    return kernel in launches()


def facts_of_row(row: pd.Series[Any]) -> Facts:
    """The launch of a row of the table."""
    values = [pair.split("=") for pair in str(row["values"]).split()]
    return Facts(
        str(row["kernel"]),
        _extent(row["grid"]),
        _extent(row["workgroup"]),
        str(row["arguments"]),
        tuple((name, float(value)) for name, value in values),
        bool(row["vega"]),
    )


def _extent(text: object) -> tuple[int, int, int]:
    x, y, z = map(int, str(text).split("x"))
    return x, y, z


@cache
def process(kernel: str) -> Process:
    """The Gaussian process of a kernel of the table."""
    rows = launches()[kernel]
    known = [facts_of_row(row) for _, row in rows.iterrows()]
    table = pd.DataFrame([numbers(facts) for facts in known]).fillna(0.0)
    table = table.loc[:, table.nunique() > 1]
    totals = tuple(column for column in rows.columns if column not in GIVEN)
    at = logarithms(table.to_numpy(dtype=np.float64))
    fit = fitted(at, np.log1p(rows[[*totals]].to_numpy(dtype=np.float64)))
    codes = [frozenset(constants(facts).items()) for facts in known]
    held = map(Resources._make, rows[[*Resources._fields]].astype(int).itertuples(index=False))
    held_by_code = dict(zip(codes, held, strict=True))
    return Process(tuple(map(str, table.columns)), at, totals, *fit, held_by_code)


def resources(facts: Facts) -> Resources | None:
    """What the compiled code of a launch takes; None: it was not compiled for the table."""
    if not is_traced(facts.kernel):
        return None
    return process(facts.kernel).resources.get(frozenset(constants(facts).items()))


def interpolated(facts: Facts) -> Profile:
    """Profile of a launch of a traced kernel.

    Raises:
        NotModelled: no launch of the kernel was traced.
    """
    if not is_traced(facts.kernel):
        raise NotModelled(
            "the preview does not model this kernel",
            key="kernel",
            value=facts.kernel,
            remedy="run the point with the gem5 or gem5-kernels engine",
        )
    found = process(facts.kernel).at(numbers(facts))
    held = resources(facts) or Resources(*(round(found[name]) for name in Resources._fields))
    waves = facts.wavefronts
    return profile_of(found, facts.workgroups, waves, facts.waves_per_group, **held._asdict())
