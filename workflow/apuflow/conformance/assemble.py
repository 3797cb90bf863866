"""Kernels that try cases: the code around the tried instruction, assembled by LLVM.

Sources: LLVM's "User Guide for AMDGPU Backend" (kernel descriptor, assembler directives); AMD's manuals
"Graphics Core Next Architecture, Generation 3" and "Vega" (buffer resource descriptor, table 8.5).
"""

from __future__ import annotations

import hashlib
import re
import shutil
import struct
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apuflow.conformance.case import LANES, LDS_BYTES, MEMORY_BYTES, PRIVATE_BYTES, ROUNDS, Case, Words
from apuflow.core.errors import EngineError
from apuflow.core.gpus import GCN3, gpu
from apuflow.interpret.image import ISA_OF
from apuflow.interpret.opcodes import IsaName
from apuflow.launcher.dispatch_list import Contents
from apuflow.miopen import elf
from apuflow.miopen.compiler import host_compiler

POISON: Final = 0xA5A5A5A5
LDS_WORDS: Final = LDS_BYTES // 4 // LANES
"""Words of a lane that LDS fills."""
FREE: Final = (104, 96)
"""The first vector and scalar register that neither a case nor the code around it uses."""
ACCUMULATION: Final = 128
"""Vector register that is a0: the code around the instruction does not name accumulation registers."""
_ROW: Final = 4 * LANES
_VERSION: Final = "1"
"""Of the code around the instruction; results of another one are not used again."""
_NEW: Final = ("gfx942",)
"""Processors that the LLVM beside clang 15 does not know."""
_REGISTERS: Final = re.compile(r"([vsa])(?:(\d+)|\[(\d+):(\d+)\])")
_SAVED: Final = {
    **{"scc": ("s86",), "m0": ("s87",), "exec": ("s88", "s89"), "exec_lo": ("s88",), "exec_hi": ("s89",)},
    **{"vcc": ("s90", "s91"), "vcc_lo": ("s90",), "vcc_hi": ("s91",)},
}
"""Where the kernel keeps what it needs itself."""


class Register(NamedTuple):
    """A register as the kernel names it; ``vector``: it differs between lanes."""

    name: str
    vector: bool


