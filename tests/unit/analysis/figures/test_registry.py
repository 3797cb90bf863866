"""Figures: the numbers beside them, the text in them, what they refuse."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from result_frames import grid, softmax_runs, statistics_runs, table

from apuflow.core.figures import FIGURE_NAMES
from apuflow_analysis import figures
from apuflow_analysis.figures import FigureError


def text_of(plot: figures.Plot) -> list[str]:
    """What a reader can read in the SVG, in order."""
    svg = figures.render_svg(plot.figure).decode()
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_speedup_of_real_runs() -> None:
    """Cycles from gem5's statistics: 599690 on 1 CU, 198147 on 4, 150476 on 16, 129216 on 64."""
    data = figures.make("speedup", softmax_runs()).data.set_index("num_compute_units")
    assert data.loc[1, "speedup"] == 1
    assert data.loc[4, "speedup"] == pytest.approx(599690 / 198147, rel=1e-4)
    assert data.loc[64, "speedup"] == pytest.approx(599690 / 129216, rel=1e-4)
    assert list(data["ideal"]) == [1, 2, 4, 8, 16, 32, 64]
    # 90 % of 4.641 is 4.177; 32 CUs reach 4.279, 16 CUs only 3.985 and 8 CUs 3.993
    assert list(data.index[data["saturation"]]) == [32]


@pytest.mark.parametrize("name", ["speedup", "ipc", "instruction_mix", "roofline"])
def test_kernels_of_ones_own_have_no_direction_and_are_drawn(name: str) -> None:
    data = figures.make(name, softmax_runs().assign(workload="saxpy", direction=None)).data
    assert "saxpy" in set(data["workload"])


def test_speedup_says_engine_axes_and_base() -> None:
    words = text_of(figures.make("speedup", softmax_runs()))
    assert "Speedup over compute units" in words
    assert "Compute units" in words and "Speedup" in words
    assert "ideal" in words
    joined = " ".join(words)
    assert "gem5-kernels (just the kernels)" in joined and "gem5 v23.0" in joined
    assert "relative to that at compute units = 1" in joined
    assert {"1", "2", "4", "8", "16", "32", "64"} <= set(words)


def test_a_preview_says_that_it_is_none_of_gem5() -> None:
    joined = " ".join(text_of(figures.make("cycles", grid({"num_compute_units": [4, 8]}))))
    assert "preview (timing model, not gem5)" in joined


def test_metrics_come_from_the_table() -> None:
    frame = softmax_runs()
    data = figures.make("ipc", frame).data
    assert list(data["ipc"]) == list(frame.sort_values("num_compute_units")["ipc"])
    # 293900 instructions in 599689 awake cycles of the one compute unit
    assert data["ipc"].iloc[0] == pytest.approx(293900 / 599689)


def test_stalls_and_mix_of_real_statistics_add_up() -> None:
    frame = statistics_runs()
    for name in ("stalls", "instruction_mix"):
        data = figures.make(name, frame).data
        assert set(data["at"]) == {"1", "16"}
        assert data.groupby("at")["share"].sum().to_dict() == pytest.approx({"1": 1, "16": 1})


def test_shares_that_an_engine_does_not_tell_apart_are_a_rest() -> None:
    frame = statistics_runs()
    frame["mix_other"] = float("nan")
    plot = figures.make("instruction_mix", frame)
    told = plot.data[plot.data["part"] != "rest"].groupby("at")["share"].sum()
    rest = plot.data[plot.data["part"] == "rest"].groupby("at")["share"].sum()
    assert dict(told + rest) == pytest.approx({"1": 1, "16": 1})
    assert any("not told apart by the engine" in word for word in text_of(plot))


def test_utilization_names_the_units_without_a_number() -> None:
    frame = statistics_runs()
    frame["valu_utilization"] = float("nan")
    plot = figures.make("utilization", frame)
    assert "VALU" not in text_of(plot)
    assert any("not reported by the engine: VALU" in note for note in plot.notes)
    shown = plot.data[plot.data["unit"] == "salu_utilization"].set_index("at")["value"]
    assert shown["1"] == pytest.approx(frame["salu_utilization"].iloc[0])


