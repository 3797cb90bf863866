"""What identifies a point."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from sweep_texts import HEAD, expand, one

from apuflow.configure.point import Point


def test_two_sweeps_that_share_a_point_share_its_run(root: Path) -> None:
    many = expand(root, HEAD + "axes: {num-compute-units: [4, 8], layer: {n: [10, 100]}}\n", name="many")
    few = HEAD + "options: {num-compute-units: 8}\nlayer: {n: 10}\n"
    assert one(root, few).id == many[2].id
    assert one(root, HEAD + "options: {num-compute-units: 8}\n").id == many[3].id
    written = one(root, HEAD + "options: {num-tccs: 2, num-dirs: 4, mem-req-latency: 7}\n")
    assert one(root, HEAD + "options: {mem-req-latency: 7, num-tccs: 2, num-dirs: 4}\n").id == written.id


@pytest.mark.parametrize(
    "other",
    [
        HEAD + "# a comment\n",
        HEAD + "options: {num-compute-units: 4}\n",
        HEAD + "options: {tcc-size: 0256kB}\n",
        HEAD + "options: {tcc-size: 262144, gpu-clock: 1000MHz}\n",
        HEAD + "layer: {n: 100}\n",
        HEAD + "on_failure: record\nlimits: {wall_time: 1h}\n",
        HEAD.replace("description: x", "description: y"),
        HEAD + "options: {mem-size: 1GB, cu-per-sa: 4}\n",
    ],
)
def test_what_cannot_change_the_preview_does_not_change_the_point(root: Path, other: str) -> None:
    assert one(root, other).id == one(root, HEAD).id


def test_the_preview_does_not_read_cpus_and_memory_size(root: Path) -> None:
    other = one(root, HEAD + "options: {num-cpus: 4, CPUClock: 3GHz, mem-size: 4GB}\n")
    assert other.identity == one(root, HEAD).identity
    assert other.label == "v23.0_u4_num-cpus4_CPUClock3GHz_mem-size4GB"


@pytest.mark.parametrize(
    "other",
    [
        HEAD + "options: {num-compute-units: 8}\n",
        HEAD + "options: {mem-req-latency: 51}\n",
        HEAD + "layer: {n: 101}\n",
        HEAD + "release: v22.1\n",
        HEAD.replace("[preview]", "[gem5]"),
    ],
)
def test_what_can_change_the_result_changes_the_identity(root: Path, other: str) -> None:
    assert one(root, other).identity != one(root, HEAD).identity


def test_comments_and_blank_lines_of_a_network_do_not_matter_but_values_do(root: Path) -> None:
    before = one(root, HEAD)
    path = root / "configs/workloads/softmax.dnnmark"
    path.write_text("# another\n\n" + path.read_text())
    assert one(root, HEAD).id == before.id
    path.write_text(path.read_text().replace("c=1000", "c=1001"))
    assert one(root, HEAD).identity != before.identity


def test_gem5_points_depend_on_cpus_and_commits(root: Path) -> None:
    head = HEAD.replace("preview", "gem5")
    base = one(root, head)
    assert one(root, head + "options: {num-cpus: 4}\n").identity != base.identity
    release = root / "configs/gem5/v23.0.yaml"
    release.write_text(release.read_text().replace("6835f066", "6835f067"))
    assert one(root, head).identity != base.identity
    assert base.describe()["gem5"]["commit"].startswith("6835f066")


def test_identity_is_made_of_describe(root: Path) -> None:
    point = one(root, HEAD)
    assert json.loads(json.dumps(point.describe())) == point.describe()
    assert re.fullmatch(r"[0-9a-f]{8}", point.identity)
    assert point.id == f"{point.label}-{point.identity}"


def test_a_point_is_read_from_its_row_without_any_file(root: Path) -> None:
    """One point of each kind of workload, on a machine and of a release that are not the defaults."""
    machine = "release: v22.1\noptions: {num-compute-units: 8, tcc-size: 512kB}\n"
    kernels = "description: x\nengines: [gem5-kernels]\nworkgroups: {fills: 4}\ninputs: memory\n" + machine
    shutil.copy(root / "configs/workloads/examples/square.yaml", root / "configs/workloads/square.yaml")
    points = [
        *expand(root, kernels + "workloads: [softmax_bwd, gemm, own_vector_add]\n"),
        *expand(root, kernels + "suites: [alexnet_owt]\nlayer: {n: 1, direction: fwd}\n"),
        *expand(root, "description: x\nengines: [gem5]\nworkloads: [softmax_bwd, square]\n" + machine),
        one(root, HEAD + machine),
    ]
    assert {type(point.work).__name__ for point in points} == {
        *("OperationWork", "KernelsWork", "CommandWork"),
    }
    written = [json.dumps(point.row()) for point in points]
    shutil.rmtree(root / "configs")
    assert [Point.of_row(json.loads(text)) for text in written] == points
    assert [Point.of_row(json.loads(text)).id for text in written] == [point.id for point in points]


KERNELS = HEAD.replace("[preview]", "[gem5-kernels]")


def test_labels_are_readable_file_names(root: Path) -> None:
    assert one(root, HEAD + "options: {num-compute-units: 8, num-tccs: 2}\nlayer: {n: 5}\n").label == (
        "v23.0_u8_num-tccs2_n5"
    )
    assert one(root, KERNELS + "machine: dgpu-gfx803\n").label == "v23.0_u4_gfx-versiongfx803_dgpu"
    text = HEAD.replace("softmax_fwd", "composed") + "layer: {conv1.num_output: 16, fc1.num_output: 8}\n"
    assert one(root, text, "composed").label == "v23.0_u4_conv1.num_output16_fc1.num_output8"
    everything = "options: {" + ", ".join(f"L{n}TLBentries: {32 << n}" for n in (1, 2, 3))
    everything += ", mem-req-latency: 7, mem-resp-latency: 9, glbmem-rd-bus-width: 16, TCP_latency: 3}\n"
    long = one(root, HEAD + everything)
    assert len(long.id) <= 110 and re.fullmatch(r"[A-Za-z0-9._-]+", long.id)