@dataclass(frozen=True)
class Assembled:
    """A case and the words of its instruction.

    Attributes:
        printed: the instruction as LLVM prints it.
        spare: whether the words are of other instructions, which use registers from ``FREE`` on.
    """

    case: Case
    words: tuple[int, ...]
    printed: str = ""
    spare: bool = False

    @property
    def isa(self) -> IsaName:
        """Instruction set of its words."""
        return ISA_OF[self.case.processor]

    @property
    def key(self) -> str:
        """Hash of everything that decides its results."""
        case = self.case
        digest = hashlib.sha256(
            repr(
                (
                    *(_VERSION, str(case.form), self.words, self.isa, case.results, case.before, case.after),
                    *(("private",) if case.private else ()),
                    *(case.memory, case.lds, [(name, value.shape) for name, value in _inputs(case)]),
                )
            ).encode()
        )
        for _, value in _inputs(case):
            digest.update(np.ascontiguousarray(value, np.uint32).tobytes())
        return digest.hexdigest()[:24]

    @property
    def rows(self) -> int:
        """Rows of 64 words that each wavefront stores."""
        return len(stored(self.case)) + (LDS_WORDS if self.case.lds else 0)

    def input_data(self) -> NDArray[np.uint32]:
        """What the kernel loads: (ROUNDS, rows, 64); scalars fill the last rows."""
        case = self.case
        scalars = [value for _, value in _inputs(case) if value.ndim == 2]
        rows = [value for _, value in _inputs(case) if value.ndim == 3]
        count = sum(value.shape[1] for value in scalars)
        flat = np.zeros((ROUNDS, -(-count // LANES) * LANES), np.uint32)
        if scalars:
            flat[:, :count] = np.concatenate(scalars, 1)
        data = np.concatenate([*rows, flat.reshape(ROUNDS, -1, LANES)], 1)
        return data if data.shape[1] else np.zeros((ROUNDS, 1, LANES), np.uint32)


def _inputs(case: Case) -> list[tuple[str, Words]]:
    return [*case.vectors.items(), *case.scalars.items()]


@cache
def memory_content() -> NDArray[np.uint8]:
    """The random content of memory before a case; LDS begins with its first bytes."""
    return Contents("modulo", (64, 256)).values(MEMORY_BYTES)


def registers(text: str) -> tuple[Register, ...]:
    """The registers of a result or input, one a word: ``v[8:9]``, ``s20``, ``a0``, ``vcc``, ``scc``.

    Raises:
        EngineError: it is none.
    """
    if text in _SAVED:
        return tuple(Register(name, False) for name in _SAVED[text])
    match = _REGISTERS.fullmatch(text)
    if match is None:
        raise EngineError("not a register", value=text, remedy="v8, v[8:9], s20, a0, vcc, exec, scc or m0")
    kind, single, first, last = match.groups()
    numbers = range(int(single or first), int(single or last) + 1)
    if kind == "a":
        return tuple(Register(f"v{ACCUMULATION + number}", True) for number in numbers)
    return tuple(Register(f"{kind}{number}", kind == "v") for number in numbers)


def stored(case: Case) -> tuple[Register, ...]:
    """The registers that a case stores, one a row."""
    return tuple(register for result in case.results for register in registers(result))


def llvm_mc(processor: str) -> str:
    """The assembler that knows a processor.

    Raises:
        EngineError: it is not installed.
    """
    found: str | None
    if processor in _NEW:
        found = next((path for name in ("llvm-mc-19", "llvm-mc-20") if (path := shutil.which(name))), None)
    else:
        clang = Path(host_compiler(code_object=4).command[0]).resolve()
        found = shutil.which(clang.with_name("llvm-mc"))
    if found is None:
        raise EngineError(
            "no assembler for this processor", value=processor, remedy="apt install llvm-15 llvm-19"
        )
    return found


def assembled(cases: Iterable[Case]) -> list[Assembled]:
    """The cases whose instruction LLVM accepts, in their order, with its words."""
    by_processor: dict[str, list[tuple[int, Case]]] = {}
    for number, case in enumerate(cases):
        by_processor.setdefault(case.processor, []).append((number, case))
    found: dict[int, Assembled] = {}
    for processor, some in by_processor.items():
        for (number, case), (words, printed) in zip(
            some, encoded(processor, [each.text for _, each in some]), strict=True
        ):
            if words:
                found[number] = Assembled(case, words, printed)
    return [found[number] for number in sorted(found)]


def encoded(processor: str, texts: Sequence[str]) -> list[tuple[tuple[int, ...], str]]:
    """Words of each instruction, and LLVM's text of it; no words where LLVM refuses it, or prints a fixup."""
    command = [llvm_mc(processor), "--triple=amdgcn", f"--mcpu={processor}", "--show-encoding"]
    text = "\n".join(line.replace("\n", " ") for line in texts) + "\n"
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    refused = {int(number) for number in re.findall(r"^<stdin>:(\d+):\d+: error", done.stderr, re.MULTILINE)}
    codes = re.findall(r"^\s*(.*?)\s*(?:;|//) encoding: \[(.*)\]$", done.stdout, re.MULTILINE)
    taken = iter(codes)
    if len(codes) != len(texts) - len(refused):
        raise EngineError("llvm-mc did not answer each line", value=done.stderr[:2000] or processor)
    none = "", ""
    lines = [none if number in refused else next(taken) for number in range(1, len(texts) + 1)]
    return [(_words(code) if code else (), printed) for printed, code in lines]


def _words(code: str) -> tuple[int, ...]:
    try:
        data = bytes(int(byte, 16) for byte in code.split(","))
    except ValueError:  # a byte that the linker would fill
        return ()
    return struct.unpack(f"<{len(data) // 4}I", data)


def object_text(some: Sequence[Assembled], gfx: str) -> str:
    """Assembly of a code object for ``gfx`` with a kernel ``k0``, ``k1``, ... for each case."""
    parts = [f'.amdgcn_target "amdgcn-amd-amdhsa--{gfx}"', ".text"]
    for number, each in enumerate(some):
        parts += [f".globl k{number}", ".p2align 8", f".type k{number},@function", f"k{number}:"]
        parts.append(kernel_text(each, gfx))
    parts += ['.section .rodata,"a",@progbits', ".p2align 6"]
    for number, each in enumerate(some):
        vectors, scalars = (ACCUMULATION, FREE[1] + 2) if each.spare else FREE
        vectors = ACCUMULATION + 32 if each.isa in ("gfx908", "gfx90a", "gfx940") else vectors
        modes = {"ieee": 0, "denorm": 0} if _MULTIPLES.intersection(each.case.form.features) else _MODES
        sizes = {"vectors": vectors, "scalars": scalars, "lds": LDS_BYTES}
        private = _PRIVATE if each.case.private else ""
        parts.append(_DESCRIPTOR.format(name=f"k{number}", private=private, **sizes, **modes))
    return "\n".join(parts) + "\n"


_MODES: Final = {"ieee": 1, "denorm": 3}
_MULTIPLES: Final = frozenset({"mul2", "mul4", "div2"})
"""Words of OMOD, which acts without IEEE and subnormal results alone ("MI200" manual, 6.2.2)."""
_DESCRIPTOR: Final = """.amdhsa_kernel {name}{private}
 .amdhsa_user_sgpr_kernarg_segment_ptr 1
 .amdhsa_system_sgpr_workgroup_id_x 1
 .amdhsa_group_segment_fixed_size {lds}
 .amdhsa_kernarg_size 24
 .amdhsa_next_free_vgpr {vectors}
 .amdhsa_next_free_sgpr {scalars}
 .amdhsa_float_round_mode_32 0
 .amdhsa_float_round_mode_16_64 0
 .amdhsa_float_denorm_mode_32 {denorm}
 .amdhsa_float_denorm_mode_16_64 {denorm}
 .amdhsa_ieee_mode {ieee}
 .amdhsa_dx10_clamp 1
.end_amdhsa_kernel"""
_PRIVATE: Final = f"""
 .amdhsa_user_sgpr_private_segment_buffer 1
 .amdhsa_user_sgpr_flat_scratch_init 1
 .amdhsa_system_sgpr_private_segment_wavefront_offset 1
 .amdhsa_private_segment_fixed_size {PRIVATE_BYTES}"""
_PRIVATE_BEGIN: Final = (
    *("s_add_u32 flat_scratch_lo, s6, s9", "s_addc_u32 flat_scratch_hi, s7, 0"),
    *("s_mov_b64 s[0:1], s[4:5]", "s_mov_b32 s2, s8"),
)
"""FLAT_SCRATCH; arguments and the workgroup's number go where kernels without private memory have them."""
_WAIT: Final = "s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)"


def kernel_text(each: Assembled, gfx: str) -> str:
    """The instructions of a case's kernel.

    It uses s[0:11], s[80:95], v0, v1 and v[100:103] itself.
    """
    case = each.case
    add = "v_add_u32" if gpu(gfx).isa == GCN3 else "v_add_co_u32"
    carry = "v_addc_u32" if gpu(gfx).isa == GCN3 else "v_addc_co_u32"

    def address(scalars: str) -> list[str]:
        low, high = scalars.split()
        return [
            f"v_mov_b32 v101, {high}",
            f"{add} v100, vcc, {low}, v102",
            f"{carry} v101, vcc, 0, v101, vcc",
        ]

    step = [f"{add} v100, vcc, s92, v100", f"{carry} v101, vcc, 0, v101, vcc"]
    rows, scalars = _loaded(case)
    data = each.input_data()
    given = {register.name for register in (*rows, *scalars)}
    lines = [
        *(_PRIVATE_BEGIN if case.private else ()),
        *("s_load_dwordx4 s[80:83], s[0:1], 0x0", "s_load_dwordx2 s[8:9], s[0:1], 0x10", _WAIT),
        *(f"s_mul_i32 s84, s2, {data.shape[1] * _ROW}", "s_add_u32 s80, s80, s84", "s_addc_u32 s81, s81, 0"),
        *(f"s_mul_i32 s84, s2, {each.rows * _ROW}", "s_add_u32 s82, s82, s84", "s_addc_u32 s83, s83, 0"),
        *("v_lshlrev_b32 v102, 2, v0", f"s_movk_i32 s92, {_ROW}"),
    ]
    if case.lds:
        lines += ["s_mov_b32 m0, -1", "v_mov_b32 v1, v102", *address("s8 s9")]
        for _ in range(LDS_WORDS):
            lines += ["flat_load_dword v103, v[100:101]", _WAIT, "ds_write_b32 v1, v103", *step]
            lines += [f"{add} v1, vcc, s92, v1"]
    lines += address("s80 s81")
    for register in rows:
        lines += [f"flat_load_dword {register.name}, v[100:101]", *step]
    for number, register in enumerate(scalars):
        lines.append(f"s_load_dword {register.name}, s[80:81], {len(rows) * _ROW + 4 * number:#x}")
    lines += [
        f"{'v' if register.vector else 's'}_mov_b32 {register.name}, {POISON:#x}"
        for result in case.results
        if result not in _SAVED
        for register in registers(result)
        if register.name not in given
    ]
    lines += address("s82 s83")
    if case.memory:
        lines += ["s_mov_b32 s12, s8", "s_and_b32 s13, s9, 0xffff", f"s_mov_b32 s14, {MEMORY_BYTES}"]
        lines += ["s_mov_b32 s15, 0x27fac"]
    lines += [_WAIT, "s_mov_b64 vcc, 0", "s_mov_b32 m0, 0", "s_cmp_lg_u32 s2, s2", "s_nop 4", *case.before]
    lines += [f".long {', '.join(f'{word:#x}' for word in each.words)}", *case.after]
    lines += ["s_cselect_b32 s86, 1, 0"] if "scc" in case.results else []
    lines += ["s_nop 15", "s_nop 7", "s_mov_b64 s[88:89], exec", "s_mov_b64 exec, -1", "s_mov_b32 s87, m0"]
    lines += ["s_mov_b64 s[90:91], vcc", _WAIT]
    for register in stored(case):
        name = register.name
        if not register.vector:
            lines += [f"v_mov_b32 v103, {name}"]
            name = "v103"
        lines += [f"flat_store_dword v[100:101], {name}", *step]
    if case.lds:
        lines += ["s_mov_b32 m0, -1", "v_lshlrev_b32 v1, 2, v0"]
        for _ in range(LDS_WORDS):
            lines += ["ds_read_b32 v103, v1", _WAIT, "flat_store_dword v[100:101], v103", *step]
            lines += [f"{add} v1, vcc, s92, v1"]
    return "\n".join(f" {line}" for line in (*lines, _WAIT, "s_endpgm"))


def _loaded(case: Case) -> tuple[list[Register], list[Register]]:
    """The registers that are loaded: vectors, then scalars, one a word."""
    found: tuple[list[Register], list[Register]] = ([], [])
    for some, chosen in zip(found, (case.vectors, case.scalars), strict=True):
        for name, value in chosen.items():
            first = registers(name)[0].name
            some += [
                Register(f"{first[0]}{int(first[1:]) + number}", first[0] == "v")
                for number in range(value.shape[1])
            ]
    return found


def build_object(some: Sequence[Assembled], gfx: str, out: Path) -> None:
    """Write the code object of ``object_text``.

    Raises:
        EngineError: the assembler refuses it.
    """
    clang = host_compiler(code_object=4).command[0]
    source = out.with_suffix(".s")
    source.write_text(object_text(some, gfx), encoding="utf-8")
    command = [clang, "-x", "assembler", "--target=amdgcn-amd-amdhsa", f"-mcpu={gfx}"]
    command += ["-mcode-object-version=4", str(source), "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise EngineError(f"the kernels of cases do not assemble:\n{done.stderr[:2000]}", file=source)
    data = bytearray(out.read_bytes())
    _place_accumulation(data)
    out.write_bytes(data)


def _place_accumulation(data: bytearray) -> None:
    """Say in each kernel's descriptor where accumulation registers begin (ACCUM_OFFSET)."""
    table = elf.sections(bytes(data))
    for symbol in elf.symbols(bytes(data), table):
        if symbol.name.endswith(".kd"):
            place = elf.file_offset(table, symbol.value) + 44
            struct.pack_into("<I", data, place, ACCUMULATION // 4 - 1)
