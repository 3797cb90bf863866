"""Instructions as a gem5 with known defects executes them.

The names of defects and gem5's sources of each: :mod:`apuflow.launcher.defects`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from apuflow.core.errors import EngineError
from apuflow.interpret.arithmetic import Array, fma32, permuted_bytes
from apuflow.interpret.encodings import LITERAL, VECTOR, Instruction
from apuflow.interpret.operands import FLOATS, Read, dpp_lanes, vector, with_signs
from apuflow.interpret.state import LANES, Step, Waves
from apuflow.interpret.vector import meaning
from apuflow.interpret.vector_units import computed

_MIXED_WORDS: Final[Mapping[str, str]] = {
    "buffer_pairs": r"buffer_store_dwordx[23]",
    "lds_triples": r"ds_(?:read|write)_b96",
}
"""Defects of memory instructions: :func:`mixed_words`."""
_ROUNDED_TWICE: Final = re.compile(r"v_(mac|mad|madmk|madak)_f32")
"""Instructions that every release computes with ``std::fma``, which rounds once and keeps subnormals."""
_HAS_DPP: Final = re.compile(r"v_(mov_b32|add_f32|and_b32|mac_f32|mul_u32_u24)")
_HAS_SDWA: Final = re.compile(r"v_(add_u32|add_co_u32|lshlrev_b32|mul_u32_u24|or_b32)")
_COMPARES: Final = re.compile(r"v_cmpx?_((?!f_|tru_)[a-z]+_f32|class_f(32|64))")
_KEEPS_OUTPUT: Final = re.compile(r"v_(pk_|dot|mad_mix|fma_mix|cvt_f16_f32|cvt_f32_f16)")
_NARROW: Final = re.compile(r"v_(?!cvt|cmp|mad_mix|pk_|dot)\w+_[iub]16")


def as_executed(found: Instruction, defects: Collection[str]) -> Instruction:
    """The instruction that a GPU would have to be given to do what gem5 does.

    Raises:
        EngineError: gem5 ends at this instruction.
    """
    name, three = found.name, found.encoding == "vop3"
    signed = bool(found.absolute or found.negative)
    _refuse(found, defects, signed)
    if found.sdwa and "ignored_sdwa" in defects and not _HAS_SDWA.fullmatch(name):
        found = _without_second_word(found)
    if found.dpp and "ignored_dpp" in defects and not _HAS_DPP.fullmatch(name):
        found = _without_second_word(found)
    if three and "ignored_signs" in defects and (_COMPARES.fullmatch(name) or name == "v_ldexp_f32"):
        found = replace(found, absolute=0, negative=0)
    if three and "ignored_choice_signs" in defects and name == "v_cndmask_b32":
        found = replace(found, absolute=0, negative=0)
    if three and "output_modifiers" in defects and not _KEEPS_OUTPUT.match(name):
        found = replace(found, clamp=False, output=0)
    if "narrow_results" in defects and _NARROW.fullmatch(name):
        found = replace(found, flags=found.flags | {"keeps half"})
    return found


def imitated(found: Instruction, defects: Collection[str]) -> bool:
    """Whether an instruction is executed otherwise than a GPU does, as a gem5 with these defects does."""
    try:
        other = as_executed(found, defects) != found
    except EngineError:
        return True
    words = any(name in defects and re.fullmatch(text, found.name) for name, text in _MIXED_WORDS.items())
    return other or words or own_step(found, defects) is not None


def _refuse(found: Instruction, defects: Collection[str], signed: bool) -> None:
    why = None
    if found.sdwa and "refused_sdwa" in defects and not _HAS_SDWA.fullmatch(found.name):
        why = "SDWA not implemented"
    elif found.dpp and "refused_dpp" in defects and not _HAS_DPP.fullmatch(found.name):
        why = "DPP not implemented"
    elif signed and "refused_choice_signs" in defects and found.name == "v_cndmask_b32":
        why = "Assertion `!(instData.ABS & 0x1)' failed"
    elif (
        "wide_literals" in defects
        and re.fullmatch(r"s_\w+_[bu]64", found.name)
        and LITERAL in found.sources
        and found.encoding.startswith("sop")
    ):
        why = "Assertion `NumDwords == 1' failed"
    elif "wide_scratch" in defects and re.fullmatch(r"scratch_(load|store)_dwordx\d", found.name):
        why = "Misaligned swizzled scratch access not yet implemented"
    if why:
        raise EngineError(
            f"gem5 ends at {found}: {why}",
            remedy="choose a release that executes it, or compile without it",
        )


def _without_second_word(found: Instruction) -> Instruction:
    """The first operand is the word that follows the instruction's own."""
    return replace(found, sdwa=None, dpp=None, sources=(LITERAL, *found.sources[1:]), absolute=0, negative=0)


