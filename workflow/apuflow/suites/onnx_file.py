"""Reads ONNX files.

The library is optional: ``pip install apuflow[onnx]``. Source: ONNX' ``onnx.proto``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from apuflow.core.errors import ConfigError
from apuflow.suites.models import OTHER_TYPE, Dims, Graph, Node, Problem, library
from apuflow.suites.onnx_sizes import fitted, open_sizes

SMALL: Final = 16
"""Largest number of values of constants that are read: ends of a Clip, axes of a mean."""
_OPSET_OF_AXIS: Final = 13
"""Before this opset a softmax flattened all dimensions from its axis on (default 1)."""
_TYPES: Final = {"FLOAT": "float", "FLOAT16": "half", "BFLOAT16": "bfloat16"}
_ONNX: Final = ("", "ai.onnx")
"""Names of the domain of ONNX' own operators."""


def read_onnx(file: Path) -> Graph:
    """The graph of an ONNX file; a named first dimension is ``n``. External weights are not read.

    Raises ConfigError: onnx is not installed, or the file is no model.
    """
    onnx = library("onnx", "onnx")
    inference = library("onnx.shape_inference", "onnx")
    try:
        model = onnx.load(str(file), load_external_data=False)
        places = open_sizes(model.graph)

        def infer(values: Mapping[str, int]) -> Mapping[str, Dims]:
            _set_sizes(model.graph, {place: values[name] for place, name in places.items()})
            return _shapes(inference.infer_shapes(model, data_prop=True).graph)

        shapes, symbolic, names = fitted(infer, tuple(dict.fromkeys(places.values())))
        _set_sizes(
            model.graph, {place: names.get(name, 1) for place, name in places.items()} if names else {}
        )
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
    images = frozenset(value.name for value in graph.input if value.name not in weights)
    types = {value.name: value.type.tensor_type.elem_type for value in values}
    types |= {name: tensor.data_type for name, tensor in tensors.items()}
    numbers = {name: _TYPES.get(onnx.TensorProto.DataType.Name(kind), "") for name, kind in types.items()}
    return Graph(
        str(file),
        nodes,
        {**shapes, **weights},
        frozenset(weights),
        images,
        dict(_constants(onnx, tensors)),
        tuple(_other_types(onnx, types)),
        merged=True,
        symbolic=symbolic | {name: tuple(map(str, dims)) for name, dims in weights.items()},
        types=numbers,
        learnt=dict(_learnt(nodes, weights, numbers)),
        names=names,
    )


def _learnt(
    nodes: Sequence[Node], weights: Mapping[str, Dims], types: Mapping[str, str]
) -> Iterator[tuple[str, int]]:
    """Tensors of numbers in the file, but for single numbers and the statistics of normalisations."""
    counted = {name for node in nodes if node.op == "BatchNormalization" for name in node.inputs[3:]}
    for name, dims in weights.items():
        if types.get(name) and math.prod(dims) > 1 and name not in counted:
            yield name, math.prod(dims)


def _shapes(graph: Any) -> dict[str, Dims]:
    values = (*graph.input, *graph.value_info, *graph.output)
    return {
        value.name: tuple(int(dim.dim_value) for dim in value.type.tensor_type.shape.dim) for value in values
    }


def _set_sizes(graph: Any, sizes: Mapping[tuple[str, int], int]) -> None:
    """Set open dimensions of the inputs, so that the shapes are inferred again."""
    for value in graph.input:
        for place, dim in enumerate(value.type.tensor_type.shape.dim):
            if (value.name, place) in sizes:
                dim.dim_value = sizes[value.name, place]
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


def _other_types(onnx: Any, types: Mapping[str, int]) -> Iterator[Problem]:
    """Tensors of types that no kernel has: all but fp32, fp16, bf16, whole numbers and truth values."""
    known = onnx.TensorProto
    sizes = {known.UNDEFINED, known.INT64, known.INT32, known.BOOL}
    for name, kind in types.items():
        if kind not in sizes and known.DataType.Name(kind) not in _TYPES:
            yield f"{OTHER_TYPE}{known.DataType.Name(kind)}", name, "kernels compute in fp32, fp16 or bf16"
