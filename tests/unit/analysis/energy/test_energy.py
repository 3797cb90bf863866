"""Energies of real runs calculated by hand, the interval over the files, and mistakes in a file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from places import ROOT

from apuflow.core.errors import AnalysisError
from apuflow_analysis.counters.counters import counters
from apuflow_analysis.counters.table import NAMES as COUNTER_NAMES
from apuflow_analysis.energy.coefficients import PARTS, SRAMS, load, shipped
from apuflow_analysis.energy.formulas import LABEL
from apuflow_analysis.metrics import compute

STATS = ROOT / "tests/data/gem5_runs/stats"
SIZES: dict[str, Any] = {"tcp_size": "16kB", "tcc_size": "256kB", "bw_scalor": 0, "num_compute_units": 4}
PICO = 1e-12


def _row(name: str, **changed: Any) -> pd.Series[Any]:
    counted = counters(STATS / f"{name}.txt.xz")
    return compute.compute(pd.DataFrame([{**SIZES, **counted, **changed}])).iloc[0]


@pytest.fixture(scope="module")
def softmax() -> pd.Series[Any]:
    """Softmax on four compute units.

    7000 LDS accesses, 20363 loads and 7050 stores of lines by the TCPs, 8234 reads and 7050 writes of the
    TCC, 6276 of them fetched.
    """
    return _row("softmax_fwd-100x1000x1x1-u4")


def test_energy_calculated_by_hand(softmax: pd.Series[Any]) -> None:
    memory_bytes = 64 * (6276 + 7050)
    share = memory_bytes / (1737856 + 1335808)
    other = 9498600 - 4206800
    expected = {
        "energy_issue_low": 18.15 * 293900,
        "energy_issue_high": 23.19 * 293900,
        "energy_vector_low": 2.3 * 4206800 + 0.1 * other,
        "energy_vector_high": 6.724 * 4206800 + 6.922 * other,
        "energy_registers_high": 2.5 * 14607200 + 2.137 * 9165400,
        "energy_matrix_high": 0,
        "energy_lds_low": 2 * 112.7 * 7000,
        "energy_lds_high": 5.32 * 64 * 32 * 7000,
        "energy_tcp_high": 5.85 * 512 * (20363 + 7050) * 0.5,  # 16 kB are a quarter of 64 kB
        "energy_tcc_high": 15.48 * 512 * (8234 + 7050) * math.sqrt(1 / 6),
        "energy_network_low": 86.1 * 3 * (8234 + 2 * 6276 + 3 * 7050),
        "energy_dram_low": 334884765 * share,
        "energy_dram_high": 334884765 * share,
    }
    found = {name: softmax[name] for name in expected}
    assert found == pytest.approx({name: PICO * value for name, value in expected.items()}, rel=1e-9)


def test_the_whole_is_the_sum_of_its_parts(softmax: pd.Series[Any]) -> None:
    for end in ("low", "high"):
        parts = sum(softmax[f"energy_{part}_{end}"] for part in PARTS)
        assert softmax[f"energy_{end}"] == pytest.approx(parts)
        assert softmax[f"edp_{end}"] == pytest.approx(parts * 198146999e-12)
    assert softmax["energy_low"] < softmax["energy"] < softmax["energy_high"]


def test_a_cache_of_four_times_the_size_takes_twice_the_energy() -> None:
    """The rule agrees with Horowitz' own caches: 10 pJ of 8 kB, 20 pJ of 32 kB."""
    small, large = (_row("softmax_fwd-100x1000x1x1-u1", tcp_size=size) for size in ("8kB", "32kB"))
    for end in ("low", "high"):
        assert large[f"energy_tcp_{end}"] == pytest.approx(2 * small[f"energy_tcp_{end}"])
        assert large[f"energy_tcc_{end}"] == small[f"energy_tcc_{end}"]


