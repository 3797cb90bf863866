"""What of a code object gem5 cannot run in the place of a GPU that it is not told of, found before a run.

Sources: gem5's ``gpu_decoder.cc``, ``gpu_command_processor.cc``, ``wavefront.cc``, ``op_encodings.cc``
(bit 55 of a memory instruction, which names accumulation registers, is not read).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from apuflow.core.errors import EngineError
from apuflow.core.gpus import gpu
from apuflow.forms.objects import form_of, worst
from apuflow.forms.table import Table
from apuflow.interpret.encodings import decode
from apuflow.interpret.image import ISA_OF
from apuflow.interpret.opcodes import IsaName
from apuflow.launcher.disassembly import disassembled
from apuflow.launcher.gem5_decoder import is_executed
from apuflow.launcher.object_changes import MOST_REGISTERS, changes_of, descriptors, granted, registers_of

_LINE = re.compile(r"\t(?P<text>.*?)\s*// (?P<address>[0-9A-F]+): (?P<words>(?:[0-9A-F]{8} ?)+)")
_LABEL = re.compile(r"[0-9a-f]+ <(\S+)>:$")
_ACCUMULATION = re.compile(r"(?:global|flat|buffer|scratch|ds)_\w+ .*\ba(?:\d+|\[\d+:\d+\])")
_CONSTANT_SUM = re.compile(r"v_mfma_\w+ a.*, -?\d[\d.]*(?: |$)")
_MATRIX = re.compile(r"v_mfma|v_accvgpr")
_SEPARATE: Final = (
    "gem5 looks for accumulation registers behind the others, as gfx90a has them",
    "compile for gfx90a",
)
_ANOTHER: Final = "v_fmac_f64"
"""Of gfx90a and gfx942; gem5 executes v_mul_legacy_f32, which has its operation code on Vega."""
REMEDIES: Final = (
    (r"v_mfma\w*xf32", 'write input_precision="ieee" in tl.dot'),
    (r"v_s?mfmac?\w*(?:fp8|bf8)", "use 16-bit types; for gfx90a Triton computes fp8 in 32 bits"),
    (r"v_mfma_f32_16x16x16_?bf16", "matrix_instr_nonkdim: 32 (Triton), or mfma_f32_32x32x8bf16_1k (HIP)"),
    (r"v_s?mfma", "use one of the matrix instructions that gem5 has: f32, f16, bf16 32x32x8, i8 16x16x16"),
    (r"buffer_atomic", "set AMDGCN_USE_BUFFER_ATOMICS=0 where Triton compiles it"),
    (r"v_\w+_sdwa|.*src0_sel", "compile with the target feature -sdwa, or here from its source"),
    (r"v_fma_mix", "compile with the target feature -fma-mix-insts, or here from its source"),
    (r"v_pk_\w+_f32", "compile with the target feature -packed-fp32-ops, or here from its source"),
    (r"scratch_", "use fewer registers: smaller tiles, more wavefronts"),
    (r"", "compile it here from its source, which changes code for gem5, or write the kernel without it"),
)
"""What avoids an instruction, by its name's begin."""
WITHOUT_ACCUMULATION: Final = (
    "compile with waves_per_eu: 2 (Triton), amdgpu_waves_per_eu(2) (OpenCL, HIP), or here from its source"
)


class Refusal(NamedTuple):
    """Why a kernel cannot run.

    Attributes:
        why: with the instruction and its address, if it is one.
        remedy: what avoids it.
    """

    kernel: str
    why: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.kernel}: {self.why}; {self.remedy}"


