"""The table and the figure of a sweep with objectives."""

from __future__ import annotations

import pandas as pd
import pytest
from result_frames import grid

from apuflow_analysis import figures
from apuflow_analysis.figures import Choice, FigureError


def machines(objectives: tuple[str, ...]) -> pd.DataFrame:
    """Two workloads that take together 400, 240 and 260 cycles on 4, 8 and 16 units."""
    frame = grid({"num_compute_units": [4, 8, 16]}, workloads=["pool_fwd", "pool_bwd"]).copy()
    cycles = {"pool_fwd": {4: 100, 8: 60, 16: 50}, "pool_bwd": {4: 300, 8: 180, 16: 210}}
    pairs = zip(frame["workload"], frame["num_compute_units"], strict=True)
    frame["gpu_cycles"] = [float(cycles[name][units]) for name, units in pairs]
    return figures.choose(frame, Choice(objectives=objectives))


def test_the_points_that_none_beats_stand_in_a_table_and_a_figure() -> None:
    """16 units are beaten by 8, which take fewer cycles and fewer units."""
    frame = machines(("gpu_cycles", "num_compute_units * 2"))
    table = figures.make("best_points", frame)
    assert table.data[["num_compute_units", "gpu_cycles"]].values.tolist() == [[8, 240], [4, 400]]
    assert "sums of 2 workloads" in table.notes
    drawn = figures.make("pareto", frame).data.set_index("num_compute_units")
    assert drawn["best"].to_dict() == {4: True, 8: True, 16: False}


def test_one_objective_has_one_best_point_and_no_figure() -> None:
    frame = machines(("-num_compute_units",))
    assert list(figures.make("best_points", frame).data["num_compute_units"]) == [16]
    with pytest.raises(FigureError, match="2 or more objectives"):
        figures.make("pareto", frame)
    assert not {"pareto", "best_points"} & set(figures.applicable(machines(())))