def own_step(found: Instruction, defects: Collection[str]) -> Step | None:
    """What gem5 does with an instruction that no other one describes; None: what the GPU does."""
    if "skipped_swizzles" in defects and found.name == "ds_swizzle_b32":
        return lambda _waves: None
    if "negative_fractions" in defects and found.name in ("v_fract_f32", "v_fract_f64"):
        return _with(found, lambda x: x - np.trunc(x))
    if _ROUNDED_TWICE.fullmatch(found.name):
        return _with(found, fma32)
    if "byte_permutation" in defects and found.name == "v_perm_b32":
        return _with(found, _bits_apart)
    if "kept_lanes" in defects and found.dpp and _HAS_DPP.fullmatch(found.name):
        return _written_everywhere(found)
    return None


def mixed_words(values: list[Array], lanes: Any, laid: int, taken: int) -> list[Array]:
    """Words of the active lanes, laid ``laid`` words apart and taken ``taken`` words apart.

    Args:
        values: of each word, those of the active lanes.
        lanes: the active lanes, (wavefronts, lanes).
    """
    words = np.zeros((lanes.shape[0], LANES * 4), np.uint32)
    wave, lane = np.nonzero(lanes)
    for number, value in enumerate(values):
        words[wave, lane * laid + number] = value
    return [words[wave, lane * taken + number] for number in range(len(values))]


def _with(found: Instruction, compute: Callable[..., Array]) -> Step:
    known = meaning(found.name)
    assert known is not None
    return computed(found, known._replace(compute=compute), "vega")


def _bits_apart(high: Array, low: Array, selector: Array) -> Array:
    """V_PERM_B32 with its four bytes one bit apart (``vdst[lane] |= (permuted_val << i)``)."""
    right = permuted_bytes(high, low, selector)
    result = np.zeros_like(right)
    for place in range(4):
        result |= (right >> np.uint32(8 * place) & np.uint32(0xFF)) << np.uint32(place)
    return result


def _written_everywhere(found: Instruction) -> Step:
    """DPP that changes the operand alone: a lane that nothing comes to computes with its own value."""
    dpp, known = found.dpp, meaning(found.name)
    assert dpp is not None
    assert known is not None
    lane = np.arange(LANES)
    chosen = (dpp.rows >> (lane >> 4) & 1 & dpp.banks >> (lane >> 2 & 3)).astype(np.bool_)
    comes_from, valid = dpp_lanes(dpp.control)
    if dpp.control in (0x142, 0x143):  # row_bcast: the first lanes keep their own, within bounds
        comes_from, valid = np.where(valid, comes_from, lane), np.ones(LANES, np.bool_)
    letter = known.sources[0]
    own = vector(found.sources[0] - VECTOR, letter)

    def moved(waves: Waves) -> Array:
        value = own(waves)
        kept = np.where(valid & waves.exec, value[:, comes_from], value.dtype.type(0) if dpp.bound else value)
        return np.where(chosen, kept, value)

    first: Read = moved
    if letter in FLOATS:
        first = with_signs(moved, found.absolute & 1, found.negative & 1)
    return computed(replace(found, dpp=None), known, "vega", first)
