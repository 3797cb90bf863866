"""The shipped Triton kernels against their references, and these against other formulas."""

from __future__ import annotations

import math
import runpy
import shutil
from pathlib import Path
from typing import Any

import needs
import numpy as np
import pandas as pd
import pytest
from places import DATA, ROOT

import apuflow
from apuflow.configure import load_workload
from apuflow.configure.kernel_workload import KernelsWorkload
from apuflow.configure.loading import load_release
from apuflow.core.errors import ApuflowError, ConfigError
from apuflow.kernels.interpreted import interpret_program
from apuflow.kernels.metadata import read_kernels
from apuflow.kernels.program import OwnProgram
from apuflow.kernels.reference import tolerance
from apuflow.kernels.sources import compiled, compiled_meanwhile, triton_compiler

KERNELS = ROOT / "configs/workloads/kernels/triton"
TURNED = {"turned": 1, "kernel_h": 2, "kernel_w": 2, "stride_h": 2, "stride_w": 2, "pad_h": 0, "pad_w": 0}
IMAGE = {"h": 5, "w": 7, "out_h": 5, "out_w": 7, "c": 20}
SMALL: dict[str, list[dict[str, int | str]]] = {
    "batch_norm": [{"channels": 20, "pixels": 49}],
    "cells": [
        {"batch": 3, "hidden": 50},
        {"batch": 3, "gates": 3, "mode": 3, "type": "bfloat16"},
        {"batch": 3, "gates": 1, "mode": 1, "type": "float"},
    ],
    "convolution": [
        {**IMAGE, "k": 24, "type": "bfloat16"},
        {**IMAGE, **TURNED, "k": 8, "out_h": 10, "out_w": 14, "type": "float"},
    ],
    "convolution_direct": [{**IMAGE, "k": 20, "groups": 10, "dilation_h": 2, "pad_h": 2}],
    "decode_attention": [{"batch": 2, "heads": 2, "capacity": 96, "type": "bfloat16"}],
    "embedding": [{"tokens": 3, "words": 9, "columns": 48, "block": 32}],
    "flash_attention": [
        {"sequence": 80},
        {"sequence": 64, "head": 128, "group": 2, "causal": 0, "warps": 8, "type": "float"},
    ],
    "gelu": [{"n": 1040}],
    "group_norm": [{"rows": 4, "groups": 2, "width": 294, "pixels": 49}],
    "histogram": [{"n": 1040}],
    "layer_norm": [{"rows": 2, "columns": 80, "block": 64}],
    "masked": [{"n": 1100, "operator": 0}, {"n": 80, "operator": 5, "type": "bfloat16"}],
    "pointwise": [
        {"n": 1040, "operator": 10},
        {"n": 80, "operator": 4, "type": "bfloat16"},
        {"n": 1100, "operator": 26},
        {"n": 80, "operator": 34, "type": "float"},
    ],
    "pooling": [
        {"c": 3},
        {"c": 3, "average": 1, "kernel_h": 3, "kernel_w": 3, "pad_h": 1, "pad_w": 1, "type": "bfloat16"},
    ],
    "product": [
        {"m": 40, "n": 48, "k": 80, "type": "bfloat16"},
        {"m": 64, "n": 64, "k": 32, "type": "float"},
    ],
    "product_split": [{"m": 33, "n": 48, "k": 112, "split": 2}],
    "reduction": [{"rows": 64, "width": 20, "inner": 8, "mode": 2}, {"rows": 6, "width": 300, "mode": 1}],
    "resize": [{"planes": 2}, {"planes": 2, "linear": 0, "out_h": 20, "type": "bfloat16"}],
    "rms_norm": [{"rows": 2, "columns": 80, "block": 64, "type": "bfloat16"}],
    "row_attention": [{"sequence": 35, "causal": 0}, {"sequence": 20, "group": 2, "type": "float"}],
    "rotary": [{"positions": 2, "heads": 2}],
    "softmax": [{"rows": 2, "columns": 80, "block": 32}],
    "swiglu": [{"n": 1040}],
    "vector_add": [{"n": 1040}],
}
"""Shipped workloads, and small layers of each; sizes that no tile divides where the kernel allows it."""


