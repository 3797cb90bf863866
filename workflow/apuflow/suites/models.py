"""Reads models of one's own: ONNX files and PyTorch modules, without their weights.

Both libraries are optional: ``pip install apuflow[onnx]``, ``pip install apuflow[torch]``.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from apuflow.core.errors import ConfigError
from apuflow.suites.graph import Dims, Graph, Node


def _library(name: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ConfigError(
            f"the Python library {name} is not installed", remedy=f"pip install 'apuflow[{extra}]'"
        ) from None


def read_onnx(file: Path) -> Graph:
    """The graph of an ONNX file; weights that lie beside it are not read.

    Raises:
        ConfigError: onnx is not installed, or the file is no model.
    """
    onnx = _library("onnx", "onnx")
    inference = _library("onnx.shape_inference", "onnx")
    try:
        model = inference.infer_shapes(onnx.load(str(file), load_external_data=False))
    except OSError as error:
        raise ConfigError(f"cannot read the model: {error.strerror}", file=file) from None
    except Exception as error:  # protobuf's own, of which onnx documents none
        raise ConfigError(f"not an ONNX model: {error}", file=file, remedy="export it again") from None
    graph = model.graph
    weights = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    nodes = []
    for node in graph.node:
        attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
        attributes = {name: _decoded(value) for name, value in attributes.items()}
        if node.op_type == "Constant":
            weights |= {name: tuple(node.attribute[0].t.dims) for name in node.output}
        nodes.append(Node(node.op_type, node.name, tuple(node.input), tuple(node.output), attributes))
    values = (*graph.input, *graph.value_info, *graph.output)
    shapes = {value.name: _dims(value.type.tensor_type.shape.dim) for value in values}
    images = frozenset(value.name for value in graph.input if value.name not in weights)
    return Graph(str(file), nodes, {**shapes, **weights}, frozenset(weights), images)


def _decoded(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _dims(dims: Any) -> Dims:
    """A dimension with a name, such as the batch's, is 1."""
    return tuple(int(dim.dim_value) or 1 for dim in dims)


def read_torch(place: str, shape: Dims) -> Graph:
    """The graph of a PyTorch module, traced on the meta device: shapes alone, no weights.

    Args:
        place: ``package.module:name`` of a module's class, of a function that makes one, or of one.
        shape: of the input, as (1, 3, 224, 224).

    Raises:
        ConfigError: torch is not installed, there is no such module, or it cannot be traced.
    """
    torch = _library("torch", "torch")
    fx = _library("torch.fx", "torch")
    propagation = _library("torch.fx.passes.shape_prop", "torch")
    made = _named(place)
    try:
        with torch.device("meta"):
            model = made if isinstance(made, torch.nn.Module) else made()
        model = model.to("meta").eval()
        traced = fx.symbolic_trace(model)
        propagation.ShapeProp(traced).propagate(torch.empty(shape, device="meta"))
    except Exception as error:  # whatever the user's module raises
        raise ConfigError(
            f"torch cannot trace this module: {error}", value=place, remedy="export it to ONNX instead"
        ) from None
    modules = dict(traced.named_modules())
    shapes: dict[str, Dims] = {}
    weights: set[str] = set()
    nodes: list[Node] = []
    for node in traced.graph.nodes:
        found = node.meta.get("tensor_meta")
        if hasattr(found, "shape"):
            shapes[node.name] = tuple(found.shape)
        if node.op in ("call_module", "call_function", "call_method"):
            nodes.append(_translated(node, modules, shapes, weights))
    images = frozenset(node.name for node in traced.graph.nodes if node.op == "placeholder")
    return Graph(place, nodes, shapes, frozenset(weights), images)


def _named(place: str) -> Any:
    module, _, name = place.partition(":")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"no such module: {error}", value=place, remedy="write it as package.module:Name"
        ) from None


