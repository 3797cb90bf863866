"""Trials of packed, mixed and dot product instructions: VOP3P without the matrix units.

Sources: AMD's manuals "Vega", "Vega 7nm" and "Instinct MI200 Instruction Set Architecture", chapters 6.2 and
"VOP3P"; LLVM's "Syntax of AMDGPU Instruction Modifiers" (op_sel, op_sel_hi, neg_lo, neg_hi).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apuflow.conformance.case import LANES, ROUNDS, Case, Words
from apuflow.conformance.inputs import generator, random_words, registers
from apuflow.forms.form import Form

TARGET: Final = "v20"
_SCALAR: Final = 16
FLOATS: Final = {"d": 64, "h": 16, "f": 32, "F": 32}
"""Bits of a float result, by its letter."""
_EXEC: Final[Mapping[str, str]] = {"some_lanes": "0x33335555", "one_lane": "0x20", "no_lane": "0"}
SPECIAL16: Final = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -4.0, 65504.0, -65504.0, 1 + 2.0**-10, 2049.0, 3.0, np.inf),
)
SUBNORMAL16: Final = (2.0**-24, -(2.0**-24), 1023 * 2.0**-24, 2.0**-14, -(2.0**-15), 3 * 2.0**-24, 0.0, 1.0)
_INTEGERS: Final = (0, 1, -1, 0x7FFF, -0x8000, 15, 16, 0x5555, 255, -256)


class Operation(NamedTuple):
    """An instruction: ``letter`` of its sources, of its result, the sources, LLVM's first processor.

    Letters: ``h`` and ``w``: pairs of fp16 and of whole numbers, ``f``: fp32, ``F``: pairs of fp32,
    ``m``: fp32 or one fp16 of a pair.
    """

    name: str
    letters: str
    result: str
    processor: str = "gfx902"


OPERATIONS: Final = (
    *(Operation(f"v_pk_{name}_f16", "hh", "h") for name in ("add", "mul", "min", "max")),
    Operation("v_pk_fma_f16", "hhh", "h"),
    *(Operation(f"v_pk_{name}_i16", "ww", "w") for name in ("add", "sub", "min", "max", "ashrrev")),
    *(Operation(f"v_pk_{name}_u16", "ww", "w") for name in ("add", "sub", "min", "max", "mul_lo")),
    *(Operation(f"v_pk_{name}_b16", "ww", "w") for name in ("lshlrev", "lshrrev")),
    *(Operation(f"v_pk_mad_{kind}", "www", "w") for kind in ("i16", "u16")),
    Operation("v_mad_mix_f32", "mmm", "f"),
    *(Operation(f"v_mad_mix{half}_f16", "mmm", "h") for half in ("lo", "hi")),
    Operation("v_fma_mix_f32", "mmm", "f", "gfx906"),
    *(Operation(f"v_fma_mix{half}_f16", "mmm", "h", "gfx906") for half in ("lo", "hi")),
    Operation("v_dot2_f32_f16", "hhf", "f", "gfx906"),
    *(Operation(f"v_dot{name}", "www", "w", "gfx906") for name in ("2_i32_i16", "4_i32_i8", "8_i32_i4")),
    *(Operation(f"v_dot{name}", "www", "w", "gfx906") for name in ("2_u32_u16", "4_u32_u8", "8_u32_u4")),
    *(Operation(f"v_pk_{name}_f32", "FF", "F", "gfx90a") for name in ("add", "mul")),
    Operation("v_pk_fma_f32", "FFF", "F", "gfx90a"),
    Operation("v_pk_mov_b32", "FF", "F", "gfx90a"),
)
_NO_CLAMP: Final = ("v_pk_mov_b32", "v_pk_mul_lo_u16")
"""LLVM accepts CLAMP of the second; the manual does not say what it does."""
_TOLERANCE: Final[Mapping[str, float]] = {"v_dot2_f32_f16": 1.0}
"""The manual does not say how the sum is rounded."""


class Variant(NamedTuple):
    """One way to write an operation.

    Attributes:
        tail: the modifiers.
        words: features beside those of ``kinds``.
        kinds: by source: ``scalar``, ``vcc``, or the text of an inline constant.
        values: ``plain`` or ``subnormal``.
        signs: by source: ``-``, ``|`` or both.
    """

    tail: str = ""
    words: tuple[str, ...] = ()
    kinds: Mapping[int, str] = {}
    values: str = "plain"
    signs: Mapping[int, str] = {}

    @property
    def features(self) -> tuple[str, ...]:
        """Words of the form."""
        kinds = {f"{_word(kind)}{place}" for place, kind in self.kinds.items()}
        return tuple(sorted({*self.words, *kinds}))


def cases(isa: str) -> Iterator[Case]:
    """Every form of each instruction that LLVM may accept; GCN3 has none.

    Args:
        isa: ``gcn3`` or ``vega``.
    """
    if isa == "gcn3":
        return
    for operation in OPERATIONS:
        for number, variant in enumerate(_variants(operation)):
            yield _case(operation, variant, number)


def _word(kind: str) -> str:
    if kind in ("scalar", "vcc", "exec", "m0"):
        return kind
    return "float" if "." in kind else "constant"


def _bits(name: str, chosen: Sequence[int], count: int) -> str:
    return f"{name}:[{','.join(str(int(place in chosen)) for place in range(count))}]"


def _variants(operation: Operation) -> Iterator[Variant]:
    """Ways to write an operation."""
    letters = operation.letters
    count, first = len(letters), letters[0]
    every = range(count)
    yield Variant()
    if first in "hFm" and operation.name != "v_pk_mov_b32":
        yield Variant(values="subnormal", words=("subnormal",))
    for word in _EXEC:
        yield Variant(words=(word,))
    if operation.name.startswith(("v_dot4", "v_dot8")):
        yield Variant("clamp", ("clamp",))
        yield Variant(kinds={2: "scalar"})
        yield from (Variant(kinds={2: text}) for text in ("0", "5", "-3"))
        return
    halves = every[:2] if letters[-1] == "f" or operation.name.startswith("v_dot2") else every
    if first == "m":
        yield from _mixed()
        return
    if operation.name not in _NO_CLAMP:
        yield Variant("clamp", ("clamp",))
    for chosen in ((0,), (1,), (0, 1), tuple(halves)):
        yield Variant(_bits("op_sel", chosen, count), ("select_low",))
        rest = tuple(place for place in every if place not in chosen)
        yield Variant(_bits("op_sel_hi", rest, count), ("select_high",))
    both = f"{_bits('op_sel', (1,), count)} {_bits('op_sel_hi', every[1:], count)}"
    yield Variant(both, ("select_high", "select_low"))
    if first in "hF" and operation.name != "v_pk_mov_b32":
        for place in every:
            yield Variant(_bits("neg_lo", (place,), count), ("neg_low",))
            if place in halves:
                yield Variant(_bits("neg_hi", (place,), count), ("neg_high",))
        tail = f"{_bits('neg_lo', (0,), count)} {_bits('neg_hi', (0, 1), count)}"
        yield Variant(tail, ("neg_high", "neg_low"))
    if operation.name.startswith("v_dot2"):
        yield Variant(kinds={2: "scalar"})
        yield from (Variant(kinds={2: text}) for text in (("1.0",) if first == "h" else ("5", "-3")))
        return
    yield from _other_sources(operation)


def _other_sources(operation: Operation) -> Iterator[Variant]:
    """Scalar registers and inline constants in place of vector registers."""
    letters = operation.letters
    count = len(letters)
    for place in range(count):
        yield Variant(kinds={place: "scalar"})
        lows = tuple(each for each in range(count) if each != place)
        low = _bits("op_sel_hi", lows, count)
        yield Variant(low, ("select_high",), {place: "scalar"})
        texts = ("1.0", "-4.0") if letters[0] in "hF" else ("5", "-3")
        for text in texts if operation.name != "v_pk_mov_b32" else ():
            if letters[0] != "F":
                yield Variant(kinds={place: text})
            yield Variant(low, ("select_high",), {place: text})
    if letters[0] != "F":
        yield Variant(kinds={0: "vcc"})
        if letters[0] == "h":
            yield Variant(kinds={0: "5"})
    if letters[0] != "F" and operation.name not in _NO_CLAMP:
        tail = _bits("op_sel_hi", range(1, count), count) + " clamp"
        yield Variant(tail, ("clamp", "select_high"), {0: "scalar"})


def _mixed() -> Iterator[Variant]:
    """fp32 with fp16 sources: OP_SEL_HI says which, OP_SEL their half, NEG_HI is |x|."""
    for narrow in ((0,), (1,), (2,), (0, 1), (0, 1, 2)):
        high = _bits("op_sel_hi", narrow, 3)
        yield Variant(high, ("select_high",))
        yield Variant(f"{_bits('op_sel', narrow, 3)} {high}", ("select_high", "select_low"))
    for place in range(3):
        yield Variant(words=("neg_low",), signs={place: "-"})
        yield Variant(words=("neg_high",), signs={place: "|"})
        yield Variant(kinds={place: "scalar"})
        yield Variant(kinds={place: "1.0"})
        tail = _bits("op_sel_hi", (place,), 3)
        yield Variant(tail, ("select_high",), {place: "scalar"})
        yield Variant(
            f"{_bits('op_sel', (place,), 3)} {tail}", ("select_high", "select_low"), {place: "scalar"}
        )
    yield Variant(
        "op_sel_hi:[0,1,0]", ("neg_high", "neg_low", "select_high"), signs={0: "-", 1: "|", 2: "-|"}
    )
    yield Variant("clamp", ("clamp",))
    yield Variant("op_sel_hi:[1,1,1] clamp", ("clamp", "select_high"))


def sources(
    letters: str, kinds: Mapping[int, str], values: Callable[[str, tuple[int, ...]], Words]
) -> tuple[list[str], dict[str, Words], dict[str, Words]]:
    """Texts of an instruction's sources, and what its vector and scalar registers hold.

    Args:
        kinds: by source that is no vector register: ``scalar``, ``vcc``, or its text.
        values: words of a letter in a shape.
    """
    texts, vectors, scalars = list[str](), dict[str, Words](), dict[str, Words]()
    for place, letter in enumerate(letters):
        kind, count = kinds.get(place), words_of(letter)
        if kind is None:
            vectors[f"v{2 + 4 * place}"] = values(letter, (ROUNDS, count, LANES))
            texts.append(registers(2 + 4 * place, count, "v"))
        elif kind in ("scalar", "vcc"):
            scalars[f"s{_SCALAR}"] = values(letter, (ROUNDS, count))
            texts.append(registers(_SCALAR, count) if kind == "scalar" else "vcc_lo")
        else:
            texts.append(kind)
    return texts, vectors, scalars


def words_of(letter: str) -> int:
    """Registers of a source or result."""
    return 2 if letter in "FUd" else 1


def _case(operation: Operation, variant: Variant, number: int) -> Case:
    random = generator(operation.name, number)
    texts, vectors, scalars = sources(
        operation.letters,
        variant.kinds,
        lambda letter, shape: _values(letter, shape, variant.values, random),
    )
    for place, sign in variant.signs.items():
        texts[place] = f"-{texts[place]}" if sign == "-" else f"{sign}{texts[place]}|"
    if operation.name.endswith(("lo_f16", "hi_f16")):
        vectors[TARGET] = random_words(random, ROUNDS, 1, LANES)
    before = [f"s_mov_b32 vcc_lo, s{_SCALAR}"] if "vcc" in variant.kinds.values() else []
    before += [f"s_mov_b64 exec, {_EXEC[word]}" for word in variant.words if word in _EXEC]
    result = registers(int(TARGET[1:]), words_of(operation.result), "v")
    text = f"{operation.name} {result}, {', '.join(texts)} {variant.tail}".rstrip()
    return Case(
        Form("vop3p", operation.name, variant.features),
        *(text, operation.processor, vectors, scalars, (result,), tuple(before)),
        tolerance=_TOLERANCE.get(operation.name, 0.0),
        floats=0 if operation.name == "v_pk_mov_b32" else FLOATS.get(operation.result, 0),
    )


def pairs(shape: Sequence[int], values: str, random: np.random.Generator) -> Words:
    """Two of ``_halves`` in each word."""
    low, high = (_halves(shape, values, random).view(np.uint16).astype(np.uint32) for _ in range(2))
    return np.asarray(low | high << np.uint32(16))


def _halves(shape: Sequence[int], values: str, random: np.random.Generator) -> NDArray[np.float16]:
    """fp16: half of them special, the others of all sizes from 1/64 to 64."""
    special = SPECIAL16 if values == "plain" else SUBNORMAL16
    usual = random.standard_normal(shape) * np.exp2(random.integers(-6, 7, shape))
    chosen = random.choice(np.array(special), shape)
    return np.where(random.random(shape) < 0.5, chosen, usual).astype(np.float16)


def singles(shape: Sequence[int], values: str, random: np.random.Generator) -> NDArray[np.float32]:
    """fp32: half of them special, the others of all sizes from 2^-30 to 2^30."""
    special: tuple[float, ...] = (0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, 3.4028235e38, 1 + 2.0**-23, np.nan)
    if values == "subnormal":
        special = (2.0**-149, -(2.0**-149), 2.0**-127, 2.0**-126 - 2.0**-149, 2.0**-126, 2.0**24, 1.0)
    usual = random.standard_normal(shape) * np.exp2(random.integers(-30, 31, shape))
    chosen = random.choice(np.array(special), shape)
    return np.where(random.random(shape) < 0.4, chosen, usual).astype(np.float32)


def _values(letter: str, shape: tuple[int, ...], values: str, random: np.random.Generator) -> Words:
    if letter in "fF":
        return singles(shape, values, random).view(np.uint32)
    if letter == "w":
        some: Any = random.choice(np.array(_INTEGERS), (2, *shape))
        every = random.integers(-0x8000, 0x8000, (2, *shape))
        both = np.where(random.random((2, *shape)) < 0.5, some, every).astype(np.uint16).astype(np.uint32)
        return np.asarray(both[0] | both[1] << np.uint32(16))
    words = pairs(shape, values, random)
    if letter == "m":  # as fp32 they are numbers of some size as well
        plain = singles(shape, values, random).view(np.uint32)
        words[:4] = plain[:4]
        words |= np.where(words & np.uint32(0x7F800000), np.uint32(0), np.uint32(0x3F800000))
    return words
