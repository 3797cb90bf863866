"""Metrics against hand calculation on real runs, and their ranges."""

from __future__ import annotations

import ast
import lzma
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from places import ROOT

from apuflow.core.errors import AnalysisError
from apuflow_analysis.counters.counters import counters
from apuflow_analysis.counters.table import COUNTERS
from apuflow_analysis.metrics import compute
from apuflow_analysis.metrics.compute import METRICS, QUANTITIES
from apuflow_analysis.tables.columns import MACHINE

STATS = ROOT / "tests/data/gem5_runs/stats"


DEFAULTS: dict[str, Any] = {
    "num_compute_units": 4,
    "simds_per_cu": 4,
    "wfs_per_simd": 10,
    "wf_size": 64,
    "issue_period": 4,
    "num_tccs": 1,
    "bw_scalor": 0,
    "TCP_latency": 4,
    "glbmem_rd_bus_width": 32,
    "glbmem_wr_bus_width": 32,
    "ldsBankConflictPenalty": 1,
    "tcp_size": "16kB",
    "tcc_size": "256kB",
}


def _row(name: str, **machine: Any) -> pd.Series[Any]:
    values = {**DEFAULTS, **machine, **counters(STATS / f"{name}.txt.xz")}
    return compute.compute(pd.DataFrame([values])).iloc[0]


@pytest.fixture(scope="module")
def softmax() -> pd.Series[float]:
    """Softmax on four compute units: 198146999 active ticks, 769308 awake cycles, 293900 instructions."""
    return _row("softmax_fwd-100x1000x1x1-u4")


def test_hand_calculated(softmax: pd.Series[Any]) -> None:
    expected = {
        "gpu_time": 198146999 / 1e12,
        "gpu_share": 198146999 / 5068281000,
        "ipc": 293900 / 769308,
        "ipc_gpu": 293900 / 198147,
        "ipc_kernel": 293900 / (4 * 198147),
        "occupancy": 1 - 18741564 / (769308 * 40),
        "occupancy_kernel": (769308 * 40 - 18741564) / (40 * 4 * 198147),
        "eligible_wavefronts": 6764687 / 769308,
        "valu_utilization": 4 * 154200 / (4 * 769308),
        "lane_efficiency": 9498600 / (64 * 154200),
        "lines_per_vector_memory_inst": (20363 + 7050) / 6400,
        "lds_utilization": (7000 + 21400 + 4400 * 8 + 2600 * 8) / 769308,
        "l2_link_utilization": (72 * 7050 + 8 * 8234) / (8 * 198146999 / 500),
        "tcp_load_hit_rate": 12155 / 20363,
        "tcc_hit_rate": 1958 / (1958 + 13326),
        "lds_conflict_excess": 21400 / 7000,
        "dram_read_bandwidth": 1737856 / (198146999e-12),
        "dram_utilization": (1696960 + 1300352) / (12800e6 * 198146999e-12),
        "tcp_mpki": 1000 * 8208 / 293900,
        "tcc_mpki": 1000 * 13326 / 293900,
        "sqc_mpki": 1000 * 23 / 293900,
        "scalar_mpki": 1000 * 3 / 293900,
        "network_bytes": 8131872,
        "network_control_share": 1 - (1522800 + 4405680) / 8131872,
        "dispatch_share_coalescer": 2019884 / (2019884 + 4398678 + softmax["dispatch_stalls_bus"]),
        "mix_valu": 154200 / 293900,
        "stall_share_memory": 3793973 / (769308 * 40 - 18741564 - 293900),
        "workgroup_imbalance": 27 / 25,
        "arithmetic_intensity": 5206800 / (1737856 + 1335808),
    }
    assert {name: softmax[name] for name in expected} == pytest.approx(expected, rel=1e-12)


def test_stall_shares_add_up_to_one(softmax: pd.Series[Any]) -> None:
    shares = [name for name in compute.NAMES if name.startswith("stall_share_")]
    assert len(shares) == 6
    assert sum(softmax[name] for name in shares) == pytest.approx(1)


