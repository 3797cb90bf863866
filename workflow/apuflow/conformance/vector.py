"""Trials of vector instructions: VOP1, VOP2, VOPC, VOP3.

A form that LLVM refuses is left out where cases are assembled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from apuflow.conformance.case import PROCESSORS, ROUNDS, Case, Words
from apuflow.conformance.inputs import generator, random_words, registers
from apuflow.conformance.vector_lanes import OWN
from apuflow.conformance.vector_operands import (
    EXEC_SOURCE,
    EXECUTION,
    Operation,
    Variant,
    fixed_bits,
    variants,
)
from apuflow.conformance.vector_rules import BITS, Column, has_range
from apuflow.conformance.vector_values import registers_of, scalar_values, values
from apuflow.forms.form import Form
from apuflow.interpret.opcodes import Encoding, IsaName, opcodes
from apuflow.interpret.vector import meaning

_GRAPHICS = "graphics: it reads parameters of triangles from LDS, which only the rasterizer writes"
NOT_GENERATED: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("v_interp_p1_f32", "v_interp_p2_f32", "v_interp_mov_f32", "v_interp_p1ll_f16"), _GRAPHICS
    ),
    **dict.fromkeys(("v_interp_p1lv_f16", "v_interp_p2_f16", "v_interp_p2_legacy_f16"), _GRAPHICS),
    "v_screen_partition_4se_b32": "graphics: a table of parts of the screen",
}
"""Instructions without a trial, and why."""
_OTHERS: Final[Mapping[str, str]] = {
    "v_lerp_u8": "uuu>u",
    "v_msad_u8": "uuu>u",
    "v_qsad_pk_u16_u8": "UuU>U",
    "v_mqsad_pk_u16_u8": "UuU>U",
    "v_mqsad_u32_u8": "UuQ>Q",
    "v_cvt_pkaccum_u8_f32": "fuu>u+",
    "v_cvt_norm_i16_f16": "h>s",
    "v_cvt_norm_u16_f16": "h>w",
    "v_cvt_pknorm_i16_f16": "hh>u",
    "v_cvt_pknorm_u16_f16": "hh>u",
    "v_sat_pk_u8_i16": "u>w",
    "v_trig_preop_f64": "du>d",
    **dict.fromkeys(("v_cubeid_f32", "v_cubesc_f32", "v_cubetc_f32", "v_cubema_f32"), "fff>f"),
}
"""Operands of instructions, as ``interpret.vector`` writes them, where it has none."""
_ELSEWHERE: Final = re.compile("v_(pk|mad_mix|fma_mix|dot)")
"""Instructions in the table's VOP3 whose words are those of VOP3P."""
_BARE: Final = re.compile(r"v_(mad[ma]k_|swap_|nop|clrexcp)")
"""Instructions that LLVM has without suffix in their only encoding."""
_CARRIES: Final = re.compile(r"v_(addc?|subb?|subb?rev)_u32")
_VECTOR_ENCODINGS: Final = ("vop1", "vop2", "vopc", "vop3")
_TARGET, _FIRST, _SCALAR, _MASK, _HELD, _FLAG, _ACTIVE = 2, 10, 24, 36, 44, 20, 50
"""Registers: the vector result, the first source (four further for each), scalar sources (the same), masks
that are read, what VCC or M0 get, scalar results, a copy of EXEC."""
_TOLERANCE: Final = (
    (re.compile(r"v_(rcp|rsq|sqrt)_f64"), 2.0**29),
    (re.compile(r"v_(exp|log|rcp|rsq|sqrt)(_legacy|_iflag)?_f(16|32)"), 1.0),
    (re.compile(r"v_(sin|cos)_f32"), 64.0),
    (re.compile(r"v_(sin|cos)_f16"), 2.0),
)
"""Units in the last place that results may differ. Of sines the manual tells none: they may differ by the
rounding of their argument, up to 8 turns."""


