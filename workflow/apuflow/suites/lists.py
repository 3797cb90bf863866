"""Suites that are lists: DeepBench's and AI-Matrix' tables, one reader per kind of item.

Operations are counted by the suites' rules. DeepBench: 2mnk for a product; 2NKCRSPQ for a convolution and
each of its gradients; 2 x gates x h x h x batch x steps for the recurrent products of a layer and each of
their gradients. AI-Matrix counts none; its products with the input follow the same rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import Final, TypeAlias

from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar
from apuflow.suites.spec import parse
from apuflow.suites.step import ALL_REDUCE, OPERATION, PHASES, PHASES_OF, Choice, Step, product
from apuflow.suites.table import Row

CELLS: Final[Mapping[str, tuple[str, int]]] = {
    "vanilla": ("relu", 1),
    "vanilla_tanh": ("tanh", 1),
    "gru": ("gru", 3),
    "lstm": ("lstm", 4),
}
"""By kind of cell: the operation's cell, and products with the hidden state. DeepBench's vanilla cell has a
ReLU, TensorFlow's a hyperbolic tangent."""
OPERATIONS: Final = "operations"
"""The kind of a list whose rows are specifications (``Spec.text``)."""
OPERATION_COLUMNS: Final = ("operation", "op", "phase", "repeats", "flop", "name")

ReadItem: TypeAlias = Callable[[int, Row, Choice], Iterator[Step]]


def _group(row: Row) -> str:
    return row.cells.get("set", "")


def _image(row: Row) -> tuple[dict[str, Scalar], str]:
    """Sizes of an image, and their text."""
    sizes = row.sizes("n", "c", "h", "w")
    return {**sizes}, "x".join(map(str, sizes.values()))


def _phased(
    item: int, name: str, op: str, shape: Mapping[str, Scalar], choice: Choice, flop: int = 0, group: str = ""
) -> Iterator[Step]:
    """A step forward, and one backward of twice the work; lists measure no weight updates."""
    for phase in PHASES_OF[choice.direction]:
        if phase != "update":
            yield Step(item, name, op, phase, shape, 1, flop if phase == "forward" else 2 * flop, group)


def _gemm(item: int, row: Row, choice: Choice) -> Iterator[Step]:
    """A product, without a backward pass; without column ``beta`` C is read (beta = 1)."""
    m, n, k = row.sizes("m", "n", "k").values()
    a, b = bool(row.whole("a_transposed")), bool(row.whole("b_transposed"))
    name = f"{m}x{n}x{k} {'NT'[a]}{'NT'[b]}"
    shape = product(m, n, k, a, b, beta=row.whole("beta", 1))
    if choice.direction != "bwd":
        yield Step(item, name, "gemm", "forward", shape, 1, 2 * m * n * k, _group(row))


def _sparse(item: int, row: Row, choice: Choice) -> Iterator[Step]:
    why = "MIOpen and rocBLAS of ROCm 4.0 have no sparse product"
    for step in _gemm(item, row, choice):
        name = f"{step.name} {float(row.text('sparsity')):.0%} zeros"
        yield Step(item, name, "sparse_gemm", "forward", step.shape, 1, 0, step.group, why)


def _convolution(columns: Mapping[str, str]) -> ReadItem:
    """Whole windows only; ``columns``: those of the operation's keys. Without columns of padding it is 0."""

    def read(item: int, row: Row, choice: Choice) -> Iterator[Step]:
        shape, image = _image(row)
        k, r, s = (row.size(columns[key]) for key in ("num_output", "kernel_h", "kernel_w"))
        shape |= {"num_output": k, "kernel_h": r, "kernel_w": s}
        shape |= {key: row.whole(key, 0) for key in ("pad_h", "pad_w")}
        shape |= {key: row.size(columns[key]) for key in ("stride_h", "stride_w")}
        outputs = prod(_outputs(shape, side) for side in ("h", "w"))
        flop = 2 * int(shape["n"]) * k * int(shape["c"]) * r * s * outputs
        shape |= {"algorithm": choice.algorithm}
        yield from _phased(item, f"{image} to {k}, {r}x{s}", "conv", shape, choice, flop, _group(row))

    return read


def _outputs(shape: Mapping[str, Scalar], side: str) -> int:
    """Whole windows along a side."""
    size, kernel, pad, stride = (int(shape[key + side]) for key in ("", "kernel_", "pad_", "stride_"))
    return (size + 2 * pad - kernel) // stride + 1


def _recurrent(item: int, row: Row, choice: Choice) -> Iterator[Step]:
    """A layer over all time steps; without column ``input`` without the product with the input.

    DeepBench's backward pass computes the weights' gradient, not the input's, and "all the recurrent work is
    done" for it: gradients run back through all steps first.
    """
    kind = row.text("cell")
    cell, gates = CELLS[kind]
    hidden, batch, steps = row.sizes("hidden", "batch", "timesteps").values()
    inputs = row.whole("input", 0)
    shape: dict[str, Scalar] = {"cell": cell, "hidden": hidden, "batch": batch, "steps": steps}
    shape |= {"input": inputs} if inputs else {}
    flop = 2 * gates * hidden * (hidden + inputs) * batch * steps
    name = f"{kind} {hidden}, batch {batch}, {steps} steps"
    yield from _phased(item, name, kind, shape, choice, flop, _group(row))


