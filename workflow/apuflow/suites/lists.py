"""Suites that are lists: DeepBench's and AI-Matrix' tables, one reader per kind of item.

Operations are counted by the suites' rules. DeepBench: 2mnk for a product; 2NKCRSPQ for a convolution and
each of its gradients; 2 x gates x h x h x batch x steps for the recurrent products of a layer and each of
their gradients. AI-Matrix counts none; its products with the input follow the same rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from apuflow.core.errors import ConfigError
from apuflow.suites.spec import parse
from apuflow.suites.step import OPERATION, PHASES, PHASES_OF, Choice, Phase, Step
from apuflow.suites.table import Row

GATES: Final[Mapping[str, int]] = {"vanilla": 1, "vanilla_tanh": 1, "gru": 3, "lstm": 4}
"""Products of a cell with its hidden state, by kind of cell."""
POOLS: Final = ("maxpool", "avgpool")
ACTIVATIONS: Final = ("relu", "sigmoid", "tanh", "softmax")
NO_SPARSE: Final = "MIOpen and rocBLAS of ROCm 4.0 have no sparse product"
OPERATIONS: Final = "operations"
"""The kind of a list whose rows are specifications (``Spec.text``)."""
OPERATION_COLUMNS: Final = ("operation", "op", "phase", "repeats", "flop", "name")
NOT_SIMULATED: Final = "computed by the ring formula (apuflow allreduce): no kernel is simulated"

ReadItem: TypeAlias = Callable[[int, Row, Choice], Iterator[Step]]


def _phases(choice: Choice) -> Iterator[Phase]:
    """Phases of an item; lists measure single operations without weight updates."""
    yield from (phase for phase in PHASES_OF[choice.direction] if phase != "update")


def _group(row: Row) -> str:
    return row.cells.get("set", "")


def _gemm(item: int, row: Row, choice: Choice) -> Iterator[Step]:
    """A product, without a backward pass; without column ``beta`` C is read (beta = 1)."""
    m, n, k = (row.whole(name, minimum=1) for name in ("m", "n", "k"))
    transposes = row.whole("a_transposed"), row.whole("b_transposed")
    letters = "".join("NT"[bool(transposed)] for transposed in transposes)
    shape: dict[str, int | str] = {
        "m": m,
        "n": n,
        "k": k,
        "transpose_a": transposes[0],
        "transpose_b": transposes[1],
        "batch": 1,
        "beta": row.whole("beta", 1),
    }
    if choice.direction != "bwd":
        yield Step(item, f"{m}x{n}x{k} {letters}", "gemm", "forward", shape, 1, 2 * m * n * k, _group(row))


def _sparse(item: int, row: Row, choice: Choice) -> Iterator[Step]:
    for step in _gemm(item, row, choice):
        name = f"{step.name} {float(row.text('sparsity')):.0%} zeros"
        yield Step(item, name, "sparse_gemm", "forward", step.shape, 1, 0, step.group, NO_SPARSE)


def _convolution(item: int, row: Row, choice: Choice) -> Iterator[Step]:
    """DeepBench's columns: w, h, c, n, k, filter w and h, pads, strides; whole windows only."""
    sizes = {name: row.whole(name, minimum=1) for name in ("n", "c", "h", "w", "k")}
    shape: dict[str, int | str] = {
        **sizes,
        "kernel_h": row.whole("filter_h_r", minimum=1),
        "kernel_w": row.whole("filter_w_s", minimum=1),
        "stride_h": row.whole("stride_h", minimum=1),
        "stride_w": row.whole("stride_w", minimum=1),
        "pad_h": row.whole("pad_h"),
        "pad_w": row.whole("pad_w"),
    }
    yield from _convolved(item, shape, choice, _group(row))


