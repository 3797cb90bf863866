"""What apuflow does about each form that a gem5 executes wrongly or not at all: nothing is passed over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from apuflow.configure import Release
from apuflow.conformance.assemble import encoded
from apuflow.core.gpus import gpu
from apuflow.forms.changes import Change, mending
from apuflow.forms.decoded import features_of
from apuflow.forms.table import Row, Table
from apuflow.interpret.encodings import decode
from apuflow.interpret.image import ISA_OF
from apuflow.launcher.refusals import reason

Fate: TypeAlias = Literal["mended", "refused", "named", "silent"]
"""``mended``: a change of code makes all its forms right. ``refused``: the kernel does not start.
``named``: by ``apuflow check-kernels``, and in the flags of a run whose values are wrong."""
_LATER: Final = ("gfx90a", "gfx942", "gfx908", "gfx906")
"""GPUs that gem5 runs as another one, in the order in which they are asked for an instruction."""


def fates(table: Table, changes: Sequence[Change], release: Release, gfx: str) -> dict[Row, Fate]:
    """The fate of each row that is wrong or stops, in kernels of the first GPU that has the instruction."""
    return {
        row: _fate(row, words, text, name, table, changes, release)
        for row, (name, words, text) in _instructions(table, gfx).items()
    }


def counted(found: Mapping[Row, Fate]) -> str:
    """How many rows have which fate."""
    return ", ".join(f"{fate} {number}" for fate, number in sorted(Counter(found.values()).items()))


def _instructions(table: Table, gfx: str) -> dict[Row, tuple[str, tuple[int, ...], str]]:
    """By row its GPU, the words of its instruction, and LLVM's text."""
    left = [row for row in table.rows if row.verdict in ("wrong", "stops")]
    found: dict[Row, tuple[str, tuple[int, ...], str]] = {}
    for name in (gfx, *(_LATER if gfx == "gfx902" else ())):
        codes = encoded(name, [row.text for row in left])
        found |= {row: (name, *code) for row, code in zip(left, codes, strict=True) if code[0]}
        left = [row for row in left if row not in found]
        if not left:
            break
    return found | dict.fromkeys(left, (gfx, (), ""))


def _fate(
    row: Row,
    words: tuple[int, ...],
    text: str,
    name: str,
    table: Table,
    changes: Collection[Change],
    release: Release,
) -> Fate:
    if mending(row, name, changes):
        return "mended"
    if not words:
        return "silent"
    if gpu(name).runs_as and reason(text, list(words), release.options_of, [table], ISA_OF[name]):
        return "refused"
    features = features_of(decode([*words, 0, 0][:3], 0, ISA_OF[name]))
    found = table.of(row.encoding, row.instruction, features)
    return "named" if found is not None and found.verdict in ("wrong", "stops") else "silent"
