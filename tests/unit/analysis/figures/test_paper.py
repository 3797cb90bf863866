"""The DNNMark paper beside a table: statements judged by hand, dominant kernels."""

from __future__ import annotations

import pandas as pd
import pytest
from result_frames import grid

from apuflow_analysis import figures
from apuflow_analysis.figures import FigureError

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


def test_the_papers_statements_hold_or_not_by_the_papers_own_scale() -> None:
    """nvprof's levels: 7 of 10 and more are high, 1 to 3 low. Being busier than others is not high."""
    data = figures.make("paper_statements", one_machine()).data.set_index("statement")
    assert data["verdict"].to_dict() == {
        "ReLU is memory bound": "holds",
        "Activation: low occupancy": "holds",
        "conv: high in IPC and in use of the ALUs": "holds",
        "pool: high in IPC and in use of the ALUs": "contradicted",
        "Pooling: backward has higher occupancy than forward": "contradicted",
        "Pooling: backward has lower IPC than forward": "holds",
    }
    assert "60 %" in str(data.loc["conv: high in IPC and in use of the ALUs", "criterion"])
    assert data.loc["ReLU is memory bound", "numbers"] == "stalled on memory 99 / 98 %; VALU busy 1 / 1 %"
    conv = data.loc["conv: high in IPC and in use of the ALUs", "why"]
    assert conv == (
        "forward limited by LDS: bank conflicts and its bus; backward limited by vector ALUs (busy 70 %)"
    )


def test_a_use_of_3_to_5_percent_is_not_high_and_a_middle_one_is_not_judged() -> None:
    frame = one_machine()
    for use, verdict in ((0.05, "contradicted"), (0.5, "cannot be judged here")):
        frame.loc[frame["workload"].str.startswith("conv"), "valu_utilization"] = use
        data = figures.make("paper_statements", frame).data.set_index("statement")
        assert data.loc["conv: high in IPC and in use of the ALUs", "verdict"] == verdict


def test_a_high_occupancy_of_activation_contradicts_the_paper() -> None:
    frame = one_machine()
    frame.loc[frame["workload"] == "activation_bwd", "occupancy"] = 0.8
    data = figures.make("paper_statements", frame).data.set_index("statement")
    assert data.loc["Activation: low occupancy", "verdict"] == "contradicted"


@pytest.mark.parametrize("name", ["ipc", "utilization", "paper_statements"])
def test_figures_of_the_paper_name_what_was_not_measured_and_what_stood_in(name: str) -> None:
    frame = one_machine()
    frame["flags"], frame["stand_in"] = "", ""
    frame.loc[frame["workload"] == "pool_bwd", "flags"] = (
        "unmeasured: 20 num-compute-units (measured 1 to 16)"
    )
    frame.loc[frame["workload"] == "conv_fwd", "stand_in"] = "gemm: sgemm"
    notes = figures.make(name, frame).notes
    assert "outside of what the preview was measured on: pool_bwd" in notes
    assert "with stand-ins for kernels (column stand_in): conv_fwd" in notes


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
