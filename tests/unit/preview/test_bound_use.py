"""What the preview names as a point's limit is busy in the same row."""

from __future__ import annotations

import pandas as pd
import pytest
from places import ROOT

import apuflow
from apuflow.rocblas.tables import Products
from apuflow_analysis.tables.columns import BOUNDS

PRIMITIVES = [
    f"{name}_{direction}"
    for name in ("conv", "pool", "lrn", "activation", "fc", "softmax", "bn", "bypass")
    for direction in ("fwd", "bwd")
]
MACHINES = {"num-compute-units": [1, 2, 4, 16, 64], "num-tccs": [1, 4], "num-dirs": [1, 4]}


@pytest.mark.parametrize("machine", ["apu-gfx801", "apu-gfx801-wide", "apu-gfx902"])
def test_the_limit_of_a_single_launch_is_busy_for_more_than_half_of_it(machine: str) -> None:
    """``latency`` means that no unit is busy for 60 % of the time, so a named unit is.

    Half, because the start of a launch counts in the time, too.
    """
    each: tuple[Products, ...] = ("rocblas", "stand-in")
    rows = pd.concat(
        [
            apuflow.evaluate(PRIMITIVES, MACHINES, {"n": 100}, machine=machine, products=one, root=ROOT)
            for one in (each if machine != "apu-gfx902" else each[1:])
        ],
        ignore_index=True,
    )
    named = rows[(rows["kernels_launched"] == 1) & ~rows["bound"].isin(["latency", "line"])]
    assert {"tlb", "dram", "lds", "tokens"} <= set(named["bound"])
    use = pd.Series(
        [
            row[next(name for name in BOUNDS[row["bound"]].metrics if name in row)]
            for _, row in named.iterrows()
        ],
        named.index,
    )
    idle = named[use <= 0.5]
    assert idle[["workload", "num_compute_units", "num_tccs", "num_dirs", "bound"]].to_numpy().tolist() == []
