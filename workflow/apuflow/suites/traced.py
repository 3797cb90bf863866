"""Reads PyTorch modules by a trace on the meta device, without weights.

The library is optional: ``pip install apuflow[torch]``. Modules and functions get ONNX' names; those without
one keep their own and get no row. Source: ``torch.fx``; attributes: ``torch.nn``'s documents.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from apuflow.core.errors import ConfigError
from apuflow.suites.models import OTHER_TYPE, Dims, Graph, Node, Problem, library

CONVOLUTIONS: Final = ("Conv", "ConvTranspose")
LEARNT: Final = ("weight", "bias")
"""Parameters of a layer, in the order of ONNX' inputs."""
NAMES: Final = (
    ("Conv", "Conv1d Conv2d Conv3d", ""),
    ("ConvTranspose", "ConvTranspose2d", ""),
    ("BatchNormalization", "BatchNorm1d BatchNorm2d", ""),
    ("Gemm", "Linear", ""),
    ("LRN", "LocalResponseNorm", ""),
    ("Relu", "ReLU", "relu relu_"),
    ("Clip", "ReLU6 Hardtanh", "relu6 clamp hardtanh"),
    ("MaxPool", "MaxPool2d", "max_pool2d"),
    ("AveragePool", "AvgPool2d", "avg_pool2d"),
    ("GlobalAveragePool", "AdaptiveAvgPool2d", "adaptive_avg_pool2d"),
    ("Dropout", "Dropout1d Dropout2d AlphaDropout", "dropout dropout2d"),
    ("Add", "", "add iadd add_"),
    ("Concat", "", "cat concat"),
    ("Flatten", "", "flatten"),
    ("Reshape", "", "reshape view"),
    ("Identity", "", "contiguous"),
    ("Squeeze", "", "squeeze"),
    ("Unsqueeze", "", "unsqueeze"),
    ("Sigmoid", "", "sigmoid"),
    ("Tanh", "", "tanh"),
    ("Softmax", "", "softmax"),
    ("LogSoftmax", "", "log_softmax"),
)
"""ONNX' name of an operator, and PyTorch's modules and functions that compute it if named otherwise."""
MODULES: Final = {name: op for op, modules, _ in NAMES for name in modules.split()}
FUNCTIONS: Final = {name: op for op, _, functions in NAMES for name in functions.split()}
_POOL: Final = ("input", "kernel_size", "stride", "padding")
ARGUMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "max_pool2d": (*_POOL, "dilation", "ceil_mode", "return_indices"),
    "avg_pool2d": (*_POOL, "ceil_mode", "count_include_pad", "divisor_override"),
    **dict.fromkeys(("cat", "concat"), ("tensors", "dim")),
    **dict.fromkeys(("softmax", "log_softmax"), ("input", "dim")),
    "clamp": ("input", "min", "max"),
    "hardtanh": ("input", "min_val", "max_val"),
}
"""Arguments of functions, in order."""


def read_torch(place: str, shape: Dims) -> Graph:
    """The graph of a PyTorch module on an input of ``shape``, as (1, 3, 224, 224).

    ``place``: ``package.module:name`` or ``file.py:name`` of a module, its class, or a function for it.

    Raises ConfigError: torch is not installed, there is no such module, or it cannot be traced.
    """
    torch = library("torch", "torch")
    fx = library("torch.fx", "torch")
    propagation = library("torch.fx.passes.shape_prop", "torch")
    made = _named(place)
    problems: list[Problem] = []
    try:
        quiet = contextlib.redirect_stderr(io.StringIO())  # torch prints what it raises
        with torch.device("meta"), quiet, _watched(torch) as autocasts:
            model = made if isinstance(made, torch.nn.Module) else made()
            shared = _shared(model)
            model = model.to("meta").eval()
            problems += _other_types(torch, model)
            traced = fx.symbolic_trace(model)
            for node in traced.graph.nodes:
                if node.target is torch._assert:
                    traced.graph.erase_node(node)
            traced.recompile()
            propagation.ShapeProp(traced).propagate(torch.empty(shape, device="meta"))
    except Exception as error:  # any error of the user's module
        if problems:  # mismatched types end the trace
            return Graph(place, (), {}, frozenset(), frozenset(), problems=tuple(problems))
        why = next(iter(str(error).splitlines()), "") or type(error).__name__
        what, remedy = f"torch cannot trace this module: {why}", "export it to ONNX instead"
        raise ConfigError(what, value=place, remedy=remedy) from None
    problems += [("autocast", kind, "engines compute in fp32 alone") for kind in dict.fromkeys(autocasts)]
    found = Trace(dict(traced.named_modules(remove_duplicate=False)), shared, problems=problems)
    for node in traced.graph.nodes:
        found.add(node, torch.float32)
    images = frozenset(node.name for node in traced.graph.nodes if node.op == "placeholder")
    unused = {name: p.numel() for name, p in model.named_parameters() if name not in found.weights}
    left_out = []
    if unused:
        of = ", ".join(dict.fromkeys(name.split(".")[0] for name in unused))
        left_out = [f"{sum(unused.values()):,} learnt values that inference does not use: those of {of}."]
    return Graph(
        place,
        found.nodes,
        found.shapes,
        frozenset(found.weights),
        images,
        problems=tuple(found.problems),
        left_out=tuple(left_out),
    )


