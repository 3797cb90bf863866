"""Networks of operators: their totals against torch's own counts, what runs them, and what is refused."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import needs
import pytest
from places import ROOT

from apuflow.ask.question import described, question
from apuflow.configure.suite import choice_of, load_suite
from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar
from apuflow.plan.points import members
from apuflow.suites.operator_kernels import runs
from apuflow.suites.operator_network import CacheMemory, read_operators
from apuflow.suites.spec import Refused, Spec
from apuflow.suites.step import Choice
from apuflow.suites.suite import Suite

PUBLISHED = {  # learnt values: Hugging Face's and torchvision's pages of the models
    "bert_base": 109_482_240,
    "gpt2": 124_439_808,
    "vit_b_16": 86_567_656,
    "llama3_8b": 8_030_261_248,
    "qwen3_8b": 8_190_735_360,
    "qwen3_30b_a3b": 30_532_122_624,
}


def suite(name: str) -> Suite:
    return load_suite(name, ROOT)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_network_has_as_many_learnt_values_as_published(name: str) -> None:
    network = suite(name).operators
    assert network is not None and network.params == PUBLISHED[name]


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_network_has_the_values_and_operations_that_torch_counts(name: str) -> None:
    """Two layers, two sequences of 32 tokens, on the meta device; a step of decoding with 48 cached, too."""
    torch = pytest.importorskip("torch", reason=needs.NETWORKS.reason)
    from torch.utils.flop_counter import FlopCounterMode
    from transformer_models import MODELS

    found = suite(name)
    image = name == "vit_b_16"
    sizes = {"n": 2, "layers": 2} if image else {"n": 2, "layers": 2, "sequence": 32}
    with torch.device("meta"), torch.no_grad():
        model = MODELS[name](2).eval()
        given = [torch.zeros(2, 3, 224, 224) if image else torch.zeros(2, 32, dtype=torch.int64)]
        cases = [(choice_of(sizes), given)]
        if name in ("llama3_8b", "qwen3_8b"):
            cache = torch.zeros(2, 8, 48, 128)
            cases.append(
                (choice_of({**sizes, "sequence": 1, "cached": 48}), [given[0][:, :1], (cache, cache)])
            )
        for choice, inputs in cases:
            with FlopCounterMode(display=False) as counted:
                model(*inputs)
            assert sum(step.flop for step in found.steps(choice)) == counted.get_total_flops()
    every = found.operators.operators(cases[0][0]) if found.operators else ()
    assert sum(p.numel() for p in model.parameters()) == sum(each.repeats * each.params for each in every)


def specs(name: str, gfx: str = "", **layer: Scalar) -> dict[str, Spec | Refused]:
    choice = replace(choice_of(layer), gfx=gfx)
    return {step.name: spec for step, spec in suite(name).specified(choice)}


def test_the_gpu_decides_which_kernels_run() -> None:
    """Scores of 12 heads are 128 x 128; rocBLAS' matrices are column major."""
    libraries = specs("bert_base", gfx="gfx902")
    assert [
        spec.text
        for name, spec in libraries.items()
        if isinstance(spec, Spec) and name.startswith("attention.")
    ] == [
        "gemm fwd m=128 n=128 k=64 transpose_a=true batch=12",
        "Softmax fwd n=1536 c=128 h=1 w=1",
        "gemm fwd m=64 n=128 k=128 batch=12",
    ]
    fused = specs("bert_base", gfx="gfx942", type="half")["attention"]
    assert isinstance(fused, Spec) and fused.of_workload
    assert (fused.kind, dict(fused.keys)) == (
        "triton_flash_attention",
        {"heads": 12, "group": 1, "sequence": 128, "head": 64, "causal": 0, "type": "half"},
    )
    parts = specs("bert_base", gfx="gfx942", type="half", attention="parts")
    assert [
        spec.kind for name, spec in parts.items() if isinstance(spec, Spec) and name.startswith("attention.")
    ] == [
        "triton_product",
        "triton_softmax",
        "triton_product",
    ]


