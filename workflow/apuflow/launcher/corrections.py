"""Changes of a kernel's assembly so that gem5 computes what the GPU does.

Each change replaces an instruction that gem5 executes wrongly (``apuflow.launcher.defects``) by others with
the same result, some through another vector register. Other instructions stay.

Sources: AMD's "Graphics Core Next Architecture, Generation 3" (SDWA); LLVM's
``GCNSubtarget::zeroesHigh16BitsOfDest`` (results of 16 bits clear the upper half).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from apuflow.launcher.correct_modifiers import fraction, without_output_modifiers, without_signs
from apuflow.launcher.correct_moves import permuted, single_stores
from apuflow.launcher.defects import DefectName, pattern_of
from apuflow.miopen.compiler import Compiler
from apuflow.miopen.launch import Launch

CORRECTIONS_VERSION: Final = "3"
"""Raise it when a change does something else: it is part of the identity of objects and points."""
_SIGNS_VERSION: Final = "3"
"""The version that added changes of signs, modifiers, stores and swizzles."""
_BEFORE_SIGNS: Final = "2"
_SIGNED_KERNELS: Final = (
    ("MIOpenNeuron.cl", "", "-DMIOPEN_NRN_OP_ID=2"),
    ("MIOpenPooling.cl", "mloPoolingG", "-DMLO_POOLING_OP_ID=0"),
    ("MIOpenConvBwdWrWS2.cl", "", ""),
    ("MIOpenGroupConvBwdWrWS2.cl", "", ""),
    ("MIOpenRNNHiddenStateUpdate.cl", "LSTMFwdHidUpdate", ""),
    ("elementwise.cl", "gelu", ""),
)
"""Program, kernel prefix and argument of the kernels whose code the last version changes.

Found by compiling the kernels of layers and operations for gfx801 and gfx902 with clang 15: tanh, average
pooling forward and the weights' gradient of stride 2 (a division of whole numbers), an LSTM's cell, GELU.
"""

_KEPT = re.compile(r"v_(?:mad|fma|div_fixup)_\w*16")
"""Vega's instructions with three operands keep the upper half."""
_SDWA = re.compile(
    r"(?P<name>v_\w+?)(?:_sdwa)? (?P<operands>(?:[^:[]|\[\d+:\d+\])+?)"
    r"(?: dst_sel:(?P<to>\w+) dst_unused:(?P<rest>\w+))?"
    r" src0_sel:(?P<first>\w+)(?: src1_sel:(?P<second>\w+))?$"
)
_PARTS: Final = {
    "BYTE_0": (0, 8), "BYTE_1": (8, 8), "BYTE_2": (16, 8), "BYTE_3": (24, 8),
    "WORD_0": (0, 16), "WORD_1": (16, 16),
}  # fmt: skip
"""First bit and width of a part of a register."""
_VECTOR = re.compile(r"v\d+")
_MASK = re.compile(r"vcc|s\[\d+:\d+\]")
"""Destination of a comparison, a bit per lane."""
_TRIPLE = re.compile(
    r"(?P<name>ds_(?:read|write))_b96 "
    r"(?:(?P<to>v\[\d+:\d+\]), (?P<from>v\d+)|(?P<at>v\d+), (?P<what>v\[\d+:\d+\]))"
    r"(?: offset:(?P<offset>\d+))?$"
)
_LARGEST_OFFSET: Final = (1 << 16) - 1
"""Largest offset of an LDS instruction in bytes."""
_OPERAND = re.compile(r"sext\((?P<signed>[vs]\d+)\)|(?P<plain>[vs]\d+|-?\d+)")
_WIDE_MOVE = re.compile(
    r"s_mov_b64 (?P<to>s\[(?P<low>\d+):(?P<high>\d+)\]|vcc|exec), (?P<value>0x[0-9a-f]+)$"
)
_HALVES: Final = {"vcc": ("vcc_lo", "vcc_hi"), "exec": ("exec_lo", "exec_hi")}
_PARTS_TAKEN: Final = 2
"""Largest number of operands of an instruction with parts."""
_REGISTERS_OF_A_LANE: Final = 256
_KERNEL = re.compile(r"\.amdhsa_kernel (\S+)")
_TAKEN = re.compile(r"\bv(?:(\d+)|\[(\d+):(\d+)\])")
_END = ".end_amdhsa_kernel\n"
_REGISTERS = re.compile(r"(\.amdhsa_next_free_vgpr )(\d+)")
_COMMENT = re.compile(r"\s*(?:;|//).*$")


