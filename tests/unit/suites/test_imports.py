"""What importing a model reads and what it refuses: attributes, types of numbers, weights that are shared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import needs
import pytest
from module_files import module_file

from apuflow.core.errors import ConfigError
from apuflow.suites.exported import read_torch
from apuflow.suites.graph import imported
from apuflow.suites.models import Graph, Node
from apuflow.suites.network import Network, read_network
from apuflow.suites.onnx_file import read_onnx
from apuflow.suites.operator_rows import imported_operators

IMAGE = {"x": (1, 8, 9, 9), "y": (1, 8, 9, 9), "z": (1, 8, 9, 9), "w": (8, 8, 3, 3), "v": (8, 8, 2, 2)}
PADDED = {"pads": (1, 1, 1, 1)}


def graph(*nodes: Node, **shapes: tuple[int, ...]) -> Graph:
    """A graph of one input, x; w and v are weights."""
    return Graph("m.onnx", nodes, {**IMAGE, **shapes}, frozenset("wvb"), frozenset("x"))


def layers(tmp_path: Path, found: Graph) -> Network:
    file = tmp_path / "mine.csv"
    file.write_text(imported(found).text)
    return read_network(file)


@pytest.mark.parametrize(
    ("op", "inputs", "out", "attributes", "words"),
    [
        ("Conv", "xw", (1, 8, 9, 9), {**PADDED, "padding_mode": "circular"}, "circular padding"),
        ("Conv", "xv", (1, 8, 9, 9), {"auto_pad": "SAME_UPPER"}, "0,0 and 1,1"),
        ("Conv", "xw", (1, 8, 9, 9), {**PADDED, "dilations": (2, 1)}, r"dilations \(2, 1\)"),
        ("Conv", "xw", (1, 8, 9, 9), {**PADDED, "group": 2}, "2 groups"),
        ("Conv", "xw", (1, 8, 9, 9), {"pads": (2, 2, 2, 2)}, "output 9x9 does not follow"),
        ("Conv", "xy", (1, 8, 9, 9), PADDED, "computed by other layers"),
        ("ConvTranspose", "xv", (1, 4, 18, 18), {"strides": (2, 2), "group": 2}, "group 2"),
        ("ConvTranspose", "xv", (1, 8, 20, 20), {"strides": (2, 2)}, "does not follow"),
        ("MaxPool", "x", (1, 8, 5, 5), {"kernel_shape": (3, 3), "dilations": (2, 2)}, r"dilations \(2, 2\)"),
        ("MaxPool", "x", (1, 8, 7, 7), {"kernel_shape": (3, 3), "return_indices": 1}, "return_indices 1"),
        (
            "AveragePool",
            "x",
            (1, 8, 7, 7),
            {"kernel_shape": (3, 3), "divisor_override": 5},
            "divisor_override",
        ),
        ("AveragePool", "x", (1, 8, 7), {"kernel_shape": (3,)}, "1 dimension"),
        ("GlobalAveragePool", "x", (1, 8, 2, 2), {}, "9 pixels to 2"),
        ("ReduceMean", "x", (1, 1, 9, 9), {"axes": (1,)}, "something else than the pixels"),
        ("Clip", "x", (1, 8, 9, 9), {"min": -1.0, "max": 1.0}, "clips to -1.0 and 1.0"),
        ("Softmax", "x", (1, 8, 9, 9), {"axis": 2}, "over dimension 2"),
        ("Add", "xw", (1, 8, 9, 9), {}, "not a sum of two tensors"),
        ("Add", "xx", (1, 8, 9, 9), {}, "one tensor twice"),
        ("Concat", "xw", (1, 16, 9, 9), {"axis": 1}, "no layer makes"),
        ("Relu", "x", (9, 8, 9, 1), {}, "9x8x9x1 for 1 image"),
        ("BatchNormalization", "xbb", (1, 8, 9, 9), {"spatial": 0}, "spatial 0"),
    ],
)
def test_what_a_row_would_lose_is_refused_by_name(
    op: str, inputs: str, out: tuple[int, ...], attributes: dict[str, Any], words: str
) -> None:
    node = Node(op, "n", tuple(inputs), ("o",), attributes)
    with pytest.raises(ConfigError, match=words):
        imported(graph(node, o=out, b=(8,)))


def test_padding_same_is_that_of_its_window(tmp_path: Path) -> None:
    """9 pixels, 3x3: one on each side; at stride 2 five outputs read 11, one more on each side, too."""
    same = Node("Conv", "a", ("x", "w"), ("y",), {"auto_pad": "SAME_UPPER"})
    half = Node("Conv", "b", ("y", "w"), ("h",), {"auto_pad": "SAME_LOWER", "strides": (2, 2)})
    found = layers(tmp_path, graph(same, half, h=(1, 8, 5, 5)))
    assert [layer.pad for layer in found.layers] == [(1, 1), (1, 1)]


def test_weights_of_a_layer_that_runs_twice_count_once_and_its_work_twice(tmp_path: Path) -> None:
    """8 x 8 x 3 x 3 weights; 9 x 9 outputs each time. One update of the weights."""
    once = Node("Conv", "a", ("x", "w"), ("y",), PADDED)
    again = Node("Conv", "a2", ("y", "w"), ("z",), PADDED)
    found = layers(tmp_path, graph(once, again))
    assert (found.params, found.macs) == (8 * 8 * 9, 2 * 8 * 8 * 9 * 81)
    assert [layer.shares for layer in found.layers] == ["", "a"]


def test_a_table_that_shares_weights_which_no_layer_has_is_refused(tmp_path: Path) -> None:
    again = Node("Conv", "b", ("y", "w"), ("z",), PADDED)
    text = imported(graph(Node("Conv", "a", ("x", "w"), ("y",), PADDED), again)).text
    file = tmp_path / "t.csv"
    file.write_text(text.replace(",a\n", ",c\n"))
    with pytest.raises(ConfigError, match="no layer before this one has weights of this shape"):
        read_network(file)


def test_all_operators_without_a_row_are_named_and_counted() -> None:
    """166 of them, as a transformer has."""
    nodes = [Node("Erf", f"erf{number}", ("x",), ("y",)) for number in range(165)]
    with pytest.raises(ConfigError) as refused:
        imported(graph(*nodes, Node("Loop", "l", ("x",), ("y",))))
    said = str(refused.value)
    assert "166 operators" in said
    assert "165 x Erf (erf0, " in said
    assert all(f"erf{number}" in said for number in range(165))
    assert "Loop (l)" in said


def test_what_a_row_does_not_hold_is_said_beside_it() -> None:
    pool = {"kernel_shape": (3, 3), "pads": (1, 1, 1, 1), "count_include_pad": 1}
    found = imported(
        graph(Node("AveragePool", "p", ("x",), ("y",), pool), Node("Dropout", "d", ("y",), ("z",)))
    )
    assert ["count_include_pad" in found.left_out[0], found.left_out[1]] == [True, "Dropout."]


SOURCE = """
import torch
from torch import nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