def _layer_convolution(item: int, row: Row, choice: Choice) -> Iterator[Step]:
    """AI-Matrix' columns: square strides, no padding (VALID)."""
    stride = row.whole("stride", minimum=1)
    shape: dict[str, int | str] = {name: row.whole(name, minimum=1) for name in ("n", "c", "h", "w")}
    shape |= {
        "k": row.whole("out_c", minimum=1),
        "kernel_h": row.whole("kernel_h", minimum=1),
        "kernel_w": row.whole("kernel_w", minimum=1),
        "stride_h": stride,
        "stride_w": stride,
        "pad_h": 0,
        "pad_w": 0,
    }
    yield from _convolved(item, shape, choice, "")


def _convolved(item: int, shape: dict[str, int | str], choice: Choice, group: str) -> Iterator[Step]:
    n, c, h, w, k, r, s, stride_h, stride_w, pad_h, pad_w = (int(value) for value in shape.values())
    out_h = (h + 2 * pad_h - r) // stride_h + 1
    out_w = (w + 2 * pad_w - s) // stride_w + 1
    flop = 2 * n * k * c * r * s * out_h * out_w
    name = f"{n}x{c}x{h}x{w} to {k}, {r}x{s}"
    full = {**shape, "dilation": 1, "groups": 1, "data": 1}
    for phase in _phases(choice):
        times = 1 if phase == "forward" else 2
        yield Step(item, name, "conv", phase, full, 1, times * flop, group)


def _recurrent(item: int, row: Row, choice: Choice) -> Iterator[Step]:
    """A layer over all time steps; without column ``input`` without the product with the input.

    DeepBench's backward pass computes the weights' gradient, not the input's, and "all the recurrent work is
    done" for it: gradients run back through all steps first.
    """
    cell = row.text("cell")
    hidden, batch, steps = (row.whole(name, minimum=1) for name in ("hidden", "batch", "timesteps"))
    inputs = row.whole("input", 0)
    flop = 2 * GATES[cell] * hidden * (hidden + inputs) * batch * steps
    shape: dict[str, int | str] = {"cell": cell, "hidden": hidden, "batch": batch, "steps": steps}
    shape |= {"input": inputs} if inputs else {}
    name = f"{cell} {hidden}, batch {batch}, {steps} steps"
    for phase in _phases(choice):
        times = 1 if phase == "forward" else 2
        yield Step(item, name, cell, phase, shape, 1, times * flop, _group(row))


def _all_reduce(item: int, row: Row, choice: Choice) -> Iterator[Step]:
    floats = row.whole("floats", minimum=1)
    if choice.direction != "bwd":
        shape: dict[str, int | str] = {"elements": floats}
        yield Step(item, f"{floats:,} floats", "all_reduce", "forward", shape, why=NOT_SIMULATED)


def _plain(op: str) -> ReadItem:
    """Items with n, c, h, w only."""

    def read(item: int, row: Row, choice: Choice) -> Iterator[Step]:
        shape: dict[str, int | str] = {name: row.whole(name, minimum=1) for name in ("n", "c", "h", "w")}
        name = "x".join(map(str, shape.values()))
        for phase in _phases(choice):
            yield Step(item, name, op, phase, shape)

    return read


def _activation(item: int, row: Row, choice: Choice) -> Iterator[Step]:
    for op in ACTIVATIONS:
        for step in _plain(op)(item, row, choice):
            yield Step(item, f"{op} {step.name}", op, step.phase, step.shape, group=op)


def _pooling(item: int, row: Row, choice: Choice) -> Iterator[Step]:
    """AI-Matrix' columns: square whole windows, no padding (VALID), by maximum and by mean."""
    kernel = row.whole("kernel", minimum=1)
    strides = row.whole("stride_h", minimum=1), row.whole("stride_w", minimum=1)
    steps = [step for op in POOLS for step in _plain(op)(item, row, choice)]
    for step in steps:
        h, w = int(step.shape["h"]), int(step.shape["w"])
        shape = {
            **step.shape,
            "kernel_h": kernel,
            "kernel_w": kernel,
            "stride_h": strides[0],
            "stride_w": strides[1],
            "pad_h": 0,
            "pad_w": 0,
            "out_h": (h - kernel) // strides[0] + 1,
            "out_w": (w - kernel) // strides[1] + 1,
        }
        name = f"{step.op} {step.name}, {kernel}x{kernel}"
        yield Step(item, name, step.op, step.phase, shape, group=step.op)