def _named(place: str) -> Any:
    module, _, name = place.partition(":")
    try:
        if module.endswith(".py"):
            if not Path(module).is_file():
                raise ConfigError("no such file", file=module, remedy="write it as file.py:Name")
            sys.path.insert(0, str(Path(module).resolve().parent))
            module = Path(module).stem
        elif str(Path.cwd()) not in sys.path:
            sys.path.insert(0, str(Path.cwd()))
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        remedy = "write it as package.module:Name or file.py:Name"
        raise ConfigError(f"no such module: {error}", value=place, remedy=remedy) from None


@contextlib.contextmanager
def _watched(torch: Any) -> Iterator[list[str]]:
    """Devices whose ``torch.autocast`` is entered, which a trace does not show."""
    kind = torch.autocast
    made, entered = kind.__init__, kind.__enter__
    found: list[str] = []

    def make(one: Any, device_type: str, *args: Any, **kwargs: Any) -> None:
        made(one, device_type, *args, **kwargs)
        one.apuflow_off = kwargs.get("enabled", args[1] if len(args) > 1 else True) is False

    def enter(one: Any) -> Any:
        if not getattr(one, "apuflow_off", False):
            found.append(str(getattr(one, "device", "")))
        return entered(one)

    kind.__init__, kind.__enter__ = make, enter
    try:
        yield found
    finally:
        kind.__init__, kind.__enter__ = made, entered


def _shared(model: Any) -> dict[str, str]:
    """First name of each parameter by its other names, as of a layer that is used twice."""
    first: dict[int, str] = {}
    named = model.named_parameters(remove_duplicate=False)
    return {name: first.setdefault(id(tensor), name) for name, tensor in named}


def _other_types(torch: Any, model: Any) -> Iterator[Problem]:
    """Parameters and buffers of other types than fp32 and integers."""
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        if (tensor.is_floating_point() or tensor.is_complex()) and tensor.dtype != torch.float32:
            yield _other_type(tensor.dtype, name)


def _other_type(dtype: Any, name: str) -> Problem:
    return f"{OTHER_TYPE}{str(dtype).removeprefix('torch.')}", name, "engines compute in fp32 alone"


@dataclass
class Trace:
    """Nodes of torch.fx under ONNX' names, as in ``Graph``; ``shared``: first names of parameters."""

    modules: Mapping[str, Any]
    shared: Mapping[str, str] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    shapes: dict[str, Dims] = field(default_factory=dict)
    weights: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)
    _sizes: set[str] = field(default_factory=set)
    """Nodes with sizes instead of tensors."""

    def add(self, node: Any, expected: Any = None) -> None:
        """Add the next node; ``expected`` is the type of all numbers (None: any)."""
        found = node.meta.get("tensor_meta")
        if hasattr(found, "shape"):
            self.shapes[node.name] = tuple(found.shape)
            if expected is not None and found.dtype != expected:
                self.problems.append(_other_type(found.dtype, node.name))
        if node.op == "get_attr":
            self.weights.add(node.name)
        if node.op not in ("call_module", "call_function", "call_method"):
            return
        kind = node.meta.get("type")
        if isinstance(kind, type) and (issubclass(kind, int) or kind.__name__ == "Size"):
            self._sizes.add(node.name)  # a whole number, or sizes of a tensor
            return
        self.nodes.append(self._module(node) if node.op == "call_module" else self._function(node))

    def _inputs(self, node: Any) -> list[str]:
        given = _given((*node.args, *node.kwargs.values()))
        return [one.name for one in given if one.name not in self._sizes]

    def _function(self, node: Any) -> Node:
        called = node.target if isinstance(node.target, str) else node.target.__name__
        own = getattr(node.target, "__module__", None) or "torch"
        op = known = FUNCTIONS.get(called, called)
        if not isinstance(node.target, str) and not own.startswith(("torch", "_operator", "operator")):
            op = f"{own}.{called}"
        inputs = self._inputs(node)
        given = {**dict(zip(ARGUMENTS.get(called, ()), node.args, strict=False)), **node.kwargs}
        if called == "mean" and inputs:
            op = "GlobalAveragePool" if _over_pixels(node, self.shapes.get(inputs[0], ())) else called
        if op == "Add" and len(inputs) == 1:
            inputs = [*inputs, ""]  # a number, not a tensor
        op = self._adaptive(op, inputs, node.name)
        return Node(op, node.name, tuple(inputs), (node.name,), _attributes(known, given, called))

    def _adaptive(self, op: str, inputs: list[str], output: str) -> str:
        """Drop an adaptive pooling with as many outputs as inputs."""
        same = bool(inputs) and self.shapes.get(inputs[0]) == self.shapes.get(output)
        return "Identity" if op == "GlobalAveragePool" and same else op

    def _module(self, node: Any) -> Node:
        module = self.modules[node.target]
        kind = type(module)
        plain = kind.__module__.startswith("torch.nn.modules.")
        op = MODULES.get(kind.__name__, kind.__name__) if plain else f"{kind.__module__}.{kind.__name__}"
        inputs = self._inputs(node)
        if module._forward_hooks or module._forward_pre_hooks:
            self.problems.append((op, str(node.target), "a hook of it computes something, too"))
        for name in LEARNT if op in (*CONVOLUTIONS, "Gemm", "BatchNormalization") else ():
            tensor = getattr(module, name, None)
            key = f"{node.target}.{name}"
            key = self.shared.get(key, key) if tensor is not None else ""
            if tensor is not None:
                self.weights.add(key)
                self.shapes[key] = tuple(tensor.shape)
            inputs.append(key)
        op = self._adaptive(op, inputs, node.name)
        attributes = _attributes(op, vars(module), "hardtanh")
        return Node(op, str(node.target), tuple(inputs), (node.name,), attributes)