def _translated(node: Any, modules: dict[str, Any], shapes: dict[str, Dims], weights: set[str]) -> Node:
    """A node of torch.fx under ONNX' names."""
    inputs = [given.name for given in _given(node.args)]
    if node.op != "call_module":
        called = node.target if isinstance(node.target, str) else node.target.__name__
        op = _FUNCTIONS.get(called, called)
        attributes = _pool_attributes(node, called)
        if op == "Concat":
            attributes["axis"] = node.kwargs.get("dim", node.args[1] if len(node.args) > 1 else 0)
        if called == "mean":
            op = "GlobalAveragePool" if _over_pixels(node, shapes[inputs[0]]) else called
        elif op == "GlobalAveragePool" and shapes[node.name][2:] != (1, 1):
            op = called
        return Node(op, node.name, tuple(inputs), (node.name,), attributes)
    module = modules[node.target]
    kind = type(module).__name__
    op = _MODULES.get(kind, kind)
    if kind == "AdaptiveAvgPool2d" and shapes[node.name][2:] != (1, 1):
        # equal windows only: torch's general rule has windows of several sizes
        op = "GlobalAveragePool" if shapes[inputs[0]][2:] == shapes[node.name][2:] else kind
        op = "Identity" if op == "GlobalAveragePool" else op
    learnt = ("weight", "bias") if op in ("Conv", "ConvTranspose", "Gemm") else ()
    for name in learnt:
        tensor = getattr(module, name, None)
        if tensor is not None:
            key = f"{node.target}.{name}"
            weights.add(key)
            shapes[key] = tuple(tensor.shape)
            inputs.append(key)
    return Node(op, str(node.target), tuple(inputs), (node.name,), _attributes(module, op))


def _pool_attributes(node: Any, called: str) -> dict[str, Any]:
    """Of a call of ``torch.nn.functional``; without a stride windows lie side by side."""
    if called not in _POOLS:
        return {}
    given = {**dict(zip(_POOLS[called], node.args, strict=False)), **node.kwargs}
    kernel, pads = given["kernel_size"], _pair(given.get("padding", 0))
    return {
        "kernel_shape": _pair(kernel),
        "strides": _pair(given.get("stride") or kernel),
        "pads": (*pads, *pads),
        "ceil_mode": int(given.get("ceil_mode", False)),
    }


def _over_pixels(node: Any, image: Dims) -> bool:
    """Whether a mean is that of each channel of an image."""
    axes = node.kwargs.get("dim", node.args[1] if len(node.args) > 1 else ())
    return len(image) == 4 and isinstance(axes, (list, tuple)) and {axis % 4 for axis in axes} == {2, 3}


def _given(args: Any) -> Iterator[Any]:
    """The nodes among the arguments of a call."""
    for one in args:
        if isinstance(one, (list, tuple)):
            yield from _given(one)
        elif hasattr(one, "op") and hasattr(one, "name"):
            yield one


def _attributes(module: Any, op: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if op in ("Conv", "ConvTranspose", "MaxPool", "AveragePool"):
        pads = _pair(module.padding)
        found |= {"pads": (*pads, *pads), "strides": _pair(module.stride)}
        found["kernel_shape"] = _pair(module.kernel_size)
    if op in ("Conv", "ConvTranspose"):
        found |= {"dilations": _pair(module.dilation), "group": module.groups}
    if op in ("MaxPool", "AveragePool"):
        found["ceil_mode"] = int(module.ceil_mode)
    if op == "LRN":
        found["size"] = module.size
    return found


def _pair(value: Any) -> Dims:
    return (int(value), int(value)) if isinstance(value, int) else tuple(int(one) for one in value)


_MODULES: Final = {
    "Conv2d": "Conv",
    "ConvTranspose2d": "ConvTranspose",
    "BatchNorm2d": "BatchNormalization",
    "BatchNorm1d": "BatchNormalization",
    "ReLU": "Relu",
    "ReLU6": "Clip",
    "MaxPool2d": "MaxPool",
    "AvgPool2d": "AveragePool",
    "AdaptiveAvgPool2d": "GlobalAveragePool",
    "Linear": "Gemm",
    "LocalResponseNorm": "LRN",
}
_FUNCTIONS: Final = {
    "add": "Add",
    "iadd": "Add",
    "add_": "Add",
    "cat": "Concat",
    "flatten": "Flatten",
    "reshape": "Reshape",
    "view": "Reshape",
    "relu": "Relu",
    "relu_": "Relu",
    "relu6": "Clip",
    "sigmoid": "Sigmoid",
    "tanh": "Tanh",
    "softmax": "Softmax",
    "log_softmax": "LogSoftmax",
    "dropout": "Dropout",
    "adaptive_avg_pool2d": "GlobalAveragePool",
    "max_pool2d": "MaxPool",
    "avg_pool2d": "AveragePool",
}
_POOLS: Final = {
    "max_pool2d": ("input", "kernel_size", "stride", "padding", "dilation", "ceil_mode"),
    "avg_pool2d": ("input", "kernel_size", "stride", "padding", "ceil_mode"),
}
"""Arguments of the functions, in order."""