def test_a_step_of_decoding_attends_to_the_cache() -> None:
    """1,025 keys in a cache of whole 16s; sequences share the kernel as further heads do."""
    found = specs("llama3_8b", n=2, sequence=1, cached=1024, gfx="gfx90a")["attention"]
    assert isinstance(found, Spec) and found.kind == "triton_decode_attention"
    keys = dict(found.keys)
    assert (keys["batch"], keys["heads"], keys["group"], keys["capacity"]) == (1, 64, 4, 1040)


def test_a_kernel_of_ones_own_takes_the_place_of_the_shipped_one() -> None:
    found = specs("llama3_8b", "gfx942", **{"kernels.attention": "my_flash"})
    assert isinstance(found["attention"], Spec) and found["attention"].kind == "my_flash"
    assert [name for name, spec in found.items() if isinstance(spec, Spec) and spec.kind == "my_flash"] == [
        "attention"
    ]


def test_points_of_kernels_are_operations_of_the_sweep() -> None:
    """Both engines of a sweep name them by their sizes; each knows the workload that describes it."""
    settings = ["gfx-version=gfx942", "release=v24.1", "layers=1", "sequence=32", "type=half", "op=attention"]
    key = "kernels.attention=triton_flash_attention,own_square"
    [member] = members(question(described("llama3_8b", settings, ROOT), ROOT), ROOT)
    [point] = member.points
    assert (point.workload, point.kind, point.described_by) == (
        "operations",
        "kernels",
        "triton_flash_attention",
    )
    assert point.label.startswith("triton_flash_attention_group4_head128_heads32_sequence32_")
    with pytest.raises(ConfigError, match="own_square lacks some"):
        members(question(described("llama3_8b", [*settings, key], ROOT), ROOT), ROOT)


