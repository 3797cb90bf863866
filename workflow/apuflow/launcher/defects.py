"""Instructions that gem5 executes differently from the GPU, searched in the kernels of a wrong run.

Most were found by running a kernel on gem5 v23.0.1.0 (GCN3), v24.0.0.1 or its commit c91af552 (Vega, v24.1
here); all are confirmed in gem5's sources, v21.1 to that commit. A release's file lists its defects,
docs/explanation/what-gem5-gets-wrong.md all of them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

DefectName: TypeAlias = Literal[
    "narrow_results", "ignored_sdwa", "refused_sdwa", "short_words", "lane_moves", "ignored_dpp",
    "refused_dpp", "mirrored_lanes", "kept_lanes", "byte_permutation", "wide_literals", "first_lane_register",
    "scalar_sdwa", "split_pairs", "lds_triples", "wide_scratch", "ignored_signs", "ignored_choice_signs",
    "refused_choice_signs", "output_modifiers", "negative_fractions", "buffer_pairs", "skipped_swizzles",
    "misread_fmac", "refused_packs", "refused_mix", "packed_constants", "packed_signs", "mirrored_rows",
    "bounded_dpp", "refused_caches", "refused_modes", "scaled_sums", "matrix_numbers", "preloaded_arguments",
    "packed_work_items", "accumulator_accesses", "rounded_products", "single_sums", "half_conversions",
]  # fmt: skip
"""Names of defects in a release's file."""


class Defect(NamedTuple):
    """A kind of instruction.

    Attributes:
        instructions: as documents list them.
        pattern: of the instruction in LLVM's disassembly.
        effect: what gem5 does.
        source: where, below gem5's ``src/arch/amdgpu/<gcn3 or vega>``.
        ends_gem5: whether it ends gem5; otherwise the run continues with wrong values.
        seldom: most kernels hold it without effect: it explains wrong values, but raises no suspicion.
        mended_by: pattern of a next instruction that undoes the effect; ``{target}`` is the target.
    """

    name: DefectName
    instructions: str
    pattern: str
    effect: str
    source: str
    ends_gem5: bool = False
    seldom: bool = False
    mended_by: str = ""

    def met_in(self, lines: Sequence[str]) -> list[str]:
        """Names of the harmful instructions of this kind in a disassembly, sorted."""
        found = set()
        for line, after in itertools.pairwise((*lines, "")):
            match = re.match(self.pattern, line)
            target = re.escape(line.partition(" ")[2].partition(",")[0])
            if match and not (self.mended_by and re.match(self.mended_by.format(target=target), after)):
                found.add(match[0])
        return sorted(found)


_DPP = "mov_b32|add_f32|and_b32|mac_f32|mul_u32_u24"
"""Instructions for which gem5 handles DPP."""
_SDWA = "add_u32|add_co_u32|lshlrev_b32|mul_u32_u24|or_b32"
"""Instructions for which gem5 handles SDWA."""
_SIGN = r"(?:-[vsteam|]|\||neg\(|abs\()"
"""LLVM's -x and |x| of a register, without the constants -1 and -0.5."""
_SIGNED = rf"(?= .*{_SIGN})(?!.* src0_sel:)"

