"""Models of one's own: a graph with ONNX' operators becomes the table of a network."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from places import ROOT

from apuflow.configure.suite import load_suite
from apuflow.core.errors import ConfigError
from apuflow.suites.exported import read_torch
from apuflow.suites.graph import imported
from apuflow.suites.models import Dims, Graph, Node
from apuflow.suites.network import read_network
from apuflow.suites.onnx_file import read_onnx
from apuflow.workloads.network import add_network


def alexnet() -> Graph:
    """AlexNet as torchvision exports it: five convolutions, three poolings, three fully connected layers."""
    nodes: list[Node] = []
    shapes: dict[str, tuple[int, ...]] = {"image": (1, 3, 224, 224)}
    weights: set[str] = set()
    last = "image"

    def add(op: str, out: Dims, learnt: tuple[Dims, ...] = (), **attributes: object) -> None:
        nonlocal last
        name = f"{op}{len(nodes)}"
        given = [f"{name}.w{number}" for number, _ in enumerate(learnt)]
        weights.update(given)
        shapes.update(zip(given, learnt, strict=True))
        nodes.append(Node(op, f"/{name}", (last, *given), (name,), attributes))
        shapes[name] = out
        last = name

    def convolution(c: int, k: int, side: int, out: int, stride: int, pad: int) -> None:
        attributes = {"strides": (stride, stride), "pads": (pad,) * 4, "dilations": (1, 1), "group": 1}
        add("Conv", (1, k, out, out), ((k, c, side, side), (k,)), **attributes)
        add("Relu", (1, k, out, out))

    def pool(k: int, out: int) -> None:
        add("MaxPool", (1, k, out, out), kernel_shape=(3, 3), strides=(2, 2), pads=(0,) * 4, ceil_mode=0)

    convolution(3, 64, 11, 55, 4, 2)
    pool(64, 27)
    convolution(64, 192, 5, 27, 1, 2)
    pool(192, 13)
    convolution(192, 384, 3, 13, 1, 1)
    convolution(384, 256, 3, 13, 1, 1)
    convolution(256, 256, 3, 13, 1, 1)
    pool(256, 6)
    add("Flatten", (1, 9216))
    for features, outputs in ((9216, 4096), (4096, 4096), (4096, 1000)):
        add("Gemm", (1, outputs), ((outputs, features), (outputs,)))
        if outputs == 4096:
            add("Relu", (1, outputs))
    return Graph("alexnet.onnx", nodes, shapes, frozenset(weights), frozenset({"image"}))


def test_alexnet_has_torchvisions_totals_and_layers(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(imported(alexnet()).text)
    found, known = read_network(file), read_network(ROOT / "configs/networks/alexnet_owt.csv")
    assert (found.params, found.macs) == (61_100_840, 714_188_480)
    known_layers = [layer for layer in known.layers if layer.op != "dropout"]
    assert [layer.op for layer in found.layers] == [layer.op for layer in known_layers]
    for mine, theirs in zip(found.layers, known_layers, strict=True):
        assert (mine.weights, mine.params) == (theirs.weights, theirs.params)
        assert (mine.kernel, mine.stride, mine.pad) == (theirs.kernel, theirs.stride, theirs.pad)
    assert found.layers[0].reads_images
    assert not found.layers[1].reads_images


def test_what_a_table_cannot_hold_is_named_at_once() -> None:
    graph = alexnet()
    odd = [Node("NonZero", "n1", ("Conv0",), ("x",)), Node("Loop", "n2", ("Conv0",), ("y",))]
    uneven = Node("Conv", "n3", ("image", "Conv0.w0"), ("Conv0",), {"pads": (0, 0, 1, 1)})
    with pytest.raises(ConfigError) as refused:
        imported(Graph("a.onnx", [*odd, uneven], graph.shapes, graph.weights, graph.images))
    assert "3 operators" in str(refused.value)
    for words in ("NonZero (n1)", "Loop (n2)", "padding differs"):
        assert words in str(refused.value)


def test_residual_sums_and_joined_channels_name_what_they_read(tmp_path: Path) -> None:
    shapes = {"x": (1, 8, 4, 4), "a": (1, 8, 4, 4), "b": (1, 8, 4, 4), "c": (1, 16, 4, 4)}
    nodes = [
        Node("Relu", "r", ("x",), ("a",)),
        Node("Add", "s", ("a", "x"), ("b",)),
        Node("Concat", "j", ("a", "b"), ("c",), {"axis": 1}),
    ]
    file = tmp_path / "t.csv"
    file.write_text(imported(Graph("t", nodes, shapes, frozenset(), frozenset({"x"}))).text)
    layers = read_network(file).layers
    assert [layer.inputs for layer in layers] == [("input",), ("r", "input"), ("r", "s")]
    assert layers[2].out_c == 16


def test_a_library_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("onnx", "torch"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigError, match=r"apuflow\[onnx\]"):
        read_onnx(tmp_path / "a.onnx")
    with pytest.raises(ConfigError, match=r"apuflow\[torch\]"):
        read_torch("a:b", "nx3")


def test_a_network_of_ones_own_is_a_suite(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apuflow.workloads.network.read_onnx", lambda file: alexnet())
    files, said = add_network("alexnet.onnx", "mine", "", 4, project)
    assert [file.name for file in files] == ["mine.csv", "mine.yaml"]
    assert "61,100,840 learnt values, 0.714 G" in said
    suite = load_suite("mine", project)
    assert suite.n == 4
    with pytest.raises(ConfigError, match="already"):
        add_network("alexnet.onnx", "mine", "", 4, project)
    with pytest.raises(ConfigError, match="not the name"):
        add_network("alexnet.onnx", "../mine", "", 4, project)
