"""From the graph of a model to a table of layers: what ONNX files and PyTorch modules have in common.

A graph is a list of nodes in the order of execution, with ONNX' names of operators and attributes, and the
shape of every tensor. Nodes that compute nothing (Reshape, Dropout in inference ...) hand on their input's
name. Source of the operators' meaning: ONNX operator schemas, opset 13 and later.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from apuflow.core.errors import ConfigError
from apuflow.core.words import many
from apuflow.suites.network import COLUMNS, IMAGES

Dims: TypeAlias = tuple[int, ...]
Cells: TypeAlias = dict[str, int | str]


@dataclass(frozen=True)
class Node:
    """One operator of a graph.

    Attributes:
        op: its ONNX name.
        inputs, outputs: names of tensors; a weight is a name that ``Graph.weights`` has.
        attributes: by ONNX name.
    """

    op: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Graph:
    """A model.

    Attributes:
        source: the file or module, for messages.
        nodes: in the order of execution.
        shapes: of tensors, by name.
        weights: names of learnt and constant tensors.
        images: names of the inputs.
    """

    source: str
    nodes: Sequence[Node]
    shapes: Mapping[str, Dims]
    weights: frozenset[str]
    images: frozenset[str]


def table(graph: Graph) -> str:
    """The table of a network's layers for one image, as the text of a CSV file.

    Raises:
        ConfigError: operators, shapes or paddings that a table of layers cannot hold; all of them at once.
    """
    rows: list[Cells] = []
    made_by = dict.fromkeys(graph.images, IMAGES)
    problems: list[str] = []
    for node in graph.nodes:
        read = [name for name in node.inputs if name and name not in graph.weights]
        if node.op in _HANDED_ON and read:
            made_by |= dict.fromkeys(node.outputs, made_by.get(read[0], IMAGES))
            continue
        if not read:
            continue  # constants
        which = f"{node.op} ({node.name})" if node.name else node.op
        if node.op not in _ROWS:
            problems.append(which)
            continue
        try:
            cells = _ROWS[node.op](node, graph)
        except (_NoRowError, KeyError, IndexError) as error:
            problems.append(f"{which}: {error}")
            continue
        inputs = [made_by.get(name, IMAGES) for name in read]
        name = _unique(node.name or node.op, rows)
        rows.append({"name": name, "inputs": " ".join(dict.fromkeys(inputs)), **cells})
        made_by |= dict.fromkeys(node.outputs, name)
    if problems:
        raise ConfigError(
            f"{many(len(problems), 'operator')} without a row in a table of layers",
            file=graph.source,
            value="; ".join(problems[:8]) + ("; ..." if len(problems) > 8 else ""),
            remedy="export the model without them, or write the table by hand (configs/networks/README.md)",
        )
    if not rows:
        raise ConfigError("the model has no layer", file=graph.source, remedy="give a model with layers")
    return _text(rows)


class _NoRowError(ValueError):
    """Why a node has no row."""


def _text(rows: Sequence[Cells]) -> str:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, ["seq", *COLUMNS], restval="", lineterminator="\n")
    writer.writeheader()
    for number, row in enumerate(rows, 1):
        writer.writerow({"seq": number, **row})
    return stream.getvalue()


def _unique(name: str, rows: Sequence[Cells]) -> str:
    """A name without blanks that no row has yet."""
    plain = name.strip("/").replace(" ", "_") or "layer"
    taken = {row["name"] for row in rows}
    number, found = 1, plain
    while found in taken:
        number, found = number + 1, f"{plain}_{number}"
    return found


def _sizes(graph: Graph, name: str) -> tuple[int, int, int]:
    """Channels, height and width of one image."""
    dims = graph.shapes[name]
    if not dims or any(not isinstance(size, int) or size < 1 for size in dims[1:]):
        raise _NoRowError(f"the shape of {name} is not known: {dims}")
    if len(dims) > 4:
        raise _NoRowError(f"{len(dims)} dimensions")
    if len(dims) == 3:  # a sequence: rows of features
        return dims[2], dims[1], 1
    channels, height, width = (*dims[1:], 1, 1, 1)[:3]
    return channels, height, width


def _plain(op: str) -> Callable[[Node, Graph], Cells]:
    def row(node: Node, graph: Graph) -> Cells:
        first = next(name for name in node.inputs if name not in graph.weights)
        c, h, w = _sizes(graph, first)
        out_c, out_h, out_w = _sizes(graph, node.outputs[0])
        return {
            **{"op": op, "in_n": 1, "in_c": c, "in_h": h, "in_w": w},
            **{"out_c": out_c, "out_h": out_h, "out_w": out_w, "params": 0, "macs": 0},
        }

    return row


def _window(node: Node, kernel: Sequence[int]) -> Cells:
    if len(kernel) != 2:
        raise _NoRowError(f"a window of {len(kernel)} dimensions")
    attributes = node.attributes
    if attributes.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        raise _NoRowError("auto_pad: export it with explicit pads")
    top, left, bottom, right = attributes.get("pads", (0, 0, 0, 0))
    if (top, left) != (bottom, right) and not int(attributes.get("ceil_mode", 0)):
        raise _NoRowError(f"its padding differs between sides: {top},{left} and {bottom},{right}")
    strides = attributes.get("strides", (1, 1))
    return {
        **{"kernel_h": kernel[0], "kernel_w": kernel[1], "stride_h": strides[0], "stride_w": strides[1]},
        **{"pad_h": top, "pad_w": left},
    }


def _convolution(op: str) -> Callable[[Node, Graph], Cells]:
    def row(node: Node, graph: Graph) -> Cells:
        weights = graph.shapes[node.inputs[1]]
        dilations = tuple(node.attributes.get("dilations", (1, 1)))
        if len(set(dilations)) != 1:
            raise _NoRowError(f"dilations {dilations}")
        cells = _plain(op)(node, graph)
        groups, bias = int(node.attributes.get("group", 1)), len(node.inputs) > 2
        taps = weights[2] * weights[3]
        out = int(cells["out_c"])
        plane = (
            int(cells["out_h"]) * int(cells["out_w"])
            if op == "conv"
            else int(cells["in_h"]) * int(cells["in_w"])
        )
        products = out * (int(cells["in_c"]) // groups) * taps
        return {
            **cells,
            **_window(node, weights[2:]),
            **{"dilation": dilations[0], "groups": groups, "bias": int(bias)},
            **{"params": products + out * bias, "macs": products * plane},
        }

    return row


def _pool(op: str) -> Callable[[Node, Graph], Cells]:
    def row(node: Node, graph: Graph) -> Cells:
        ceil = int(node.attributes.get("ceil_mode", 0))
        window = _window(node, node.attributes["kernel_shape"])
        return {**_plain(op)(node, graph), **window, "ceil_mode": ceil}

    return row


def _global_pool(op: str) -> Callable[[Node, Graph], Cells]:
    def row(node: Node, graph: Graph) -> Cells:
        cells = _plain(op)(node, graph)
        h, w = cells["in_h"], cells["in_w"]
        return {
            **cells,
            **{"kernel_h": h, "kernel_w": w, "stride_h": h, "stride_w": w, "pad_h": 0, "pad_w": 0},
        }

    return row


def _product(node: Node, graph: Graph) -> Cells:
    """A fully connected layer: its second factor is learnt."""
    if node.inputs[1] not in graph.weights:
        raise _NoRowError("a product of two tensors that are not learnt is no layer of a table")
    dims = graph.shapes[node.inputs[0]]
    if len(dims) != 2:
        raise _NoRowError(f"a product with a tensor of {len(dims)} dimensions")
    features, outputs = dims[1], graph.shapes[node.outputs[0]][1]
    bias = len(node.inputs) > 2
    return {
        **{"op": "fc", "in_n": 1, "in_c": features, "in_h": 1, "in_w": 1},
        **{"out_c": outputs, "out_h": 1, "out_w": 1, "bias": int(bias)},
        **{"params": outputs * (features + bias), "macs": outputs * features},
    }


def _normalised(node: Node, graph: Graph) -> Cells:
    cells = _plain("batchnorm")(node, graph)
    return {**cells, "params": 2 * int(cells["in_c"])}


def _response(node: Node, graph: Graph) -> Cells:
    return {**_plain("lrn")(node, graph), "kernel_h": int(node.attributes["size"])}


def _sum(node: Node, graph: Graph) -> Cells:
    read = [name for name in node.inputs if name not in graph.weights]
    if len(read) != 2 or graph.shapes[read[0]] != graph.shapes[read[1]]:
        raise _NoRowError("not a sum of two tensors of one shape")
    return _plain("add")(node, graph)


def _joined(node: Node, graph: Graph) -> Cells:
    if int(node.attributes.get("axis", 1)) not in (1, 1 - len(graph.shapes[node.outputs[0]])):
        raise _NoRowError("joined along another axis than channels")
    return _plain("concat")(node, graph)


_HANDED_ON: Final = frozenset(("Identity", "Dropout", "Flatten", "Reshape", "Squeeze", "Unsqueeze", "Cast"))
"""Operators that compute nothing in inference."""
_ROWS: Final[Mapping[str, Callable[[Node, Graph], Cells]]] = {
    "Conv": _convolution("conv"),
    "ConvTranspose": _convolution("deconv"),
    "BatchNormalization": _normalised,
    "Relu": _plain("relu"),
    "Clip": _plain("relu"),
    "Sigmoid": _plain("sigmoid"),
    "Tanh": _plain("tanh"),
    "Softmax": _plain("softmax"),
    "LogSoftmax": _plain("softmax"),
    "MaxPool": _pool("maxpool"),
    "AveragePool": _pool("avgpool"),
    "GlobalAveragePool": _global_pool("avgpool"),
    "GlobalMaxPool": _global_pool("maxpool"),
    "Gemm": _product,
    "MatMul": _product,
    "LRN": _response,
    "Add": _sum,
    "Concat": _joined,
}
