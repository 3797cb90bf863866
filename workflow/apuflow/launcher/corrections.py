"""Changes of a kernel's assembly so that gem5 computes what the GPU does.

Each change replaces an instruction that gem5 executes wrongly (``apuflow.launcher.defects``) by others with
the same result, some through another vector register. Other instructions stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from apuflow.launcher import replacements
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


_REPLACEMENTS: Final[Mapping[DefectName, Callable[[str, int], tuple[str, ...] | None]]] = {
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
}
"""In this order, because a later change handles what an earlier one leaves, such as 16-bit instructions."""
