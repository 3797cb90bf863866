"""gem5-kernels as the judge of a search, with its numbers made up."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from sweep_texts import HEAD

from apuflow.ask.judge import judge, next_points
from apuflow.ask.search import Found
from apuflow.configure import load_sweep
from apuflow.configure.sweep import Sweep
from apuflow_analysis.tables.objectives import Objective

CYCLES = [Objective("gpu_cycles")]


def searched(root: Path) -> tuple[Sweep, Found]:
    """Four machines whose intervals overlap in pairs: 1 with 2, 3 with 4."""
    (root / "configs/sweeps/space.yaml").write_text(HEAD + "axes: {num-compute-units: [1, 2, 3, 4]}\n")
    rows = pd.DataFrame(
        {
            "num_compute_units": [4, 3, 2, 1],
            "gpu_cycles": [100.0, 105.0, 300.0, 310.0],
            "gpu_cycles_low": [90.0, 95.0, 280.0, 290.0],
            "gpu_cycles_high": [110.0, 115.0, 320.0, 330.0],
            "flags": "",
            "best": [True, False, False, False],
        }
    )
    return load_sweep("space", root), Found(rows, ("num_compute_units",), 4, 4, 0)


def ran(cycles: dict[int, float | None]) -> pd.DataFrame:
    """Results of gem5-kernels: cycles by compute units; None: it failed."""
    return pd.DataFrame(
        {
            "engine": "gem5-kernels",
            "workload": "softmax_fwd",
            "num_compute_units": list(cycles),
            "status": ["timeout" if value is None else "completed" for value in cycles.values()],
            "gpu_cycles": [float("nan") if value is None else value for value in cycles.values()],
            "flags": "",
        }
    )


def test_it_goes_on_until_no_interval_reaches_the_best(root: Path) -> None:
    sweep, found = searched(root)
    first = judge(found, CYCLES, ran({4: 108}), sweep, root)
    assert not first.settled and "1 more" in first.text
    assert list(next_points(first, 10).rows["num_compute_units"]) == [4, 3]
    second = judge(found, CYCLES, ran({4: 108, 3: 104}), sweep, root)
    assert second.settled and second.text == "2 points judged by gem5-kernels: the ranking is settled"
    assert list(second.found.rows["num_compute_units"].head(2)) == [3, 4]
    assert list(second.found.rows["gpu_cycles"].head(2)) == [104, 108]
    assert list(second.found.rows["best"]) == [True, False, False, False]


def test_a_bad_surprise_brings_in_the_next_ones_and_a_failed_point_is_not_asked_again(root: Path) -> None:
    sweep, found = searched(root)
    verdict = judge(found, CYCLES, ran({4: 400, 3: None}), sweep, root)
    assert verdict.failed == 1 and not verdict.settled
    assert list(next_points(verdict, 1).rows["num_compute_units"]) == [4, 2]


def test_the_larger_the_better_and_two_objectives(root: Path) -> None:
    """By cycles and by compute units: a machine is out only where a judged one is as good in both."""
    sweep, found = searched(root)
    rows = found.rows.assign(num=found.rows["num_compute_units"].astype(float))
    two = [*CYCLES, Objective("num_compute_units")]
    verdict = judge(Found(rows, found.axes, 4, 4, 0), two, ran({4: 100, 1: 310}), sweep, root)
    assert list(next_points(verdict, 10).rows["num_compute_units"]) == [4, 1, 3, 2]
    more = [*CYCLES, Objective("num_compute_units", larger=True)]
    assert judge(found, more, ran({4: 94}), sweep, root).settled