def _given(args: Any) -> Iterator[Any]:
    """The nodes among the arguments of a call."""
    for one in args:
        if isinstance(one, (list, tuple)):
            yield from _given(one)
        elif hasattr(one, "op") and hasattr(one, "name"):
            yield one


def _attributes(op: str, given: Mapping[str, Any], called: str) -> dict[str, Any]:
    """Attributes under ONNX' names, of a module's values or a function's arguments by PyTorch's names."""
    if op in CONVOLUTIONS:
        return _convolved(given)
    if op in ("MaxPool", "AveragePool"):
        return _pooled(given, op)
    if op == "Concat":
        return {"axis": given.get("dim", given.get("axis", 0))}
    if op in ("Softmax", "LogSoftmax"):
        return {"axis": given.get("dim")}
    if op == "Clip" and called == "relu6":
        return {"min": 0.0, "max": 6.0}
    if op == "Clip" and called == "hardtanh":
        return {"min": given.get("min_val", -1.0), "max": given.get("max_val", 1.0)}
    if op == "Clip":
        return {"min": given.get("min"), "max": given.get("max")}
    kept = {"Add": "alpha", "LRN": "size"}.get(op, "")
    return {kept: given[kept]} if kept in given else {}


def _convolved(given: Mapping[str, Any]) -> dict[str, Any]:
    found = {"strides": _pair(given["stride"]), "kernel_shape": _pair(given["kernel_size"])}
    found |= {"dilations": _pair(given["dilation"]), "group": given["groups"]}
    found |= {"padding_mode": given["padding_mode"]}
    if isinstance(given["padding"], str):
        return found | {"auto_pad": {"same": "SAME_UPPER", "valid": "VALID"}[given["padding"]]}
    pads = _pair(given["padding"])
    return found | {"pads": (*pads, *pads)}


def _pooled(given: Mapping[str, Any], op: str) -> dict[str, Any]:
    """Attributes of a pooling; without a stride, windows are adjacent."""
    kernel, pads = given["kernel_size"], _pair(given.get("padding") or 0)
    stride = given.get("stride")
    found = {
        "kernel_shape": _pair(kernel),
        "strides": _pair(kernel if stride is None or stride == [] else stride),
        "pads": (*pads, *pads),
        "ceil_mode": int(given.get("ceil_mode", False)),
    }
    if op == "MaxPool":
        found |= {"dilations": _pair(given.get("dilation", 1))}
        return found | {"return_indices": int(given.get("return_indices", False))}
    found |= {"count_include_pad": int(given.get("count_include_pad", True))}
    return found | {"divisor_override": given.get("divisor_override") or 0}


def _over_pixels(node: Any, image: Dims) -> bool:
    """Whether a mean is over the pixels of each channel."""
    axes = node.kwargs.get("dim", node.args[1] if len(node.args) > 1 else ())
    return len(image) == 4 and isinstance(axes, (list, tuple)) and {axis % 4 for axis in axes} == {2, 3}


def _pair(value: Any) -> Dims:
    return (int(value), int(value)) if isinstance(value, int) else tuple(int(one) for one in value)
