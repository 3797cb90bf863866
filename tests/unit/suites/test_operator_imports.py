"""Models that become tables of operators: transformers and others, in their own type, with open sizes."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import needs
import pytest
from module_files import module_file

from apuflow.configure.suite import choice_of, load_suite
from apuflow.core.errors import ConfigError
from apuflow.suites.exported import read_torch
from apuflow.suites.onnx_file import read_onnx
from apuflow.suites.operator_rows import imported_operators
from apuflow.workloads.network import add_network

SOURCE = """
import torch
from torch import nn
import torch.nn.functional as F

class Mixed(nn.Module):
    "What convolutional and recurrent networks have beyond a table of layers."
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=(2, 1), dilation=(2, 1))
        self.norm, self.squeeze = nn.GroupNorm(4, 8), nn.Conv2d(8, 8, 1)
        self.line, self.lstm = nn.Conv1d(8, 8, 3, padding=1), nn.LSTM(64, 16, batch_first=True)
    def forward(self, x):
        x = F.silu(self.norm(self.conv(x)))
        x = x * torch.sigmoid(self.squeeze(x.mean((2, 3), keepdim=True)))
        x = F.interpolate(x, scale_factor=2)
        x = self.line(x.flatten(2)) / 2
        y, _ = self.lstm(x.reshape(x.shape[0], -1, 64))
        return y.amax(-1)

class Fixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(16, 16)
    def forward(self, x): return self.layer(x) * len(x)