def corrected(assembly: str, present: Collection[DefectName]) -> str:
    """Change clang's assembly of a kernel for a gem5.

    Args:
        present: the defects that this gem5 has.
    """
    parts = re.split(rf"(?<={re.escape(_END)})", assembly)  # of at most one kernel each
    return "".join(_piece(part, present) for part in parts)


def correcting(compiler: Compiler, present: Collection[DefectName]) -> Compiler:
    """The compiler with :func:`corrected` applied to its assembly."""
    identity = "\n".join((compiler.identity, f"corrections {CORRECTIONS_VERSION}", *replaced(present)))
    return replace(compiler, identity=identity, corrected=lambda text: corrected(text, present))


def version_of(launches: Iterable[Launch]) -> str:
    """The last version of the changes that affected a kernel of the launches."""
    changed = any(
        launch.program == program
        and launch.kernel.startswith(kernel)
        and argument in ("", *(launch.arguments or "").split())
        for launch in launches
        for program, kernel, argument in _SIGNED_KERNELS
    )
    return _SIGNS_VERSION if changed else _BEFORE_SIGNS


def replaced(present: Collection[DefectName]) -> tuple[DefectName, ...]:
    """The defects that have a replacement."""
    return tuple(name for name in _REPLACEMENTS if name in present)


def _piece(text: str, present: Collection[DefectName]) -> str:
    """Change a piece; only kernels declare free registers, functions do not."""
    described, free = _KERNEL.search(text), _REGISTERS.search(text)
    if described is None or free is None:
        return _changed(text, present, _REGISTERS_OF_A_LANE)[0]
    start = max(0, text.find(f"\n{described[1]}:"))
    before, _ = _changed(text[:start], present, _REGISTERS_OF_A_LANE)
    kernel, last = _changed(text[start:], present, int(free[2]))
    return before + _REGISTERS.sub(lambda found: f"{found[1]}{max(int(found[2]), last)}", kernel)


def _changed(text: str, present: Collection[DefectName], first: int) -> tuple[str, int]:
    """The changed text and its number of vector registers; those from ``first`` on are free."""
    last = first
    for name, change in _REPLACEMENTS.items():
        if name not in present:
            continue
        matcher, lines = re.compile(pattern_of(name)), list[str]()
        for line in text.split("\n"):
            instruction = _COMMENT.sub("", line).strip()
            made = change(instruction, first) if matcher.match(instruction) else None
            reached = _reached(instruction, made or ())
            if made is None or reached > _REGISTERS_OF_A_LANE:
                lines.append(line)
                continue
            last = max(last, reached)
            lines += [f"\t{word}" for word in made]
        text = "\n".join(lines)
    return text, last


def _reached(instruction: str, made: Iterable[str]) -> int:
    """Number of vector registers up to the last one that only the changed instruction uses."""
    return max({n for word in made for n in _registers(word)} - set(_registers(instruction)), default=-1) + 1


def _registers(instruction: str) -> Iterator[int]:
    for single, first, last in _TAKEN.findall(instruction):
        yield from range(int(first or single), int(last or single) + 1)


def _narrow(instruction: str, spare: int) -> tuple[str, ...] | None:
    """Clear the upper half of the result, as the GPU does."""
    del spare
    target = instruction.partition(" ")[2].partition(",")[0]
    if instruction.split()[0].endswith("_sdwa") or _KEPT.match(instruction) or not _VECTOR.fullmatch(target):
        return None
    return instruction, f"v_and_b32 {target}, 0xffff, {target}"


