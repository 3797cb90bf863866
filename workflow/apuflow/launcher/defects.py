"""Instructions that apuflow changes, or that its interpreter executes, as a gem5 has them.

A release's file names the defects that its gem5 has. What a gem5 does with every instruction stands in the
tables of ``configs/conformance``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

DefectName: TypeAlias = Literal[
    "narrow_results", "ignored_sdwa", "refused_sdwa", "short_words", "ignored_dpp", "refused_dpp",
    "kept_lanes", "byte_permutation", "wide_literals", "first_lane_register", "scalar_sdwa", "lds_triples",
    "wide_scratch", "ignored_signs", "ignored_choice_signs", "refused_choice_signs", "output_modifiers",
    "negative_fractions", "buffer_pairs", "skipped_swizzles", "misread_fmac", "refused_packs",
    "refused_mix", "packed_constants", "packed_signs", "mirrored_rows", "bounded_dpp", "refused_caches",
    "refused_modes", "scaled_sums", "matrix_numbers", "preloaded_arguments", "packed_work_items",
    "accumulator_accesses",
]  # fmt: skip
"""Names of defects in a release's file."""

_DPP = "mov_b32|add_f32|and_b32|mac_f32|mul_u32_u24"
"""Instructions for which gem5 handles DPP."""
_SDWA = "add_u32|add_co_u32|lshlrev_b32|mul_u32_u24|or_b32"
"""Instructions for which gem5 handles SDWA."""
_SIGN = r"(?:-[vsteam|]|\||neg\(|abs\()"
"""LLVM's -x and |x| of a register, without the constants -1 and -0.5."""
_SIGNED = rf"(?= .*{_SIGN})(?!.* src0_sel:)"

PATTERNS: Final[Mapping[DefectName, str]] = {
    "narrow_results": r"v_(?!cvt|cmp|mad_mix|pk_|dot)\w+_[iub]16(?:_e32|_e64|_sdwa)?",
    # LLVM 15 leaves out _sdwa of GFX8's compares
    "ignored_sdwa": rf"v_(?!(?:{_SDWA})_)\w+_sdwa|v_cmpx?_\w+(?=.* src0_sel:)",
    "refused_sdwa": rf"v_(?!(?:{_SDWA}|cmp_eq_u16|cmp_ne_u16)_)\w+_sdwa",
    "short_words": r"v_cmp_(?:eq|ne)_u16_sdwa(?=.* src[01]_sel:WORD_)",
    "scalar_sdwa": r"v_(?!cmp)\w+_sdwa(?= [^,]+,.*\bs\d+\b)",
    "wide_literals": r"s_\w+_[bu]64(?=.*\b0x[0-9a-f]+$)",
    "first_lane_register": r"v_readfirstlane_b32",
    "lds_triples": r"ds_(?:read|write)_b96",
    "ignored_signs": (
        rf"v_cmpx?_(?:(?!(?:f|tru)_)[a-z]+_f32|class_f(?:32|64))(?:_e64)?{_SIGNED}"
        rf"|v_ldexp_f32(?:_e64)?{_SIGNED}|v_(?:add|mac)_f32_dpp(?= [^,]+, {_SIGN})"
    ),
    "ignored_choice_signs": rf"v_cndmask_b32(?:_e64)?{_SIGNED}",
    "refused_choice_signs": rf"v_cndmask_b32(?:_e64)?{_SIGNED}",
    "output_modifiers": (
        r"v_(?!pk_|dot|mad_mix|cvt_f16_f32|cvt_f32_f16)\w+(?= .*(?: clamp\b| mul:[24]\b| div:2\b))"
    ),
    "negative_fractions": r"v_fract_f(?:32|64)(?:_e32|_e64)?",
    "buffer_pairs": r"buffer_store_dwordx[23]",
    "skipped_swizzles": r"ds_swizzle_b32",
    "misread_fmac": r"v_fmac_f64",
    "refused_packs": r"v_pack_b32_f16",
    "packed_constants": r"v_pk_(?:add|mul|fma)_f32(?=.*, -?\d)",
    "packed_signs": r"v_pk_fma_f32(?=.* neg_(?:lo|hi):)",
    "mirrored_rows": r"v_\w+_dpp(?=.* row_(?:half_)?mirror\b)",
    "bounded_dpp": rf"v_(?!(?:{_DPP})_)\w+_dpp(?=.* row_mask:0xf bank_mask:0xf bound_ctrl)",
    "refused_caches": r"buffer_(?:wbl2|inv)\b",
    "refused_modes": r"s_setreg_imm32_b32(?= hwreg\(HW_REG_MODE, (?:2|6), 2\))",
    "scaled_sums": r"s_lshl[1-4]_add_u32",
    "accumulator_accesses": r"(?:global|flat|buffer|scratch|ds)_\w+(?= .*\ba(?:\d|\[))",
}
"""By defect, the instructions that are replaced for it, in LLVM's assembly."""
