"""From sweeps to points: what is combined."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sweep_texts import HEAD, expand

from apuflow.configure import load_sweep
from apuflow.configure.combinations import configuration_files, plan
from apuflow.core.errors import ConfigError
from apuflow.engines.dnnmark_program import runtime_units


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


def test_what_advances_together_is_known_of_every_part(root: Path) -> None:
    expand(
        root,
        HEAD
        + "zip: [{num-compute-units: [4, 8], num-tccs: [1, 2]}]\n"
        + "per_workload:\n  softmax_*: {layers: [{n: 1, c: 2}, {n: 2, c: 4}]}\n"
        + "  '*_fwd': {zip: [{num-tccs: [1, 2], num-dirs: [2, 4]}]}\n",
    )
    assert load_sweep("t", root).together == (
        ("layer.n", "layer.c"),
        ("num-compute-units", "num-tccs", "num-dirs"),
    )


def test_values_of_a_zip_may_repeat(root: Path) -> None:
    found = expand(root, HEAD + "zip: [{num-compute-units: [4, 8, 16], tcc-size: [256kB, 256kB, 1MB]}]\n")
    assert [tuple(point.axes.values()) for point in found] == [(4, "256kB"), (8, "256kB"), (16, "1MB")]


LAYERS = [(1, 3), (1, 64), (8, 3)]


def test_layers_are_a_line_each_and_crossed_with_the_axes(root: Path) -> None:
    text = HEAD + "layers:\n  - {n: 1, c: 3}\n  - {n: 1, c: 64}\n  - {n: 8, c: 3}\n"
    found = expand(root, text + "axes: {num-compute-units: [4, 8]}\n")
    assert [(p.axes["layer.n"], p.axes["layer.c"]) for p in found] == [
        line for _ in (4, 8) for line in LAYERS
    ]
    assert [p.axes["num-compute-units"] for p in found] == [4, 4, 4, 8, 8, 8]


def test_layers_of_a_csv_file_are_the_points_that_the_list_makes(root: Path) -> None:
    file = root / "configs/sweeps/shapes.csv"
    file.write_text("n, c\n1,3\n# a comment\n\n1,64\n8,3\n")
    listed = expand(root, HEAD + "layers: [{n: 1, c: 3}, {n: 1, c: 64}, {n: 8, c: 3}]\n")
    read = expand(root, HEAD + "layers: shapes.csv\n")
    assert [point.id for point in read] == [point.id for point in listed]
    assert "configs/sweeps/shapes.csv" in configuration_files(load_sweep("t", root), "softmax_fwd", root)
    some = expand(root, HEAD + "per_workload: {softmax_*: {layers: shapes.csv}}\n")
    assert [point.id for point in some] == [point.id for point in listed]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file has no layer"),
        ("n,c\n", "the file has no layer"),
        ("n,n\n1,2\n", "two have the same"),
        ("n,c\n1,2\n3\n", "1 cells under 2 columns"),
        ("n,c\n1,2\n1,2\n", "layer 2 is layer 1 again"),
        ("n,c\n1,2\nmany,2\n", "mixes numbers and text"),
        ("n,foo\n1,2\n", "keys that can be set"),
        (b"n\n\xff\n", "not a CSV file in UTF-8"),
    ],
)
def test_a_mistake_in_a_file_of_layers_is_named(root: Path, text: str | bytes, said: str) -> None:
    (root / "configs/sweeps/shapes.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError) as caught:
        expand(root, HEAD + "layers: shapes.csv\n")
    assert said in str(caught.value) and "fix:" in str(caught.value)


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
    text = HEAD.replace("[preview]", "[gem5-kernels]") + (
        "axes: {release: [v21.2, v22.1], machine: [apu-gfx801, apu-gfx801-wide]}\n"
    )
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


def test_a_gfx900_has_the_units_that_rocm_is_told(root: Path) -> None:
    """hsaTopology.createVegaTopology writes simd_count 256, which is 64 CUs, in every release."""
    text = (
        HEAD.replace("preview", "gem5")
        + "options: {dgpu: true, gfx-version: gfx900, num-compute-units: %d}\n"
    )
    assert expand(root, text % 64)[0].gfx == "gfx900"
    assert [runtime_units(expand(root, text % units)[0]) for units in (16, 64)] == [64, 64]
    apu = text.replace("dgpu: true, gfx-version: gfx900", "gfx-version: gfx902")
    assert runtime_units(expand(root, apu % 16)[0]) == 16
    assert expand(root, (text % 16).replace("[gem5]", "[gem5-kernels]"))