def cases(isa: IsaName) -> Iterator[Case]:
    """Trials of the vector instructions of an instruction set, ``gcn3`` or ``vega``."""
    table = opcodes(isa)
    short = {name for (encoding, _), name in table.items() if encoding in _VECTOR_ENCODINGS[:3]}
    for turn, ((encoding, _), name) in enumerate(sorted(table.items())):
        if encoding not in _VECTOR_ENCODINGS or name in NOT_GENERATED or _ELSEWHERE.match(name):
            continue
        alone = encoding == "vop3" and name not in short
        suffix = "_e64" if encoding == "vop3" else "_e32"
        if alone or (_BARE.match(name) and encoding != "vop3"):
            suffix = ""
        plain = _CARRIES.fullmatch(name) if isa == "gcn3" else None
        known_as = f"v_{plain[1]}_co_u32" if plain else name
        if own := OWN.get(known_as):
            yield from own(encoding, known_as, name + suffix, PROCESSORS[isa])
            continue
        operation = _operation(encoding, known_as, name, turn)
        for variant in variants(operation, isa, alone=alone):
            made = _case(operation, variant, isa, _suffix(variant, suffix))
            if made is not None:
                yield made


def _operation(encoding: Encoding, name: str, assembled: str, turn: int) -> Operation:
    known = meaning(name)
    if known is not None:
        return Operation(encoding, name, assembled, known.sources, known.results, known.accumulates, turn)
    letters, _, results = _OTHERS[name].rstrip("+").partition(">")
    return Operation(encoding, name, assembled, letters, results, _OTHERS[name].endswith("+"), turn)


def _suffix(variant: Variant, plain: str) -> str:
    return next((f"_{word}" for word in ("sdwa", "dpp") if word in variant.words), plain)


