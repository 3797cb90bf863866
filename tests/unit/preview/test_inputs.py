"""What the CPU's L2 and the L3 hold of inputs."""

from __future__ import annotations

import re
from math import prod

import pytest
from one_launch import traffic_of
from recorded_runs import layer_rows

from apuflow.preview.inputs import Copy, kept_of_copies, parts_held
from apuflow.score.runs import row_launch, row_machine, row_steps


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [
        ([10.0], [1.0]),  # the copy and its source fit
        ([20.0], [0.5]),  # half of each
        (
            [20.0, 2.0],
            [16 / 38, 1.0],
        ),  # 2 and 2 of the last; 16 for 20 of the first and 18 more of the source
        ([5.0, 5.0, 5.0], [1.0, 1.0, 1.0]),  # the source once
        ([8.0, 8.0, 8.0], [0.25, 0.25, 1.0]),  # source 8, last copy 8, and 4 of the two before
        ([5.0, 5.0, 5.0, 5.0], [0.5, 0.5, 1.0, 1.0]),  # 15 for the source and the two last
    ],
)
def test_a_cache_keeps_what_the_cpu_touched_last_of_its_copies(sizes: list[float], kept: list[float]) -> None:
    """Of 20 bytes; tree-PLRU does not tell the two oldest apart."""
    assert kept_of_copies([Copy(size, size) for size in sizes], 20.0) == pytest.approx(kept)


def test_what_the_cpu_computes_has_no_source() -> None:
    assert kept_of_copies([Copy(20.0, 0.0)], 20.0) == [1.0]


def copies_backward() -> list[dict[str, str]]:
    """Layers of Bypass, backward: the first of three inputs is loaded, the others only fill the caches."""
    return [row for row in layer_rows() if row["primitive"] == "bypass_bwd"]


def test_gem5_reads_as_much_memory_where_inputs_that_nobody_loads_fill_the_caches() -> None:
    """Inputs of 0.2 to 10.6 MB, three each: in the L2 of 2 MB, in the L3 of 16 MB, in memory.

    Where only what a kernel loads was thought of, gem5 read 0.5 to 2.0 times as much.
    """
    compared = 0
    for row in copies_backward():
        shape = [int(size) for size in re.findall(r"(?m)^[nchw]=(\d+)", row["config"])]
        if 4 * prod(shape) < 400_000:  # what is still under way at the end counts
            continue
        box = row_machine(row)
        (step,) = row_steps(row, box)
        flow = traffic_of(step, box)
        read = 64 * (flow.dram_reads + flow.queued_reads)
        assert read == pytest.approx(float(row["dram_bytes_read"]), rel=0.1), row["id"]
        compared += 1
    assert compared == 91


def test_outputs_are_not_written_by_the_cpu() -> None:
    row = copies_backward()[0]
    held = parts_held([row_launch(row)], 2e6, 16e6)
    assert sorted(name.rsplit(".", 1)[1] for name in held) == ["bottom", "top", "top_diff"]
