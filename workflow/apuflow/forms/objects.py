"""Which forms of instructions a code object holds, and what a table says of them."""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Final

from apuflow.core.errors import EngineError
from apuflow.forms.decoded import features_of
from apuflow.forms.form import Form
from apuflow.forms.rules import rule_of
from apuflow.forms.table import Row, Table
from apuflow.interpret.as_gem5 import imitated
from apuflow.interpret.encodings import Instruction, decode
from apuflow.interpret.image import Image, load_image
from apuflow.interpret.opcodes import IsaName
from apuflow.miopen import elf

_CALLS: Final = ("s_swappc_b64", "s_setpc_b64", "s_call_b64")


@lru_cache(maxsize=256)
def forms_of(path: Path) -> Mapping[Form, Instruction]:
    """The forms in the kernels of a code object, and the first instruction of each.

    Functions count as well if a kernel calls one: compilers leave inlined functions in the object.

    Raises:
        EngineError: as :func:`apuflow.interpret.image.load_image`.
    """
    image = load_image(path)
    data = path.read_bytes()
    table = elf.sections(data)
    sizes = {symbol.name: (symbol.value, symbol.size) for symbol in elf.symbols(data, table)}
    code = [(each.address, each.size) for each in table if each.flags & elf.EXECUTABLE]
    kernels = [sizes[name] for name in image.kernels if sizes.get(name, (0, 0))[1]]
    whole = len(kernels) < len(image.kernels)
    found = list(_decoded(image, code if whole else kernels))
    if not whole and any(each.name in _CALLS for each in found):
        found = list(_decoded(image, code))
    forms: dict[Form, Instruction] = {}
    for each in _unmended(found):
        forms.setdefault(form_of(each), each)
    return forms


def form_of(found: Instruction) -> Form:
    """The form of an instruction."""
    return Form(found.encoding, found.name, tuple(sorted(features_of(found))))


def _unmended(found: Sequence[Instruction]) -> Iterator[Instruction]:
    """All but those whose results later instructions do not take over.

    Of 16 bits, gem5 keeps the upper half: the next instruction may clear it. Its V_DIV_FIXUP divides by
    itself, whatever V_DIV_SCALE and V_DIV_FMAS gave (vop3.cc). It keeps subnormals in every mode.
    """
    fixed = tuple(each.name[-4:] for each in found if each.name.startswith("v_div_fixup"))
    for each, after in pairwise((*found, *found[-1:])):
        clears = after.name == "v_and_b32" and after.literal == 0xFFFF and after.target == each.target
        divides = each.name.startswith(("v_div_scale", "v_div_fmas")) and each.name.endswith(fixed)
        if not divides and not _sets_denormals(each) and not (clears and re.search("[iub]16", each.name)):
            yield each


def _sets_denormals(each: Instruction) -> bool:
    """Whether it sets MODE's bits 4 to 7 alone."""
    register, first, size = each.immediate & 63, each.immediate >> 6 & 31, (each.immediate >> 11 & 31) + 1
    return each.name.startswith("s_setreg") and register == 1 and first >= 4 and first + size <= 8


def _decoded(image: Image, places: Iterable[tuple[int, int]]) -> Iterator[Instruction]:
    for address, size in places:
        words = struct.unpack_from(f"<{size // 4}I", image.data, address)
        end = len(words)
        while end and words[end - 1] == 0:  # filled up behind the last instruction
            end -= 1
        yield from _run(words[:end], address, image.isa)


def _run(words: tuple[int, ...], address: int, isa: IsaName) -> Iterator[Instruction]:
    """Instructions, in gfx90a's code also those that a change wrote with gfx942's numbers."""
    place = 0
    while place < len(words):
        found = None
        for each in (isa, "gfx940") if isa == "gfx90a" else (isa,):
            with suppress(EngineError):
                found = found or decode([*words[place : place + 3], 0, 0][:3], address + 4 * place, each)
        if found is not None:
            yield found
        place += found.size // 4 if found else 1


def met(
    objects: Iterable[Path], tables: Sequence[Table], *, certain: bool = False
) -> dict[Row, tuple[str, ...]]:
    """The rows of tables after which gem5 does not do what the GPU does, and the forms they are about.

    Args:
        tables: a form that several know is judged by the worst.
        certain: only what every run of such an instruction meets, whatever its operands are.
    """
    found: dict[Row, list[str]] = {}
    for form in sorted({form for path in objects for form in forms_of(path)}):
        row = worst(form, tables)
        if row is not None and (row.certain or not certain):
            found.setdefault(row, []).append(str(form))
    return {row: tuple(names) for row, names in found.items()}


def worst(form: Form, tables: Sequence[Table]) -> Row | None:
    """The row of tables with which a form is wrong or stops gem5, for certain if one says so; None: none."""
    rows = [table.of(form.encoding, form.instruction, form.features) for table in tables]
    bad = [row for row in rows if row is not None and row.verdict in ("wrong", "stops")]
    return max(bad, key=lambda row: row.certain, default=None)


def untried(objects: Iterable[Path], tables: Sequence[Table]) -> tuple[str, ...]:
    """Forms of which no table knows anything. Every suite's kernels end with S_ENDPGM."""
    return tuple(
        str(form)
        for form in sorted({form for path in objects for form in forms_of(path)})
        if form.instruction != "s_endpgm"
        and not any(table.of(form.encoding, form.instruction, form.features) for table in tables)
    )


def not_imitated(
    objects: Iterable[Path], tables: Sequence[Table], defects: Collection[str]
) -> tuple[str, ...]:
    """Forms that gem5 executes otherwise than the GPU, and the interpreter with a gem5's defects does not."""
    every = {form: each for path in objects for form, each in forms_of(path).items()}
    found = []
    for form, each in sorted(every.items()):
        row = worst(form, tables)
        if row is not None and row.certain and not imitated(each, defects):
            found.append(str(form))
    return tuple(found)


def told(rows: Collection[Row]) -> tuple[str, ...]:
    """``instruction, ... with WORDS: what gem5 does (its source)``, rows of one kind together."""
    kinds: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        words = " ".join(sorted(row.features))
        rule = rule_of(row.encoding, row.instruction, row.features)
        does = f"gem5 {rule.gem5}" if rule else "wrong result"
        end = f"gem5 ends: {row.message}" if row.verdict == "stops" else does
        kinds.setdefault((words, end, row.source.partition(":")[0]), []).append(row)
    lines = []
    for (words, end, source), some in kinds.items():
        names = ", ".join(dict.fromkeys(row.instruction for row in some))
        lines.append(f"{names}{f' with {words}' if words else ''}: {end}{f' ({source})' if source else ''}")
    return tuple(lines)
