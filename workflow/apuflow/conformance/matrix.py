"""Trials of matrix instructions (MFMA, SMFMAC) and of moves to and from accumulation registers.

Source: AMD's manuals "Instinct MI100", "MI200" and "MI300 Instruction Set Architecture", chapter 7.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apuflow.conformance import instinct
from apuflow.conformance.case import LANES, ROUNDS, Case, Words
from apuflow.conformance.inputs import SOME_LANES, generator, random_words, registers
from apuflow.forms.form import Form
from apuflow.interpret.fp8 import values as fp8_values
from apuflow.interpret.matrix import Shape, shape_of
from apuflow.interpret.opcodes import IsaName, opcodes

PROCESSORS: Final[Mapping[str, IsaName]] = {"gfx908": "gfx908", "gfx90a": "gfx90a", "gfx942": "gfx940"}
_A, _B, _INDEX, _C, _D = 2, 6, 10, 32, 64
"""First vector registers."""
_BITS: Final = {"f64": 64, "f32": 32, "xf32": 32, "f16": 16, "bf16": 16, "i8": 8, "fp8": 8, "bf8": 8}
_SUBNORMAL: Final = {"f16": 2.0**-24, "bf16": 2.0**-133, "f32": 2.0**-149, "f64": 2.0**-1074, "fp8": 2.0**-10}
_LARGE: Final = {"f16": 65504.0, "bf16": 3.3895314e38, "f32": 3.4028235e38, "f64": 1.7976931348623157e308}
_GROUPS: Final = (0x4, 0x8, 0xC, 0x9, 0xD, 0xE)
"""Four bits of an index: two places of four, the lower one first."""


class Variant(NamedTuple):
    """One way to write an instruction.

    Attributes:
        words: of the form.
        tail: modifiers.
        third: text of an inline constant in the place of C.
        files: of A, B, and of C and D: ``v`` or ``a``.
        values: ``plain``, ``subnormal`` or ``large``.
    """

    words: tuple[str, ...] = ()
    tail: str = ""
    third: str = ""
    files: str = "vvv"
    values: str = "plain"


def cases(isa: str) -> Iterator[Case]:
    """Every form of each instruction, and of what gfx90a and gfx942 add elsewhere; GCN3 has none.

    Args:
        isa: ``gcn3`` or ``vega``.
    """
    if isa == "gcn3":
        return
    for processor, table in PROCESSORS.items():
        for (encoding, _), name in sorted(opcodes(table).items()):
            shape = shape_of(name)
            if encoding == "vop3p" and shape is not None:
                found = (_case(name, shape, variant, processor) for variant in _variants(shape, processor))
                yield from (each for each in found if each is not None)
        yield from _moves(processor)
    yield from instinct.cases()


def _variants(shape: Shape, processor: str) -> Iterator[Variant]:
    accumulation = ("accumulation",)
    if processor == "gfx908":
        yield Variant(("implied_accumulation",), files="vva")
        return
    whole, kind = shape.result == "i32", shape.kinds[0]
    yield Variant()
    yield Variant(accumulation, files="vva")
    yield Variant(accumulation, files="aav")
    yield Variant(accumulation, files="aaa")
    yield Variant(("some_lanes",))
    if shape.sparse:
        return
    yield Variant(("overlapping",))
    for text in ("0", "7") if whole else ("0",):  # as a float, 7 is a subnormal that nobody writes
        yield Variant(("constant2",), third=text)
    if not whole:
        yield Variant(("float2",), third="1.0")
    if kind in _LARGE:
        yield Variant(("large",), values="large")
    yield Variant(("accumulation", "constant2"), third="0", files="vva")
    if kind in _SUBNORMAL and not (processor == "gfx90a" and _BITS[kind] == 16):
        yield Variant(("subnormal",), values="subnormal")
    if shape.result == "f64":
        for signs in ("1,0,0", "0,1,0", "0,0,1") if processor == "gfx942" else ():
            yield Variant(("blgp",), f"neg:[{signs}]")
        return
    for size in (1, 2, 4):
        if 1 << size in (2, shape.blocks) and shape.blocks > 1:
            yield Variant(("cbsz",), f"cbsz:{size} abid:{(1 << size) - 1}")
    for number in (1, 3, 6):
        yield Variant(("blgp",), f"blgp:{number}")


def _case(name: str, shape: Shape, variant: Variant, processor: str) -> Case | None:
    random = generator(name, processor, *variant)
    items = shape.rows * shape.columns * shape.blocks // LANES * (2 if shape.result == "f64" else 1)
    accumulates = variant.files[2] == "a"
    if variant.files == "aaa" and items > 16:
        return None  # a0 to a31 do not hold them all
    in_place = shape.sparse or accumulates or "overlapping" in variant.words
    target = (16 if items <= 16 else 0) if accumulates else _D
    third = target if in_place else _C
    vectors, text = dict[str, Words](), [registers(target, items, variant.files[2])]
    for number, outer in enumerate((shape.rows, shape.columns)):
        count = shape.depth * outer * shape.blocks // LANES // (2 if shape.sparse and number == 0 else 1)
        words = _inputs(shape, number, count, variant.values, random)
        file, first = variant.files[number], (_A, _B)[number] if variant.files[number] == "v" else 4 * number
        vectors[f"{file}{first}"] = words
        text.append(registers(first, words.shape[1], file))
    if not variant.third:
        vectors[f"{variant.files[2]}{third}"] = _third(shape, items, variant.values, random)
    if shape.sparse:
        nibbles = random.choice(np.array(_GROUPS, np.uint32), (8, ROUNDS, 1, LANES))
        shifts = np.arange(0, 32, 4, dtype=np.uint32).reshape(8, 1, 1, 1)
        vectors[f"v{_INDEX}"] = np.bitwise_or.reduce(nibbles << shifts)
    text.append(f"v{_INDEX}" if shape.sparse else variant.third or registers(third, items, variant.files[2]))
    exact = shape.result == "i32" or variant.values != "plain"
    whole = f"{name} {', '.join(text)} {variant.tail}".rstrip()
    before = (SOME_LANES,) if "some_lanes" in variant.words else ()
    return Case(
        Form("vop3p", name, tuple(sorted(variant.words))),
        *(whole, processor, vectors, {}, (text[0],), before),
        tolerance=0.0 if exact else float(shape.depth + 1),
        floats={"f32": 32, "f64": 64, "i32": 0}[shape.result],
    )


def _moves(processor: str) -> Iterator[Case]:
    """V_ACCVGPR_READ, WRITE and, from gfx90a on, MOV."""
    random = generator("moves", processor)
    vector, scalar = random_words(random, ROUNDS, 1, LANES), random_words(random, ROUNDS, 1)
    for name, target, source, word in (
        ("read", "v20", "a3", ""),
        *(("write", "a5", text, word) for text, word in (("v2", ""), ("s16", "scalar0"), ("5", "constant0"))),
        ("write", "a5", "1.0", "float0"),
        *((("mov", "a5", "a3", ""),) if processor != "gfx908" else ()),
    ):
        for lanes in ("", "some_lanes"):
            whole = f"v_accvgpr_{name}_b32"
            form = Form("vop1" if name == "mov" else "vop3p", whole, tuple(sorted({word, lanes} - {""})))
            vectors = {source: vector} if source[0] in "va" else {}
            scalars = {source: scalar} if source[0] == "s" else {}
            text, before = f"{whole} {target}, {source}", (SOME_LANES,) if lanes else ()
            yield Case(form, text, processor, vectors, scalars, (target,), before)


def _inputs(shape: Shape, number: int, count: int, values: str, random: np.random.Generator) -> Words:
    """Registers of A (``number`` 0) or B.

    ``plain``: whole numbers from -4 to 4 in the first rounds, so that the sum is exact; then positive
    ones, of which every order of additions has a small error. ``subnormal``: subnormals times powers of two.
    ``large``: one product for each result, of the largest numbers, infinities and NaN.
    """
    kind, size = shape.kinds[number], (ROUNDS, LANES, count)
    if kind == "i8":
        return _words(random.integers(-128, 128, size).astype(np.int8))
    numbers: NDArray[Any] = random.integers(-4, 5, size).astype(np.float64)
    numbers[ROUNDS // 2 :] = random.uniform(0.25, 4, (ROUNDS // 2, LANES, count))
    if values == "subnormal" and number == 0:
        numbers = random.integers(-3, 4, size) * _SUBNORMAL[kind]
    elif values == "subnormal":
        numbers = np.exp2(random.integers(0, 4, size).astype(np.float64))
    elif values == "large":
        largest = _LARGE[kind]
        some = ([largest, -largest, 300.0, 0.0], [largest, 2.0, 300.0])[number]
        odd = ([np.inf, -np.inf, np.nan, 1.0], [1.0, 2.0])[number]
        numbers = np.zeros(size)
        outer = (shape.rows, shape.columns)[number]
        first = outer * shape.blocks  # lanes that hold the depth's first element
        numbers[:, :first, 0] = random.choice(some, (ROUNDS, first))
        numbers[ROUNDS // 2 :, :first, 0] = random.choice(odd, (ROUNDS // 2, first))
    return _words(_narrowed(numbers, kind))


def _narrowed(numbers: NDArray[np.float64], kind: str) -> NDArray[np.generic]:
    """Numbers in the type of A and B."""
    if kind in ("fp8", "bf8"):
        table = fp8_values(kind).astype(np.float64)
        places: NDArray[np.intp] = np.abs(
            np.where(np.isnan(table), np.inf, table) - numbers[..., None]
        ).argmin(-1)
        return places.astype(np.uint8)
    with np.errstate(all="ignore"):
        if kind in ("f16", "f64"):
            return numbers.astype(np.float16) if kind == "f16" else numbers
        words: NDArray[np.uint32] = numbers.astype(np.float32).view(np.uint32)
    if kind == "bf16":
        return (words >> np.uint32(16)).astype(np.uint16)
    return np.asarray(words & np.uint32(0xFFFFE000 if kind == "xf32" else 0xFFFFFFFF))


def _words(elements: NDArray[np.generic]) -> Words:
    """Elements (rounds, lanes, count) as registers (rounds, registers, lanes)."""
    raw = np.ascontiguousarray(elements).view(np.uint8)
    missing = -raw.shape[-1] % 4
    raw = np.concatenate([raw, np.zeros((*raw.shape[:-1], missing), np.uint8)], -1)
    return np.ascontiguousarray(np.moveaxis(np.ascontiguousarray(raw).view(np.uint32), -1, 1))


def _third(shape: Shape, items: int, values: str, random: np.random.Generator) -> Words:
    """Registers of C."""
    if shape.result == "i32":
        return _words(random.integers(-(2**31), 2**31, (ROUNDS, LANES, items)).astype(np.int32))
    double = shape.result == "f64"
    size = (ROUNDS, LANES, items // 2 if double else items)
    numbers = random.integers(-8, 9, size).astype(np.float64)
    numbers[ROUNDS // 2 :] = random.uniform(0.25, 64, (ROUNDS // 2, *size[1:]))
    if values != "plain":
        numbers = np.zeros(size)
    return _words(numbers if double else numbers.astype(np.float32))
