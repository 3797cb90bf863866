"""Reads PyTorch modules by ``torch.export`` on the meta device, without weights, with symbolic sizes.

The library is optional: ``pip install apuflow[torch]``. Operators get ONNX' names (``aten.NAMES``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from apuflow.core.errors import ConfigError
from apuflow.core.expression import evaluate
from apuflow.suites.aten import NAMES, attributes_of
from apuflow.suites.exporting import (
    OF_NUMBERS,
    TYPES,
    export,
    failed,
    first_names,
    given_nodes,
    inputs_of,
    named,
    quiet,
    refused,
)
from apuflow.suites.models import OTHER_TYPE, Dims, Graph, Node, Problem, library

_NO_WORK: Final = ("sym_size", "_assert_tensor_metadata", "_assert_scalar", "sym_constrain_range_for_size")
_INLINED: Final = "wrap_with_set_grad_enabled"
_RESPONSE: Final = "torch.nn.modules.normalization.LocalResponseNorm"
"""A module that is one operator of ONNX, and several of ATen."""


def read_torch(place: str, shape: str) -> Graph:
    """The graph of a PyTorch module on inputs of these shapes (``inputs_of``).

    ``place``: ``package.module:name`` or ``file.py:name`` of a module, its class, or a function for it.

    Raises ConfigError: torch is not installed, there is no such module, or it cannot be exported.
    """
    torch = library("torch", "torch")
    inputs, names = inputs_of(shape)
    made = named(place)
    try:
        with torch.device("meta"), quiet(torch):
            model = made if isinstance(made, torch.nn.Module) else made()
            first = first_names(model)
            problems = list(refused(torch, model))
            if problems:
                return Graph(place, (), {}, frozenset(), frozenset(), problems=tuple(problems))
            model = model.to("meta").eval()
            program, samples = export(torch, model, inputs, names)
    except ConfigError:
        raise
    except Exception as error:  # any error of the user's module
        raise failed(error, place) from None
    names = {name: names[name] for name in samples}
    found = Exported(torch, model, first, names, {value: name for name, value in samples.items()})
    found.read(program)
    unused = {name: p.numel() for name, p in model.named_parameters() if first[name] not in found.learnt}
    left_out = []
    if unused:
        of = ", ".join(dict.fromkeys(name.split(".")[0] for name in unused))
        left_out = [f"{sum(unused.values()):,} learnt values that inference does not use: those of {of}."]
    return Graph(
        place,
        found.nodes,
        found.shapes,
        frozenset(found.weights),
        frozenset(found.images),
        problems=tuple(found.problems),
        left_out=tuple(left_out),
        symbolic=found.symbolic,
        types=found.types,
        learnt=found.learnt,
        names=names,
    )


@dataclass
class Exported:
    """Nodes of an exported program under ONNX' names, as in ``Graph``.

    ``names``: values of open sizes; ``samples``: their names by the size that was exported.
    """

    torch: Any
    model: Any
    shared: Mapping[str, str]
    names: Mapping[str, int]
    samples: Mapping[int, str]
    nodes: list[Node] = field(default_factory=list)
    shapes: dict[str, Dims] = field(default_factory=dict)
    symbolic: dict[str, tuple[str, ...]] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    weights: set[str] = field(default_factory=set)
    learnt: dict[str, int] = field(default_factory=dict)
    images: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    _alias: dict[str, str] = field(default_factory=dict)
    """Names of tensors by names of nodes: weights, and what a submodule is given."""
    _symbols: dict[str, str] = field(default_factory=dict)
    _several: dict[str, list[str]] = field(default_factory=dict)
    """Outputs of nodes with several."""
    _response: str = ""
    """Path of the module whose operators are read as one."""
    _learnt: set[str] = field(default_factory=set)

    def read(self, program: Any) -> None:
        """Read all nodes of a program."""
        signature = program.graph_signature
        learnt = signature.inputs_to_parameters
        places = given_nodes(program.graph)
        for node in places:
            if node.name in signature.user_inputs:
                sizes = (size for size in node.meta["val"].shape if not isinstance(size, int))
                self._symbols |= {str(size): self.samples[size.node.hint] for size in sizes}
        for node in places:
            name = learnt.get(node.name, signature.inputs_to_buffers.get(node.name, node.name))
            name = self._alias[node.name] = self.shared.get(name, name)
            self._tensor(name, node.meta.get("val"))
            if node.name in signature.user_inputs:
                self.images.append(name)
            else:
                self.weights.add(name)
        self._learnt = {self.shared.get(name, name) for name in learnt.values()}
        self._body(program.graph_module, "")

    def _body(self, module: Any, prefix: str) -> list[str]:
        """Read the nodes of a graph; return the names of its outputs."""
        for node in module.graph.nodes:
            if node.op == "get_attr":
                self._attribute(module, node, prefix)
            elif node.op == "call_function":
                self._call(module, node, prefix)
            elif node.op == "output":
                return [self._name(one, prefix) for one in _tensors(node.args)]
        return []

    def _name(self, node: Any, prefix: str) -> str:
        name = f"{prefix}{node.name}"
        return self._alias.get(name, name)

    def _attribute(self, module: Any, node: Any, prefix: str) -> None:
        if hasattr(getattr(module, str(node.target), None), "shape"):
            self.weights.add(prefix + node.name)
            self._tensor(prefix + node.name, getattr(module, str(node.target)))

    def _tensor(self, name: str, value: Any) -> None:
        """Shape and type of a tensor, or of the first of several."""
        value = next(iter(value), None) if isinstance(value, (list, tuple)) else value
        if not hasattr(value, "dtype"):
            return
        texts = tuple(self._text(size) for size in value.shape)
        self.symbolic[name] = texts
        self.shapes[name] = tuple(self._value(text) for text in texts)
        if any(re.search(r"\bu\d", text) for text in texts):
            self.problems.append(
                (name, "", "how large it is depends on values of tensors: give it a fixed size")
            )
        kind = str(value.dtype).removeprefix("torch.")
        self.types[name] = TYPES.get(kind, "")
        if kind not in TYPES and (value.is_floating_point() or value.is_complex()):
            self.problems.append((f"{OTHER_TYPE}{kind}", name, OF_NUMBERS))

    def _text(self, size: Any) -> str:
        text = re.sub(r"\b[su]\d+\b", lambda found: self._symbols.get(found[0], found[0]), str(size))
        return text.replace(" ", "")

    def _value(self, text: str) -> int:
        try:
            return evaluate(int(text) if text.isdigit() else text, self.names, "shape")
        except ConfigError:
            return 0

    def _call(self, module: Any, node: Any, prefix: str) -> None:
        target, name = node.target, prefix + node.name
        if str(target) == _INLINED:
            inner = getattr(module, str(node.args[1].target))
            places = given_nodes(inner.graph)
            for place, given in zip(places, node.args[2:], strict=True):
                self._alias[f"{name}.{place.name}"] = self._name(given, prefix)
            self._several[name] = self._body(inner, f"{name}.")
            return
        called = str(getattr(getattr(target, "_schema", None), "name", getattr(target, "__name__", target)))
        space, _, called = called.rpartition("::")
        if called in _NO_WORK or not _is_tensor(node.meta.get("val")):
            return
        if called == "getitem":
            several = self._several.get(self._name(node.args[0], prefix))
            self._alias[name] = several[node.args[1]] if several else self._name(node.args[0], prefix)
            return
        self._tensor(name, node.meta["val"])
        plain = called.removesuffix("_") if not called.startswith("_") else called
        op = NAMES.get(plain, plain) if space in ("aten", "") else f"{space}.{called}"
        inputs, given = self._arguments(node, prefix)
        op, given = self._special(op, plain, node, inputs, given)
        kept = tuple(inputs)
        of = self._leaf(node, _RESPONSE)
        if of and of == self._response:
            self.nodes[-1] = Node("LRN", of, self.nodes[-1].inputs, (name,), self.nodes[-1].attributes)
            return
        self._response = ""
        if of:
            self._response = of
            op, kept, given = "LRN", kept[:1], {"size": self.model.get_submodule(of).size}
        self.nodes.append(Node(op, of or self._leaf(node) or name, kept, (name,), given))

    def _leaf(self, node: Any, kind: str = "torch.nn.modules.") -> str:
        """Path of the module of this kind without modules in it that an operator belongs to; "": none."""
        path, of = next(reversed(node.meta.get("nn_module_stack", {}).values()), ("", ""))
        leaf = str(of).startswith(kind) and not list(self.model.get_submodule(path).children())
        return str(path) if leaf else ""

    def _arguments(self, node: Any, prefix: str) -> tuple[list[str], dict[str, Any]]:
        """Names of tensors ("" for one that is missing), and other arguments by the schema's names."""
        schema = getattr(node.target, "_schema", None)
        inputs: list[str] = []
        given: dict[str, Any] = {}
        for place, argument in enumerate(schema.arguments if schema else ()):
            value = node.args[place] if place < len(node.args) else None
            value = node.kwargs.get(argument.name, value)
            if place >= len(node.args) and argument.name not in node.kwargs:
                value = argument.default_value if argument.has_default_value() else None
            found = [self._name(one, prefix) for one in _tensors([value]) if _is_tensor(one.meta.get("val"))]
            inputs += found or ([""] if "Tensor" in str(argument.type) else [])
            if not found:
                given[argument.name] = value
        if schema is None:
            inputs = [self._name(one, prefix) for one in _tensors(node.args)]
        self.learnt |= {
            name: math.prod(self.shapes[name])
            for name in inputs
            if name in self._learnt and name not in self.learnt
        }
        return inputs, given

    def _special(
        self, op: str, called: str, node: Any, inputs: list[str], given: dict[str, Any]
    ) -> tuple[str, dict[str, Any]]:
        """Operators whose name depends on their arguments."""
        shape = self.shapes.get(inputs[0], ()) if inputs else ()
        if called == "addmm":
            inputs[:] = [inputs[1], inputs[2], inputs[0]]
            return op, {"alpha": given["alpha"], "beta": given["beta"], "transposed": 0}
        if called == "linear":
            return op, {"transposed": 1}
        if called == "mean" and _over_pixels(given.get("dim"), len(shape)):
            return "GlobalAveragePool", {}
        if op == "Reduce":
            return op, {**given, "of": called}
        if op == "GlobalAveragePool" and shape == self.shapes[node.name]:
            return "Identity", {}
        if op in ("Reshape", "Flatten", "Identity") and _copies(self.torch, node):
            return "Copy", {}
        if op == "Cast" and self.types.get(inputs[0]) not in ("", self.types.get(node.name)):
            return "Copy", {}
        tags = getattr(node.target, "tags", ())
        if op == called and self.torch.Tag.pointwise not in tags:
            return op, {**given, "macs": self._macs(node)}
        found = attributes_of(op, given, max(len(shape) - 2, 1))
        return op, found | ({"pointwise": True} if self.torch.Tag.pointwise in tags else {})

    def _macs(self, node: Any) -> int:
        """Multiply-adds that torch itself counts for an operator; 0: it does not say."""
        counts = library("torch.utils.flop_counter", "torch").flop_registry
        count = counts.get(getattr(node.target, "overloadpacket", None))
        if count is None:
            return 0
        args, kwargs = self.torch.fx.node.map_arg((node.args, node.kwargs), lambda one: one.meta["val"])
        return self._value(self._text(count(*args, **kwargs, out_val=node.meta["val"]))) // 2


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "dtype") or (
        isinstance(value, (list, tuple)) and any(hasattr(one, "dtype") for one in value)
    )


def _tensors(args: Iterable[Any]) -> Iterator[Any]:
    """The nodes among the arguments of a call."""
    for one in args:
        if isinstance(one, (list, tuple)):
            yield from _tensors(one)
        elif hasattr(one, "op") and hasattr(one, "name"):
            yield one


def _over_pixels(axes: Any, dims: int) -> bool:
    """Whether a mean is over the pixels of each channel."""
    return dims == 4 and isinstance(axes, (list, tuple)) and {axis % 4 for axis in axes} == {2, 3}


def _copies(torch: Any, node: Any) -> bool:
    """Whether a tensor of that order in memory cannot be seen in the new shape without a copy."""
    source = next(iter(_tensors(node.args)), None)
    before: Any = source.meta.get("val") if source else None
    after = node.meta["val"]
    if not hasattr(before, "stride") or not hasattr(after, "shape"):
        return False
    sizes, strides, shape = (
        [size if isinstance(size, int) else size.node.hint for size in each]
        for each in (before.shape, before.stride(), after.shape)
    )
    seen = torch.empty_strided(sizes, strides, device="meta")
    if sizes == shape:
        return not seen.is_contiguous()
    try:
        seen.view(shape)
    except RuntimeError:
        return True
    return False
