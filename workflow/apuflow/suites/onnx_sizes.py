"""Open sizes of ONNX files: shapes inferred for several values of each, and the expressions that fit them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from apuflow.suites.models import Dims

Shapes: TypeAlias = Mapping[str, Dims]
USUAL: Final = 128
"""Value of an open size other than the batch."""


def open_sizes(graph: Any) -> dict[tuple[str, int], str]:
    """Names of the inputs' open dimensions: ``n`` for the first, the file's own for others."""
    initial = {tensor.name for tensor in graph.initializer}
    found: dict[tuple[str, int], str] = {}
    for value in graph.input:
        for place, dim in enumerate(value.type.tensor_type.shape.dim if value.name not in initial else ()):
            if not dim.HasField("dim_value"):
                own = re.sub(r"\W", "_", dim.dim_param) or f"size{place}"
                found[value.name, place] = "n" if place == 0 else own
    return found


def fitted(
    infer: Callable[[Mapping[str, int]], Shapes], names: Sequence[str]
) -> tuple[Shapes, dict[str, tuple[str, ...]], dict[str, int]]:
    """Shapes at the usual values, the same as expressions, and the usual values of sizes that stay open.

    Args:
        infer: shapes for values of the names.
    """
    usual = {name: 1 if name == "n" else USUAL for name in names}
    base = infer(usual)
    samples = [{**usual, name: usual[name] + more} for name in names for more in (1, 2)]
    samples.append({name: value + 1 for name, value in usual.items()})
    inferred = [(usual, base), *((values, infer(values)) for values in samples if names)]
    symbolic: dict[str, tuple[str, ...]] = {}
    for tensor, dims in base.items():
        texts = []
        for place in range(len(dims)):
            seen = [(values, shapes.get(tensor, ())[place : place + 1]) for values, shapes in inferred]
            text = _expression([(values, size[0]) for values, size in seen if size])
            if text is None or not all(size for _, size in seen):
                return base, {}, {}  # such as a Reshape to a fixed size
            texts.append(text)
        symbolic[tensor] = tuple(texts)
    return base, symbolic, usual


def _expression(samples: Sequence[tuple[Mapping[str, int], int]]) -> str | None:
    """A multiple of some names, or of one name and a constant; None: neither fits all samples."""
    usual, size = samples[0]
    names = [name for name in usual if any(s != size and v[name] != usual[name] for v, s in samples[:-1])]
    whole, rest = divmod(size, math.prod(usual[name] for name in names))
    if not rest and all(whole * math.prod(values[name] for name in names) == s for values, s in samples):
        return "*".join([*([str(whole)] if whole != 1 or not names else []), *names])
    if len(names) != 1:
        return None
    [name] = names
    step = next(s - size for values, s in samples if values[name] == usual[name] + 1)
    start = size - step * usual[name]
    fits = all(step * values[name] + start == s for values, s in samples)
    return f"{step}*{name}{start:+}" if fits else None
