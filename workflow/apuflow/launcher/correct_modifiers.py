"""Replace modifiers that gem5 ignores: |x|, -x, clamp, mul:2, mul:4, div:2.

Signs change in another vector register before the instruction; results are limited after it.

Sources: AMD's "Vega Instruction Set Architecture", 6.2.1 (input modifiers) and the descriptions of
V_FRACT_F32, V_FRACT_F64; LLVM's "User Guide for AMDGPU Backend" (DX10_CLAMP is on: clamp turns NaN into 0).
"""

from __future__ import annotations

import re
from typing import Final

_SIGNED = re.compile(r"(?P<minus>-?)(?P<bar>\|?)(?P<register>[vs]\d+|[vs]\[\d+:\d+\])\|?")
_SPLIT = re.compile(r", (?![^\[]*\])")
_TRAILING = re.compile(r"(?P<operand>\S+)(?P<rest>.*)")
_MODIFIER = re.compile(r" (clamp|mul:2|mul:4|div:2)\b")
_FACTORS: Final = {"mul:2": "2.0", "mul:4": "4.0", "div:2": "0.5"}
_SINGLE = re.compile(r"v_(?:cvt_f32_\w+|(?!cvt|cmp|frexp_exp|div_scale)\w+_f32)")
_DOUBLE = re.compile(r"v_(?:cvt_f64_\w+|(?!cvt|cmp|frexp_exp|div_scale)\w+_f64)")
_CARRY = re.compile(r"v_(?P<kind>add|sub|subrev)_(?:co_)?u32")
_SATURATED = re.compile(r"v_(?P<kind>add|sub|subrev)_(?P<type>u16|u32)")
_FRACTION = re.compile(r"v_fract_(?P<type>f32|f64)(?:_e32|_e64)? (?P<to>v\d+|v\[\d+:\d+\]), (?P<of>[^, ]+)$")


def without_signs(instruction: str, spare: int) -> tuple[str, ...] | None:
    """Move each |x| or -x of a source to its own register, from ``spare`` on."""
    name, _, text = instruction.partition(" ")
    target, *sources = _SPLIT.split(text)
    before, free = list[str](), spare
    for number, source in enumerate(sources):
        word = _TRAILING.fullmatch(source)
        found = _SIGNED.fullmatch(word["operand"]) if word else None
        if word is None or found is None or not (found["minus"] or found["bar"]):
            continue
        made, operand, free = _changed(found, free)
        before += made
        sources[number] = operand + word["rest"]
    return (*before, f"{name} {', '.join((target, *sources))}") if before else None


def _changed(found: re.Match[str], free: int) -> tuple[list[str], str, int]:
    """Instructions that change the sign of a 32 or 64 bit number, its new register, the next free one."""
    register = found["register"]
    first, _, last = register[1:].strip("[]").partition(":")
    words = [f"{register[0]}{number}" for number in range(int(first), int(last or first) + 1)]
    change = {
        "-": "v_xor_b32 {}, 0x80000000",
        "|": "v_and_b32 {}, 0x7fffffff",
        "-|": "v_or_b32 {}, 0x80000000",
    }
    text = change[found["minus"] + found["bar"]]
    made = [f"v_mov_b32 v{free + number}, {word}" for number, word in enumerate(words[:-1])]
    top, high = f"v{free + len(words) - 1}", words[-1]
    if high[0] == "s":  # with a literal, the second operand must be a vector register
        made.append(f"v_mov_b32 {top}, {high}")
        high = top
    made.append(f"{text.format(top)}, {high}")
    place = top if len(words) == 1 else f"v[{free}:{free + len(words) - 1}]"
    return made, place, free + len(words)


def without_output_modifiers(instruction: str, spare: int) -> tuple[str, ...] | None:
    """Multiply and limit the result by separate instructions; integer sums saturate."""
    modifiers = _MODIFIER.findall(instruction)
    plain = _MODIFIER.sub("", instruction)
    name, _, text = plain.partition(" ")
    base = re.sub(r"_e(?:32|64)$", "", name)
    target, *sources = _SPLIT.split(text)
    if any(" " in word for word in (target, *sources)):  # what follows an operand: op_sel, SDWA, DPP
        return None
    factors = [_FACTORS[word] for word in modifiers if word in _FACTORS]
    if _SINGLE.fullmatch(base):
        limits = (f"v_max_f32 {target}, 0, {target}", f"v_min_f32 {target}, 1.0, {target}")
        scaled = tuple(f"v_mul_f32 {target}, {factor}, {target}" for factor in factors)
        return plain, *scaled, *(limits if "clamp" in modifiers else ())
    if _DOUBLE.fullmatch(base):
        limits = (f"v_max_f64 {target}, {target}, 0", f"v_min_f64 {target}, {target}, 1.0")
        scaled = tuple(f"v_mul_f64 {target}, {target}, {factor}" for factor in factors)
        return plain, *scaled, *(limits if "clamp" in modifiers else ())
    if (found := _CARRY.fullmatch(base)) and len(sources) == 3:
        limit = "-1" if found["kind"] == "add" else "0"
        return plain, f"v_cndmask_b32_e64 {target}, {target}, {limit}, {sources[0]}"
    if (found := _SATURATED.fullmatch(base)) and len(sources) == 2:
        return _saturated(found["kind"], found["type"], target, sources, f"v{spare}")
    return None


def _saturated(kind: str, of: str, target: str, sources: list[str], free: str) -> tuple[str, ...]:
    """Limit the second operand so that the sum or difference does not wrap."""
    first, second = reversed(sources) if kind == "subrev" else sources
    if kind == "add":
        return (
            f"v_not_b32 {free}, {first}",
            f"v_min_{of}_e64 {free}, {second}, {free}",
            f"v_add_{of}_e64 {target}, {first}, {free}",
        )
    return f"v_min_{of}_e64 {free}, {first}, {second}", f"v_sub_{of}_e64 {target}, {first}, {free}"


def fraction(instruction: str, spare: int) -> tuple[str, ...] | None:
    """x - floor(x) as in the manual; of a tiny negative x it is 1, on the GPU the next smaller number."""
    found = _FRACTION.match(instruction)
    if found is None:
        return None
    number, target = found["of"], found["to"]
    if found["type"] == "f32":
        return f"v_floor_f32 v{spare}, {number}", f"v_sub_f32 {target}, {number}, v{spare}"
    floor = f"v[{spare}:{spare + 1}]"
    return f"v_floor_f64 {floor}, {number}", f"v_add_f64 {target}, {number}, -{floor}"
