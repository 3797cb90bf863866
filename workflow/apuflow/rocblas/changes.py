"""Changes of Tensile's kernels so that gem5 executes them, each with its reason.

The products' loops stay; the code that writes the result of a split sum changes. Source of the reasons: gem5
v23.0.1.0, ``src/arch/amdgpu/gcn3``; each was found by running a kernel.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Literal, NamedTuple, TypeAlias

from apuflow.core.errors import EngineError

CHANGES_VERSION: Final = "3"
"""Raise it when a change does something else: it is part of the identity of objects and points."""

When: TypeAlias = Literal["always", "split", "row offsets", "pairs", "other GPU"]


class Change(NamedTuple):
    """One mechanical change.

    Attributes:
        name, why: as tables show them; ``edit`` has the reason in full.
        when: the kernels: all, those with sums shared by workgroups, that load rows at a scalar offset, that
            store two elements at a time, or for another GPU than gfx803.
        edit: changes the text; None: Tensile writes it so.
    """

    name: str
    why: str
    when: When
    edit: Callable[[str], str] | None = None

    def __str__(self) -> str:
        return f"{self.name} ({self.why})"


def changes_of(splits: bool, row_offsets: bool, pairs: bool, gfx: str) -> tuple[Change, ...]:
    """The changes of a kernel (an ``apuflow.rocblas.tables.Solution``)."""
    holds = {"split": splits, "row offsets": row_offsets, "pairs": pairs, "other GPU": gfx != "gfx803"}
    return tuple(change for change in CHANGES if change.when == "always" or holds[change.when])


def apply(text: str, splits: bool, gfx: str) -> str:
    """A kernel's assembly with its changes.

    Raises:
        EngineError: the text is not as Tensile rocm-4.0.0 writes it; the message names the change.
    """
    offsets, pairs = _ROW_OFFSET.search(text) is not None, _PAIR_STORE.search(text) is not None
    for change in changes_of(splits, offsets, pairs, gfx):
        if change.edit is not None:
            text = change.edit(text)
    return text


# edits ----------------------------------------------------------------------------------------------------
_ADDRESS = re.compile(
    r"^(flat_load_dword v\d+, v\[(\d+):(\d+)\],.*\n)"
    r"(_v_add_co_u32 v\2, vcc, .*\n)"
    r"(_v_addc_co_u32 v\3, vcc, .*\n)",
    re.MULTILINE,
)
_ROW_OFFSET = re.compile(
    r"^(buffer_load_\w+ .*, s\[sgprSrd([AB]):sgprSrd\2\+3\], )(s\[sgprScalarGlobalReadOffset\2\+\d+\]),(.*)$",
    re.MULTILINE,
)
_PAIR_STORE = re.compile(r"^buffer_store_dwordx2 v\[(\d+):(\d+)\], (.*), offset:(\d+)(.*)$", re.MULTILINE)
SCALARS: Final = 102
"""Scalar registers of a wavefront; gem5 ends at one that is not reserved."""
SCRATCH: Final = f"s[{SCALARS - 1}]"
"""A scalar register that Tensile does not use between the loads of A and B and the stores of C."""
_EXEC = re.compile(r"s_mov_b64 exec,|s_\w+_saveexec_b64 ")
_VECTOR_WAIT = re.compile(r"s_waitcnt .*\bvmcnt\(0\)|s_waitcnt 0\b")
WAIT: Final = "s_waitcnt vmcnt(0) // apuflow: the atomic ends before lanes change\n"


def _retarget(text: str) -> str:
    """rocBLAS has kernels for gfx803 alone; gfx801 executes the same instructions.

    The GPU is left to the assembler's option: its name differs between code object versions.
    """
    return _every(r'^\.amdgcn_target "amdgcn-amd-amdhsa--gfx803"\n', "", text, "another GPU")


def _argument_bytes(text: str) -> str:
    """Tensile leaves it out of the descriptor; the runtime reads it elsewhere, the launcher here."""
    size = re.search(r"\.kernarg_segment_size:\s+(\d+)", text)
    if size is None:
        raise _unknown("size of arguments")
    line = rf"\g<0>\n  .amdhsa_kernarg_size {size[1]}"
    return _every(r"^\.amdhsa_kernel \S+$", line, text, "size of arguments")


def _no_priority(text: str) -> str:
    """s_setprio ends gem5 before v24.0 (panicUnimplemented).

    s_nop takes the same issue slot, and gem5 has no priorities among wavefronts.
    """
    return _every(r"^s_setprio \d+", "s_nop 0", text, "no priorities")


def _lane_zero(text: str) -> str:
    """gem5 takes the scalar destination of v_readfirstlane_b32 for a vector register.

    That may not be there (op_encodings.cc, Inst_VOP1::initOperandInfo). v_readlane_b32 of lane 0 does the
    same where all lanes hold the value.
    """
    pattern = r"^v_readfirstlane_b32 (s\S+), (v\S+)"
    return _every(pattern, r"v_readlane_b32 \1, \2, 0", text, "lane 0 for the first lane")


def _address_first(text: str) -> str:
    """In the flat form Tensile loads C before it has added the base to the address, on hardware as well."""
    changed, count = _ADDRESS.subn(r"\4\5\1", text)
    if count != text.count("// load C (atomic)"):
        raise _unknown("address before load")
    return changed


def _atomics_end(text: str) -> str:
    """gem5 writes the result of an atomic to the lanes that are active when it arrives.

    (operand.hh, VecOperand::write.) So a lane took a failed addition for done; a wait precedes the change.
    """
    lines, pending = [], False
    for line in text.splitlines(keepends=True):
        if line.startswith("flat_atomic_"):
            pending = True
        elif _VECTOR_WAIT.match(line):
            pending = False
        elif pending and _EXEC.match(line):
            lines.append(WAIT)
            pending = False
        lines.append(line)
    if "flat_atomic_" not in text:
        raise _unknown("atomics end before lanes change")
    return "".join(lines)


def _offset_within(text: str) -> str:
    """gem5 subtracts the scalar offset of a buffer_load from the number of bytes, whichever is larger.

    (op_encodings.hh, Inst_MUBUF::calcAddr: numRecords - s_offset.) Rows of a tile beyond a small matrix are
    read from whatever lies there, or end gem5; the offset is limited to that number.
    """
    changed = _ROW_OFFSET.sub(rf"s_min_u32 {SCRATCH}, \3, s[sgprSrd\2+2]\n\1{SCRATCH},\4", text)
    return _every(
        r"^(\s*\.amdhsa_next_free_sgpr) \d+", rf"\g<1> {SCALARS}", changed, "a register for the offset"
    )


def _single_stores(text: str) -> str:
    """gem5 writes the words of buffer_store_dwordx2 at lane * 4 and stores them from lane * 2.

    (instructions.cc, BUFFER_STORE_DWORDX2::execute; op_encodings.hh, initMemWrite<2>.) Every lane but the
    first stores words of other lanes.
    """

    def singly(store: re.Match[str]) -> str:
        first, second, where, offset, rest = store.groups()
        begin = f"buffer_store_dword v{first}, {where}, offset:{offset}{rest}"
        return f"{begin}\nbuffer_store_dword v{second}, {where}, offset:{int(offset) + 4}"

    return _PAIR_STORE.sub(singly, text)


def _every(pattern: str, by: str, text: str, name: str) -> str:
    changed, count = re.subn(pattern, by, text, flags=re.MULTILINE)
    if not count:
        raise _unknown(name)
    return changed


def _unknown(name: str) -> EngineError:
    return EngineError(
        f"the assembly is not as Tensile writes it: nothing to change for `{name}`",
        key="tensile_source",
        remedy="use Tensile and rocBLAS at rocm-4.0.0, unchanged",
    )


CHANGES: Final = (
    Change(
        "another GPU",
        "rocBLAS has none for gfx801, the instructions are the same",
        "other GPU",
        _retarget,
    ),
    Change("size of arguments", "Tensile leaves it out of the descriptor", "always", _argument_bytes),
    Change("no priorities", "s_setprio ends gem5 before v24.0", "always", _no_priority),
    Change("lane 0 for the first lane", "gem5 decodes v_readfirstlane_b32 wrongly", "always", _lane_zero),
    Change(
        "rows at an offset stay inside",
        "gem5 takes a scalar offset from the buffer's size",
        "row offsets",
        _offset_within,
    ),
    Change("pairs stored singly", "gem5 stores another lane's", "pairs", _single_stores),
    # Tensile is asked for flat addresses (BufferStore false), in what writes C alone.
    Change("flat atomics", "gem5 has no buffer_atomic_cmpswap for GCN3", "split"),
    Change("address before load", "Tensile's flat form loads C too early", "split", _address_first),
    Change(
        "atomics end before lanes change",
        "gem5 gives their results to the lanes that are active when they arrive",
        "split",
        _atomics_end,
    ),
)
"""In the order in which they are made."""