def test_without_gem5s_own_dram_energy_the_files_count(softmax: pd.Series[Any]) -> None:
    row = _row("softmax_fwd-100x1000x1x1-u4", dram_command_energy=math.nan)
    lines = 6276 + 7050
    assert row["energy_dram_high"] == pytest.approx(PICO * 30.55 * 8 * 64 * lines)
    assert row["energy_dram_low"] < softmax["energy_dram_low"] < row["energy_dram_high"]


def test_a_file_that_says_nothing_of_64_bits_does_not_count_there() -> None:
    row = _row("softmax_fwd-100x1000x1x1-u4", vector_lanes_f64=1000.0)
    other = 9498600 - 4206800 - 1000
    assert row["energy_vector_low"] == pytest.approx(PICO * (10.82 * 4206800 + 12.47 * 1000 + 1.584 * other))


def test_links_that_requests_cross_are_those_that_gem5_counts() -> None:
    """Lines of the second kernel of a recorded convolution, whose statistics begin and end with it."""
    from apuflow.configure import load_release
    from apuflow_analysis.counters.counters import file_counters, since_reset

    path = ROOT / "tests/data/gem5_runs/dispatches/conv_fwd.txt.xz"
    dumps = since_reset(file_counters(path)[0], load_release("v23.0").facts)
    for dump in dumps[1:5]:
        counted = (dump["network_bytes_data"] + dump["network_bytes_response_data"]) / 72
        columns = compute.Columns({name: [value] for name, value in dump.items()}, 1)
        assert columns.evaluate("gpu_network_hops")[0] == pytest.approx(counted, rel=0.05)


def test_what_the_preview_assumes_of_registers_is_near_the_recorded_runs() -> None:
    for path in sorted(STATS.glob("*u[124]*.xz")):
        found = counters(path)
        assert found["vector_register_reads"] == pytest.approx(1.5 * found["valu_thread_cycles"], rel=0.3)
        assert found["vector_register_writes"] == pytest.approx(found["valu_thread_cycles"], rel=0.25)


def test_every_metric_of_energy_carries_the_label() -> None:
    energies = [metric for metric in compute.METRICS if metric.name.startswith(("energy", "edp"))]
    assert len(energies) == 2 * len(PARTS) + 6
    assert {metric.caveat for metric in energies} == {LABEL}


def test_every_part_is_covered_by_a_file_whose_counts_are_known() -> None:
    known = {*COUNTER_NAMES, *(quantity.name for quantity in compute.QUANTITIES)}
    for source in shipped():
        for one in source.coefficients:
            assert set(compute.names_in(one.count)) <= known, (source.name, one.count)
            assert one.sram is None or SRAMS[one.sram] in known | set(compute.SIZES)
    assert {one.part for source in shipped() for one in source.coefficients} == set(PARTS)


GOOD = """\
title: mine
source: my paper
hardware: my GPU
coefficients:
- {part: lds, count: lds_accesses, pJ: 7, meaning: an access}
"""


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("source: my paper\n", "", "source"),
        ("title: mine", "tilte: mine\ntitle: mine", "tilte"),
        ("part: lds", "part: l1", "coefficients[0].part"),
        ("pJ: 7", "pJ: -7", "coefficients[0].pJ"),
        ("pJ: 7", "pJ: seven", "coefficients[0].pJ"),
        ("pJ: 7", "pJ: .nan", "coefficients[0].pJ"),
        ("count: lds_accesses", "count: '__import__(\"os\")'", "coefficients[0].count"),
        ("pJ: 7", "pJ: 7, sram: tcp", "coefficients[0].sram"),
        ("- {part: lds, count: lds_accesses, pJ: 7, meaning: an access}", "  []", "coefficients"),
    ],
)
def test_a_mistake_in_a_file_is_named(tmp_path: Path, old: str, new: str, key: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD)
    assert load(path).coefficients[0].formula == "7 * (lds_accesses)"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(AnalysisError) as caught:
        load(path)
    assert caught.value.file == str(path)
    assert caught.value.key == key
    assert caught.value.remedy