def test_mix_adds_up_to_one(softmax: pd.Series[Any]) -> None:
    assert sum(softmax[name] for name in compute.NAMES if name.startswith("mix_")) == pytest.approx(1)


def test_maximum_is_the_larger_of_the_two(softmax: pd.Series[Any]) -> None:
    for name, parts in {
        "l1_shared_utilization": ("l1_utilization", "lds_utilization"),
        "l2_utilization": ("l2_link_utilization", "l2_array_utilization"),
        "ldst_utilization": ("vmem_utilization", "lds_issue_utilization"),
    }.items():
        assert softmax[name] == max(softmax[part] for part in parts)


def test_values_outside_their_range_are_flagged_and_kept(softmax: pd.Series[Any]) -> None:
    """The CPU's DRAM traffic before this short kernel exceeds what the DRAM moves while it runs."""
    assert softmax["dram_utilization"] == pytest.approx(1.181774, rel=1e-6)
    assert softmax["flags"] == "dram_utilization=1.18177>1"


@pytest.mark.parametrize("path", sorted(STATS.glob("*.xz")), ids=lambda path: path.name.split(".")[0])
def test_only_dram_traffic_with_the_cpus_part_leaves_its_range_on_real_runs(path: Path) -> None:
    name = path.name.removesuffix(".txt.xz")
    units = int(name.split("-u")[1].split("-")[0])
    machine = {"num_compute_units": units}
    if "numtccs4" in name:
        machine["num_tccs"] = 4
    if "bwscalor1" in name:
        machine["bw_scalor"] = 1
    row = _row(name, **machine)
    flagged = [flag.split("=")[0] for flag in row["flags"].split(";") if flag]
    assert set(flagged) <= {"dram_utilization", "dram_read_bandwidth", "dram_write_bandwidth"}


def test_a_bandwidth_above_the_drams_peak_is_flagged() -> None:
    """softmax of 25x1000 by DNNMark on gem5 v23.0.1.0: the whole program's traffic over one kernel's time."""
    row = {"dram_bytes_read": 5672704.0, "dram_bytes_written": 9697216.0, "sim_freq": 1e12}
    row |= {"gpu_active_ticks": 73988e3, "dram_peak_bandwidth": 12.8e9}
    found = compute.compute(pd.DataFrame([row])).iloc[0]
    assert found["dram_read_bandwidth"] == pytest.approx(76.67e9, rel=1e-4)
    assert "dram_read_bandwidth=7.66706e+10>1.28e+10" in found["flags"]
    alone = row | {"dram_bytes_read": 215488.0, "dram_bytes_written": 113408.0}  # the kernel's own window
    assert compute.compute(pd.DataFrame([alone])).iloc[0]["flags"] == ""


def test_missing_columns_leave_their_metrics_empty() -> None:
    frame = compute.compute(pd.DataFrame({"instructions": [100.0], "cu_cycles": [50.0]}))
    assert frame["ipc"].item() == 2
    assert math.isnan(frame["valu_utilization"].item())
    assert frame["flags"].item() == ""


def test_no_division_by_zero_shows_up() -> None:
    zero = {counter.name: [0.0] for counter in COUNTERS} | {name: [value] for name, value in DEFAULTS.items()}
    frame = compute.compute(pd.DataFrame(zero))
    assert all(math.isnan(frame[name].item()) for name in ("ipc", "occupancy", "tcc_hit_rate", "gpu_time"))
    assert frame["flags"].item() == ""


def test_infinite_is_flagged() -> None:
    frame = compute.compute(pd.DataFrame({"sim_ticks": [5.0], "host_seconds": [0.0]}))
    assert frame["flags"].item() == "host_tick_rate=inf>finite"