def program(name: str, gfx: str = "gfx942", **layer: int | str) -> OwnProgram:
    workload = load_workload(f"triton_{name}", ROOT)
    assert isinstance(workload, KernelsWorkload)
    errors: list[ConfigError] = []
    work = workload.work(layer, errors.append)
    assert work is not None, errors
    return work.program(4, gfx)


def test_all_are_tested() -> None:
    found = {path.stem for path in (ROOT / "configs/workloads").glob("triton_*.yaml")}
    assert found == {f"triton_{name}" for name in SMALL}


@pytest.mark.parametrize(
    ("name", "layer"), [(name, layer) for name, layers in SMALL.items() for layer in layers]
)
def test_a_kernel_computes_what_its_reference_says(name: str, layer: dict[str, int | str]) -> None:
    """As the instructions' manual has it, within the tolerance that a run on gem5 is allowed."""
    try:
        triton_compiler()
    except ApuflowError:
        needs.TRITON.skip()
    gfx = "gfx90a" if layer.get("type") == "float" else "gfx942"
    given = program(name, gfx, **layer)
    codes = {code: compiled(str(code.source), code.arguments, gfx, ROOT) for code in given.codes}
    try:
        kernels = {code: read_kernels(path) for code, path in codes.items()}
        for (kernel,) in kernels.values():
            assert kernel.private_bytes == 0 and kernel.vector_registers <= 256
        _, errors = interpret_program(given, kernels, codes, gfx)
    finally:
        for path in codes.values():
            shutil.rmtree(path.parent)
    assert all(error <= tolerance(given, given.output(output)) for output, error in errors.items())


def test_sizes_are_promised_where_they_are_multiples_of_16() -> None:
    """As Triton's own launcher specialises arguments."""
    for size, promised in ((1040, '"divisible_by_16":["n","x","y"]'), (1041, '"divisible_by_16":["x","y"]')):
        (code,) = program("gelu", n=size).codes
        assert promised in code.arguments


@pytest.mark.parametrize(("name", "kind"), [("rotary", "half"), ("product", "half"), ("gelu", "float")])
def test_as_many_instructions_run_as_on_gem5(name: str, kind: str) -> None:
    """Those of recorded runs of gem5 v24.1; the code is the one that is made for this gem5."""
    try:
        triton_compiler()
    except ApuflowError:
        needs.TRITON.skip()
    rows = pd.read_csv(DATA / "triton_gem5.csv").query("layer.isna() and gfx_version == 'gfx942'")
    gem5 = rows[(rows["workload"] == f"triton_{name}") & (rows["type"] == kind)].iloc[0]
    given, defects = program(name, type=kind), load_release("v24.1", ROOT).instruction_defects("gfx942")
    (code,) = given.codes
    with compiled_meanwhile(code.source, code.arguments, "gfx942", ROOT, defects) as path:
        done, errors = interpret_program(given, {code: read_kernels(path)}, {code: path}, "gfx942")
    assert sum(each.total for each in done.executed) == gem5["instructions"]
    assert max(errors.values()) < 1e-3 and gem5["max_relative_error"] < 2e-3


def test_l1_tlb_misses_of_a_product_are_near_gem5_s(root: Path) -> None:
    """gem5 v24.1: 289,108 and 190,278. A step of 64x64 tiles touches 80 pages, the TLB has 32 entries."""
    try:
        triton_compiler()
    except ApuflowError:
        needs.TRITON.skip()
    sizes = {"m": 128, "k": 4096, "n": 1024, "type": "half"}
    units = {"num-compute-units": [4, 16]}
    found = apuflow.evaluate(
        "triton_product", units, sizes, machine="mi300x-like", release="v24.1", root=root
    )
    assert found["l1_tlb_misses"].tolist() == pytest.approx([289_108, 190_278], rel=0.3)