class Odd(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(16, 16)
    def forward(self, x): return torch.cumsum(torch.cumsum(self.layer(x), 0), 1)
"""


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    return module_file(SOURCE, tmp_path, monkeypatch)


def table(text: str) -> list[tuple[str, str]]:
    return [(row["op"], row["sizes"]) for row in csv.DictReader(text.splitlines())]


@pytest.mark.parametrize(("name", "shape"), [("vit", "nx3x224x224"), ("block", "nxsequencex256")])
def test_a_transformer_has_the_work_that_torch_counts_at_any_size(
    project: Path, name: str, shape: str
) -> None:
    torch = pytest.importorskip("torch", reason=needs.NETWORKS.reason)
    import transformer_models
    from torch.utils.flop_counter import FlopCounterMode

    add_network(f"transformer_models:{name}", "mine", shape, 1, project)
    suite = load_suite("mine", project)
    sizes = {"n": 3} if name == "vit" else {"n": 3, "sequence": 48}
    with torch.device("meta"), torch.no_grad(), FlopCounterMode(display=False) as counted:
        model = getattr(transformer_models, name)().eval()
        given = (3, 3, 224, 224) if name == "vit" else (3, 48, 256)
        model(torch.zeros(given, dtype=next(model.parameters()).dtype))
    assert sum(step.flop for step in suite.steps(choice_of(sizes))) == counted.get_total_flops()
    assert suite.operators is not None
    assert suite.operators.params == sum(p.numel() for p in model.parameters())
    assert suite.type == ("float" if name == "vit" else "half")
    assert not [step for step in suite.steps(choice_of({})) if step.why]


def test_a_block_of_llama_has_its_operators() -> None:
    """Parts of a rotary embedding and of SwiGLU are one operator; 4 heads of queries share 2 of keys."""
    pytest.importorskip("torch", reason=needs.NETWORKS.reason)
    made = imported_operators(read_torch("transformer_models:block", "nxsequencex256"))
    rows = table(made.text)
    assert [op for op, _ in rows if op != "copy"] == [
        *("rmsnorm", "product", "product", "product", "rotary", "rotary", "attention", "product", "add"),
        *("rmsnorm", "product", "product", "swiglu", "product", "add"),
    ]
    assert ("rotary", "tokens=n*sequence heads=2 half=(64)//2") in rows
    attention = "batch=n heads=4 queries=sequence keys=sequence head=64 group=(4)//(2) causal=1"
    assert ("attention", attention) in rows


def test_operators_beyond_layers_have_rows(models: str) -> None:
    """By hand: 16 x 16 images keep their size; 32 x 32 pixels of 8 channels are 128 steps of 64."""
    rows = table(imported_operators(read_torch(f"{models}:Mixed", "nx3x16x16")).text)
    assert rows == [
        (
            "conv",
            "n=n c=3 h=16 w=16 num_output=8 kernel_h=3 kernel_w=3 pad_h=2 pad_w=1 dilation_h=2 dilation_w=1",
        ),
        ("groupnorm", "rows=4*n width=(2048)//(4) groups=4 pixels=256"),
        ("silu", "elements=2048*n"),
        (
            "avgpool",
            "n=n c=8 h=16 w=16 kernel_h=16 kernel_w=16 pad_h=0 pad_w=0 "
            "stride_h=16 stride_w=16 out_h=1 out_w=1",
        ),
        ("conv", "n=n c=8 h=1 w=1 num_output=8 kernel_h=1 kernel_w=1"),
        ("sigmoid", "elements=8*n"),
        ("mul", "elements=2048*n"),
        ("upsample_nearest", "n=n c=8 h=16 w=16 out_h=32 out_w=32"),
        ("conv", "n=n c=8 h=1 w=1024 num_output=8 kernel_h=1 kernel_w=3 pad_w=1"),
        ("div", "elements=8192*n"),
        ("lstm", "hidden=16 batch=n steps=128 input=64"),
        ("reduce", "rows=128*n width=(2048*n)//(128*n) mode=2"),
    ]


def test_what_is_not_known_is_named_and_can_be_left_out(models: str) -> None:
    graph = read_torch(f"{models}:Odd", "nx16")
    with pytest.raises(
        ConfigError, match="2 operators that are not known here, without multiply-adds"
    ) as said:
        imported_operators(graph)
    assert "2 x cumsum" in str(said.value) and "--partial" in str(said.value)
    made = imported_operators(graph, partial=True)
    assert table(made.text) == [("product", "m=n n=16 k=16 transposed=1")]
    assert any("2 x cumsum" in said for said in made.left_out)


def test_a_size_that_the_module_fixes_is_fixed(models: str) -> None:
    """``len`` makes a number of the batch: the table is that of one input."""
    graph = read_torch(f"{models}:Fixed", "nx16")
    assert not graph.names
    assert table(imported_operators(graph).text)[0] == ("product", "m=1 n=16 k=16 transposed=1")


def test_a_shape_that_is_none_is_refused() -> None:
    pytest.importorskip("torch", reason=needs.NETWORKS.reason)
    for shape in ("3x0", "nx-3", "a b", "nx3=4"):
        with pytest.raises(ConfigError, match="not a shape"):
            read_torch("transformer_models:block", shape)


def test_an_onnx_transformer_keeps_its_type_and_open_sizes(tmp_path: Path) -> None:
    """Words, a product with weights, scores of a batch, softmax, values, a normalisation, in fp16."""
    onnx = pytest.importorskip("onnx", reason=needs.NETWORKS.reason)
    make, half, whole = onnx.helper, onnx.TensorProto.FLOAT16, onnx.TensorProto.INT64

    def weight(name: str, *dims: int) -> Any:
        return make.make_tensor(
            name, half, dims, b"\0" * 2 * (dims[0] * dims[-1] if len(dims) > 1 else dims[0]), raw=True
        )

    nodes = [
        make.make_node("Gather", ["words", "tokens"], ["x"]),
        make.make_node("MatMul", ["x", "w"], ["q"]),
        make.make_node("Transpose", ["x"], ["t"], perm=[0, 2, 1]),
        make.make_node("MatMul", ["q", "t"], ["s"]),
        make.make_node("Softmax", ["s"], ["p"], axis=-1),
        make.make_node("MatMul", ["p", "x"], ["v"]),
        make.make_node("LayerNormalization", ["v", "g", "b"], ["y"], axis=-1),
    ]
    ends = [
        make.make_tensor_value_info("tokens", whole, ("batch", "length")),
        make.make_tensor_value_info("y", half, ("batch", "length", 16)),
    ]
    weights = [weight("words", 100, 16), weight("w", 16, 16), weight("g", 16), weight("b", 16)]
    model = make.make_model(make.make_graph(nodes, "g", ends[:1], ends[1:], weights))
    onnx.save(model, str(tmp_path / "m.onnx"))
    graph = read_onnx(tmp_path / "m.onnx")
    made = imported_operators(graph)
    assert made.type == "half" and dict(graph.names) == {"n": 1, "length": 128}
    assert table(made.text) == [
        ("embedding", "rows=100 width=16 tokens=n*length"),
        ("product", "m=n*length n=16 k=16"),
        ("product", "m=length n=length k=16 batch=n transposed=1"),
        ("softmax", "rows=n*length width=length"),
        ("product", "m=length n=16 k=length batch=n"),
        ("layernorm", "rows=n*length width=16"),
    ]
    assert sum(graph.learnt.values()) == 100 * 16 + 16 * 16 + 2 * 16