class Of(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function, self.layer = function, nn.Linear(16, 16)
    def forward(self, x): return self.function(self.layer(x))

def conv(*args, **keys): return nn.Conv2d(*args, **keys)
def plain(): return Net(conv(3, 8, 3, padding="same"), conv(8, 8, 3, padding="valid", bias=False), nn.ReLU())
def half(): return plain().half()
def branch(): return Of(lambda x: x if x.sum() > 0 else -x)
def chosen(): return Of(lambda x: x[x > 0])
def spectrum(): return Of(lambda x: torch.fft.fft(x).real)
def cond(): return Of(lambda x: torch.cond(x.sum() > 0, lambda y: y + 1, lambda y: y - 1, (x,)))
sparse = Net(nn.Linear(16, 16))
sparse.layers[0].weight = nn.Parameter(torch.zeros(16, 16).to_sparse())
def mixed(): return Net(conv(3, 8, 3), conv(8, 8, 3).double())
def reflect(): return Net(conv(3, 8, 3, padding=1, padding_mode="reflect"))
def same_of_two(): return Net(conv(3, 8, 2, padding="same"))
def tied():
    first, second = conv(8, 8, 3, padding=1), conv(8, 8, 3, padding=1)
    second.weight, second.bias = first.weight, first.bias
    return Net(conv(3, 8, 1), first, second)
def twice():
    one = conv(8, 8, 3, padding=1)
    return Net(conv(3, 8, 1), one, one)
class Autocast(Net):
    def forward(self, x):
        with torch.autocast("cuda"):
            return super().forward(x)
def autocast(): return Autocast(conv(3, 8, 3))
def hooked():
    one = conv(3, 8, 3)
    one.register_forward_hook(lambda module, given, out: out * 2)
    return Net(one)
class Named(Net):
    def forward(self, x): return F.relu(input=self.layers[0](x))
def named(): return Named(conv(3, 8, 3))
class Layered(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.depth = conv(3, 8, 3, 2, 1), conv(8, 8, 3, padding=1, groups=8)
        self.norm, self.up = nn.LocalResponseNorm(5), nn.ConvTranspose2d(16, 4, 2, 2)
        self.act, self.drop, self.last = nn.ReLU6(inplace=True), nn.Dropout2d(), nn.Linear(4, 5)
    def forward(self, x):
        x = self.act(self.norm(self.first(x)))
        y = self.drop(self.depth(x))
        y += x
        x = F.avg_pool2d(self.up(torch.cat([x, y], 1)), 3, 2, 1)
        x = F.max_pool2d(x, kernel_size=3, stride=2, padding=1)
        return self.last(x.mean((2, 3))).softmax(1)
def layered(): return Layered()
class Learnt(Net):
    def __init__(self):
        super().__init__(conv(3, 8, 1))
        self.place = nn.Parameter(torch.zeros(1, 8, 16, 16))
    def forward(self, x): return self.layers[0](x) + self.place
class Filtered(Net):
    def forward(self, x):
        y = self.layers[0](x)
        return self.layers[1](y[y[:, 0, 0, 0] > 0])
def filtered(): return Filtered(conv(3, 8, 1), conv(8, 8, 1))
class MadeSparse(Net):
    def forward(self, x): return self.layers[0](x).to_sparse()
def made_sparse(): return MadeSparse(conv(3, 8, 1))
"""


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    return module_file(SOURCE, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mixed", "tensor of float64"),
        ("reflect", "reflect padding"),
        ("same_of_two", "padding differs"),
        ("autocast", "autocast"),
        ("hooked", "a hook"),
        ("branch", "values of tensors decide"),
        ("chosen", "depends on values of tensors"),
        ("spectrum", "tensor of complex64"),
        ("sparse", "tensor of sparse"),
        ("filtered", "depends on values of tensors"),
        ("made_sparse", "computes with sparse numbers"),
        ("cond", "cond"),
    ],
)
def test_a_module_that_a_table_cannot_hold_is_refused_by_name(models: str, name: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        imported_operators(read_torch(f"{models}:{name}", "nx3x16x16"))


def test_a_file_that_cannot_be_imported_is_named(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason=needs.NETWORKS.reason)
    (tmp_path / "broken_model.py").write_text("raise RuntimeError('operator nms does not exist')")
    with pytest.raises(ConfigError, match="RuntimeError: operator nms does not exist"):
        read_torch(f"{tmp_path / 'broken_model.py'}:Net", "nx3x16x16")


@pytest.mark.parametrize(
    ("name", "params", "macs"),
    [
        ("plain", 3 * 8 * 9 + 8 + 8 * 8 * 9, 3 * 8 * 9 * 256 + 8 * 8 * 9 * 196),
        ("tied", 3 * 8 + 8 + 8 * 8 * 9 + 8, (3 * 8 + 2 * 8 * 8 * 9) * 256),
        ("twice", 3 * 8 + 8 + 8 * 8 * 9 + 8, (3 * 8 + 2 * 8 * 8 * 9) * 256),
        ("named", 3 * 8 * 9 + 8, 3 * 8 * 9 * 196),
    ],
)
def test_a_module_has_the_values_and_work_of_its_layers(
    models: str, tmp_path: Path, name: str, params: int, macs: int
) -> None:
    found = layers(tmp_path, read_torch(f"{models}:{name}", "nx3x16x16"))
    assert (found.params, found.macs) == (params, macs)
    assert found.layers[-1].op == ("relu" if name in ("plain", "named") else "conv")


def test_functions_of_torch_are_layers_as_their_modules_are(models: str, tmp_path: Path) -> None:
    """By hand: 16 pixels, 8 by stride 2; pooled by 3 at stride 2 with padding, 4; a window is the image."""
    found = layers(tmp_path, read_torch(f"{models}:layered", "nx3x16x16"))
    assert [(layer.op, layer.out_c, layer.out_h) for layer in found.layers] == [
        *(("conv", 8, 8), ("lrn", 8, 8), ("relu6", 8, 8), ("conv", 8, 8), ("add", 8, 8), ("concat", 16, 8)),
        *(("deconv", 4, 16), ("avgpool", 4, 8), ("maxpool", 4, 4), ("avgpool", 4, 1), ("fc", 5, 1)),
        ("softmax", 5, 1),
    ]
    assert [layer.kernel for layer in found.layers[1:10]] == [
        *((5, 5), (1, 1), (3, 3), (1, 1), (1, 1), (2, 2), (3, 3), (3, 3), (4, 4))
    ]


@pytest.mark.parametrize("kind", ["DOUBLE", "INT8"])
def test_an_onnx_file_of_a_type_without_kernels_is_refused_by_name(tmp_path: Path, kind: str) -> None:
    onnx = pytest.importorskip("onnx", reason=needs.NETWORKS.reason)
    make, known = onnx.helper, getattr(onnx.TensorProto, kind)
    ends = [make.make_tensor_value_info(name, known, (1, 3, 8, 8)) for name in "xy"]
    model = make.make_model(make.make_graph([make.make_node("Relu", ["x"], ["y"])], "g", ends[:1], ends[1:]))
    file = tmp_path / "m.onnx"
    onnx.save(model, str(file))
    with pytest.raises(ConfigError, match=f"tensor of {kind}"):
        imported(read_onnx(file))
