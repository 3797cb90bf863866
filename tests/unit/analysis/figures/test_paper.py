"""The DNNMark paper beside a table: statements judged by hand, dominant kernels."""

from __future__ import annotations

import pandas as pd
import pytest
from result_frames import grid

from analysis import figures
from analysis.figures import FigureError

NUMBERS = {
    "activation_fwd": ("dram", 0.01, 0.40, 0.01, 0.99),
    "activation_bwd": ("dram", 0.01, 0.40, 0.01, 0.98),
    "conv_fwd": ("lds", 0.50, 0.30, 0.60, 0.20),
    "conv_bwd": ("valu", 0.60, 0.30, 0.70, 0.20),
    "pool_fwd": ("dram", 0.03, 0.40, 0.02, 0.95),
    "pool_bwd": ("dram", 0.02, 0.20, 0.02, 0.95),
    "softmax_fwd": ("tlb", 0.20, 0.40, 0.10, 0.80),
}
"""Per workload: bound, IPC, occupancy, use of the vector ALUs, share of stalls on memory."""


def one_machine() -> pd.DataFrame:
    frame = grid({"num_compute_units": [16]}, workloads=list(NUMBERS))
    columns = ["bound", "ipc", "occupancy", "valu_utilization", "stall_share_memory"]
    for place, column in enumerate(columns):
        frame[column] = [NUMBERS[name][place] for name in frame["workload"]]
    return frame


def test_the_papers_statements_hold_or_not() -> None:
    """The medians of all seven are IPC 0.03 and 2 % of the ALUs: pooling is not above both."""
    data = figures.make("paper_statements", one_machine()).data.set_index("statement")
    assert data["verdict"].to_dict() == {
        "ReLU is memory bound": "holds",
        "conv: high in IPC and in use of the ALUs": "holds",
        "pool: high in IPC and in use of the ALUs": "does not hold",
        "Pooling: backward has higher occupancy than forward": "does not hold",
        "Pooling: backward has lower IPC than forward": "holds",
    }
    assert data.loc["ReLU is memory bound", "numbers"] == "stalled on memory 99 / 98 %; VALU busy 1 / 1 %"
    conv = data.loc["conv: high in IPC and in use of the ALUs", "why"]
    assert conv == (
        "forward limited by LDS: bank conflicts and its bus; backward limited by vector ALUs (busy 70 %)"
    )


def test_a_reason_names_what_decides_with_its_number() -> None:
    frame = one_machine()
    frame["dram_utilization"], frame["walk_utilization"] = 0.25, 0.55
    frame.loc[frame["workload"] == "activation_fwd", "dram_utilization"] = 0.875
    frame.loc[frame["workload"] == "activation_bwd", "bound"] = "latency"
    data = figures.make("paper_statements", frame).data.set_index("statement")
    assert data.loc["ReLU is memory bound", "why"] == (
        "forward limited by DRAM: its bus and the rows that it opens (busy 88 %); "
        "backward limited by latency: no unit is busy for 60 % of the time (busiest: TLB walks, 55 %)"
    )


def test_statements_are_about_one_machine() -> None:
    frame = grid({"num_compute_units": [4, 8]}, workloads=["pool_fwd"])
    for column in ("ipc", "occupancy", "valu_utilization", "stall_share_memory"):
        frame[column] = 0.5
    with pytest.raises(FigureError, match="one machine"):
        figures.make("paper_statements", frame)


def test_dominant_kernels_with_their_share() -> None:
    launches = [("conv_fwd", "im2col", 300), ("conv_fwd", "sgemm", 500), ("conv_fwd", "im2col", 100)]
    launches += [("conv_bwd", "sgemm", 900), ("conv_bwd", "col2im", 100)]
    frame = pd.DataFrame(
        {
            "engine": "gem5-kernels",
            "workload": workload,
            "direction": workload[-3:],
            "point": f"u16-{workload}",
            "status": "completed",
            "kernel": kernel,
            "gpu_cycles": float(cycles),
        }
        for workload, kernel, cycles in launches
    )
    data = figures.make("dominant_kernels", frame).data
    assert data[["direction", "kernel", "share"]].values.tolist() == [
        ["fwd", "sgemm", pytest.approx(5 / 9)],
        ["bwd", "sgemm", pytest.approx(0.9)],
    ]


def test_they_are_drawn_where_a_sweep_asks() -> None:
    assert "paper_statements" not in figures.planned([], ["preview"])
    assert "paper_statements" in figures.planned([], ["preview"], asked=["paper_statements"])


def test_figures_of_the_paper_are_titled_as_such() -> None:
    assert (
        figures.make("ipc", one_machine()).title == "Instructions per cycle (figure 9 of the DNNMark paper)"
    )
    assert "(DNNMark" not in figures.make("cycles", one_machine()).title
