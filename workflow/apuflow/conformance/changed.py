"""Cases with the changes that apuflow makes to code for a gem5, by the functions that change kernels.

A change is right if gem5 then leaves what the GPU leaves after the instruction that was changed.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from apuflow.configure import Release
from apuflow.conformance.assemble import FREE, Assembled, encoded
from apuflow.core.gpus import GPUS
from apuflow.forms.form import Form
from apuflow.launcher.corrections import corrected, replaced
from apuflow.launcher.defects import PATTERNS, DefectName
from apuflow.launcher.object_changes import change_instructions

Way: TypeAlias = Literal["text", "object"]
"""What is changed: a compiler's assembly (and its object after that), or a finished object alone."""
_KERNEL: Final = """\
\t.amdgcn_target "amdgcn-amd-amdhsa--{gfx}"
k:
\t{text}
\t.amdhsa_kernel k
\t\t.amdhsa_next_free_vgpr {vectors}
\t\t.amdhsa_next_free_sgpr {scalars}
{accumulation}\t.end_amdhsa_kernel
"""
_ACCUMULATION: Final = "\t\t.amdhsa_accum_offset {vectors}\n"
_BODY: Final = re.compile(r"\nk:\n(.*?)\n\t\.amdhsa_kernel", re.DOTALL)
_UNKNOWN: Final = re.compile(r"unimplemented \w+ instruction: (\w+)")
_DATA: Final = re.compile(r"\.long (\S+)$")


@dataclass(frozen=True)
class Changed:
    """A case whose instruction is changed.

    Attributes:
        of: the case as it is.
        made: the same case with the instructions that take its place.
        gfx: the GPU whose code is changed.
        by: defects for whose sake.
    """

    of: Assembled
    made: Assembled
    gfx: str
    way: Way
    by: tuple[DefectName, ...]
    text: tuple[str, ...]


def changed(some: Sequence[Assembled], release: Release, gfx: str) -> list[Changed]:
    """Every case that a change of the release touches, by each GPU whose kernels have the instruction.

    A case of gfx902 counts as one of gfx90a, too, where both have the same words: gem5 runs kernels of later
    GPUs as gfx902, and more is changed for them.

    Args:
        gfx: the GPU that gem5 is told.
    """
    found = list[Changed]()
    for name, cases in machines_of(some, gfx).items():
        present = release.instruction_defects(name)
        found += _of_text(cases, name, present)
        found += _of_objects(cases, name, present)
    return found


def machines_of(some: Sequence[Assembled], gfx: str) -> Mapping[str, list[Assembled]]:
    """Cases by GPU whose code has the instruction in these words, printed as its assembler does."""
    found = dict[str, list[Assembled]]()
    for each in some:
        name = each.case.processor
        found.setdefault(gfx if name in GPUS and GPUS[name].isa == GPUS[gfx].isa else name, []).append(each)
    if here := found.get("gfx902"):
        later = encoded("gfx90a", [each.case.text for each in here])
        same = (
            replace(each, printed=printed)
            for each, (words, printed) in zip(here, later, strict=True)
            if words == each.words
        )
        found.setdefault("gfx90a", []).extend(same)
    return {name: cases for name, cases in found.items() if name in GPUS}


def _of_text(some: Sequence[Assembled], gfx: str, present: Collection[DefectName]) -> Iterator[Changed]:
    patterns = [re.compile(PATTERNS[name]) for name in replaced(present)]
    texts = [
        (each, _text(each.printed, gfx, present))
        for each in some
        if any(pattern.match(each.printed) for pattern in patterns)
    ]
    touched = [(each, lines) for each, lines in texts if lines != (each.printed,)]
    plain = [line for _, lines in touched for line in lines if not _DATA.match(line)]
    words = iter(encoded(gfx, plain))
    for each, lines in touched:
        parts = list[tuple[int, ...]]()
        for line in lines:
            data = _DATA.match(line)
            parts.append((int(data[1], 0),) if data else next(words)[0])
        by = _names(each.printed, gfx, present)
        made = tuple(word for part in parts for word in part) if all(parts) else ()
        made, more = _object(made, gfx, present)
        yield Changed(each, replace(each, words=made, spare=True), gfx, "text", (*by, *more), lines)


def _of_objects(some: Sequence[Assembled], gfx: str, present: Collection[DefectName]) -> Iterator[Changed]:
    for each in some:
        words, by = _object(each.words, gfx, present)
        if by:
            text = (" ".join(f"{word:#010x}" for word in words),)
            yield Changed(each, replace(each, words=words, spare=True), gfx, "object", by, text)


def _text(line: str, gfx: str, present: Collection[DefectName]) -> tuple[str, ...]:
    """The lines that take a line's place in a compiler's assembly."""
    vectors, scalars = FREE
    separate = GPUS[gfx].isa.accumulation == "shared"
    text = _KERNEL.format(
        gfx=gfx,
        text=line,
        vectors=vectors,
        scalars=scalars,
        accumulation=_ACCUMULATION.format(vectors=vectors) if separate else "",
    )
    body = _BODY.search(corrected(text, present))
    assert body is not None
    return tuple(word.strip() for word in body[1].split("\n"))


def _names(line: str, gfx: str, present: Collection[DefectName]) -> tuple[DefectName, ...]:
    """The defects whose changes made a difference, one after the other."""
    names, found = replaced(present), list[DefectName]()
    before: tuple[str, ...] = (line,)
    for number, name in enumerate(names):
        if not any(re.match(PATTERNS[name], word) for word in before):
            continue
        after = _text(line, gfx, names[: number + 1])
        if after != before:
            found.append(name)
        before = after
    return tuple(found)


def _object(
    words: tuple[int, ...], gfx: str, present: Collection[DefectName]
) -> tuple[tuple[int, ...], tuple[DefectName, ...]]:
    """Words after the changes of an object, and for which defects."""
    if not GPUS[gfx].runs_as:
        return words, ()
    data = bytearray(struct.pack(f"<{len(words)}I", *words))
    done = tuple(change_instructions(data, 0, len(data), gfx, present))
    return struct.unpack(f"<{len(words)}I", data), done


def covers(form: Form, message: str) -> Callable[[Form], bool]:
    """Of which other changed forms a message is true: of an instruction that gem5 does not have, of all."""
    found = _UNKNOWN.search(message)
    whole = found is not None and found[1] == form.instruction
    return lambda other: whole and other[:2] == form[:2]