def _whole(instruction: str, spare: int) -> tuple[str, ...] | None:
    """Extract parts of registers first, and insert the result afterwards."""
    found = _SDWA.match(instruction)
    if found is None or found["rest"] not in (None, "UNUSED_PAD"):
        return None
    target, *sources = (word.strip() for word in found["operands"].split(","))
    operands = [word for source in sources if (word := _OPERAND.fullmatch(source))]
    compares = found["name"].startswith("v_cmp_")
    if not (_MASK if compares else _VECTOR).fullmatch(target):
        return None
    if len(operands) < len(sources) or len(sources) > _PARTS_TAKEN:
        return None
    narrow = found["name"].endswith("16")  # reads only the lower half of a register
    parts = [
        _PARTS.get("" if narrow and part == "WORD_0" else part or "")
        for part in found.group("first", "second")
    ]
    read = [word["signed"] or word["plain"] for word in operands]
    whole = [register for register, part in zip(read, parts, strict=False) if part is None]
    alone = not compares and len(whole) == len(read) - 1 and target not in whole
    before = list[str]()
    for number, (word, part) in enumerate(zip(operands, parts, strict=False)):
        if part is not None:
            place = target if alone else f"v{spare + len(before)}"
            take = "v_bfe_i32" if word["signed"] else "v_bfe_u32"
            before.append(f"{take} {place}, {read[number]}, {part[0]}, {part[1]}")
            read[number] = place
    after = []
    if found["to"] not in (None, "DWORD"):
        bit, width = _PARTS[found["to"]]
        after = [f"v_bfe_u32 {target}, {target}, 0, {width}", f"v_lshlrev_b32 {target}, {bit}, {target}"]
    return *before, f"{found['name']} {', '.join((target, *read))}", *after


def _halves(instruction: str, spare: int) -> tuple[str, ...] | None:
    """Move a literal to both registers of a pair, unless it may be negative."""
    del spare
    found = _WIDE_MOVE.match(instruction)
    if found is None or int(found["value"], 16) >= 1 << 31:
        return None
    low, high = (f"s{found['low']}", f"s{found['high']}") if found["low"] else _HALVES[found["to"]]
    return f"s_mov_b32 {low}, {found['value']}", f"s_mov_b32 {high}, 0"


def _pair_and_single(instruction: str, spare: int) -> tuple[str, ...] | None:
    """Access three words of LDS by two instructions; the one that overwrites the address comes last.

    Waits for LDS count one instruction more, so they are as long or longer.
    """
    del spare
    found = _TRIPLE.match(instruction)
    offset = int(found["offset"] or 0) if found else _LARGEST_OFFSET
    if found is None or offset + 8 > _LARGEST_OFFSET:
        return None
    address, words = found["from"] or found["at"], found["to"] or found["what"]
    first = int(words[2:].partition(":")[0])

    def part(kind: str, words: str, offset: int) -> str:
        operands = f"{words}, {address}" if found["to"] else f"{address}, {words}"
        return f"{found['name']}_{kind} {operands}" + (f" offset:{offset}" if offset else "")

    pair, single = part("b64", f"v[{first}:{first + 1}]", offset), part("b32", f"v{first + 2}", offset + 8)
    return (pair, single) if address == f"v{first + 2}" else (single, pair)


_REPLACEMENTS: Final[Mapping[DefectName, Callable[[str, int], tuple[str, ...] | None]]] = {
    "output_modifiers": without_output_modifiers,
    "ignored_signs": without_signs,
    "ignored_choice_signs": without_signs,
    "refused_choice_signs": without_signs,
    "negative_fractions": fraction,
    "buffer_pairs": single_stores,
    "skipped_swizzles": permuted,
    "ignored_sdwa": _whole,
    "refused_sdwa": _whole,
    "scalar_sdwa": _whole,
    "short_words": _whole,
    "narrow_results": _narrow,
    "wide_literals": _halves,
    "lds_triples": _pair_and_single,
}
"""In this order, because a later change handles what an earlier one leaves, such as 16-bit instructions."""
