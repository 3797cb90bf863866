"""Which forms of instructions a code object holds, and what a table says of them."""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Final

from apuflow.core.errors import EngineError
from apuflow.forms.decoded import features_of
from apuflow.forms.form import Form
from apuflow.forms.table import Row, Table
from apuflow.interpret.encodings import Instruction, decode
from apuflow.interpret.image import Image, load_image
from apuflow.interpret.opcodes import IsaName
from apuflow.miopen import elf

_CALLS: Final = ("s_swappc_b64", "s_setpc_b64", "s_call_b64")


@lru_cache(maxsize=256)
def forms_of(path: Path) -> Mapping[Form, int]:
    """The forms in the kernels of a code object, and how often each stands there.

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
    counts: dict[Form, int] = {}
    for each in _unmended(found):
        form = Form(each.encoding, each.name, tuple(sorted(features_of(each))))
        counts[form] = counts.get(form, 0) + 1
    return counts


def _unmended(found: Sequence[Instruction]) -> Iterator[Instruction]:
    """All but those whose results later instructions do not take over.

    Of 16 bits, gem5 keeps the upper half: the next instruction may clear it. Its V_DIV_FIXUP divides by
    itself, whatever V_DIV_SCALE and V_DIV_FMAS gave (vop3.cc).
    """
    fixed = tuple(each.name[-4:] for each in found if each.name.startswith("v_div_fixup"))
    for each, after in pairwise((*found, *found[-1:])):
        clears = after.name == "v_and_b32" and after.literal == 0xFFFF and after.target == each.target
        divides = each.name.startswith(("v_div_scale", "v_div_fmas")) and each.name.endswith(fixed)
        if not divides and not (clears and re.search("[iub]16", each.name)):
            yield each


def _decoded(image: Image, places: Iterable[tuple[int, int]]) -> Iterator[Instruction]:
    for address, size in places:
        words = struct.unpack_from(f"<{size // 4}I", image.data, address)
        end = len(words)
        while end and words[end - 1] == 0:  # filled up behind the last instruction
            end -= 1
        yield from _run(words[:end], address, image.isa)


def _run(words: tuple[int, ...], address: int, isa: IsaName) -> Iterator[Instruction]:
    place = 0
    while place < len(words):
        try:
            found = decode([*words[place : place + 3], 0, 0][:3], address + 4 * place, isa)
        except EngineError:
            place += 1
            continue
        yield found
        place += found.size // 4


def met(objects: Iterable[Path], table: Table, *, certain: bool = False) -> dict[Row, tuple[str, ...]]:
    """The rows of a table after which gem5 does not do what the GPU does, and the forms they are about.

    Args:
        certain: only what every run of such an instruction meets, whatever its operands are.
    """
    found: dict[Row, list[str]] = {}
    for form in sorted({form for path in objects for form in forms_of(path)}):
        row = table.of(form.encoding, form.instruction, form.features)
        if row is not None and row.verdict in ("wrong", "stops") and (row.certain or not certain):
            found.setdefault(row, []).append(str(form))
    return {row: tuple(names) for row, names in found.items()}


def told(rows: Collection[Row]) -> tuple[str, ...]:
    """``instruction, ... with WORDS: what gem5 does (its source)``, rows of one kind together."""
    kinds: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        words = " ".join(sorted(row.features))
        end = f"gem5 ends: {row.message}" if row.verdict == "stops" else "wrong result"
        kinds.setdefault((words, end, row.source.partition(":")[0]), []).append(row)
    lines = []
    for (words, end, source), some in kinds.items():
        names = ", ".join(dict.fromkeys(row.instruction for row in some))
        lines.append(f"{names}{f' with {words}' if words else ''}: {end}{f' ({source})' if source else ''}")
    return tuple(lines)
