"""Recurrent and attention networks as tables: products and element-wise kernels of one iteration.

The shapes include the batch and lengths of the table's author. The table has the forward pass. Backward, a
product has the gradients of both factors; another layer has one kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from apuflow.core.scalar import Scalar
from apuflow.suites.network import Memory
from apuflow.suites.step import PHASES_OF, Choice, Phase, Step, product
from apuflow.suites.table import Row, read_rows

COLUMNS: Final = (
    *("layer", "op", "m", "n", "k", "batch", "a_transposed", "b_transposed", "elements", "repeats"),
    *("macs", "params", "note"),
)
ADD_LAYERNORM: Final = "add_layernorm"
"""Two steps: the sum with the residual, and its normalisation."""
GATHER: Final = "gather"
"""``elements`` gathered by row from ``m`` rows of ``k``; ``params`` is 0 if another part has the table."""
GATHER_ADD: Final = "gather_add"
"""Two steps: gathered rows of words, and the sum with those of their positions."""
GATHER_ADD_LAYERNORM: Final = "gather_add_layernorm"
"""GATHER_ADD and its normalisation."""
NORM_RELU6: Final = "batchnorm+relu6"
"""Two steps: a batch normalisation and an activation."""
SCORES: Final = "tanh_dot_softmax"
"""Four steps, the scores of additive attention: the query added to each key, tanh, the product with a learnt
vector, a softmax over the source. ``elements`` are scores; the units of a key are the rows of the product
before."""
LSTM_GATES: Final = "lstm_pointwise"
PRODUCTS: Final = ("gemm", "conv")
"""Kinds whose rows state m, n and k; for a convolution, those of its product."""


@dataclass(frozen=True)
class Part:
    """One row: a product or an element-wise kernel, ``repeats`` times.

    Attributes:
        macs: the table's multiply-adds of all repeats.
        params: learnt values.
        width: values that a softmax normalises together, or of a gathered row; else 0.
        units: of a key, for scores.
    """

    number: int
    name: str
    op: str
    m: int
    n: int
    k: int
    batch: int
    transpose_a: bool
    transpose_b: bool
    elements: int
    repeats: int
    macs: int
    params: int
    width: int = 0
    units: int = 0

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of all repeats from the shape."""
        return self.repeats * self.batch * self.m * self.n * self.k if self.op in PRODUCTS else 0

    @property
    def out_elements(self) -> int:
        """Written values of all repeats."""
        each = self.batch * self.m * self.n if self.op in PRODUCTS else self.elements * (1 + self.units)
        return self.repeats * each


@dataclass(frozen=True)
class Sequence:
    """A network of products and element-wise kernels, forward order."""

    parts: tuple[Part, ...]

    @cached_property
    def params(self) -> int:
        """Learnt values."""
        return sum(part.params for part in self.parts)

    @cached_property
    def macs(self) -> int:
        """Multiply-adds of the forward pass."""
        return sum(part.multiply_adds for part in self.parts)

    def steps(self, choice: Choice) -> Iterator[Step]:
        """An iteration: forward in order, backward in reverse, then the update."""
        for phase in PHASES_OF[choice.direction]:
            for part in reversed(self.parts) if phase == "backward" else self.parts:
                if phase == "update" or part.number not in self._cells:
                    yield from _steps(part, phase)
                elif part.op == "gemm":
                    yield _cell(part, phase)

    @cached_property
    def _cells(self) -> frozenset[int]:
        """The recurrent products of an LSTM layer and their gates, as one operation."""
        pairs = (
            (product, gates)
            for product, gates in zip(self.parts, self.parts[1:], strict=False)
            if gates.op == LSTM_GATES and (product.op, product.repeats) == ("gemm", gates.repeats)
            if product.m == 4 * product.k and gates.elements == product.k * product.n
        )
        return frozenset(part.number for pair in pairs for part in pair)

    def memory(self, choice: Choice) -> Memory:
        """Bytes of an iteration in fp32, with all outputs for the backward pass."""
        return Memory.of(self.params, sum(part.out_elements for part in self.parts), choice.direction)


def read_sequence(file: Path) -> Sequence:
    """The network of a table. Raises ConfigError: not such a table."""
    rows = read_rows(file, COLUMNS)
    parts = [_part(number, row) for number, row in enumerate(rows, 1)]
    for place, part in enumerate(parts):
        if part.op == "softmax":
            parts[place] = replace(part, width=_width(parts, place))
        elif part.op == SCORES:
            before = next((each.m for each in reversed(parts[:place]) if each.op == "gemm"), 0)
            if not before:
                remedy = "put the row of the query's product before it"
                raise rows[place].wrong("op", "no product before it says how many units a key has", remedy)
            parts[place] = replace(part, width=_width(parts, place), units=before)
        elif part.op in (GATHER_ADD, GATHER_ADD_LAYERNORM):
            parts[place] = replace(part, width=next((p.k for p in parts[place:] if p.op == "gemm"), 0))
    return Sequence(tuple(parts))


