"""Matrix instructions (MFMA) and accumulation registers.

Source: AMD's manual "Instinct MI200 Instruction Set Architecture", chapter 7 (layouts of A, B, C and D).
"""

from __future__ import annotations

import math
import re
from typing import Final, NamedTuple

import numpy as np

from apuflow.interpret.arithmetic import Array, bfloat
from apuflow.interpret.encodings import VECTOR, Instruction, lacking
from apuflow.interpret.operands import constant, put, scalar
from apuflow.interpret.state import LANES, Step, Waves

_FORM: Final = re.compile(
    r"v_mfma_(f32|i32|f64)_(\d+)x(\d+)x(\d+)_?(?:(\d+)b_)?(f32|f16|bf16|i8|f64|xf32)(?:_1k)?"
)


class Shape(NamedTuple):
    """D = A B + C, ``blocks`` times: rows, columns, depth; ``kind`` of A and B."""

    rows: int
    columns: int
    depth: int
    blocks: int
    kind: str
    result: str


def shape_of(name: str) -> Shape | None:
    """Of an instruction's name; None: it is no dense MFMA of a known type."""
    found = _FORM.fullmatch(name)
    if not found:
        return None
    rows, columns, depth = (int(found[number]) for number in (2, 3, 4))
    per_lane = {"f16": 4, "i8": 4, "bf16": 4 if name.endswith("_1k") else 2}.get(found[6], 1)
    blocks = int(found[5] or max(1, per_lane * LANES // (rows * depth)))
    return Shape(rows, columns, depth, blocks, found[6], found[1])


def matrix_step(found: Instruction) -> Step:
    """What an instruction of matrix units does.

    Raises:
        EngineError: a type or a broadcast that the interpreter does not have.
    """
    if found.name.startswith("v_accvgpr"):
        return _move(found)
    shape = shape_of(found.name)
    if shape is None or found.select or found.immediate:
        raise lacking(found, " with CBSZ or ABID" if shape else "")
    return _product(found, shape)


def _move(found: Instruction) -> Step:
    reads = "read" in found.name
    code = found.sources[0]

    def move(waves: Waves) -> None:
        base = waves.accumulation
        if reads:
            put(waves, waves.v[found.target], waves.v[base + code - VECTOR], None)
        else:
            value = waves.v[code - VECTOR] if code >= VECTOR else _spread(scalar(code, "u", 0)(waves))
            put(waves, waves.v[base + found.target], value, None)

    return move


def _spread(value: Array) -> Array:
    return np.asarray(value).reshape(-1, 1)


def _product(found: Instruction, shape: Shape) -> Step:
    rows, columns, depth, blocks, kind, result = shape
    lane, item = _result_places(shape)
    a_lane, a_item = _input_places(rows, depth, blocks)
    b_lane, b_item = _input_places(columns, depth, blocks)
    words = _words_of(kind, depth * rows * blocks // LANES)
    counted = 2 if result == "f64" else 1
    items = rows * columns * blocks // LANES
    a_base, b_base, c_base = (found.sources[number] - VECTOR for number in range(3))
    wide = np.int64 if result == "i32" else np.float64
    letter = {"f32": "f", "f64": "d", "i32": "i"}[result]
    fixed = constant(found.sources[2], letter, found.literal)
    narrow = {"f32": np.float32, "f64": np.float64, "i32": np.int32}[result]

    def step(waves: Waves) -> None:
        base = waves.accumulation
        places = [
            first + base * (flag in found.flags)
            for first, flag in ((a_base, "a"), (b_base, "b"), (c_base, "c"), (found.target, "c"))
        ]
        a = _elements(waves, places[0], words, kind)[:, a_lane, a_item].astype(wide)
        b = _elements(waves, places[1], words, kind)[:, b_lane, b_item].astype(wide)
        # (wavefronts, blocks, rows, depth) by (wavefronts, blocks, depth, columns)
        product = np.matmul(a, np.swapaxes(b, -1, -2))
        if fixed is not None:
            total = product + fixed
        else:
            registers = _registers(waves, places[2], items * counted).view(narrow)
            total = product + registers[:, lane, item]
        output = np.zeros((len(waves), LANES, items), narrow)
        output[:, lane, item] = (
            total.astype(narrow) if result != "i32" else total.astype(np.int64).astype(np.int32)
        )
        raw = output.view(np.uint32)
        for number in range(items * counted):
            put(waves, waves.v[places[3] + number], raw[:, :, number], None)

    return step


def _result_places(shape: Shape) -> tuple[Array, Array]:
    """Lane and register of each element of D, (blocks, rows, columns)."""
    rows, columns, _depth, blocks, _kind, result = shape
    high = 1 if result == "f64" else 4
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


def _words_of(kind: str, elements: int) -> int:
    size = {"f64": 8, "f32": 4, "xf32": 4, "f16": 2, "bf16": 2, "i8": 1}[kind]
    return max(1, elements * size // 4)


def _registers(waves: Waves, first: int, count: int) -> Array:
    return np.ascontiguousarray(np.moveaxis(waves.v[first : first + count], 0, -1))


def _elements(waves: Waves, first: int, words: int, kind: str) -> Array:
    """Elements that each lane holds, (wavefronts, lanes, elements)."""
    raw = _registers(waves, first, words)
    match kind:
        case "f16":
            return raw.view(np.float16)
        case "bf16":
            return bfloat(raw.view(np.uint16))
        case "i8":
            return raw.view(np.int8)
        case "f64":
            return raw.view(np.float64)
        case "xf32":  # 10 bits of fraction
            return ((raw + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
    return raw.view(np.float32)