def test_devices_of_tensor_parallelism_share_heads_and_products() -> None:
    """Two devices: half of the products, and two all-reduces a layer, of n x sequence x width values."""
    found, two = suite("llama3_8b"), choice_of({"tensor_parallel": 2})
    one = found.operators
    assert one is not None
    whole = {each.name: each for each in one.operators(Choice())}
    half = {each.name: each for each in one.operators(two)}
    for name in ("query", "key", "gate", "down", "attention"):
        assert 2 * half[name].multiply_adds == whole[name].multiply_adds
    assert half["attention_reduce"].sizes["elements"] == 128 * 4096
    assert "attention_reduce" not in whole
    reduced = [step for step in one.steps(two) if step.op == "all_reduce"]
    assert [(step.shape["elements"], step.repeats) for step in reduced] == [(128 * 4096 // 2, 32)] * 2
    shared, alone = found.memory(two), found.memory(Choice())
    assert isinstance(shared, CacheMemory) and isinstance(alone, CacheMemory)
    assert 2 * shared.cache == alone.cache == 2 * 2 * 128 * 8 * 128 * 32


@pytest.mark.parametrize(
    ("layer", "gfx", "words"),
    [
        ({}, "gfx902", "gfx902 compute in fp32"),
        ({"tensor_parallel": 3}, "", "32 heads cannot be shared by 3"),
        ({"direction": "bwd"}, "", "the forward pass alone"),
        ({"image": 64}, "", "no images"),
    ],
)
def test_what_a_network_or_gpu_cannot_do_is_refused(
    layer: dict[str, int | str], gfx: str, words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        specs("llama3_8b", gfx=gfx, **layer)


def test_sizes_that_a_table_does_not_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="no open size cached"):
        specs("vit_b_16", cached=8)
    with pytest.raises(ConfigError, match="no network of operators"):
        specs("resnet18", sequence=8)


def test_what_no_kernel_runs_is_named() -> None:
    """Triton's softmax, not the libraries', takes rows of any width; nobody has a cosine integral."""
    [run] = runs("cosint", {"elements": 64}, "half", "gfx90a", {})
    assert run.why == "no kernel here computes cosint in half on gfx90a"
    [volume] = runs("conv3d", VOLUME, "float", "gfx902", {})
    assert volume.why == "no kernel here computes conv3d in float on gfx902"


VOLUME = {
    "n": 1,
    "c": 3,
    "d": 8,
    "h": 16,
    "w": 16,
    "num_output": 8,
    "kernel_d": 3,
    "kernel_h": 3,
    "kernel_w": 3,
}


@pytest.mark.parametrize(
    ("op", "sizes", "kernels", "multiply_adds"),
    [  # outputs by hand: 6 x 14 x 14 without padding; 8 x 8 with a stride of 2 and a border of 1
        ("conv3d", VOLUME, {"triton_convolution": 1}, 8 * 6 * 14 * 14 * 3 * 27),
        (
            "conv",
            {"n": 2, "c": 16, "h": 16, "w": 16, "num_output": 32, "kernel_h": 3, "kernel_w": 3}
            | {"pad_h": 1, "pad_w": 1, "stride_h": 2, "stride_w": 2},
            {"triton_convolution": 1},
            2 * 32 * 8 * 8 * 16 * 9,
        ),
        (
            "conv",
            {"n": 1, "c": 32, "h": 8, "w": 8, "num_output": 32, "kernel_h": 1, "kernel_w": 1, "groups": 32},
            {"triton_convolution_direct": 1},
            32 * 64,
        ),
        (
            "lstm",
            {"hidden": 64, "batch": 4, "steps": 10, "input": 32},
            {"triton_product": 11, "triton_cells": 10},
            4 * 10 * 4 * 64 * (64 + 32),
        ),
        (
            "avgpool",
            {"n": 1, "c": 8, "h": 7, "w": 7, "kernel_h": 7, "kernel_w": 7, "out_h": 1, "out_w": 1},
            {"triton_reduction": 1},
            0,
        ),
        ("add", {"elements": 1008}, {"triton_vector_add": 1}, 0),
        ("add", {"elements": 1001}, {"triton_pointwise": 1}, 0),
        ("reduce", {"rows": 256, "width": 4, "inner": 64}, {"triton_reduction": 1}, 0),
        ("groupnorm", {"rows": 4, "width": 64}, {"triton_group_norm": 1}, 0),
    ],
)
def test_convolutions_and_cells_run_in_triton(
    op: str, sizes: dict[str, int], kernels: dict[str, int], multiply_adds: int
) -> None:
    found: Counter[str] = Counter()
    for run in runs(op, sizes, "half", "gfx942", {}):
        found[run.workload] += run.repeats
    assert found == kernels
    assert sum(run.macs for run in runs(op, sizes, "half", "gfx942", {})) == multiply_adds


def test_steps_are_run_or_left_out_by_name() -> None:
    """A block without its ends: their weights are not in its memory either."""
    one = suite("llama3_8b")
    block = choice_of({"layers": 1, "steps": "-embedding -norm -head"})
    names = [step.name for step in one.steps(block)]
    assert names[0] == "attention_norm" and names[-1] == "ffn_add"
    assert [step.name for step in one.steps(choice_of({"steps": "ffn_* -ffn_add"}))] == ["ffn_norm"]
    parts = choice_of({"steps": "attention", "attention": "parts"})
    assert {step.name for step in one.steps(parts)} == {
        *("attention.scores", "attention.mask", "attention.softmax", "attention.values")
    }
    whole, memory = one.memory(choice_of({"layers": 1})), one.memory(block)
    assert isinstance(whole, CacheMemory) and isinstance(memory, CacheMemory)
    assert whole.weights - memory.weights == 2 * (2 * 128_256 * 4096 + 4096)
    for wrong, words in (("heads", "no step of this name"), ("head -head", "no other steps")):
        with pytest.raises(ConfigError, match=words):
            one.steps(choice_of({"steps": wrong}))


def test_a_mistake_in_a_table_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    for row, words in (
        ("a,product,m=n n=4,,,,", "lacks the size k"),
        ("a,gelu,elements=x*2,,,,", "unknown name x"),
    ):
        file.write_text(f"name,op,sizes,repeats,params,cache,type\n{row}\n")
        with pytest.raises(ConfigError, match=words) as refused:
            list(read_operators(file, {"n": 1}).operators(Choice()))
        assert str(refused.value.file).endswith("t.csv:2")
