"""The graph of a model: operators under ONNX' names, in the order of execution, and the shapes of tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

Dims: TypeAlias = tuple[int, ...]
Cells: TypeAlias = dict[str, int | str]
Problem: TypeAlias = tuple[str, str, str]
"""A node without a row: operator, name, and reason (empty: the operator has no row)."""


@dataclass(frozen=True)
class Node:
    """One operator of a graph.

    Attributes:
        op: its ONNX name.
        inputs, outputs: names of tensors; weights are those of ``Graph.weights``.
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


OTHER_TYPE: Final = "tensor of "
"""Placeholder for the operator in a problem of a tensor's type."""
HANDED_ON: Final = frozenset(("Identity", "Dropout", "Flatten", "Reshape", "Squeeze", "Unsqueeze", "Cast"))
"""Operators that compute nothing in inference."""