DEFECTS = (
    Defect(
        "narrow_results",
        "16-bit vector ALU: v_mul_lo_u16, v_sub_u16, ...",
        r"v_(?!cvt|cmp|mad_mix|pk_|dot)\w+_[iub]16(?:_e32|_e64|_sdwa)?",
        "the upper half of the result's register keeps what was there, the GPU clears it",
        "operand.hh, VecOperand::write",
        mended_by=r"v_and_b32\S* {target}, 0xffff, {target}$",
    ),
    Defect(
        "ignored_sdwa",
        "most with SDWA: v_and_b32_sdwa, ...",
        rf"v_(?!(?:{_SDWA})_)\w+_sdwa|v_cmpx?_\w+(?=.* src0_sel:)",  # LLVM 15 leaves out GFX8's _sdwa there
        "the first operand is the instruction's second word, not part of a register",
        "operand.hh, ScalarOperand::readSpecialVal; few instructions of insts/ ask isSDWAInst",
    ),
    Defect(
        "refused_sdwa",
        "the same",
        rf"v_(?!(?:{_SDWA}|cmp_eq_u16|cmp_ne_u16)_)\w+_sdwa",
        "gem5 ends: SDWA not implemented (or: not supported)",
        "insts/vop1.cc, vop2.cc and vopc.cc, panic_if(isSDWAInst())",
        ends_gem5=True,
    ),
    Defect(
        "short_words",
        "v_cmp_eq_u16_sdwa, v_cmp_ne_u16_sdwa",
        r"v_cmp_(?:eq|ne)_u16_sdwa(?=.* src[01]_sel:WORD_)",
        "of a word only the lower 15 bits are compared",
        "insts/op_encodings.hh, sdwabSelect",
        seldom=True,
    ),
    Defect(
        "lane_moves",
        "DPP: v_add_f32 ... row_shr:1",
        rf"v_(?:{_DPP})_dpp",
        "lanes are moved to the wrong places",
        "insts/inst_util.hh, dppInstImpl and processDPP",
    ),
    Defect(
        "ignored_dpp",
        "most with DPP: v_max_f32_dpp, ...",
        rf"v_(?!(?:{_DPP})_)\w+_dpp",
        "the first operand is the instruction's second word, no lane is moved",
        "operand.hh, ScalarOperand::readSpecialVal; few instructions of insts/ ask isDPPInst",
    ),
    Defect(
        "refused_dpp",
        "the same",
        rf"v_(?!(?:{_DPP})_)\w+_dpp",
        "gem5 ends: DPP not implemented (or: not supported)",
        "insts/vop1.cc, vop2.cc and vopc.cc, panic_if(isDPPInst())",
        ends_gem5=True,
    ),
    Defect(
        "mirrored_lanes",
        "DPP with row_mirror, row_half_mirror, wave_rol, wave_shl",
        rf"v_(?:{_DPP})_dpp(?=.* (?:row_(?:half_)?mirror|wave_rol:1|wave_shl:1))",
        "lanes come from the wrong places",
        "insts/inst_util.hh, dppInstImpl",
    ),
    Defect(
        "kept_lanes",
        "DPP without bound_ctrl:0, or with row_mask, bank_mask",
        rf"v_(?:{_DPP})_dpp(?=.* (?:(?:row_sh[lr]|row_bcast|wave_sh[lr]):\d+(?!.*bound_ctrl)"
        r"|(?:row|bank)_mask:0x[0-9a-e]\b))",
        "lanes that nothing comes to, or that a mask leaves out, are written; the GPU keeps what was there",
        "insts/inst_util.hh, processDPP",
        seldom=True,
    ),
    Defect(
        "scalar_sdwa",
        "SDWA with a scalar operand",
        r"v_(?!cmp)\w+_sdwa(?= [^,]+,.*\bs\d+\b)",
        "a scalar operand is taken for the vector register of the same number: its value is read, or gem5 "
        "ends with VGPR index out of range",
        "insts/op_encodings.cc, Inst_VOP2::initOperandInfo, and op_encodings.hh, sdwaSrcHelper",
    ),
    Defect(
        "byte_permutation",
        "v_perm_b32",
        r"v_perm_b32",
        "bytes are put 1 bit apart, not 8",
        "V_PERM_B32::execute",
    ),
    Defect(
        "wide_literals",
        "s_mov_b64 and its like with a literal",
        r"s_\w+_[bu]64(?=.*\b0x[0-9a-f]+$)",
        "a literal in a 64-bit operand ends gem5: Assertion `NumDwords == 1' failed",
        "operand.hh, ScalarOperand::readSpecialVal",
        ends_gem5=True,
    ),
    Defect(
        "first_lane_register",
        "v_readfirstlane_b32",
        r"v_readfirstlane_b32",
        "its scalar register is taken for a vector register, which may not be there: VGPR index out of range",
        "insts/op_encodings.cc, Inst_VOP1::initOperandInfo",
        ends_gem5=True,
    ),
    Defect(
        "split_pairs",
        "flat_load_dwordx2, flat_store_dwordx2, global_...",
        r"(?:flat|global)_(?:load|store)_dwordx2",
        "where its 8 bytes lie in two cache lines, the second half takes the place of the first",
        "insts/, initMemRead<VecElemU64>, and gpu_mem_helpers.hh, initMemReqHelper",
        seldom=True,
    ),
    Defect(
        "lds_triples",
        "ds_read_b96, ds_write_b96",
        r"ds_(?:read|write)_b96",
        "every lane but the first takes words of other lanes",
        "insts/ds.cc (instructions.cc before v24.0), Inst_DS__DS_READ_B96::completeAcc and "
        "Inst_DS__DS_WRITE_B96::execute (lane * 4), with initMemRead<3> (lane * N)",
    ),
    Defect(
        "wide_scratch",
        "scratch_load_dwordx2, x3, x4, scratch_store_...",
        r"scratch_(?:load|store)_dwordx[234]",
        "gem5 ends: Misaligned swizzled scratch access not yet implemented (at lanes 15, 31, ...)",
        "gpu_mem_helpers.hh, initScratchReqHelper",
        ends_gem5=True,
    ),
    Defect(
        "ignored_signs",
        "32-bit float compares, v_cmp_class, v_ldexp_f32 with |x| or -x",
        rf"v_cmpx?_(?:(?!(?:f|tru)_)[a-z]+_f32|class_f(?:32|64))(?:_e64)?{_SIGNED}"
        rf"|v_ldexp_f32(?:_e64)?{_SIGNED}|v_(?:add|mac)_f32_dpp(?= [^,]+, {_SIGN})",
        "the number is taken without its |x| or -x",
        "insts/vop3_cmp.cc, vop3.cc (instructions.cc before v24.0), V_CMP_*_F32, V_CMP_CLASS_*, V_LDEXP_F32; "
        "insts/inst_util.hh, processDPP",
    ),
    Defect(
        "ignored_choice_signs",
        "v_cndmask_b32 with |x| or -x",
        rf"v_cndmask_b32(?:_e64)?{_SIGNED}",
        "a number is chosen without its |x| or -x",
        "insts/vop3.cc, V_CNDMASK_B32::execute",
    ),
    Defect(
        "refused_choice_signs",
        "the same",
        rf"v_cndmask_b32(?:_e64)?{_SIGNED}",
        "an |x| or -x ends gem5: Assertion `!(instData.ABS & 0x1)' failed (or NEG)",
        "insts/instructions.cc, V_CNDMASK_B32::execute",
        ends_gem5=True,
    ),
    Defect(
        "output_modifiers",
        "any with clamp, mul:2, mul:4, div:2",
        r"v_(?!pk_|dot|mad_mix|cvt_f16_f32|cvt_f32_f16)\w+(?= .*(?: clamp\b| mul:[24]\b| div:2\b))",
        "the result is neither limited (clamp) nor multiplied (mul:2, mul:4, div:2)",
        "insts/vop3.cc (instructions.cc before v24.0), which reads neither CLAMP nor OMOD",
    ),
    Defect(
        "negative_fractions",
        "v_fract_f32, v_fract_f64",
        r"v_fract_f(?:32|64)(?:_e32|_e64)?",
        "of a negative number x, x - trunc(x) is taken for x - floor(x)",
        "insts/vop1.cc, vop3.cc (instructions.cc before v24.0), V_FRACT_F32, V_FRACT_F64: std::modf",
    ),
    Defect(
        "buffer_pairs",
        "buffer_store_dwordx2, x3",
        r"buffer_store_dwordx[23]",
        "every lane but the first stores words of other lanes",
        "insts/mubuf.cc (instructions.cc before v24.0), BUFFER_STORE_DWORDX2 and X3::execute (lane * 4); "
        "op_encodings.hh, initMemWrite<2> and <3> (lane * N)",
    ),
    Defect(
        "skipped_swizzles",
        "ds_swizzle_b32",
        r"ds_swizzle_b32",
        "nothing is moved: the result's register keeps what was there",
        "insts/ds.cc (instructions.cc before v24.0), DS_SWIZZLE_B32 without the flag MemoryRef, and "
        "gpu-compute/schedule_stage.cc, which gives such an instruction no execution mask",
    ),
    # of GPUs that gem5 is not told of -------------------------------------------------------------------
    Defect(
        "misread_fmac",
        "v_fmac_f64 (gfx90a, gfx942)",
        r"v_fmac_f64",
        "it is taken for v_mul_legacy_f32, whose operation code it has on Vega",
        "gpu_decoder.cc, tableDecodePrimary",
    ),
    Defect(
        "refused_packs",
        "v_pack_b32_f16",
        r"v_pack_b32_f16",
        "gem5 ends: it has no such instruction",
        "gpu_decoder.cc, decode_OPU_VOP3__V_PACK_B32_F16",
        ends_gem5=True,
    ),
    Defect(
        "refused_mix",
        "v_fma_mix_f32, v_fma_mixlo_f16, v_fma_mixhi_f16",
        r"v_fma_mix\w*",
        "gem5 ends: it has no such instruction",
        "gpu_decoder.cc, SubDecode_OP_VOP3P",
        ends_gem5=True,
    ),
    Defect(
        "packed_constants",
        "v_pk_add_f32, v_pk_mul_f32, v_pk_fma_f32 with an inline constant",
        r"v_pk_(?:add|mul|fma)_f32(?=.*, -?\d)",
        "the constant is taken for a 64-bit number, whose lower half is 0",
        "operand.hh, OpTraits",
    ),
    Defect(
        "packed_signs",
        "v_pk_fma_f32 with neg_lo, neg_hi",
        r"v_pk_fma_f32(?=.* neg_(?:lo|hi):)",
        "the sign of the first operand is taken for all three",
        "insts/vop3p.cc, V_PK_FMA_F32::execute",
    ),
    Defect(
        "mirrored_rows",
        "DPP with row_mirror, row_half_mirror",
        r"v_\w+_dpp(?=.* row_(?:half_)?mirror\b)",
        "lanes come from the wrong places",
        "insts/inst_util.hh, dppInstImpl",
    ),
    Defect(
        "bounded_dpp",
        "v_add_u32_dpp, v_max_f32_dpp, ... with bound_ctrl",
        rf"v_(?!(?:{_DPP})_)\w+_dpp(?=.* row_mask:0xf bank_mask:0xf bound_ctrl)",
        "gem5 ends (v24.0: the first operand is the instruction's second word)",
        "insts/vop2.cc, panic_if(isDPPInst())",
        ends_gem5=True,
    ),
    Defect(
        "refused_caches",
        "buffer_wbl2, buffer_inv (gfx90a, gfx942)",
        r"buffer_(?:wbl2|inv)\b",
        "gem5 ends: it has no such instruction",
        "gpu_decoder.cc, SubDecode_OP_MUBUF",
        ends_gem5=True,
    ),
    Defect(
        "refused_modes",
        "s_setreg_imm32_b32 of rounding and denormals",
        r"s_setreg_imm32_b32(?= hwreg\(HW_REG_MODE, (?:2|6), 2\))",
        "gem5 ends: it does not set these modes",
        "insts/sopk.cc, S_SETREG_IMM32_B32::execute",
        ends_gem5=True,
    ),
    Defect(
        "scaled_sums",
        "s_lshl1_add_u32 to s_lshl4_add_u32",
        r"s_lshl[1-4]_add_u32",
        "gem5 ends: it has no such instruction",
        "gpu_decoder.cc, tableDecodePrimary",
        ends_gem5=True,
    ),
    Defect(
        "matrix_numbers",
        "v_mfma_f32_32x32x8bf16_1k (gfx90a)",
        r"v_mfma_f32_32x32x8bf16_1k",
        "gem5 ends: it knows gfx942's operation code alone",
        "gpu_decoder.cc, SubDecode_OP_VOP3P",
        ends_gem5=True,
    ),
    Defect(
        "preloaded_arguments",
        "kernels with arguments in scalar registers (gfx90a, gfx942)",
        r"(?!)",  # the kernel's descriptor says it, no instruction
        "workgroup numbers are where the arguments should be",
        "gpu-compute/wavefront.cc, initRegState",
    ),
    Defect(
        "packed_work_items",
        "workgroups of two or three dimensions (gfx90a, gfx942)",
        r"(?!)",
        "work-item numbers y and z are in v1 and v2, the kernel expects them in v0",
        "gpu-compute/wavefront.cc, initRegState",
    ),
    Defect(
        "accumulator_accesses",
        "loads and stores of accumulation registers (gfx90a, gfx942)",
        r"(?:global|flat|buffer|scratch|ds)_\w+(?= .*\ba(?:\d|\[))",
        "the vector register of that number is loaded or stored",
        "insts/op_encodings.cc: bit 55 is not read",
    ),
    Defect(
        "rounded_products",
        "v_mfma_f32_..._f16, v_mfma_f32_..._bf16",
        r"v_mfma_f32_\w*f16\w*",
        "each product is rounded to the type of its factors before it is added (1 in 2^11, bf16: 2^8); one "
        "above 65,504 becomes rubbish",
        "insts/vop3p_mai.hh, Inst_VOP3P_MAI__V_MFMA; common/dtype/mxfp_convert.hh",
        seldom=True,
    ),
    Defect(
        "single_sums",
        "v_mfma_f64_...",
        r"v_mfma_f64_\w+",
        "sums are kept in single precision",
        "insts/vop3p_mai.hh, Inst_VOP3P_MAI__V_MFMA",
        seldom=True,
    ),
    Defect(
        "half_conversions",
        "v_cvt_f16_f32",
        r"v_cvt_f16_f32(?:_e32|_e64|_sdwa)?",
        "one result in eight is off by a unit in the last place; above 65,504 it wraps instead of giving "
        "infinity; below 2.9e-8 it is rubbish up to 6e-5",
        "common/dtype/mxfp_convert.hh, convertMXFP",
        seldom=True,
    ),
)


def pattern_of(name: DefectName) -> str:
    """Pattern of a defect's instructions in LLVM's disassembly."""
    return next(defect.pattern for defect in DEFECTS if defect.name == name)
