"""VOP3P: two 16-bit or two fp32 operations at once, and fp32 arithmetic on 16-bit sources.

Source: AMD's manuals "Vega Instruction Set Architecture", chapter 12.11, and "Instinct MI200", 12.10.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np

from apuflow.interpret.arithmetic import Array, fma32
from apuflow.interpret.encodings import LITERAL, VECTOR, Instruction, lacking
from apuflow.interpret.floats import flushed, mad
from apuflow.interpret.operands import clamped, constant, put, scalar, source, target, vector
from apuflow.interpret.saturated import saturated
from apuflow.interpret.state import Step, Waves
from apuflow.interpret.vector import TYPES, meaning

_PACKED: Final = re.compile(r"v_pk_(\w+)_(f16|i16|u16|b16|f32)")
_LETTER: Final = {"f16": "h", "i16": "s", "u16": "w", "b16": "w", "f32": "f"}


def packed_step(found: Instruction, isa: str) -> Step | None:
    """What the instruction does; None: it is not one of these."""
    if found.name == "v_pk_mov_b32":
        return _pairs(found, 2, lambda low, _high: low)
    if found.name in ("v_dot2_f32_f16", "v_dot2_i32_i16", "v_dot2_u32_u16"):
        return _dot(found, isa)
    if "_mix" in found.name:
        return _mix(found, isa)
    if form := _PACKED.fullmatch(found.name):
        name = form[1].removesuffix("c") if form[1] == "fmac" else form[1]
        known = meaning(f"v_{name}_{form[2]}")
        if known is None:
            return None
        count = len(known.sources)
        if form[2] == "f32":
            return _pairs(found, count, known.compute)
        compute = known.compute
        if found.clamp and form[2] != "f16":
            limited = saturated(found.name, compute, TYPES[known.results])
            if limited is None:
                raise lacking(found, " with CLAMP")
            compute = limited
        return _halves(found, known.sources, compute, accumulates=form[1] == "fmac")
    return None


def _half(found: Instruction, number: int, letter: str, high: int, negative: int) -> Callable[[Waves], Array]:
    code = found.sources[number]
    if code >= VECTOR:
        read = vector(code - VECTOR, letter, high)
    else:
        fixed = constant(code, letter, found.literal)
        word = scalar(code, "u", found.literal)
        if fixed is not None:
            value = _constant_half(code, letter, fixed, high)

            def read(_waves: Waves) -> Any:
                return value
        else:

            def read(waves: Waves) -> Array:
                return (word(waves)[:, None] >> np.uint32(16 * high)).astype(np.uint16).view(TYPES[letter])

    if negative and letter == "h":
        return lambda waves: -read(waves)
    return read


def _constant_half(code: int, letter: str, low: Any, high: int) -> Any:
    """Whole constants are words with a sign; a float one is fp16 below zeros, or fp32 for whole numbers."""
    if not high or code == LITERAL:
        return low
    if letter == "h" and code >= 240:
        return np.float16(0)
    return np.uint16(int(constant(code, "u", 0)) >> 16).view(TYPES[letter])


def _dot(found: Instruction, isa: str) -> Step:
    """V_DOT2: two products of halves, chosen and negated as in packed instructions, and a third operand."""
    letter, result = {"f32_f16": ("h", "f"), "i32_i16": ("s", "i"), "u32_u16": ("w", "u")}[found.name[7:]]
    wide = np.float64 if letter == "h" else np.int64
    reads = [
        (
            _half(found, number, letter, found.select >> number & 1, found.negative >> number & 1),
            _half(found, number, letter, found.select_high >> number & 1, found.negative_high >> number & 1),
        )
        for number in (0, 1)
    ]
    flushes = letter == "h" and isa == "gfx90a"
    plain = replace(found, negative_high=0, absolute=0, select=0)
    added = source(plain, 2, result)
    write = target(plain, result, isa)
    limits = None if letter == "h" or not found.clamp else np.iinfo(TYPES[result])

    def step(waves: Waves) -> None:
        total: Array = np.asarray(added(waves)).astype(wide)
        for x, y in zip(*reads, strict=True):
            first, second = (flushed(each(waves)) if flushes else each(waves) for each in (x, y))
            total = total + first.astype(wide) * second.astype(wide)
        if limits is not None:
            total = np.clip(total, limits.min, limits.max)
        value = total.astype(TYPES[result])
        write(waves, flushed(value) if flushes else value, None)

    return step


def _halves(found: Instruction, letters: str, compute: Callable[..., Array], *, accumulates: bool) -> Step:
    results = []
    for part, (select, negative) in enumerate(
        ((found.select, found.negative), (found.select_high, found.negative_high))
    ):
        if found.encoding != "vop3p":
            select = (0, 7)[part]
        reads = [
            _half(found, number, letter, select >> number & 1, negative >> number & 1)
            for number, letter in enumerate(letters[: len(found.sources)])
        ]
        if accumulates:
            reads.append(vector(found.target, letters[-1], part))
        results.append(reads)

    def step(waves: Waves) -> None:
        values = []
        for reads in results:
            value = compute(*(read(waves) for read in reads))
            if found.clamp and value.dtype == np.float16:
                value = clamped(value)
            values.append(np.broadcast_to(value, waves.exec.shape).view(np.uint16).astype(np.uint32))
        put(waves, waves.v[found.target], values[0] | values[1] << np.uint32(16), None)

    return step


def _pairs(found: Instruction, count: int, compute: Callable[..., Array]) -> Step:
    """Two fp32 operations on pairs of registers; OP_SEL says which of a pair's registers each takes."""

    def read(number: int, high: int, negative: int) -> Callable[[Waves], Array]:
        code = found.sources[number]
        if code >= VECTOR:
            plain = vector(code - VECTOR + high, "f")
        else:
            fixed = constant(code, "f", found.literal)
            word = scalar(code if fixed is not None else code + high, "f", found.literal)

            def plain(waves: Waves) -> Array:
                return word(waves) if fixed is not None else word(waves)[:, None]

        return (lambda waves: -plain(waves)) if negative else plain

    lows = [read(each, found.select >> each & 1, found.negative >> each & 1) for each in range(count)]
    highs = [
        read(each, found.select_high >> each & 1, found.negative_high >> each & 1) for each in range(count)
    ]
    if found.name == "v_pk_mov_b32":  # of the second source OP_SEL's bit chooses the high result
        lows, highs = [lows[0], lows[0]], [read(1, found.select >> 1 & 1, 0)] * 2

    def step(waves: Waves) -> None:
        low = np.array(compute(*(each(waves) for each in lows)))
        high = np.array(compute(*(each(waves) for each in highs)))
        if found.clamp:
            low, high = clamped(low), clamped(high)
        put(waves, waves.vf[found.target], low, None)
        put(waves, waves.vf[found.target + 1], high, None)

    return step