def test_clock_periods_come_from_the_options_where_counters_lack_them() -> None:
    base = {
        **DEFAULTS,
        "gpu_active_ticks": 1e6,
        "sim_freq": 1e12,
        "tcc_writes": 10,
        "tcc_atomics": 0,
        "tcc_reads": 0,
    }
    given = compute.compute(pd.DataFrame([{**base, "ruby_clock": "2GHz"}]))
    counted = compute.compute(pd.DataFrame([{**base, "ruby_clock_ticks": 500}]))
    for frame in (given, counted):
        assert frame["l2_link_utilization"].item() == pytest.approx(720 / (8 * 2000))


def test_scaled_links() -> None:
    """--bw-scalor K makes links 16 times compute units times K bytes wide instead of 8 (GPU_VIPER.py)."""
    base = {**DEFAULTS, "gpu_active_ticks": 1e6, "ruby_clock_ticks": 500, "tcc_writes": 64, "tcc_atomics": 0}
    rows = [{**base, "tcc_reads": 0, "bw_scalor": factor} for factor in (0, 1, 2)]
    link = compute.compute(pd.DataFrame(rows))["l2_link_utilization"]
    assert list(link * 2000) == pytest.approx([64 * 72 / 8, 64 * 72 / 64, 64 * 72 / 128])


def test_text_in_a_number_column_is_refused() -> None:
    with pytest.raises(AnalysisError) as caught:
        compute.compute(pd.DataFrame({"instructions": ["many"], "cu_cycles": [1]}))
    assert caught.value.key == "instructions"
    assert caught.value.value == "many"


def test_formulas_name_only_what_exists() -> None:
    known = {counter.name for counter in COUNTERS} | {column.name for column in MACHINE}
    known |= {quantity.name for quantity in QUANTITIES} | set(compute.SIZES)
    known |= {metric.name for metric in METRICS if metric.group == "energy"}
    known |= {"maximum", "minimum", "where", "known", "lowest", "highest", "nan"}
    formulas = [metric.formula for metric in METRICS] + [quantity.formula for quantity in QUANTITIES]
    formulas += [metric.high for metric in METRICS if isinstance(metric.high, str)]
    for formula in formulas:
        names = {node.id for node in ast.walk(ast.parse(formula)) if isinstance(node, ast.Name)}
        assert names <= known, formula


def test_names_do_not_clash() -> None:
    names = [*compute.NAMES, *(counter.name for counter in COUNTERS), *(column.name for column in MACHINE)]
    assert len(names) == len(set(names))


def test_many_rows_at_once_equal_one_by_one() -> None:
    rng = np.random.default_rng(1)
    data = {counter.name: rng.integers(1, 10**6, 50).astype(float) for counter in COUNTERS}
    frame = pd.DataFrame({**data, **DEFAULTS})
    whole = compute.compute(frame)
    single = pd.concat([compute.compute(frame.iloc[[index]]) for index in range(50)])
    pd.testing.assert_frame_equal(whole, single)


WITHOUT_READS_IN_FLIGHT = (
    "softmax_fwd-100x1000x1x1-u1",
    "softmax_fwd-100x1000x1x1-u4",
    "relu_fwd-100x32x16x16-u4",
)


@pytest.mark.parametrize("name", WITHOUT_READS_IN_FLIGHT)
def test_a_tcc_link_carries_the_bytes_that_gem5s_own_throttle_counts(name: str) -> None:
    """The TCC's throttle of the recorded run, without the directory's probes of 8 bytes each."""
    units = int(name.rsplit("-u", 1)[1])
    text = lzma.decompress((STATS / f"{name}.txt.xz").read_bytes()).decode()
    router = f"ruby.network.ext_links3.int_node.throttle{units + 2:02}.total_msg_bytes"
    carried, probes = (
        float(re.search(rf"^system\.{re.escape(row)}\s+(\d+)", text, re.MULTILINE)[1])  # type: ignore[index]
        for row in (router, "ruby.TCC_Controller.PrbInv")
    )
    row = _row(name, num_compute_units=units)
    ruby_cycles = row["gpu_active_ticks"] / row["ruby_clock_ticks"]
    assert row["tcc_link_utilization"] * 8 * ruby_cycles == pytest.approx(carried - 8 * probes, rel=1e-12)
