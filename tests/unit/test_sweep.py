"""From sweeps to points: what is combined, what identifies a point, what is derived."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sweep_texts import HEAD, expand

from apuflow.configure import load_sweep
from apuflow.configure.combinations import configuration_files, plan
from apuflow.configure.point import Point
from apuflow.core.errors import ConfigError

ROOT = Path(__file__).parents[2]


# combinations ---------------------------------------------------------------------------------------------


def test_axes_are_combined_in_the_order_of_the_file(root: Path) -> None:
    found = expand(root, HEAD + "axes: {num-compute-units: [4, 8], layer: {n: [1, 10]}, num-tccs: [1, 2]}\n")
    assert [tuple(point.axes.values()) for point in found] == [
        (units, n, banks) for units in (4, 8) for n in (1, 10) for banks in (1, 2)
    ]
    assert list(found[0].axes) == ["num-compute-units", "layer.n", "num-tccs"]


def test_a_zip_group_advances_together_and_is_crossed_with_the_axes(root: Path) -> None:
    text = HEAD + "axes: {layer: {n: [1, 2]}}\nzip: [{num-compute-units: [4, 8], num-tccs: [1, 2]}]\n"
    rows = [
        (point.axes["layer.n"], point.axes["num-compute-units"], point.axes["num-tccs"])
        for point in expand(root, text)
    ]
    assert rows == [(1, 4, 1), (1, 8, 2), (2, 4, 1), (2, 8, 2)]


def test_exclusions_need_all_their_conditions(root: Path) -> None:
    text = HEAD + (
        "axes: {num-compute-units: [4, 8], num-tccs: [1, 2], layer: {n: [1, 2]}}\nexclude:\n"
        "- {num-compute-units: 8, num-tccs: [1, 2], layer: {n: 1}}\n- {num-tccs: 2, layer: {n: 2}}\n"
    )
    rows = {tuple(point.axes.values()) for point in expand(root, text)}
    assert rows == {(4, 1, 1), (4, 1, 2), (4, 2, 1), (8, 1, 2)}


def test_true_is_not_one_in_an_exclusion(root: Path) -> None:
    with pytest.raises(ConfigError, match="does not have"):
        expand(root, HEAD + "axes: {num-tccs: [1, 2]}\nexclude: [{num-tccs: true}]\n")


def test_every_engine_makes_its_own_points(root: Path) -> None:
    text = HEAD.replace("[preview]", "[gem5-kernels, preview]") + "axes: {num-compute-units: [4, 8]}\n"
    found = expand(root, text)
    assert [point.engine for point in found] == ["gem5-kernels"] * 2 + ["preview"] * 2
    assert len({point.id for point in found}) == 4


def test_additions_for_some_workloads_replace_what_they_name(root: Path) -> None:
    text = HEAD.replace("[softmax_fwd]", "[softmax_fwd, bn_fwd]") + (
        "options: {num-tccs: 2}\naxes: {num-compute-units: [4, 8]}\nlayer: {n: 5}\n"
        "per_workload: {bn_*: {options: {num-compute-units: 16}, axes: {num-tccs: [1, 4]}, layer: {n: 7}}}\n"
    )
    softmax, bn = expand(root, text, "softmax_fwd"), expand(root, text, "bn_fwd")
    assert [point.axes for point in softmax] == [{"num-compute-units": 4}, {"num-compute-units": 8}]
    assert [point.axes for point in bn] == [{"num-tccs": 1}, {"num-tccs": 4}]
    assert {point.options["num-compute-units"] for point in bn} == {16}
    assert "n=7\n" in (bn[0].work.text or "") and "n=5\n" in (softmax[0].work.text or "")


def test_releases_and_machines_can_be_axes(root: Path) -> None:
    text = HEAD + "axes: {release: [v21.2, v22.1], machine: [apu-gfx801, apu-gfx801-wide]}\n"
    found = expand(root, text)
    policies = [(point.release, point.options["reg-alloc-policy"]) for point in found]
    assert policies == [("v21.2", "simple")] * 2 + [("v22.1", "dynamic")] * 2
    assert [point.options["bw-scalor"] for point in found] == [0, 1, 0, 1]


def test_the_limit_counts_points_of_all_engines_before_anything_is_built(root: Path) -> None:
    axes = "axes: {num-compute-units: [%s], layer: {n: [%s]}}\n"
    huge = HEAD + axes % (", ".join(map(str, range(1, 1001))), ", ".join(map(str, range(1, 1001))))
    with pytest.raises(ConfigError, match="1,000,000 points") as caught:
        expand(root, huge)
    assert "max_points" in str(caught.value)
    small = HEAD + "limits: {max_points: 4}\naxes: {num-compute-units: [1, 2, 3, 4]}\n"
    assert len(expand(root, small)) == 4
    with pytest.raises(ConfigError, match="8 points"):
        expand(root, small.replace("[preview]", "[gem5-kernels, preview]"))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    units=st.lists(st.integers(1, 64), min_size=1, max_size=4, unique=True),
    banks=st.lists(st.sampled_from([1, 2, 4, 8, 16]), min_size=1, max_size=3, unique=True),
    batches=st.lists(st.integers(1, 1000), min_size=1, max_size=3, unique=True),
)
def test_a_sweep_is_the_product_of_its_axes(
    root: Path, units: list[int], banks: list[int], batches: list[int]
) -> None:
    axes = {"num-compute-units": units, "num-tccs": banks, "layer": {"n": batches}}
    found = expand(root, HEAD + f"axes: {json.dumps(axes)}\n")
    expected = [(u, b, n) for u in units for b in banks for n in batches]
    assert [tuple(point.axes.values()) for point in found] == expected
    assert len({point.id for point in found}) == len(expected)
    for point in found:
        assert point.options["num-tccs"] == point.axes["num-tccs"]
        assert f"n={point.axes['layer.n']}\n" in (point.work.text or "")


# identity -------------------------------------------------------------------------------------------------


def one(root: Path, text: str, workload: str = "softmax_fwd") -> Point:
    (point,) = expand(root, text, workload)
    return point


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
    assert other.label == "u4_num-cpus4_CPUClock3GHz_mem-size4GB"


@pytest.mark.parametrize(
    "other",
    [
        HEAD + "options: {num-compute-units: 8}\n",
        HEAD + "options: {mem-req-latency: 51}\n",
        HEAD + "layer: {n: 101}\n",
        HEAD + "release: v21.2\n",
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
    release = root / "configs/gem5/v22.1.yaml"
    release.write_text(release.read_text().replace("5fa484e2", "5fa484e3"))
    assert one(root, head).identity != base.identity
    assert base.describe()["gem5"]["commit"].startswith("5fa484e2")


def test_identity_is_made_of_describe(root: Path) -> None:
    point = one(root, HEAD)
    assert json.loads(json.dumps(point.describe())) == point.describe()
    assert re.fullmatch(r"[0-9a-f]{8}", point.identity)
    assert point.id == f"{point.label}-{point.identity}"


def test_labels_are_readable_file_names(root: Path) -> None:
    assert one(root, HEAD + "options: {num-compute-units: 8, num-tccs: 2}\nlayer: {n: 5}\n").label == (
        "u8_num-tccs2_n5"
    )
    assert one(root, HEAD + "machine: dgpu-gfx803\n").label == "u4_gfx-versiongfx803_dgpu"
    text = HEAD.replace("softmax_fwd", "composed") + "layer: {conv1.num_output: 16, fc1.num_output: 8}\n"
    assert one(root, text, "composed").label == "u4_conv1.num_output16_fc1.num_output8"
    everything = "options: {" + ", ".join(f"L{n}TLBentries: {n + 60}" for n in (1, 2, 3))
    everything += ", mem-req-latency: 7, mem-resp-latency: 9, glbmem-rd-bus-width: 16, TCP_latency: 3}\n"
    long = one(root, HEAD + everything)
    assert len(long.id) <= 110 and re.fullmatch(r"[A-Za-z0-9._-]+", long.id)


# derived --------------------------------------------------------------------------------------------------


def test_memory_follows_the_workload_and_the_topology_the_units(root: Path) -> None:
    """3.4 GB of tensors and the file that is mapped to fill them need 8 GB; softmax fits into 1 GB."""
    activation = one(root, HEAD.replace("softmax_fwd", "activation_fwd"), "activation_fwd")
    assert activation.options["mem-size"] == "8GB"
    assert one(root, HEAD).options["mem-size"] == "1GB"
    assert one(root, HEAD + "options: {num-compute-units: 64}\n").options["cu-per-sa"] == 64
    given = HEAD + "options: {num-compute-units: 64, cu-per-sa: 16, sa-per-complex: 4, mem-size: 3GB}\n"
    assert one(root, given).options["cu-per-sa"] == 16
    assert one(root, given).options["mem-size"] == "3GB"


def test_a_point_has_every_option_of_its_release(root: Path) -> None:
    options = one(root, HEAD).options
    assert options["simds-per-cu"] == 4 and options["num-cpus"] == 3 and options["FunctionalTLB"] is False
    assert len(options) == len(set(options)) == len(dict(options))
    with pytest.raises(KeyError):
        options["no-such"]


def test_plan_of_a_sweep_keeps_the_axes(root: Path) -> None:
    expand(root, HEAD + "axes: {num-tccs: [1, 2]}\nzip: [{num-dirs: [1, 2], L1TLBentries: [32, 64]}]\n")
    planned = plan(load_sweep("t", root), "softmax_fwd", root)
    assert planned.axes == ("num-tccs", "num-dirs", "L1TLBentries") and planned.size == 4


def test_every_file_behind_a_row_is_an_input(root: Path) -> None:
    expand(root, HEAD + "axes: {machine: [apu-gfx801, apu-gfx801-wide], release: [v22.1, v23.0]}\n")
    (root / "configs/site.yaml").write_text("container: host\n")
    assert configuration_files(load_sweep("t", root), "softmax_fwd", root) == [
        "configs/sweeps/t.yaml",
        "configs/workloads/softmax_fwd.yaml",
        "configs/workloads/softmax.dnnmark",
        "configs/machines/apu-gfx801.yaml",
        "configs/machines/apu-gfx801-wide.yaml",
        "configs/gem5/v22.1.yaml",
        "configs/gem5/v23.0.yaml",
        "configs/site.yaml",
    ]


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ("{simds-per-cu: 2, wfs-per-simd: 1}", "wfs-per-simd"),
        ("{lds-size: 1022}", "lds-size"),
        ("{vreg-file-size: 8}", "vreg-file-size"),
        ("{sreg-file-size: 64}", "sreg-file-size"),
    ],
)
def test_a_workgroup_that_never_fits_is_refused(root: Path, options: str, option: str) -> None:
    """Softmax's workgroup: 256 work-items (4 wavefronts) with 1024 bytes of LDS (MIOpenSoftmax.cl)."""
    with pytest.raises(ConfigError, match="SoftmaxForward") as caught:
        expand(root, HEAD + f"options: {options}\n")
    assert caught.value.key == option
    more = {"wfs-per-simd": "{simds-per-cu: 2, wfs-per-simd: 2}", "lds-size": "{lds-size: 1024}"}
    assert expand(root, HEAD + f"options: {more.get(option, '{}')}\n")


def test_a_gfx900_has_the_units_that_rocm_is_told(root: Path) -> None:
    """hsaTopology.createVegaTopology writes simd_count 256, which is 64 CUs, in every release."""
    text = (
        HEAD.replace("preview", "gem5")
        + "options: {dgpu: true, gfx-version: gfx900, num-compute-units: %d}\n"
    )
    assert expand(root, text % 64)[0].gfx == "gfx900"
    with pytest.raises(ConfigError, match="64 compute units"):
        expand(root, text % 16)
    assert expand(root, (text % 16).replace("[gem5]", "[gem5-kernels]"))
