"""The graph of a model: operators under ONNX' names in the order of execution."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
        symbolic: shapes in which sizes may be expressions of ``names``; without: as ``shapes``.
        types: of tensors of numbers, ``float``, ``half`` or ``bfloat16``; "": of other tensors.
        learnt: values of each learnt tensor.
        names: of sizes that are open, with their usual value, which ``shapes`` has.
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
    symbolic: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    learnt: Mapping[str, int] = field(default_factory=dict)
    names: Mapping[str, int] = field(default_factory=dict)

    def sizes(self, name: str) -> tuple[str, ...]:
        """The shape of a tensor, as expressions. Raises NoRowError: it is not known."""
        if name in self.symbolic:
            return self.symbolic[name]
        if name not in self.shapes or any(size < 1 for size in self.shapes[name]):
            raise NoRowError("the shape of a tensor is not known")
        return tuple(map(str, self.shapes[name]))


class NoRowError(ValueError):
    """Why a node has no row."""


def library(name: str, extra: str) -> Any:
    """Import a library that is an extra of apuflow. Raises ConfigError: it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        what, remedy = f"the Python library {name} is not installed", f"pip install 'apuflow[{extra}]'"
        raise ConfigError(what, remedy=remedy) from None
