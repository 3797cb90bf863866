"""Words of a decoded scalar, memory or LDS instruction: see :mod:`apuflow.forms.features`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from apuflow.interpret.encodings import LITERAL, VCC, Instruction
from apuflow.interpret.state import EXEC, M0

_FLAGS: Final = {
    "flat": ("glc", "slc"),
    "global": ("glc", "slc"),
    "scratch": ("glc", "slc"),
    "mubuf": ("glc", "slc", "offen", "idxen", "lds"),
    "mtbuf": ("glc", "slc", "offen", "idxen"),
    "ds": ("gds",),
    "smem": ("glc",),
}
_NO_ADDRESS: Final = 0x7F
"""Code of SADDR where there is none."""


def features(found: Instruction) -> Iterator[str]:
    """What an instruction of SOP*, SMEM, DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF has beyond its registers."""
    yield from (flag for flag in _FLAGS.get(found.encoding, ()) if flag in found.flags)
    match found.encoding:
        case "sop1" | "sop2" | "sopc" | "sopk":
            yield from _scalar(found)
        case "smem" if "dword" in found.name or "atomic" in found.name:
            yield from _scalar_memory(found)
        case "ds":
            yield from _lds(found)
        case "flat" | "global" | "scratch":
            if any(found.offsets):
                yield "offset"
            if found.encoding != "flat" and found.sources[2] != _NO_ADDRESS:
                yield "saddr"
        case "mubuf" | "mtbuf" if not found.name.startswith(("buffer_wb", "buffer_inv")):
            if any(found.offsets):
                yield "offset"
            kind = operand_kind(found.sources[2])
            if kind != "constant" or found.sources[2] != 128:
                yield "soffset" if kind == "scalar" else f"{kind}2"


def operand_kind(code: int) -> str:
    """What a scalar operand is: ``scalar`` register, ``constant``, ``float``, ``literal``, ``vcc``, ..."""
    if code == LITERAL:
        return "literal"
    if code in (VCC, VCC + 1):
        return "vcc"
    if code in (EXEC, EXEC + 1):
        return "exec"
    if code == M0:
        return "m0"
    if 128 <= code <= 208:
        return "constant"
    return "float" if 240 <= code <= 248 else "scalar"


def _scalar(found: Instruction) -> Iterator[str]:
    for place, code in enumerate(found.sources):
        if (kind := operand_kind(code)) != "scalar":
            yield f"{kind}{place}"
    compares = found.encoding == "sopc" or found.name.startswith("s_cmpk")
    if not compares and (kind := operand_kind(found.target)) in ("vcc", "m0", "exec"):
        yield f"to_{kind}"


def _scalar_memory(found: Instruction) -> Iterator[str]:
    if "imm" in found.flags and any(found.offsets):
        yield "offset"
    if "soffset" in found.flags or "imm" not in found.flags:
        kind = operand_kind(found.sources[1])
        yield "soffset" if kind == "scalar" else f"{kind}1"


def _lds(found: Instruction) -> Iterator[str]:
    offset = found.offsets[0] | found.offsets[1] << 8
    if found.name == "ds_swizzle_b32":
        yield (
            "fft"
            if offset >= 0xE000
            else "rotate"
            if offset >= 0xC000
            else ("quad_perm" if offset >> 15 else "bit_mask")
        )
    elif offset and not (
        found.name.startswith(("ds_read2", "ds_write2", "ds_wrxchg2")) and not found.offsets[0]
    ):
        yield "offset"