def refusals(
    path: Path,
    gfx: str,
    release: str,
    tables: Sequence[Table],
    workgroups: Mapping[str, int],
    block: int | None = None,
) -> Iterator[Refusal]:
    """Everything that keeps kernels of a code object from running, once each.

    Args:
        release: gem5's, as ``v24.1``. tables: what is known of its instructions.
        workgroups: by kernel that is launched, the most axes of its workgroups.
        block: the machine's ``vreg-min-alloc``; None: every number of registers will do.

    Raises:
        EngineError: llvm-objdump is not beside clang, so that nothing can be known.
    """
    if not gpu(gfx).runs_as:
        return
    data = path.read_bytes()
    done = changes_of(data)
    for each in descriptors(data):
        if each.name not in workgroups:
            continue
        if each.preload and "preloaded_arguments" not in done:
            why = "its arguments are preloaded into scalar registers, and its entry has no room to undo that"
            yield Refusal(each.name, why, "compile it without: -mllvm -amdgpu-kernarg-preload-count=0")
        packed = gpu(gfx).isa.packed_work_items and "packed_work_items" not in done
        if packed and each.work_item_axes > 1 and workgroups[each.name] > 1:
            why = "work-item numbers of two and three dimensions are packed, which gem5 does not do"
            yield Refusal(each.name, why, "launch workgroups of one dimension, or compile it here")
        if each.private and gfx == "gfx942":
            why = f"it uses private memory ({each.private} bytes); gem5 has one place for all wavefronts"
            yield Refusal(
                each.name, why, "use smaller tiles or more wavefronts, no arrays with changing indices"
            )
        registers = registers_of(each.registers, gfx)
        if block is not None and granted(registers, block) < registers:
            why = f"it takes {registers} vector registers, gem5 gives it {granted(registers, block)}"
            yield Refusal(each.name, why, more_registers(gfx))
    yield from _of_instructions(path, gfx, release, tables, workgroups)


def more_registers(gfx: str) -> str:
    """What gives a kernel more than :data:`MOST_REGISTERS` vector registers, or avoids that."""
    most = gpu(gfx).isa.vector_registers
    return (
        f"set the machine options vreg-min-alloc: {most} and sreg-file-size: {2 * most}, "
        "or use smaller tiles, more wavefronts, waves_per_eu: 2"
    )


def needs_more(path: Path, gfx: str, launched: Collection[str]) -> Iterator[str]:
    """Of kernels that are launched, what each with more than :data:`MOST_REGISTERS` registers needs."""
    for each in descriptors(path.read_bytes()) if gpu(gfx).runs_as else ():
        registers = registers_of(each.registers, gfx)
        if each.name in launched and registers > MOST_REGISTERS:
            yield f"{each.name} takes {registers} vector registers: {more_registers(gfx)}"


def _of_instructions(
    path: Path, gfx: str, release: str, tables: Sequence[Table], kernels: Collection[str]
) -> Iterator[Refusal]:
    lines = disassembled(path, gfx).splitlines()
    if not any(map(_LINE.match, lines)):
        raise EngineError(
            "the instructions cannot be read: no llvm-objdump beside clang",
            file=path,
            remedy=f"apt install llvm-{19 if gpu(gfx).least_clang else 15}",
        )
    isa = ISA_OF[gfx]
    kernel, seen = "", set[tuple[str, str, str]]()
    for line in lines:
        if label := _LABEL.match(line):
            kernel = label[1] if label[1] in kernels else kernel if _is_local(label[1]) else ""
        found = _LINE.match(line)
        if found is None or not kernel:
            continue
        words = [int(word, 16) for word in found["words"].split()]
        if gpu(gfx).isa.accumulation == "separate" and _MATRIX.match(found["text"]):
            wrong: tuple[str, str] | None = _SEPARATE
        else:
            wrong = reason(found["text"], words, release, tables, isa)
        name = found["text"].partition(" ")[0]
        if wrong is None or (kernel, name, wrong[0]) in seen:
            continue
        seen.add((kernel, name, wrong[0]))
        yield Refusal(kernel, f"{name} at {int(found['address'], 16):#x}: {wrong[0]}", wrong[1])


def _is_local(label: str) -> bool:
    return re.match(r"\.?L", label) is not None


def reason(
    text: str, words: list[int], release: str, tables: Sequence[Table], isa: IsaName
) -> tuple[str, str] | None:
    """What gem5 does with an instruction, and what avoids it; None: it executes it.

    Args:
        text: in LLVM's disassembly.
    """
    if not is_executed(words, release):
        return "gem5 does not execute it", _remedy(text)
    if _ACCUMULATION.match(text):
        return "gem5 takes its accumulation register for another one", WITHOUT_ACCUMULATION
    if _CONSTANT_SUM.match(text):
        return "gem5 adds another register in place of the constant", WITHOUT_ACCUMULATION
    if text.startswith(_ANOTHER):
        return "gem5 takes it for v_mul_legacy_f32", _remedy(text)
    with suppress(EngineError):  # an instruction that the interpreter does not have has no row, either
        row = worst(form_of(decode([*words, 0, 0][:3], 0, isa)), tables)
        if row is not None and row.certain and row.verdict == "stops":
            return f"gem5 ends: {row.message}", _remedy(text)
    return None


def _remedy(text: str) -> str:
    return next(remedy for pattern, remedy in REMEDIES if re.match(pattern, text))