def _words(letter: str) -> int:
    """Registers of an operand."""
    return -(-BITS[letter] // 32)


def _case(operation: Operation, variant: Variant, isa: IsaName, suffix: str) -> Case | None:
    name, letters = operation.name, operation.letters
    for word in ("subnormal", "negative", "large"):
        if word in variant.words and not has_range(name, letters, word):
            return None
    before: list[str] = []
    scalars: dict[str, Words] = {}
    fixed = _fixed(operation, variant, before, scalars)
    if fixed is None:
        return None
    columns = values(name, letters, variant.range, fixed, variant.parts)
    if columns is None:
        return None
    vectors: dict[str, Words] = {}
    for place, letter in enumerate(letters):
        if place in variant.kinds or place >= len(operation.sources) or letter == "m":
            continue
        first = f"v{_FIRST + 4 * place}"
        vectors[first] = registers_of(letter, columns[place], variant.parts.get(place), f"{name}{place}")
    if operation.accumulates:
        vectors[f"v{_TARGET}"] = registers_of(letters[-1], columns[-1], None, name)
    elif "unused:preserve" in variant.words:
        vectors[f"v{_TARGET}"] = random_words(generator(name), ROUNDS, 1, 64)
    if "m" in letters:
        before += _masks(operation, variant, columns[letters.index("m")], scalars)
    low, high = EXECUTION.get(variant.execution, EXEC_SOURCE if "exec" in _names(variant) else (None, None))
    if low is not None:
        before += [f"s_mov_b32 exec_lo, {low:#x}", f"s_mov_b32 exec_hi, {high:#x}"]
    text, results = _written(operation, variant, suffix)
    after: tuple[str, ...] = ()
    if low is not None and operation.results[1:] == "m":  # the manual does not tell flags of inactive lanes
        flag = text.split(", ")[1]
        scalars[f"s{_ACTIVE}"] = np.array([(low, high)] * ROUNDS, np.uint32)
        after = (f"s_and_b64 {flag}, {flag}, s[{_ACTIVE}:{_ACTIVE + 1}]",)
    return Case(
        Form(operation.encoding, name, variant.features),
        *(text, PROCESSORS[isa], vectors, scalars, results, tuple(before), after),
        tolerance=next((ulps for pattern, ulps in _TOLERANCE if pattern.fullmatch(name)), 0.0),
        floats=_floats(operation, variant),
    )


def _names(variant: Variant) -> set[str]:
    return {kind for kind, _ in variant.kinds.values()}


def _floats(operation: Operation, variant: Variant) -> int:
    """Bits of the result of which all NaN are equal."""
    if operation.name == "v_cvt_pkrtz_f16_f32":
        return 16
    letter = operation.results[0]
    if letter not in "hfd" or operation.name == "v_cndmask_b32":
        return 0
    partly = any(word.startswith("target:") for word in variant.words)
    return 0 if partly and letter == "f" else BITS[letter]


def _fixed(
    operation: Operation, variant: Variant, before: list[str], scalars: dict[str, Words]
) -> dict[int, list[int]] | None:
    """Values of the sources that are no vector registers, and what sets them up.

    None: there are none of which the manual tells the result.
    """
    fixed: dict[int, list[int]] = {}
    for place, (kind, text) in variant.kinds.items():
        letter = operation.letters[place]
        if letter == "m":
            continue
        words = _words(letter)
        if kind in ("constant", "zero", "float", "literal"):
            fixed[place] = [fixed_bits(letter, kind, text)] * ROUNDS
            continue
        if kind == "exec":
            fixed[place] = [(EXEC_SOURCE[0] | EXEC_SOURCE[1] << 32) & (1 << BITS[letter]) - 1] * ROUNDS
            continue
        if kind == "m0" and words > 1:
            return None
        chosen = scalar_values(operation.name, operation.letters, place, variant.range)
        if chosen is None:
            return None
        fixed[place] = chosen
        first = _SCALAR + 4 * place if kind == "scalar" else _HELD
        noise = (
            generator(operation.name, place).integers(0, 1 << 16, ROUNDS) << 16 if BITS[letter] == 16 else 0
        )
        every = np.array(chosen, np.uint64)
        rows = [(every >> np.uint64(32 * word)).astype(np.uint32) for word in range(words)]
        rows[0] = rows[0] | np.asarray(noise, np.uint32)
        if kind == "vcc" and words == 1:
            rows.append(~rows[0])
        scalars[f"s{first}"] = np.stack(rows, 1)
        if kind == "vcc":
            before.append(f"s_mov_b64 vcc, s[{first}:{first + 1}]")
        elif kind == "m0":
            before.append(f"s_mov_b32 m0, s{first}")
    return fixed


def _masks(operation: Operation, variant: Variant, column: Column, scalars: dict[str, Words]) -> list[str]:
    """A mask that is read, one bit a lane; of V_DIV_FMAS it says which large numbers were scaled."""
    fmas = operation.name.startswith("v_div_fmas")
    every = np.zeros_like(column[:, 0]) if fmas and "large" not in variant.words else column[:, 0]
    scalars[f"s{_MASK}"] = np.stack([every & np.uint64(0xFFFFFFFF), every >> np.uint64(32)], 1).astype(
        np.uint32
    )
    in_vcc = operation.encoding != "vop3" or fmas or "vcc" in _names(variant)
    return [f"s_mov_b64 vcc, s[{_MASK}:{_MASK + 1}]"] if in_vcc else []


_SIGNS: Final = {"abs": "|{}|", "neg": "-{}", "both": "-|{}|", "sext": "sext({})"}


def _written(operation: Operation, variant: Variant, suffix: str) -> tuple[str, tuple[str, ...]]:
    """The instruction's text, and the results."""
    short = operation.encoding != "vop3"
    flag = f"s[{_FLAG}:{_FLAG + 1}]" if not short or variant.scalar_result else "vcc"
    operands, results = [], []
    for letter in operation.results:
        operands.append(flag if letter == "m" else registers(_TARGET, _words(letter), "v"))
        results.append(operands[-1])
    if operation.name == "v_mad_i64_i32":
        results.pop()  # the manual does not say what the flag is
    if operation.name.startswith("v_cmpx"):
        results.append("exec")
    for place, letter in enumerate(operation.sources):
        if letter == "m" and operation.name.startswith("v_div_fmas"):
            continue
        operand = _operand(operation, variant, place, letter)
        operands.append(_SIGNS[variant.signs[place]].format(operand) if place in variant.signs else operand)
    return f"{operation.assembled}{suffix} {', '.join(operands)}{variant.tail}", tuple(results)


def _operand(operation: Operation, variant: Variant, place: int, letter: str) -> str:
    kind, text = variant.kinds.get(place, ("", ""))
    wide = BITS[letter] > 32
    if letter == "m":
        return "vcc" if kind or operation.encoding != "vop3" else f"s[{_MASK}:{_MASK + 1}]"
    if kind == "scalar":
        return registers(_SCALAR + 4 * place, _words(letter))
    if kind in ("vcc", "exec"):
        return kind if wide else f"{kind}_lo"
    return (text or kind) if kind else registers(_FIRST + 4 * place, _words(letter), "v")