def test_utilization_above_one_is_said() -> None:
    frame = statistics_runs()
    frame["lds_utilization"] = 1.7
    assert any("cut at 100 %" in note and "LDS" in note for note in figures.make("utilization", frame).notes)


def test_utilization_is_laid_out_where_some_units_limit_no_point(tmp_path: Path) -> None:
    """matplotlib gives up its layout with a warning, and notes then cover the headings."""
    frame = grid({"num_dirs": [1, 4]}, workloads=["pool_fwd", "pool_bwd"], engine="preview")
    frame["bound"] = "dram"
    for unit in ("valu_utilization", "token_utilization", "gpu_dram_utilization"):
        frame[unit] = 0.5
    plot = figures.make("utilization", frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figures.save(plot.figure, plot.data, tmp_path / "utilization")


def test_roofline_ceilings_by_hand() -> None:
    """16 CUs: 16 * 4 SIMDs * 64 lanes / 4 cycles * 1 GHz = 1.024e12 lanes a second, twice that fused.

    Links: 8 bytes at 2 GHz, one for the memory and one for each TCP.
    """
    data = figures.make("roofline", statistics_runs()).data
    roofs = data[(data["kind"] == "ceiling") & (data["machine"] == "16")]
    assert roofs["throughput"].unique() == pytest.approx([2.048e12], rel=1e-3)
    bandwidth = roofs.set_index("ceiling")["bandwidth"]
    assert bandwidth["memory link"] == pytest.approx(16e9)
    assert bandwidth["TCC to TCP links"] == pytest.approx(16 * 16e9)
    points = data[(data["kind"] == "point") & (data["num_compute_units"] == 16)]
    assert (points["throughput"] <= 2.048e12).all() and (points["throughput"] > 0).all()


def test_matrix_cores_have_roofs_of_their_own() -> None:
    """CDNA 3's white paper: 2,048 operations of fp16 per compute unit and clock, here at 1 GHz."""
    frame = statistics_runs().assign(gfx="gfx942", matrix_flops_f16=1e6, matrix_flops_f32=0.0)
    plot = figures.make("roofline", frame)
    roofs = plot.data[(plot.data["kind"] == "ceiling") & (plot.data["machine"] == "16")]
    peaks = roofs.groupby("ceiling")["throughput"].max()
    assert peaks["matrix f16"] == pytest.approx(16 * 2048e9, rel=1e-3)
    assert "matrix f32" not in peaks
    assert "matrix peak f16 32.8 Tflop/s" in text_of(plot)


def test_a_full_memory_link_puts_a_point_on_its_roof() -> None:
    """A million lines in and a million out: 72 MB in; 72 MB and 8 MB of requests out. At 16 GB/s: 5 ms.

    DRAM moves 192 MB meanwhile, 38.4 of four channels' 51.2 GB/s: both directions and what stores read.
    """
    frame = grid({"num_dirs": [4]}, workloads=["bn_bwd"], cycles=5e6, num_compute_units=64)
    frame = frame.assign(flops=8e7, tcc_reads=2e6, tcc_read_misses=8e5, tcc_reads_in_flight=2e5)
    frame = frame.assign(tcc_writes=1e6, tcc_atomics=0)
    frame = frame.assign(dram_bytes_read=128e6, dram_bytes_written=64e6, dram_peak_bandwidth=51.2e9)
    data = figures.make("roofline", frame).data
    points = data[data["kind"] == "point"].set_index("panel")
    moved = points["throughput"] / points["intensity"]
    assert dict(moved) == pytest.approx(
        {
            "Per byte of DRAM traffic": 38.4e9,
            "Per byte of the memory link": 16e9,
            "Per byte from TCC to TCPs": 28.8e9,
        }
    )
    roofs = data[data["kind"] == "ceiling"].groupby("panel")["bandwidth"].max()
    assert roofs["Per byte of the memory link"] == 16e9
    assert (moved <= roofs[moved.index]).all()


def test_heat_map_cells_are_speedups() -> None:
    frame = grid({"num_compute_units": [4, 8, 16], "tcc_size": ["256kB", "1MB"]})
    data = figures.make("heatmap", frame).data
    cells = data[data["workload"] == "softmax_fwd"].set_index(["num_compute_units", "tcc_size"])["value"]
    assert cells[4, "256kB"] == 1 and cells[8, "1MB"] == 2 and cells[16, "256kB"] == 4
    words = text_of(figures.make("heatmap", frame))
    assert "TCC size" in words and "Compute units" in words and "softmax_bwd" in words


def test_engines_compared_by_hand() -> None:
    simulated = grid({"num_compute_units": [4, 8, 16]}, engine="gem5", cycles=64000)
    model = grid({"num_compute_units": [4, 8, 16]}, cycles=80000)
    plot = figures.make("engines", figures.combine([simulated, model]))
    assert len(plot.data) == 6
    assert list(plot.data["error"]) == pytest.approx([0.25] * 6)
    said = "error 25.0 % in the median, 25.0 % in the mean, 25.0 % at the 90th percentile, 25.0 % at most"
    assert any(said in note and "6 of 6 pairs in order" in note for note in plot.notes)


def test_cycles_of_wrong_values_are_not_compared() -> None:
    simulated = grid({"num_compute_units": [4, 8, 16]}, engine="gem5-kernels", cycles=64000)
    model = grid({"num_compute_units": [4, 8, 16]}, cycles=80000)
    simulated.loc[simulated["workload"] == "softmax_bwd", "flags"] = "wrong results: top differs from NumPy"
    simulated.loc[simulated["workload"] == "softmax_fwd", "flags"] = "ipc=5>4"
    plot = figures.make("engines", figures.combine([simulated, model]))
    assert set(plot.data["workload"]) == {"softmax_fwd"}
    assert "3 points of softmax_bwd computed wrong values (column flags) and are not drawn" in plot.notes


def both_kinds_of_products(units: dict[str, list[int]]) -> pd.DataFrame:
    """A fully connected layer by the stand-in on gem5-kernels and by rocBLAS' kernels in the preview."""
    simulated = grid(units, ["fc_fwd"], "gem5-kernels", 64000, products="stand-in")
    return figures.combine([simulated, grid(units, ["fc_fwd"], cycles=80000, products="rocBLAS")])


def test_lines_of_other_products_are_labelled_apart() -> None:
    """Where all products are alike, the labels have nothing of it."""
    both = both_kinds_of_products({"num_compute_units": [4, 8]})
    words = text_of(figures.make("cycles", both))
    assert {"forward, gem5-kernels, products: stand-in", "forward, preview, products: rocBLAS"} <= set(words)
    words = text_of(figures.make("cycles", both.assign(products="rocBLAS")))
    assert {"forward, gem5-kernels", "forward, preview"} <= set(words)
    bars = text_of(figures.make("cycles", both_kinds_of_products({"num_compute_units": [4]})))
    assert "forward, preview, products: rocBLAS" in bars


def test_products_by_other_kernels_are_no_error_of_the_preview() -> None:
    units: dict[str, list[int]] = {"num_compute_units": [4, 8]}
    softmax = [grid(units, ["softmax_fwd"], name, 64000) for name in ("gem5-kernels", "preview")]
    plot = figures.make("engines", figures.combine([both_kinds_of_products(units), *softmax]))
    assert set(plot.data["workload"]) == {"softmax_fwd"}
    assert any("2 pairs left out: their matrix products" in note for note in plot.notes)
    with pytest.raises(FigureError, match="no point is completed by both"):
        figures.make("engines", both_kinds_of_products(units))


def test_engines_that_share_no_point_are_refused() -> None:
    simulated = grid({"num_compute_units": [4, 8]}, engine="gem5")
    model = grid({"num_compute_units": [16, 32]})
    with pytest.raises(FigureError, match="no point is completed by both"):
        figures.make("engines", figures.combine([simulated, model]))


def test_kernel_shares_by_hand() -> None:
    rows = [("im2col", 300), ("sgemm", 500), ("im2col", 200)]
    frame = pd.DataFrame(
        [
            {
                "engine": "gem5-kernels",
                "workload": "conv_fwd",
                "direction": "fwd",
                "point": "u4-1",
                "status": "completed",
                "kernel": kernel,
                "gpu_cycles": cycles,
            }
            for kernel, cycles in rows
        ]
    )
    plot = figures.make("kernels", frame)
    assert plot.data.set_index("kernel")["share"].to_dict() == {"im2col": 0.5, "sgemm": 0.5}
    assert {"im2col", "sgemm"} <= set(text_of(plot))


def test_workloads_of_one_kernel_have_no_breakdown() -> None:
    about = {"engine": "gem5-kernels", "direction": "fwd", "status": "completed", "gpu_cycles": 100.0}
    lone = {**about, "workload": "softmax_fwd", "point": "u4-1", "kernel": "SoftmaxForward"}
    with pytest.raises(FigureError, match="single kernel"):
        figures.make("kernels", pd.DataFrame([lone]))
    pair = [{**about, "workload": "conv_fwd", "point": "u4-2", "kernel": kernel} for kernel in ("a", "b")]
    plot = figures.make("kernels", pd.DataFrame([lone, *pair]))
    assert set(plot.data["workload"]) == {"conv_fwd"}
    assert "only one kernel: softmax_fwd" in plot.notes
    said = figures.make_or_say("kernels", pd.DataFrame([lone]))
    assert any("single kernel" in word for word in text_of(said))


def test_failed_points_are_left_out_and_counted() -> None:
    frame = softmax_runs()
    rows = frame.to_dict("records")
    rows[2] = {**rows[2], "status": "deadlock"}
    plot = figures.make("speedup", table(rows, ["num_compute_units"]))
    assert len(plot.data) == 6
    assert any("1 of 7 points did not complete" in note for note in plot.notes)


@pytest.mark.parametrize("name", sorted(name for name, spec in figures.FIGURES.items() if not spec.per_item))
def test_a_table_without_completed_points_is_refused(name: str) -> None:
    frame = softmax_runs()
    frame["status"] = "timeout"
    with pytest.raises(FigureError, match="no completed point"):
        figures.make(name, frame)
    assert figures.applicable(frame) == ()


def test_refusals_name_the_figure_the_column_and_what_would_do() -> None:
    frame = softmax_runs()
    with pytest.raises(FigureError) as caught:
        figures.make("stalls", frame)
    assert "stall_share_memory" in str(caught.value) and "speedup" in str(caught.value)
    with pytest.raises(FigureError, match="no such figure"):
        figures.make("speedups", frame)
    with pytest.raises(FigureError) as caught:
        figures.make("heatmap", frame)
    assert "2 or more axes" in str(caught.value)
    with pytest.raises(FigureError) as caught:
        figures.make("speedup", frame, x="num_tccs")
    assert "num_tccs" in str(caught.value) and "num_compute_units" in str(caught.value)
    with pytest.raises(FigureError):
        figures.make("speedup", frame, where={"colour": "red"})
    with pytest.raises(FigureError):
        figures.make("ipc", pd.DataFrame({"a": [1]}))


def test_what_a_table_supports() -> None:
    supported = figures.applicable(softmax_runs())
    assert {"speedup", "cycles", "ipc"} <= set(supported)
    assert not {"heatmap", "engines", "kernels", "stalls"} & set(supported)
    for name in supported:
        figures.make(name, softmax_runs())
    assert "heatmap" in figures.applicable(grid({"num_compute_units": [4, 8], "num_tccs": [1, 2]}))
    together = grid({"num_compute_units": [4, 8]})
    together["num_tccs"] = together["num_compute_units"] // 4
    together.attrs["axes"] = ("num_compute_units", "num_tccs")
    assert "heatmap" not in figures.applicable(together)


def test_planned_before_anything_ran() -> None:
    assert "heatmap" not in figures.planned(["a"], ["gem5"])
    assert {"speedup", "heatmap"} <= set(figures.planned(["a", "b"], ["gem5"]))
    assert "speedup" not in figures.planned([], ["gem5"]) and "ipc" in figures.planned([], ["gem5"])
    assert "engines" in figures.planned([], ["gem5", "preview"])
    assert "kernels" not in figures.planned(["a", "b"], ["gem5"])
    assert "kernels" in figures.planned(["a", "b"], ["gem5", "gem5-kernels"])


def test_too_many_lines_are_thinned_and_said() -> None:
    frame = grid(
        {"num_compute_units": [4, 16], "num_tccs": [1, 2, 4, 8, 16], "num_dirs": [1, 2, 4, 8, 16]},
        workloads=["pool_fwd"],
    )
    plot = figures.make("cycles", frame)
    assert plot.data["line"].nunique() <= 8
    assert any("drawn at" in note for note in plot.notes)
    held = figures.make("cycles", frame, where={"num_tccs": 8, "num_dirs": 4})
    assert held.data["line"].nunique() == 1 and len(held.data) == 2


def test_the_same_table_gives_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        plot = figures.make("speedup", softmax_runs())
        figures.save(plot.figure, plot.data, tmp_path / folder / "speedup")
    for suffix in ("svg", "png", "csv"):
        first, second = (tmp_path / folder / f"speedup.{suffix}" for folder in ("a", "b"))
        assert first.read_bytes() == second.read_bytes()


def test_saved_files_hold_figure_and_numbers(tmp_path: Path) -> None:
    plot = figures.make("cycles", softmax_runs())
    svg, png, csv = figures.save(plot.figure, plot.data, tmp_path / "new" / "v1.0")
    assert [path.name for path in (svg, png, csv)] == ["v1.0.svg", "v1.0.png", "v1.0.csv"]
    assert b"<dc:date>" not in svg.read_bytes()
    assert png.read_bytes().startswith(b"\x89PNG")
    pd.testing.assert_frame_equal(pd.read_csv(csv), plot.data, check_dtype=False)


def test_markup_in_names_stays_text() -> None:
    hostile = "<script>$x^2$</script>_fwd"
    frame = grid({"num_compute_units": [4, 8]}, workloads=[hostile])
    svg = figures.render_svg(figures.make("cycles", frame).figure).decode()
    assert "<script>" not in svg and "&lt;script&gt;" in svg


def test_a_notice_says_why() -> None:
    plot = figures.notice("stalls", "Stall reasons", "no engine of this sweep reports stalls")
    assert any("no engine of this sweep reports stalls" in word for word in text_of(plot))
    assert plot.data.loc[0, "not_drawn"] == "no engine of this sweep reports stalls"


def test_the_callers_matplotlib_settings_stay() -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    figures.make("cycles", softmax_runs())
    assert dict(mpl.rcParams) == before


def sizes(time_of: Callable[[pd.DataFrame], pd.Series[float]]) -> pd.DataFrame:
    """Two machine axes of three values and one of two, with times by rule."""
    frame = grid(
        {"tcc_size": ["256kB", "1MB", "4MB"], "num_dirs": [1, 2, 4], "num_tccs": [1, 8]},
        workloads=["pool_fwd"],
    )
    frame["gpu_time"] = time_of(frame)
    return frame


def channels_matter(frame: pd.DataFrame) -> pd.Series[float]:
    """Channels change the time by 4, banks by 2, the size of the TCC by nothing."""
    times: pd.Series[float] = 8.0 / frame["num_dirs"] * np.where(frame["num_tccs"] == 8, 0.5, 1.0)
    return times


def test_the_axis_with_the_greatest_effect_goes_across_and_the_least_is_held() -> None:
    plot = figures.make("speedup", sizes(channels_matter))
    assert all(list(line) == [1, 2, 4] for _, line in plot.data.groupby("line")["num_dirs"])
    assert plot.data["line"].nunique() == 6  # all that one panel can carry
    both = [sizes(channels_matter), sizes(channels_matter).assign(engine="gem5")]
    plot = figures.make("speedup", figures.combine([*both, *(part.assign(direction="bwd") for part in both)]))
    assert set(plot.data["line"].str.extract(r"(TCC banks \d)")[0]) == {"TCC banks 1", "TCC banks 8"}
    assert any(
        note.startswith("TCC size: drawn at 256kB (changes the GPU time 1.00x)") for note in plot.notes
    )


def test_lines_of_one_workload_are_relative_to_one_machine() -> None:
    """Channels quarter the time and banks halve it: 8 us on the smallest machine, 1 us on the largest."""
    plot = figures.make("speedup", sizes(channels_matter), where={"tcc_size": "1MB"})
    speedups = plot.data.set_index(["line", "num_dirs"])["speedup"].unstack()
    assert {str(line).split()[-1]: list(row) for line, row in speedups.iterrows()} == {
        "1": [1, 2, 4],
        "8": [2, 4, 8],
    }
    assert plot.notes[-1].endswith("relative to that at DRAM channels = 1, TCC banks = 1")


def test_lines_of_other_layers_are_relative_to_themselves() -> None:
    """Ten images take ten times as long: that is no slowdown. A way to do the same work is compared."""
    frame = grid({"num_compute_units": [1, 2], "layer.n": [1, 10], "layer.algorithm": ["direct", "gemm"]})
    frame["gpu_time"] = (
        frame["layer.n"]
        / frame["num_compute_units"]
        * np.where(frame["layer.algorithm"] == "direct", 3.0, 1.0)
    )
    data = figures.make("speedup", frame, where={"workload": "softmax_fwd"}, x="num_compute_units").data
    for _, own in data.groupby("line"):
        gemm = own["line"].str.contains("gemm").iloc[0]
        assert list(own["speedup"]) == ([3, 6] if gemm else [1, 2])


def test_a_line_without_the_common_point_says_so() -> None:
    frame = sizes(channels_matter)
    frame = frame[(frame["num_tccs"] == 8) | (frame["num_dirs"] > 1)]
    plot = figures.make("speedup", frame, where={"tcc_size": "1MB"})
    assert "there is none for" in plot.notes[-1]
    assert set(plot.data.loc[plot.data["num_dirs"] == plot.data["num_dirs"].min(), "speedup"]) == {1}


def test_a_sweep_says_what_goes_across_and_what_all_is_relative_to() -> None:
    frame = sizes(channels_matter)
    choice = figures.Choice.of("tcc-size", ["num-tccs"], {"tcc-size": "1024kB", "num-tccs": 1, "num-dirs": 4})
    plot = figures.make("speedup", figures.choose(frame, choice))
    assert set(plot.data["tcc_size"]) == {"256kB", "1MB", "4MB"} and plot.data["line"].nunique() == 2
    # eight banks halve the time of one bank, which is the baseline of both lines
    assert sorted(set(plot.data["speedup"])) == [1, 2]
    assert any(
        note.startswith("DRAM channels: drawn at 4 (changes the GPU time 4.00x)") for note in plot.notes
    )
    assert any("relative to that at TCC size = 1MB" in note for note in plot.notes)


def test_what_limits_a_point_is_drawn_and_marked_at_its_unit() -> None:
    frame = grid({"num_compute_units": [4, 8]}, workloads=["pool_fwd"], engine="preview")
    frame["bound"] = ["tokens", "dram"]
    frame["token_utilization"], frame["gpu_dram_utilization"] = [0.9, 0.3], [0.2, 0.8]
    plot = figures.make("bound", frame)
    assert dict(zip(plot.data["num_compute_units"], plot.data["bound"], strict=True)) == {
        4: "tokens",
        8: "dram",
    }
    assert {"tokens", "DRAM", "4", "8", "pool_fwd"} <= set(text_of(plot))
    plot = figures.make("utilization", frame)
    assert {"Tokens", "DRAM", "what limits the point, on its busiest compute unit"} <= set(text_of(plot))
    shown = plot.data.set_index(["unit", "at"])["value"]
    assert shown["token_utilization", "4"] == 0.9 and shown["gpu_dram_utilization", "8"] == 0.8
    marked = {
        axes.get_title(loc="left"): [
            np.asarray(line.get_xdata()).tolist() for line in axes.lines if line.get_marker() == "D"
        ]
        for axes in plot.figure.axes
    }
    assert marked["Tokens"] == [[0.9]] and marked["DRAM"] == [[0.8]]


def test_panels_of_other_decades_have_their_own_range() -> None:
    near = grid({"num_compute_units": [4, 8, 16]}, workloads=["pool_fwd"], cycles=1e4)
    far = grid({"num_compute_units": [4, 8, 16]}, workloads=["conv_fwd"], cycles=1e9)
    plot = figures.make("cycles", figures.combine([near, far]))
    low, high = plot.figure.axes[1].get_ylim()
    assert (low, high) == pytest.approx((1e4 / 16 / 1.6, 1e4 / 4 * 1.6))
    assert "each panel has its own range" in plot.notes
    alike = figures.make("cycles", figures.combine([near, far.assign(gpu_cycles=near["gpu_cycles"])]))
    assert alike.figure.axes[0].get_ylim() == alike.figure.axes[1].get_ylim()


def test_the_roofs_are_named_below_their_panels_in_colours_of_their_own() -> None:
    many = [f"program{index}_fwd" for index in range(12)]
    frame = grid({"num_compute_units": [4, 8]}, workloads=many)
    frame["flops"], frame["valu_thread_cycles"] = 1e9, 1e9
    frame["dram_bytes_read"], frame["dram_bytes_written"], frame["tcc_reads"], frame["tcc_writes"] = (
        1e8,
        0,
        1e7,
        0,
    )
    frame["dram_peak_bandwidth"] = 12.8e9
    plot = figures.make("roofline", frame)
    assert all(axes.get_legend() is not None and not axes.texts for axes in plot.figure.axes)
    assert "DRAM 12.8 GB/s" in text_of(plot)
    colours = {
        line.get_color() for line in plot.figure.axes[0].lines if line.get_marker() not in ("None", None)
    }
    assert len(colours) == 12


def test_a_copy_does_no_operations_and_has_no_place_under_a_roof() -> None:
    frame = grid({"num_compute_units": [4, 8]}, workloads=["bypass_fwd"])
    frame["flops"], frame["dram_bytes_read"], frame["dram_bytes_written"] = 0.0, 1e8, 1e8
    frame["dram_peak_bandwidth"] = 12.8e9
    with pytest.raises(FigureError, match="no row has operations and memory traffic"):
        figures.make("roofline", frame)


def test_names_in_core_are_the_figures() -> None:
    assert tuple(figures.FIGURES) == FIGURE_NAMES


def test_every_figure_is_described() -> None:
    for name, spec in figures.FIGURES.items():
        assert spec.name == name and spec.title and spec.caption.endswith(".")


def test_points_outside_what_the_preview_was_measured_on_are_crossed_out() -> None:
    frame = grid({"num_compute_units": [4, 8, 128]}, engine="preview")
    for name in ("speedup", "cycles"):
        assert not any("cross:" in words for words in text_of(figures.make(name, frame)))
    outside = frame["num_compute_units"] == 128
    frame.loc[outside, "flags"] = "unmeasured: 128 num-compute-units (measured 1 to 64)"
    for name in ("speedup", "cycles"):
        plot = figures.make(name, frame)
        assert set(plot.data.loc[plot.data["unmeasured"], "num_compute_units"]) == {128}
        assert "cross: the preview was not measured there" in text_of(plot)


def test_what_is_set_together_is_said_of_the_axes_that_are() -> None:
    """Channels follow the batch, TCC banks the compute units; the window differs between workloads only."""
    frame = grid({"num_compute_units": [4, 8, 16], "layer.n": [1, 10]}).copy()
    frame["layer.c"] = frame["layer.n"] * 3
    frame["num_tccs"] = frame["num_compute_units"] // 4
    frame["layer.w"] = frame["workload"].map({name: k for k, name in enumerate(frame["workload"].unique())})
    frame.attrs["axes"] = ("num_compute_units", "layer.n", "layer.c", "num_tccs", "layer.w")
    notes = " | ".join(figures.make("cycles", frame).notes)
    together = dict(
        note.split(": set together with ") for note in notes.split(" | ") if "set together" in note
    )
    assert len(together) == 2
    assert any("TCC" in name and "ompute units" in leader for name, leader in together.items())
    assert not any("ompute units" in leader for name, leader in together.items() if "TCC" not in name)


def test_what_changed_between_releases() -> None:
    """Half the cycles on the newer release, for one workload; its outputs were wrong before."""
    frame = grid({"release": ["v23.0", "v23.1"], "num_compute_units": [4, 8]}, instructions=100.0)
    newer = (frame["release"] == "v23.1") & (frame["workload"] == "softmax_fwd")
    frame.loc[newer, "gpu_cycles"] /= 2
    frame.loc[(frame["release"] == "v23.0") & (frame["workload"] == "softmax_fwd"), "flags"] = (
        "wrong results: x"
    )
    plot = figures.make("releases", frame)
    data = plot.data.set_index("workload")
    assert data.loc["softmax_fwd", "gpu_cycles"] == pytest.approx(0.5)
    assert data.loc["softmax_bwd", "gpu_cycles"] == pytest.approx(1)
    assert list(data["points"]) == [2, 2]
    assert "right on v23.1, not on v23.0: softmax_fwd" in plot.notes
    assert "v23.1: change against v23.0" in text_of(plot)
    with pytest.raises(FigureError, match="compares gem5 releases and the table has 1"):
        figures.make("releases", frame[frame["release"] == "v23.0"])
    assert "releases" in figures.planned(["release"], ["gem5-kernels"])
    assert "releases" not in figures.planned(["num-compute-units"], ["gem5-kernels"])


def test_releases_that_need_machines_of_their_own() -> None:
    frame = grid({"release": ["v23.0", "v24.0"], "num_compute_units": [4, 8]}, instructions=100.0)
    machines = np.where(frame["release"] == "v23.0", "apu-gfx801", "apu-gfx902")
    axes = (*frame.attrs["axes"], "machine")
    frame = frame.copy().assign(machine=machines)
    frame.attrs["axes"] = axes
    plot = figures.make("releases", frame)
    assert list(plot.data["points"]) == [2, 2]
    assert any("apu-gfx801 on v23.0, apu-gfx902 on v24.0" in note for note in plot.notes)


def with_intervals() -> pd.DataFrame:
    """Four points of 1600 to 400 cycles, each 10 % less to 25 % more; the second axis halves them."""
    frame = grid(
        {"num_compute_units": [4, 16], "num_tccs": [1, 2]}, workloads=["softmax_fwd"], engine="preview"
    )
    frame["gpu_cycles"] = 6400.0 / frame["num_compute_units"] / frame["num_tccs"]
    frame["gpu_time"] = frame["gpu_cycles"] * 1e-9
    frame["gpu_cycles_low"], frame["gpu_cycles_high"] = frame["gpu_cycles"] * 0.9, frame["gpu_cycles"] * 1.25
    return frame


@pytest.mark.parametrize("name", ["speedup", "heatmap"])
def test_speedups_of_a_page_have_one_base_and_an_interval(name: str) -> None:
    """800/200 = 8 over the point of 4 units and 1 bank: 1600 * 0.9 / 250 to 1600 * 1.25 / 180."""
    plot = figures.make(name, with_intervals())
    shown = plot.data.rename(columns={"value": "speedup"})
    best = shown.sort_values("speedup").iloc[-1]
    assert (best["speedup"], best["low"], best["high"]) == pytest.approx((8, 1440 / 250, 2000 / 180))
    assert any("relative to that at" in note and "= 4" in note and "= 1" in note for note in plot.notes)


def test_every_figure_of_preview_rows_says_how_wide_their_intervals_are() -> None:
    frame = with_intervals()
    frame["bound"], frame["stall_share_memory"], frame["occupancy"] = "dram", 0.5, 0.5
    for name in ("speedup", "cycles", "bound", "occupancy", "stalls", "heatmap"):
        assert any("-10 to +25 % in the median point" in note for note in figures.make(name, frame).notes), (
            name
        )


def test_a_figure_of_rates_has_the_interval_of_their_cycles() -> None:
    frame = with_intervals()
    frame["ipc"] = 2.0
    data = figures.make("ipc", frame).data
    assert data["low"].tolist() == pytest.approx([2 / 1.25] * 4)
    assert data["high"].tolist() == pytest.approx([2 / 0.9] * 4)


def test_a_cross_has_a_white_edge() -> None:
    """It shows on dark lines and cells, too: black on viridis' purple does not."""
    frame = with_intervals()
    frame["flags"] = "unmeasured: 128 num-compute-units (measured 1 to 64)"
    for name in ("speedup", "heatmap"):
        marks = [line for axes in figures.make(name, frame).figure.axes for line in axes.get_lines()]
        crosses = [line for line in marks if line.get_marker() == "x"]
        assert crosses and all(line.get_path_effects() for line in crosses)