def _all_reduce(item: int, row: Row, choice: Choice) -> Iterator[Step]:
    floats = row.size("floats")
    why = "computed by the ring formula (apuflow results allreduce): no kernel is simulated"
    if choice.direction != "bwd":
        yield Step(item, f"{floats:,} floats", ALL_REDUCE, "forward", {"elements": floats}, why=why)


def _plain(op: str) -> ReadItem:
    """Items with n, c, h, w only."""

    def read(item: int, row: Row, choice: Choice) -> Iterator[Step]:
        shape, name = _image(row)
        yield from _phased(item, name, op, shape, choice)

    return read


def _activation(item: int, row: Row, choice: Choice) -> Iterator[Step]:
    shape, image = _image(row)
    for op in ("relu", "sigmoid", "tanh", "softmax"):
        yield from _phased(item, f"{op} {image}", op, shape, choice, group=op)


def _pooling(item: int, row: Row, choice: Choice) -> Iterator[Step]:
    """AI-Matrix' columns: square whole windows, no padding (VALID), by maximum and by mean."""
    shape, image = _image(row)
    kernel = row.size("kernel")
    shape |= {"kernel_h": kernel, "kernel_w": kernel, **row.sizes("stride_h", "stride_w")}
    shape |= {"pad_h": 0, "pad_w": 0}
    shape |= {f"out_{side}": _outputs(shape, side) for side in ("h", "w")}
    for op in ("maxpool", "avgpool"):
        yield from _phased(item, f"{op} {image}, {kernel}x{kernel}", op, shape, choice, group=op)


def _fully_connected(item: int, row: Row, choice: Choice) -> Iterator[Step]:
    n, inputs, outputs = row.sizes("n", "in_features", "out_features").values()
    shape: dict[str, Scalar] = {"n": n, "c": inputs, "h": 1, "w": 1, "num_output": outputs}
    yield from _phased(item, f"{n}x{inputs} to {outputs}", "fc", shape, choice, 2 * n * inputs * outputs)


def _memory(item: int, row: Row, choice: Choice) -> Iterator[Step]:
    op = row.text("op")
    shape, image = _image(row)
    name = f"{op} {image}"
    if op in ("im2col", "col2im"):
        window = {"kernel": row.size("kernel"), "pad": row.whole("pad"), "stride": row.size("stride")}
        shape |= {f"{key}_{side}": value for key, value in window.items() for side in ("h", "w")}
        name += f", {window['kernel']}x{window['kernel']}"
    elif op != "transpose":
        shape = {"elements": prod(row.sizes("n", "c", "h", "w").values())}
    if choice.direction != "bwd":
        yield Step(item, name, op, "forward", shape, group=op)


def _operation(item: int, row: Row, choice: Choice) -> Iterator[Step]:
    """Any operation, or workload of kernels, with the row's repeats; ``flop`` is that of all repeats."""
    text = row.text("operation")
    try:
        spec = parse(text)
    except ConfigError as error:
        error.file, error.key = f"{row.file}:{row.line}", "operation"
        raise
    phase = next((phase for phase in PHASES if phase == row.text("phase")), None)
    if phase is None:
        raise row.wrong("phase", "no such phase", f"one of {', '.join(PHASES)}")
    if phase in PHASES_OF[choice.direction]:
        repeats, flop = row.whole("repeats", 1, 1), row.whole("flop", 0)
        shape: dict[str, Scalar] = {OPERATION: text}
        if spec.of_workload:
            shape = dict(spec.keys)
        workload = spec.kind if spec.of_workload else ""
        about = item, row.text("name"), row.text("op"), phase, shape, repeats, flop
        yield Step(*about, workload=workload)


_IMAGE: Final = ("n", "c", "h", "w")
_STRIDES: Final = ("stride_h", "stride_w")
_FILTER: Final = ("num_output", "kernel_h", "kernel_w", *_STRIDES)
_DEEPBENCH: Final = dict(zip(_FILTER, ("k", "filter_h_r", "filter_w_s", *_STRIDES), strict=True))
_AI_MATRIX: Final = dict(zip(_FILTER, ("out_c", "kernel_h", "kernel_w", "stride", "stride"), strict=True))
READERS: Final[Mapping[str, tuple[ReadItem, tuple[str, ...]]]] = {
    "gemm": (_gemm, ("m", "n", "k", "a_transposed", "b_transposed")),
    "sparse": (_sparse, ("m", "n", "k", "a_transposed", "b_transposed", "sparsity")),
    "convolution": (_convolution(_DEEPBENCH), (*_IMAGE, *_DEEPBENCH.values(), "pad_h", "pad_w")),
    "layer_convolution": (_convolution(_AI_MATRIX), (*_IMAGE, *_AI_MATRIX.values())),
    "recurrent": (_recurrent, ("cell", "hidden", "batch", "timesteps")),
    ALL_REDUCE: (_all_reduce, ("floats",)),
    "pooling": (_pooling, (*_IMAGE, "kernel", *_STRIDES)),
    "fully_connected": (_fully_connected, ("n", "in_features", "out_features")),
    "activation": (_activation, _IMAGE),
    "batchnorm": (_plain("batchnorm"), _IMAGE),
    "batchnorm_inference": (_plain("scale_shift"), _IMAGE),
    "memory": (_memory, ("op", *_IMAGE, "kernel", "stride", "pad")),
    OPERATIONS: (_operation, OPERATION_COLUMNS),
}
"""By kind of suite, the reader of an item and the table's required columns."""