def reference(name: str, **parameters: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a reference puts into the buffers, and what it expects of them."""
    made = runpy.run_path(str(KERNELS / f"{name}_reference.py"))
    before = made["contents"](parameters)
    return before, made["expected"]({key: np.ravel(value) for key, value in before.items()}, parameters)


def attended(q: Any, k: Any, v: Any) -> Any:
    """Attention of one query, summed key by key."""
    weights = [math.exp(float(q @ each) / math.sqrt(len(q))) for each in k]
    return sum(weight * each for weight, each in zip(weights, v, strict=True)) / sum(weights)


@pytest.mark.parametrize("causal", [0, 1])
def test_flash_attention_of_single_queries(causal: int) -> None:
    """Head 3 of four reads the keys of head 1 of two."""
    before, after = reference("flash_attention", heads=4, group=2, sequence=7, head=8, causal=causal)
    for position in (0, 4, 6):
        seen = position + 1 if causal else 7
        wanted = attended(before["q"][3, position], before["k"][1, :seen], before["v"][1, :seen])
        np.testing.assert_allclose(after["o"][3, position], wanted)


def test_decode_attention_of_single_queries() -> None:
    before, after = reference("decode_attention", batch=2, heads=4, group=2, capacity=10, head=8)
    assert before["length"].tolist() == [10, 5]
    for sequence, seen in enumerate((10, 5)):
        k, v = before["k"][sequence, 1, :seen], before["v"][sequence, 1, :seen]
        np.testing.assert_allclose(after["o"][sequence, 2], attended(before["q"][sequence, 2], k, v))


def test_rotary_keeps_lengths_and_leaves_position_0() -> None:
    """And the product of two vectors depends on the distance of their positions alone (the paper's 3.2)."""
    before, after = reference("rotary", positions=5, heads=2, half=4)
    y = np.asarray(after["y"]).reshape(5, 2, 8)
    np.testing.assert_allclose(y[0], before["x"][0])
    np.testing.assert_allclose((y * y).sum(2), (before["x"] ** 2).sum(2))
    assert before["cosine"][3, 0] == pytest.approx(math.cos(3)) and before["sine"][3, 2] == pytest.approx(
        math.sin(0.03)
    )


def test_norms_and_activations() -> None:
    before, after = reference("layer_norm", rows=3, columns=50)
    plain = (after["y"] - before["bias"]) / before["weight"]
    np.testing.assert_allclose(plain.mean(1), 0, atol=1e-12)
    np.testing.assert_allclose(plain.std(1), 1, rtol=1e-4)
    before, after = reference("rms_norm", rows=3, columns=50)
    np.testing.assert_allclose(((after["y"] / before["weight"]) ** 2).mean(1), 1, rtol=1e-4)
    gelu = runpy.run_path(str(KERNELS / "gelu_reference.py"))["expected"]
    values = gelu({"x": np.array([1.0, -1.0])}, {})["y"]  # the normal distribution's 84.13447 %
    np.testing.assert_allclose(values, [0.8413447461, 0.8413447461 - 1], atol=3e-4)
    before, after = reference("swiglu", n=5)
    first = float(before["gate"][0])
    assert after["y"][0] == pytest.approx(first / (1 + math.exp(-first)) * before["up"][0])
    _, after = reference("softmax", rows=3, columns=20)
    np.testing.assert_allclose(after["y"].sum(1), 1)


def parameters_of(name: str, **given: int) -> dict[str, int]:
    workload = load_workload(f"triton_{name}", ROOT)
    assert isinstance(workload, KernelsWorkload)
    usual = {key: value for key, value in workload.spec.parameters.items() if isinstance(value, int)}
    return {**usual, **given}


@pytest.mark.parametrize(
    ("name", "given", "layer"),
    [
        (
            "convolution",
            {"groups": 2, "d": 3, "out_d": 3, "kernel_d": 3, "pad_d": 1, "dilation_h": 2, "out_h": 14},
            lambda f, x, w: f.conv3d(
                x.reshape(1, 16, 3, 16, 16), w.reshape(32, 8, 3, 3, 3), None, 1, 1, (1, 2, 1), 2
            ),
        ),
        (
            "convolution",
            {
                "c": 16,
                "k": 8,
                "groups": 2,
                "turned": 1,
                "stride_h": 2,
                "stride_w": 2,
                "out_h": 31,
                "out_w": 31,
            },
            lambda f, x, w: f.conv_transpose2d(
                x.reshape(1, 16, 16, 16), w.reshape(16, 4, 3, 3), None, 2, 1, 0, 2
            ),
        ),
        ("pooling", {}, lambda f, x: f.max_pool2d(x.reshape(1, 32, 16, 16), 2)),
        (
            "pooling",
            {"average": 1, "kernel_h": 3, "kernel_w": 3, "pad_h": 1, "pad_w": 1},
            lambda f, x: f.avg_pool2d(x.reshape(1, 32, 16, 16), 3, 2, 1, count_include_pad=False),
        ),
        ("resize", {}, lambda f, x: f.interpolate(x[None], scale_factor=2, mode="bilinear")),
        ("resize", {"linear": 0, "out_h": 40, "out_w": 23}, lambda f, x: f.interpolate(x[None], (40, 23))),
        (
            "group_norm",
            {},
            lambda f, x, w, b: f.group_norm(x.reshape(1, 32, 16, 16), 8, w.ravel(), b.ravel()),
        ),
        ("batch_norm", {}, lambda f, x, m, v, w, b: f.batch_norm(x.reshape(1, 64, 256), m, v, w, b)),
        ("reduction", {"inner": 4, "mode": 1}, lambda _, x: x.reshape(16, 512, 4).mean(1)),
        ("reduction", {"inner": 4, "mode": 2}, lambda _, x: x.reshape(16, 512, 4).amax(1)),
    ],
)
def test_layers_of_images_are_those_of_torch(name: str, given: dict[str, int], layer: Any) -> None:
    torch = pytest.importorskip("torch", reason=needs.NETWORKS.reason)
    before, after = reference(name, **parameters_of(name, **given))
    wanted = layer(torch.nn.functional, *(torch.from_numpy(np.asarray(each)) for each in before.values()))
    np.testing.assert_allclose(np.ravel(after["y"]), np.ravel(wanted.numpy()), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("cell", "gates", "mode"), [("LSTMCell", 4, 4), ("GRUCell", 3, 3), ("RNNCell", 1, 0)]
)
def test_cells_are_those_of_torch(cell: str, gates: int, mode: int) -> None:
    """The products are taken out by weights of the unit matrix: a is the input's, b is the state's bias."""
    torch = pytest.importorskip("torch", reason=needs.NETWORKS.reason)
    before, after = reference("cells", batch=1, hidden=6, gates=gates, mode=mode)
    a, b, state = (torch.from_numpy(np.asarray(each)).reshape(1, -1) for each in before.values())
    made = getattr(torch.nn, cell)(gates * 6, 6, dtype=torch.float64)
    with torch.no_grad():
        made.weight_ih.copy_(torch.eye(gates * 6))
        made.weight_hh.zero_()
        made.bias_ih.zero_()
        made.bias_hh.copy_(b[0])
        found = made(a, (torch.zeros_like(state), state) if mode == 4 else state)
    for name, value in zip(("y", "memory"), found if mode == 4 else [found], strict=False):
        np.testing.assert_allclose(np.ravel(after[name]), np.ravel(value.numpy()), rtol=1e-9)