def _fully_connected(item: int, row: Row, choice: Choice) -> Iterator[Step]:
    n, inputs, outputs = (row.whole(name, minimum=1) for name in ("n", "in_features", "out_features"))
    shape: dict[str, int | str] = {"n": n, "c": inputs, "h": 1, "w": 1, "k": outputs, "data": 1}
    for phase in _phases(choice):
        times = 1 if phase == "forward" else 2
        yield Step(
            item, f"{n}x{inputs} to {outputs}", "fc", phase, shape, 1, 2 * times * n * inputs * outputs
        )


def _memory(item: int, row: Row, choice: Choice) -> Iterator[Step]:
    """Operations that only move data."""
    op = row.text("op")
    shape: dict[str, int | str] = {name: row.whole(name, minimum=1) for name in ("n", "c", "h", "w")}
    name = f"{op} {'x'.join(map(str, shape.values()))}"
    if op in ("im2col", "col2im"):
        shape |= {
            key: row.whole(key, minimum=0 if key == "pad" else 1) for key in ("kernel", "stride", "pad")
        }
        name += f", {shape['kernel']}x{shape['kernel']}"
    if choice.direction != "bwd":
        yield Step(item, name, op, "forward", shape, group=op)


def _operation(item: int, row: Row, choice: Choice) -> Iterator[Step]:
    """Any operation with the row's repeats; ``flop`` is that of all repeats."""
    text = row.text("operation")
    where = f"{row.file}:{row.line}"
    try:
        parse(text)
    except ConfigError as error:
        error.file, error.key = where, "operation"
        raise
    phase = next((phase for phase in PHASES if phase == row.text("phase")), None)
    if phase is None:
        raise ConfigError(
            "no such phase",
            file=where,
            key="phase",
            value=row.text("phase"),
            remedy=f"one of {', '.join(PHASES)}",
        )
    if phase in PHASES_OF[choice.direction]:
        repeats, flop = row.whole("repeats", 1, 1), row.whole("flop", 0)
        yield Step(item, row.text("name"), row.text("op"), phase, {OPERATION: text}, repeats, flop)


READERS: Final[Mapping[str, tuple[ReadItem, tuple[str, ...]]]] = {
    "gemm": (_gemm, ("m", "n", "k", "a_transposed", "b_transposed")),
    "sparse": (_sparse, ("m", "n", "k", "a_transposed", "b_transposed", "sparsity")),
    "convolution": (
        _convolution,
        (*("w", "h", "c", "n", "k", "filter_w_s", "filter_h_r"), *("pad_w", "pad_h", "stride_w", "stride_h")),
    ),
    "layer_convolution": (
        _layer_convolution,
        ("n", "c", "h", "w", "out_c", "kernel_h", "kernel_w", "stride"),
    ),
    "recurrent": (_recurrent, ("cell", "hidden", "batch", "timesteps")),
    "all_reduce": (_all_reduce, ("floats",)),
    "pooling": (_pooling, ("n", "c", "h", "w", "kernel", "stride_h", "stride_w")),
    "fully_connected": (_fully_connected, ("n", "in_features", "out_features")),
    "activation": (_activation, ("n", "c", "h", "w")),
    "batchnorm": (_plain("batchnorm"), ("n", "c", "h", "w")),
    "batchnorm_inference": (_plain("scale_shift"), ("n", "c", "h", "w")),
    "memory": (_memory, ("op", "n", "c", "h", "w", "kernel", "stride", "pad")),
    OPERATIONS: (_operation, OPERATION_COLUMNS),
}
"""By kind of suite, the reader of an item and the table's required columns."""
