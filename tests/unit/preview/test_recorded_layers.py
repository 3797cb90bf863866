"""The preview against layers on gem5's develop (c91af552, gfx902), whose kernels ran in one process."""

from __future__ import annotations

import csv
from typing import Any

import pytest
from places import ROOT

from apuflow.preview.process import Step
from apuflow.preview.timing import times
from apuflow.preview.traffic import Traffic, traffic
from apuflow.study.score_runs import row_machine, row_steps

FILE = ROOT / "data/gem5_runs/layers.csv"


def row_of(part: str) -> dict[str, Any]:
    with FILE.open(newline="") as file:
        (row,) = [row for row in csv.DictReader(file) if part in row["id"]]
    return row


def steps_of(row: dict[str, Any]) -> list[Step]:
    return row_steps(row, row_machine(row))


def traffic_of(row: dict[str, Any], step: Step) -> Traffic:
    return traffic(step.profile, row_machine(row))


@pytest.mark.parametrize(
    "part",
    [
        "v24.1_u2_tcp-size16kB_tcc-size256kB_c39_h59_n6_w59",
        "v24.1_u2_tcp-size16kB_tcc-size256kB_c93_h49_n7_w49",
        "v24.1_u1_max-cu-tokens8_tcp-size16kB_tcc-size256kB_bw-scalor1",
        "v24.1_u1_tcp-size8kB_num-tccs4_tcc-size512kB_activation_modesigmoid_c120",
        "v24.1_u4_tcp-size16kB_num-tccs4_tcc-size512kB_mem-typeDDR3_2133_8x8_activation_m",
    ],
)
def test_copies_on_few_units_take_their_page_walks_one_after_the_other(part: str) -> None:
    """gem5's cycles are 1.0 to 1.1 times page walks by 973 cycles."""
    row = row_of(part)
    (step,) = steps_of(row)
    box, cycles = row_machine(row), int(row["gpu_cycles"])
    assert 1.0 < cycles / int(row["page_walks"]) / box.page_walk_cycles < 1.15
    assert times([step.profile], [box]).ns[0] / box.gpu_ns == pytest.approx(cycles, rel=0.12)


@pytest.mark.parametrize(
    ("part", "reads"),
    [
        ("tcc-size256kB_c9_h57_n6_w57", 0.05),
        ("tcc-size256kB_c15_h50_n5_w50", 0.05),
        ("tcc-size256kB_c14_h16_n19_w16", 0.05),
        ("c77_h10_n7_w10", 0.2),
        ("mem-typeDDR3_2133_8x8_c-2e59612e", 0.05),
    ],
)
def test_softmax_over_images_loads_and_reads_the_lines_that_gem5_does(part: str, reads: float) -> None:
    """Pixels next to each other share lines: of a wavefront, of a workgroup, of workgroups that follow."""
    row = row_of(part)
    (step,) = steps_of(row)
    found = traffic_of(row, step)
    assert found.tcp_loads == pytest.approx(int(row["tcp_load_events"]), rel=0.05)
    assert found.tcc_reads == pytest.approx(int(row["tcc_reads"]), rel=reads)


def test_the_tcc_keeps_lines_from_kernel_to_kernel_and_changes_those_that_are_stored() -> None:
    """Backward convolution of 7 images, TCC of 256 kB.

    The product for the weights reads the columns, the one for the data writes them, col2im reads them: gem5
    misses 7 lines of 1,758 in the mean of the images.
    """
    row = row_of("num-dirs4_c45_h5_n7_num_output3_w5-7cb262be.4")
    assert row["kernel"] == "Col2Im2d" and row["tcc_read_misses"] == "7"
    for step in steps_of(row):
        found = traffic_of(row, step)
        assert found.tcc_reads - found.tcc_hits < 100