def _mix(found: Instruction, isa: str) -> Step:
    """fp32 ``a * b + c``; OP_SEL_HI says which sources are fp16, OP_SEL which half; NEG_HI means |x|."""

    def read(number: int) -> Callable[[Waves], Array]:
        narrow = found.select_high >> number & 1
        if narrow:
            half = _half(found, number, "h", found.select >> number & 1, 0)

            def plain(waves: Waves) -> Array:
                return half(waves).astype(np.float32)
        elif found.sources[number] >= VECTOR:
            whole = vector(found.sources[number] - VECTOR, "f")

            def plain(waves: Waves) -> Array:
                return whole(waves)
        else:
            word = scalar(found.sources[number], "f", found.literal)

            def plain(waves: Waves) -> Array:
                return np.asarray(word(waves)).reshape(-1, 1)

        absolute, negative = found.negative_high >> number & 1, found.negative >> number & 1

        def signed(waves: Waves) -> Array:
            value = np.abs(plain(waves)) if absolute else plain(waves)
            return -value if negative else value

        return signed

    reads = [read(number) for number in range(3)]
    letter = "f" if found.name.endswith("f32") else "h"
    write = target(replace(found, select=8 if "mixhi" in found.name else 0), letter, isa)

    product_and_sum = mad if found.name.startswith("v_mad") else fma32

    def step(waves: Waves) -> None:
        value = product_and_sum(*(each(waves) for each in reads))
        write(waves, value if letter == "f" else value.astype(np.float16), None)

    return step