def _width(parts: list[Part], place: int) -> int:
    """Width of a softmax: the depth of the next batched product, else rows of the previous one."""
    after = next((part for part in parts[place + 1 :] if part.op == "gemm"), None)
    before = next((part for part in reversed(parts[:place]) if part.op == "gemm"), None)
    elements = parts[place].elements
    if after is not None and after.batch > 1 and elements % after.k == 0:
        return after.k
    return before.m if before is not None and elements % before.m == 0 else elements


def _part(number: int, row: Row) -> Part:
    op = row.text("op")
    sizes: tuple[int | None, int] = (None, 1) if op in PRODUCTS else (0, 0)
    table: tuple[int | None, int] = (None, 1) if op == GATHER else sizes
    return Part(
        number=number,
        name=row.text("layer"),
        op=op,
        m=row.whole("m", *table),
        n=row.whole("n", *sizes),
        k=row.whole("k", *table),
        batch=row.whole("batch", 1, 1),
        transpose_a=bool(row.whole("a_transposed", 0)),
        transpose_b=bool(row.whole("b_transposed", 0)),
        elements=row.whole("elements", 0) if op in PRODUCTS else row.size("elements"),
        repeats=row.whole("repeats", 1, 1),
        macs=row.whole("macs", 0),
        params=row.whole("params", 0),
    )


def _steps(part: Part, phase: Phase) -> Iterator[Step]:
    if phase == "update":
        if part.params:
            yield Step(part.number, part.name, "sgd", phase, {"elements": part.params})
    elif part.op == NORM_RELU6:
        yield from (_plain(part, op, phase) for op in part.op.split("+"))
    elif part.op == SCORES:
        steps = list(_scores(part, phase))
        yield from reversed(steps) if phase == "backward" else steps
    elif part.op == GATHER:
        yield _plain(replace(part, params=part.m * part.k, width=part.k), "embedding", phase)
    elif part.op in (ADD_LAYERNORM, GATHER_ADD, GATHER_ADD_LAYERNORM):
        yield from _composed(part, phase)
    elif part.op not in PRODUCTS:
        yield _plain(part, part.op, phase)
    else:
        for name, shape in (_forward(part) if phase == "forward" else _gradients(part)).items():
            flop = 2 * part.multiply_adds
            yield Step(part.number, f"{part.name}{name}", "gemm", phase, shape, part.repeats, flop)


def _composed(part: Part, phase: Phase) -> Iterator[Step]:
    """The steps of a row of several kernels."""
    normalised = part.op != GATHER_ADD
    if part.op != ADD_LAYERNORM:
        learnt = part.params - (2 * part.width if normalised else 0)
        yield _plain(replace(part, name=f"{part.name}.gather", params=learnt), "embedding", phase)
    yield _added(part, part.elements, phase)
    if normalised:
        yield _plain(part, "layernorm", phase)


def _scores(part: Part, phase: Phase) -> Iterator[Step]:
    """The steps of additive attention's scores in forward order. The table counts no work for them."""
    inner = part.elements * part.units
    yield _added(part, inner, phase)
    yield Step(part.number, f"{part.name}.tanh", "tanh", phase, {"elements": inner}, part.repeats)
    dot = replace(part, name=f"{part.name}.dot", op="gemm", m=1, n=part.elements, k=part.units)
    yield from (replace(step, flop=0) for step in _steps(dot, phase))
    yield _plain(replace(part, name=f"{part.name}.softmax"), "softmax", phase)


def _added(part: Part, elements: int, phase: Phase) -> Step:
    shape: dict[str, Scalar] = {"n": 1, "c": 1, "h": 1, "w": elements, "inputs": 2}
    return Step(part.number, f"{part.name}.add", "add", phase, shape, part.repeats)


def _plain(part: Part, op: str, phase: Phase) -> Step:
    """A step described by elements, learnt values and the width of its rows."""
    shape: dict[str, Scalar] = {"elements": part.elements, "params": part.params}
    shape |= {"width": part.width} if part.width else {}
    return Step(part.number, part.name, op, phase, shape, part.repeats)


def _cell(part: Part, phase: Phase) -> Step:
    """The time steps of an LSTM layer; the input's product has its own row."""
    shape: dict[str, Scalar] = {"cell": "lstm", "hidden": part.k, "batch": part.n, "steps": part.repeats}
    times = 2 if phase == "forward" else 4
    return Step(part.number, part.name, "lstm", phase, shape, 1, times * part.multiply_adds)


def _forward(part: Part) -> dict[str, dict[str, Scalar]]:
    return {"": product(part.m, part.n, part.k, part.transpose_a, part.transpose_b, part.batch)}


def _gradients(part: Part) -> dict[str, dict[str, Scalar]]:
    """``dC op(B)'``, m x k, and ``op(A)' dC``, k x n; transposed if A, B is stored transposed."""
    m, n, k, a, b = part.m, part.n, part.k, part.transpose_a, part.transpose_b
    of_a = (k, m, n, b, True) if a else (m, k, n, False, not b)
    of_b = (n, k, m, True, a) if b else (k, n, m, not a, False)
    return {".da": product(*of_a, part.batch), ".db": product(*of_b, part.batch)}
