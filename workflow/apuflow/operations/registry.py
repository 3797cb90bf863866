"""All kinds of operations by name, and how one is made from a shape or from its text."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar
from apuflow.operations.bias import Bias
from apuflow.operations.columns import Col2im, Im2col
from apuflow.operations.convolution import Convolution
from apuflow.operations.deconvolution import Deconvolution
from apuflow.operations.key import keys_of
from apuflow.operations.layers import Layers
from apuflow.operations.learned import Embedding, Gelu, LayerNorm, Sgd, Upsample
from apuflow.operations.operation import Operation
from apuflow.operations.product import Product
from apuflow.operations.recurrent import Recurrent
from apuflow.operations.tensors import Concat, Copy, Elementwise, Exchange, Fill, ScaleShift

KINDS: Final[Mapping[str, type[Operation]]] = MappingProxyType(
    {
        kind.kind: kind
        for kind in (
            Product,
            Convolution,
            Deconvolution,
            Im2col,
            Col2im,
            Bias,
            Elementwise,
            Concat,
            ScaleShift,
            Copy,
            Fill,
            Exchange,
            Recurrent,
            LayerNorm,
            Gelu,
            Embedding,
            Upsample,
            Sgd,
        )
    }
)
"""By the name that workload files and suites use."""


def make(kind: str, shape: Mapping[str, Scalar]) -> Operation:
    """The operation of a kind with a shape.

    Raises:
        ConfigError: no such kind, an unknown or missing key, or values that do not fit.
    """
    if kind not in KINDS:
        raise ConfigError(
            "no such operation",
            key="operation",
            value=kind,
            remedy=_meant(kind, tuple(KINDS)) or f"one of {', '.join(KINDS)}",
        )
    cls = KINDS[kind]
    keys = {key.name: key for key in keys_of(cls)}
    values: dict[str, Scalar] = {}
    for name, value in shape.items():
        if name not in keys:
            raise ConfigError(
                f"operation {kind} has no such key",
                key=name,
                value=value,
                remedy=_meant(name, tuple(keys)) or f"its keys are {', '.join(keys)}",
            )
        try:
            values[name] = keys[name].read(value)
        except ValueError as error:
            raise ConfigError(
                f"a wrong value of operation {kind}", key=name, value=value, remedy=str(error)
            ) from None
    for name, key in keys.items():
        if key.default is None and name not in values:
            raise ConfigError(f"operation {kind} lacks a key", key=name, remedy=f"give {name}: {key.meaning}")
    made = cls(**values)
    for name, what, remedy in made.problems():
        raise ConfigError(
            f"operation {kind}: {what}", key=name, value=getattr(made, name, None), remedy=remedy
        )
    return made


@lru_cache(maxsize=16384)
def parse(text: str) -> Operation:
    """The operation of a canonical text (``Operation.text``), DNNMark's layers among them.

    Raises:
        ConfigError: as make().
    """
    head, *lines = text.split("\n")
    if head == f"[{Layers.kind}]":
        return Layers.of_text(text)
    pairs = (line.partition("=") for line in lines if line)
    return make(head.strip("[]"), {name: value for name, _, value in pairs})


def _meant(name: str, known: tuple[str, ...]) -> str:
    close = difflib.get_close_matches(name, known, 1)
    return f"{close[0]} was meant?" if close else ""
