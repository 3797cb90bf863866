"""The sweep that the preview is to be judged by: what was drawn, and that it can run."""

from __future__ import annotations

from pathlib import Path

from apuflow.configure import load_sweep
from apuflow.plan.points import points, sweep_workloads


def test_at_least_150_layers_over_units_options_and_primitives(root: Path) -> None:
    sweep = load_sweep("random_layers", root)
    drawn = [
        point
        for workload in sweep_workloads(sweep, root)
        for point in points(sweep, workload, root)
        if point.engine == "gem5-kernels"
    ]
    assert len(drawn) >= 150 and len({point.id for point in drawn}) == len(drawn)
    assert len({point.workload for point in drawn}) == 16
    units = [point.compute_units for point in drawn]
    assert min(units) == 1 and max(units) > 48
    for option in ("num-tccs", "tcc-size", "num-dirs", "mem-type", "gpu-clock", "bw-scalor"):
        assert len({point.options[option] for point in drawn}) >= 2, option
    assert any(len(point.launches()) > 1 for point in drawn)
