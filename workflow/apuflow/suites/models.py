"""The graph of a model: operators under ONNX' names in the order of execution; and how ONNX files are read.

The libraries are optional: ``pip install apuflow[onnx]``. Source: ONNX' ``onnx.proto``.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from apuflow.core.errors import ConfigError

Dims: TypeAlias = tuple[int, ...]
Cells: TypeAlias = dict[str, int | str]
Problem: TypeAlias = tuple[str, str, str]
"""A node without a row: operator, name, and reason (empty: the operator has no row)."""
OTHER_TYPE: Final = "tensor of "
"""Placeholder for the operator in a problem of a tensor's type."""
HANDED_ON: Final = frozenset(("Identity", "Dropout", "Flatten", "Reshape", "Squeeze", "Unsqueeze", "Cast"))
"""Operators that compute nothing in inference."""
SMALL: Final = 16
"""Largest number of values of constants that are read: ends of a Clip, axes of a mean."""
_OPSET_OF_AXIS: Final = 13
"""Before this opset a softmax flattened all dimensions from its axis on (default 1)."""
_ONNX: Final = ("", "ai.onnx")
"""Names of the domain of ONNX' own operators."""


@dataclass(frozen=True)
class Node:
    """One operator of a graph under its ONNX name, with names of tensors, and attributes by ONNX name."""

    op: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Graph:
    """A model: nodes in the order of execution, and shapes of tensors by name.

    Attributes:
        source: the file or module, for messages.
        weights: names of learnt and constant tensors.
        images: names of the inputs.
        constants: values of small constant tensors, by name.
        problems: parts that no table can hold, such as number types other than fp32.
        left_out: sentences about parts of the model that the graph lacks.
        merged: whether equal constants may share a name, as in ONNX exports.
    """

    source: str
    nodes: Sequence[Node]
    shapes: Mapping[str, Dims]
    weights: frozenset[str]
    images: frozenset[str]
    constants: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    problems: Sequence[Problem] = ()
    left_out: Sequence[str] = ()
    merged: bool = False


class NoRowError(ValueError):
    """Why a node has no row."""


def library(name: str, extra: str) -> Any:
    """Import a library that is an extra of apuflow. Raises ConfigError: it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        what, remedy = f"the Python library {name} is not installed", f"pip install 'apuflow[{extra}]'"
        raise ConfigError(what, remedy=remedy) from None


def read_onnx(file: Path) -> Graph:
    """The graph of an ONNX file for one image; external weights are not read.

    Raises ConfigError: onnx is not installed, or the file is no model.
    """
    onnx = library("onnx", "onnx")
    inference = library("onnx.shape_inference", "onnx")
    try:
        model = onnx.load(str(file), load_external_data=False)
        _one_image(model.graph)
        model = inference.infer_shapes(model, data_prop=True)
    except OSError as error:
        raise ConfigError(f"cannot read the model: {error.strerror}", file=file) from None
    except Exception as error:  # protobuf's errors, which onnx does not document
        raise ConfigError(f"not an ONNX model: {error}", file=file, remedy="export it again") from None
    graph = model.graph
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            found = [one.t for one in node.attribute if one.name == "value"]
            tensors |= {name: found[0] if found else onnx.TensorProto() for name in node.output}
    weights = {name: tuple(tensor.dims) for name, tensor in tensors.items()}
    opset = max((one.version for one in model.opset_import if one.domain in _ONNX), default=1)
    nodes = [_node(onnx, node, opset) for node in graph.node]
    values = (*graph.input, *graph.value_info, *graph.output)
    shapes = {
        value.name: tuple(int(dim.dim_value) for dim in value.type.tensor_type.shape.dim) for value in values
    }
    images = frozenset(value.name for value in graph.input if value.name not in weights)
    types = {value.name: value.type.tensor_type.elem_type for value in values}
    types |= {name: tensor.data_type for name, tensor in tensors.items()}
    return Graph(
        str(file),
        nodes,
        {**shapes, **weights},
        frozenset(weights),
        images,
        dict(_constants(onnx, tensors)),
        tuple(_other_types(onnx, types, images)),
        merged=True,
    )


def _one_image(graph: Any) -> None:
    """Set a named first dimension, such as the batch, to 1, and infer the shapes again."""
    initial = {tensor.name for tensor in graph.initializer}
    for value in graph.input:
        dims = value.type.tensor_type.shape.dim
        if value.name not in initial and len(dims) and not dims[0].HasField("dim_value"):
            dims[0].dim_value = 1
    del graph.value_info[:]
    for value in graph.output:
        value.type.tensor_type.ClearField("shape")


def _node(onnx: Any, node: Any, opset: int) -> Node:
    found = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
    attributes = {name: one.decode() if isinstance(one, bytes) else one for name, one in found.items()}
    op = node.op_type if node.domain in _ONNX else f"{node.domain}.{node.op_type}"
    if op in ("Softmax", "LogSoftmax"):
        flattens = opset < _OPSET_OF_AXIS
        attributes = {"axis": 1 if flattens else -1, "flattened": int(flattens)} | attributes
    return Node(op, node.name, tuple(node.input), tuple(node.output), attributes)


def _constants(onnx: Any, tensors: Mapping[str, Any]) -> Iterator[tuple[str, tuple[float, ...]]]:
    for name, tensor in tensors.items():
        inside = tensor.data_location != onnx.TensorProto.EXTERNAL
        if tensor.data_type in (onnx.TensorProto.FLOAT, onnx.TensorProto.INT64) and inside:
            values = onnx.numpy_helper.to_array(tensor).flatten()
            if len(values) <= SMALL:
                yield name, tuple(float(value) for value in values)


def _other_types(onnx: Any, types: Mapping[str, int], images: frozenset[str]) -> Iterator[Problem]:
    """Tensors of types without support: all except fp32 and integers for sizes."""
    known = onnx.TensorProto
    sizes = {known.UNDEFINED, known.FLOAT, known.INT64, known.INT32, known.BOOL}
    for name, kind in types.items():
        if kind not in sizes or (name in images and kind not in (known.UNDEFINED, known.FLOAT)):
            yield f"{OTHER_TYPE}{known.DataType.Name(kind)}", name, "engines compute in fp32 alone"
