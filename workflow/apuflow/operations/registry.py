"""All kinds of operations by name: how one is made from a shape or from its text, and their documentation."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar
from apuflow.operations import own, tensors
from apuflow.operations.convolution import Convolution
from apuflow.operations.filter import Col2im, Deconvolution, Im2col
from apuflow.operations.key import keys_of
from apuflow.operations.operation import Layers, Operation
from apuflow.operations.recurrent import Recurrent

_CLASSES: Final[tuple[type[Operation], ...]] = (
    *(tensors.Product, Convolution, Deconvolution, Im2col, Col2im, tensors.Bias, tensors.Elementwise),
    *(tensors.Concat, tensors.ScaleShift, tensors.Copy, tensors.Fill, tensors.Exchange, Recurrent),
    *(own.LayerNorm, own.Gelu, own.Embedding, own.Upsample, own.Sgd),
)
KINDS: Final[Mapping[str, type[Operation]]] = MappingProxyType({kind.kind: kind for kind in _CLASSES})
"""By the name that workload files and suites use."""


def make(kind: str, shape: Mapping[str, Scalar]) -> Operation:
    """The operation of a kind with a shape.

    Raises ConfigError: no such kind, an unknown or missing key, or values that do not fit.
    """
    if kind not in KINDS:
        remedy = f"{_meant(kind, KINDS)}one of {', '.join(KINDS)}"
        raise ConfigError("no such operation", key="operation", value=kind, remedy=remedy)
    cls = KINDS[kind]
    keys = {key.name: key for key in keys_of(cls)}
    values: dict[str, Scalar] = {}
    for name, value in shape.items():
        if name not in keys:
            remedy = f"{_meant(name, keys)}its keys are {', '.join(keys)}"
            raise ConfigError(f"operation {kind} has no such key", key=name, value=value, remedy=remedy)
        try:
            values[name] = keys[name].read(value)
        except ValueError as error:
            what = f"a wrong value of operation {kind}"
            raise ConfigError(what, key=name, value=value, remedy=str(error)) from None
    for name, key in keys.items():
        if key.default is None and name not in values:
            raise ConfigError(f"operation {kind} lacks a key", key=name, remedy=f"give {name}: {key.meaning}")
    made = cls(**values)
    for name, what, remedy in made.problems():
        raise ConfigError(f"operation {kind}: {what}", key=name, value=getattr(made, name), remedy=remedy)
    return made


@lru_cache(maxsize=16384)
def parse(text: str) -> Operation:
    """The operation of a canonical text, DNNMark's layers among them. Raises ConfigError as ``make``."""
    head, *lines = text.split("\n")
    if head == f"[{Layers.kind}]":
        return Layers.of_text(text)
    pairs = (line.partition("=") for line in lines if line)
    return make(head.strip("[]"), {name: value for name, _, value in pairs})


def _meant(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), 1)
    return f"did you mean {close[0]}? " if close else ""


def kinds_text() -> str:
    """A table of the kinds with the kernels that compute them."""
    lines = ["| operation | what it computes | directions | kernels |", "|---|---|---|---|"]
    for name, kind in KINDS.items():
        lines.append(f"| `{name}` | {kind.title} | {', '.join(kind.directions)} | {kind.source} |")
    return "\n".join([*lines, ""])
