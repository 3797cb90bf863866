"""Changes of a kernel's assembly so that gem5 computes what the GPU does.

Each change replaces an instruction that gem5 executes wrongly (``apuflow.launcher.defects``) by others with
the same result, some through another vector register. Other instructions stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from apuflow.core.gpus import GPUS
from apuflow.launcher import later_replacements, replacements
from apuflow.launcher.defects import DefectName, pattern_of
from apuflow.launcher.object_changes import POINTERS, mark
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

_REGISTERS_OF_A_LANE: Final = 256
_SCALAR_REGISTERS: Final = 102
_KERNEL = re.compile(r"\.amdhsa_kernel (\S+)")
_TAKEN = re.compile(r"\bv(?:(\d+)|\[(\d+):(\d+)\])")
_SCALARS_TAKEN = re.compile(r"\bs(?:(\d+)|\[(\d+):(\d+)\])")
_END = ".end_amdhsa_kernel\n"
_REGISTERS = re.compile(r"(\.amdhsa_next_free_vgpr )(\d+)")
_SCALARS = re.compile(r"(\.amdhsa_next_free_sgpr )(\d+)")
_ACCUMULATION = re.compile(r"(\.amdhsa_accum_offset )(\d+)")
_TARGET = re.compile(r"^\s*\.amdgcn_target \"[^\"]*?(gfx\w+)", re.MULTILINE)
_COMMENT = re.compile(r"\s*(?:;|//).*$")
_NUMBERS: Final = ("id_x", "id_y", "id_z", "info")
_PACKING: Final = ("v_lshl_or_b32 v0, v1, 10, v0", "v_lshl_or_b32 v0, v2, 20, v0")
_FEATURES: Final[Mapping[DefectName, str]] = {"refused_mix": "-fma-mix-insts"}
"""By defect without a replacement, the feature of LLVM that asks for its instructions."""


def without_features(gfx: str, present: Collection[DefectName]) -> tuple[str, ...]:
    """Features (``-fma-mix-insts``) that clang is told to leave for a GPU that gem5 is not told of.

    Not ``-sdwa``: clang 15 and 19 end with it (seen).
    """
    later = gfx in GPUS and GPUS[gfx].runs_as
    return tuple(feature for name, feature in _FEATURES.items() if later and name in present)


def corrected(assembly: str, present: Collection[DefectName]) -> str:
    """Change clang's assembly of a kernel for a gem5.

    Args:
        present: the defects that this gem5 has.
    """
    parts = re.split(rf"(?<={re.escape(_END)})", assembly)  # of at most one kernel each
    made = "".join(_piece(part, present) for part in parts)
    target = _TARGET.search(assembly)
    if target is None or target[1] not in GPUS or not GPUS[target[1]].runs_as:
        return made
    names = [
        name
        for name in replaced(present)
        if re.search(rf"^\s*(?:{pattern_of(name)})", assembly, re.MULTILINE)
    ]
    return _at_entries(made, GPUS[target[1]].isa.packed_work_items, present, names)


def _at_entries(text: str, packed: bool, present: Collection[DefectName], names: list[DefectName]) -> str:
    """Move at each kernel's entry what gem5 puts elsewhere, and note what was changed in a section."""
    for described in re.findall(rf"\.amdhsa_kernel .*?{_END}", text, re.DOTALL):
        moves = list[str]()
        known = {name: int(value) for name, value in re.findall(r"\.amdhsa_(\w+) (\d+)", described)}
        if known.get("user_sgpr_kernarg_preload_length") and "preloaded_arguments" in present:
            there = sum(count for name, count in POINTERS.items() if known.get(f"user_sgpr_{name}"))
            axes = sum(known.get(f"system_sgpr_workgroup_{name}", name == "id_x") for name in _NUMBERS)
            wanted = known["user_sgpr_count"]
            moves += [f"s_mov_b32 s{wanted + n}, s{there + n}" for n in reversed(range(axes))]
            names.append("preloaded_arguments")
        axes = known.get("system_vgpr_workitem_id", 0)
        if packed and axes and "packed_work_items" in present:
            moves += _PACKING[:axes]
            names.append("packed_work_items")
        label = re.compile(rf"^{re.escape(described.split()[1])}:.*\n", re.MULTILINE)
        if moves and (found := label.search(text)):
            text = f"{text[: found.end()]}\t" + "\n\t".join(moves) + f"\n{text[found.end() :]}"
    marked = mark(dict.fromkeys(names)).decode().strip()
    return f'{text}\t.section .apuflow,"",@progbits\n\t.ascii "{marked}\\n"\n' if marked else text


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
    return tuple(name for name in (*_REPLACEMENTS, *_SCALAR_REPLACEMENTS) if name in present)


