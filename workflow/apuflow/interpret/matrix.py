"""Matrix instructions (MFMA, SMFMAC) and accumulation registers.

Source: AMD's manual "Instinct MI300 Instruction Set Architecture", chapter 7 (layouts of A, B, C and D,
broadcasts; EXEC is ignored). On gfx90a, products of 16 bits have no subnormals (PyTorch's documentation,
"Numerical accuracy").
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from apuflow.interpret.arithmetic import Array, bfloat
from apuflow.interpret.encodings import VECTOR, Instruction, lacking
from apuflow.interpret.floats import flushed
from apuflow.interpret.fp8 import values
from apuflow.interpret.operands import constant, put, scalar
from apuflow.interpret.state import LANES, Step, Waves

_FORM: Final = re.compile(
    r"v_(mfma|smfmac)_(f32|i32|f64)_(\d+)x(\d+)x(\d+)_?(?:(\d+)b_)?"
    r"(f32|f16|bf16|i8|f64|xf32|(?:fp8|bf8)_(?:fp8|bf8))(?:_1k)?"
)
_BYTES: Final = {"f64": 8, "f32": 4, "xf32": 4, "f16": 2, "bf16": 2, "i8": 1, "fp8": 1, "bf8": 1}


class Shape(NamedTuple):
    """D = A B + C, ``blocks`` times: rows, columns, depth; ``kinds`` of A and B.

    Attributes:
        sparse: A holds two of each four elements along the depth.
    """

    rows: int
    columns: int
    depth: int
    blocks: int
    kinds: tuple[str, str]
    result: str
    sparse: bool


def shape_of(name: str) -> Shape | None:
    """Of an instruction's name; None: it is no MFMA of a known type."""
    found = _FORM.fullmatch(name)
    if not found:
        return None
    rows, columns, depth = (int(found[number]) for number in (3, 4, 5))
    per_lane = {"f16": 4, "i8": 4, "bf16": 4 if name.endswith("_1k") else 2}.get(found[7], 1)
    blocks = int(found[6] or max(1, per_lane * LANES // (rows * depth)))
    first, _, second = found[7].partition("_")
    return Shape(rows, columns, depth, blocks, (first, second or first), found[2], found[1] == "smfmac")


def matrix_step(found: Instruction, isa: str) -> Step:
    """What an instruction of matrix units does.

    Raises:
        EngineError: the interpreter does not have the type, or the manual does not define the broadcast.
    """
    if found.name.startswith("v_accvgpr"):
        return _move(found)
    shape = shape_of(found.name)
    if shape is None:
        raise lacking(found)
    if shape.sparse:
        return _sparse(found, shape)
    if found.immediate and shape.result != "f64":
        parts = 1 << found.immediate
        if parts > shape.blocks or found.select >= parts:
            raise lacking(found, " with this CBSZ or ABID")
    return _product(found, shape, isa)


def operand_words(found: Instruction) -> tuple[int, int, int, int] | None:
    """Registers of a lane that A, B, C (of SMFMAC: the places) and D take; None: no known type."""
    shape = shape_of(found.name)
    if shape is None:
        return None
    first, second = (_BYTES[kind] for kind in shape.kinds)
    a = shape.depth * shape.rows * shape.blocks * first // (4 * LANES << shape.sparse)
    b = shape.depth * shape.columns * shape.blocks * second // (4 * LANES)
    d = shape.rows * shape.columns * shape.blocks * (2 if shape.result == "f64" else 1) // LANES
    return max(1, a), max(1, b), 1 if shape.sparse else d, d


def _move(found: Instruction) -> Step:
    from_there, to_there = "write" not in found.name, "read" not in found.name
    code = found.sources[0]

    def move(waves: Waves) -> None:
        base = waves.accumulation
        if code >= VECTOR:
            value = waves.v[code - VECTOR + base * from_there]
        else:
            value = _spread(scalar(code, "u", 0)(waves))
        put(waves, waves.v[found.target + base * to_there], value, None)

    return move


def _spread(value: Array) -> Array:
    return np.asarray(value).reshape(-1, 1)


def _product(found: Instruction, shape: Shape, isa: str) -> Step:
    rows, columns, depth, blocks, kinds, result, _ = shape
    a_lane, a_item = _input_places(rows, depth, blocks)
    b_lane, b_item = _input_places(columns, depth, blocks)
    signs = (1, 1, 1)
    if result == "f64":  # BLGP has the signs of A, B and C on gfx940
        signs = tuple(-1 if found.negative >> number & 1 else 1 for number in range(3))  # type: ignore[assignment]
    else:
        part = LANES >> found.immediate
        a_lane = a_lane % part + part * found.select if found.immediate else a_lane
        b_lane = _B_LANES[found.negative](b_lane)
    sizes = [depth * outer * blocks // LANES for outer in (rows, columns)]
    flush = flushed if isa == "gfx90a" and kinds[0] in ("f16", "bf16") else np.asarray
    wide = np.int64 if result == "i32" else np.float64
    first, second = (
        _elements(found, number, flag, kinds[number], sizes[number]) for number, flag in ((0, "a"), (1, "b"))
    )

    def product(waves: Waves) -> Array:
        a = flush(first(waves))[:, a_lane, a_item].astype(wide) * signs[0]
        b = flush(second(waves))[:, b_lane, b_item].astype(wide) * signs[1]
        # (wavefronts, blocks, rows, depth) by (wavefronts, blocks, depth, columns)
        return np.matmul(a, np.swapaxes(b, -1, -2))

    return _added(found, shape, product, found.sources[2], signs[2], flush)


_B_LANES: Final[tuple[Callable[[Array], Array], ...]] = (
    lambda lane: lane,
    lambda lane: lane % 32,
    lambda lane: lane % 32 + 32,
    lambda lane: (lane + 16) % 64,
    lambda lane: lane % 16,
    lambda lane: lane % 16 + 16,
    lambda lane: lane % 16 + 32,
    lambda lane: lane % 16 + 48,
)
"""Of BLGP: the lane whose B a lane takes."""


def _sparse(found: Instruction, shape: Shape) -> Step:
    """SMFMAC: 2 bits of the third operand tell which of four rows of B an element of A meets."""
    rows, columns, depth, _, kinds, result, _ = shape
    if found.immediate or found.select or found.negative or result == "i32":
        raise lacking(found, " of bytes, or with CBSZ, ABID or BLGP")
    a_lane, a_item = _input_places(rows, depth // 2, 1)
    b_lane, b_item = _input_places(columns, depth, 1)
    per_lane = depth * rows // 2 // LANES
    if per_lane == 8:  # bytes: the halves of a lane's registers are apart along the depth
        a_lane, a_item = _interleaved(rows, depth // 2, 4)
        b_lane, b_item = _interleaved(columns, depth, 8)
    place = 2 * a_item
    four = np.arange(depth // 2) // 2 * 4
    first = _elements(found, 0, "a", kinds[0], per_lane)
    second = _elements(found, 1, "b", kinds[1], 2 * per_lane)
    index = found.sources[2] - VECTOR

    def product(waves: Waves) -> Array:
        a = first(waves)[:, a_lane, a_item].astype(np.float64)
        b = second(waves)[:, b_lane[0], b_item[0]].astype(np.float64)  # (wavefronts, columns, depth)
        row = four + (waves.v[index][:, a_lane[0]] >> place[0].astype(np.uint32) & np.uint32(3)).astype(
            np.int64
        )
        chosen = np.take_along_axis(
            b[:, None], row[:, :, None, :], -1
        )  # (wavefronts, rows, columns, depth / 2)
        return np.einsum("wik,wijk->wij", a[:, 0], chosen)[:, None]

    return _added(found, shape, product, found.target + VECTOR, 1, np.asarray)


def _interleaved(outer: int, depth: int, run: int) -> tuple[Array, Array]:
    """Lane and element where each lane holds two runs, half of the depth apart; (1, outer, depth)."""
    i, k = np.meshgrid(np.arange(outer), np.arange(depth), indexing="ij")
    half, rest = k // (depth // 2), k % (depth // 2)
    return (i + outer * (rest // run))[None], (half * run + rest % run)[None]


def _added(
    found: Instruction, shape: Shape, product: Callable[[Waves], Array], code: int, sign: int, flush: Any
) -> Step:
    """The step that adds C, which ``code`` names, and writes D in all lanes."""
    result = shape.result
    lane, item = _result_places(shape)
    counted = 2 if result == "f64" else 1
    items = shape.rows * shape.columns * shape.blocks // LANES
    narrow: Any = {"f32": np.float32, "f64": np.float64, "i32": np.int32}[result]
    fixed = constant(code, {"f32": "f", "f64": "d", "i32": "i"}[result], 0)

    def step(waves: Waves) -> None:
        base = waves.accumulation * ("c" in found.flags)
        if fixed is not None:
            total = product(waves) + sign * fixed.astype(np.int64 if result == "i32" else np.float64)
        else:
            registers = _registers(waves, base + code - VECTOR, items * counted).view(narrow)
            total = product(waves) + sign * registers[:, lane, item].astype(total_kind)
        output = np.zeros((len(waves), LANES, items), narrow)
        output[:, lane, item] = flush(total.astype(narrow))
        raw = output.view(np.uint32)
        for number in range(items * counted):
            waves.v[base + found.target + number] = raw[:, :, number]

    total_kind = np.int64 if result == "i32" else np.float64
    return step


def _result_places(shape: Shape) -> tuple[Array, Array]:
    """Lane and register of each element of D, (blocks, rows, columns)."""
    rows, columns, blocks = shape.rows, shape.columns, shape.blocks
    high = 1 if shape.result == "f64" else 4
    per_group = max(1, math.ceil(LANES / (columns * rows // high)))
    in_lanes = LANES // per_group // columns
    groups = rows // (high * in_lanes)
    block, i, j = np.meshgrid(np.arange(blocks), np.arange(rows), np.arange(columns), indexing="ij")
    item = i % high + high * (i // (high * in_lanes) + groups * (block // per_group))
    lane = j + columns * ((i // high) % in_lanes + in_lanes * (block % per_group))
    return lane, item


def _input_places(outer: int, depth: int, blocks: int) -> tuple[Array, Array]:
    """Lane and element of each of A or B, (blocks, outer, depth)."""
    per_lane = depth * outer * blocks // LANES
    block, i, k = np.meshgrid(np.arange(blocks), np.arange(outer), np.arange(depth), indexing="ij")
    return i + outer * (block + blocks * (k // per_lane)), k % per_lane


def _registers(waves: Waves, first: int, count: int) -> Array:
    return np.ascontiguousarray(np.moveaxis(waves.v[first : first + count], 0, -1))


def _elements(found: Instruction, number: int, flag: str, kind: str, count: int) -> Callable[[Waves], Array]:
    """Reads the elements that each lane holds, (wavefronts, lanes, elements)."""
    first = found.sources[number] - VECTOR
    words = max(1, count * _BYTES[kind] // 4)
    view = _VIEWS.get(kind) or (lambda raw: values(kind)[raw.view(np.uint8)])
    return lambda waves: view(_registers(waves, first + waves.accumulation * (flag in found.flags), words))


_VIEWS: Final[dict[str, Callable[[Array], Array]]] = {
    "f16": lambda raw: raw.view(np.float16),
    "bf16": lambda raw: bfloat(raw.view(np.uint16)),
    "i8": lambda raw: raw.view(np.int8),
    "f64": lambda raw: raw.view(np.float64),
    "f32": lambda raw: raw.view(np.float32),
    "xf32": lambda raw: ((raw + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32),
}
"""Registers as elements; xf32 has 10 bits of fraction."""