def _piece(text: str, present: Collection[DefectName]) -> str:
    """Change a piece; only kernels declare free registers, functions do not."""
    described, free = _KERNEL.search(text), _REGISTERS.search(text)
    if described is None or free is None:
        return _changed(text, present, _REGISTERS_OF_A_LANE)[0]
    start = max(0, text.find(f"\n{described[1]}:"))
    before, _ = _changed(text[:start], present, _REGISTERS_OF_A_LANE)
    text = text[start:]
    total, offset = int(free[2]), _ACCUMULATION.search(text)
    first = min(total, int(offset[2])) if offset else total
    kernel, last = _changed(text, present, first)
    kernel = _with_scalars(kernel, present)
    if offset:  # accumulation registers lie behind the others, from a multiple of four on
        begin = max(int(offset[2]), -(-last // 4) * 4)
        behind = max(0, total - int(offset[2]))
        kernel = _ACCUMULATION.sub(lambda found: f"{found[1]}{begin}", kernel)
        last = begin + behind if behind else last
    return before + _REGISTERS.sub(lambda found: f"{found[1]}{max(total, last)}", kernel)


def _with_scalars(text: str, present: Collection[DefectName]) -> str:
    """Change what needs a free scalar register."""
    free = _SCALARS.search(text)
    if free is None or int(free[2]) >= _SCALAR_REGISTERS:
        return text
    changed, last = _changed(text, present, int(free[2]), _SCALAR_REPLACEMENTS, _SCALARS_TAKEN)
    return _SCALARS.sub(lambda found: f"{found[1]}{max(int(found[2]), last)}", changed)


def _changed(
    text: str,
    present: Collection[DefectName],
    first: int,
    replacements: Mapping[DefectName, _Replacement] | None = None,
    taken: re.Pattern[str] = _TAKEN,
) -> tuple[str, int]:
    """The changed text and its number of registers; those from ``first`` on are free."""
    last = first
    for name, change in (_REPLACEMENTS if replacements is None else replacements).items():
        if name not in present:
            continue
        matcher, lines = re.compile(pattern_of(name)), list[str]()
        for line in text.split("\n"):
            instruction = _COMMENT.sub("", line).strip()
            made = change(instruction, first) if matcher.match(instruction) else None
            reached = _reached(instruction, made or (), taken)
            if made is None or reached > _REGISTERS_OF_A_LANE:
                lines.append(line)
                continue
            last = max(last, reached)
            lines += [f"\t{word}" for word in made]
        text = "\n".join(lines)
    return text, last


def _reached(instruction: str, made: Iterable[str], taken: re.Pattern[str]) -> int:
    """Number of registers up to the last one that only the changed instruction uses."""
    used = {n for word in made for n in _registers(word, taken)} - set(_registers(instruction, taken))
    return max(used, default=-1) + 1


def _registers(instruction: str, taken: re.Pattern[str]) -> Iterator[int]:
    for single, first, last in taken.findall(instruction):
        yield from range(int(first or single), int(last or single) + 1)


_Replacement: TypeAlias = Callable[[str, int], tuple[str, ...] | None]
_SCALAR_REPLACEMENTS: Final[Mapping[DefectName, _Replacement]] = {
    "scaled_sums": later_replacements.scaled_sum,
}
_REPLACEMENTS: Final[Mapping[DefectName, _Replacement]] = {
    "accumulator_accesses": later_replacements.plain_accesses,
    "misread_fmac": later_replacements.fused_doubles,
    "refused_packs": later_replacements.packed_halves,
    "packed_constants": later_replacements.single_floats,
    "packed_signs": later_replacements.single_floats,
    "mirrored_rows": later_replacements.mirrored,
    "bounded_dpp": later_replacements.moved,
    "refused_caches": later_replacements.caches_of_vega,
    "refused_modes": later_replacements.without_mode,
    "output_modifiers": replacements.without_output_modifiers,
    "ignored_signs": replacements.without_signs,
    "ignored_choice_signs": replacements.without_signs,
    "refused_choice_signs": replacements.without_signs,
    "negative_fractions": replacements.fraction,
    "buffer_pairs": replacements.single_stores,
    "skipped_swizzles": replacements.permuted,
    "ignored_sdwa": replacements.whole,
    "refused_sdwa": replacements.whole,
    "scalar_sdwa": replacements.whole,
    "short_words": replacements.whole,
    "narrow_results": replacements.narrow,
    "wide_literals": replacements.halves,
    "lds_triples": replacements.pair_and_single,
    "first_lane_register": replacements.first_lane,
}
"""In this order, because a later change handles what an earlier one leaves, such as 16-bit instructions."""
