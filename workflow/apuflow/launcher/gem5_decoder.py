"""Which machine code gem5's Vega build executes: its decoder's tables, by operation code.

Names do not tell: one name has several codes (``v_mfma_f32_32x32x8bf16_1k``), and gem5 knows one of them.
Source: ``src/arch/amdgpu/vega/gpu_decoder.cc`` and ``insts``, which ``tests/unit/decoder_sources.py`` reads
into ``vega_decoder.yaml`` beside this file.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

SUBTABLES: Final = {
    **{"OP_VOPC": (17, 8), "OP_VOP1": (9, 8), "OP_SOP1": (8, 8), "OP_SOPC": (16, 7), "OP_SOPP": (16, 7)},
    **{"OP_SMEM": (18, 8), "OPU_VOP3": (16, 10), "OP_DS": (17, 8), "OP_MUBUF": (18, 7), "OP_VOP3P": (16, 7)},
    **{"OP_FLAT": (18, 7), "OP_SCRATCH": (18, 7), "OP_GLOBAL": (18, 7)},
}
"""By table, lowest bit and number of bits of the operation code in the first word."""
_PREFIXES: Final = {
    **{"0111110": "OP_VOPC", "0111111": "OP_VOP1", "101111101": "OP_SOP1"},
    **{"101111110": "OP_SOPC", "101111111": "OP_SOPP", "110000": "OP_SMEM", "110100111": "OP_VOP3P"},
    **{"110100": "OPU_VOP3", "110110": "OP_DS", "111000": "OP_MUBUF", "110111": "OP_FLAT"},
}
"""By the first bits of a word, the table of its operation code; the others are in the primary one."""
_SEGMENTS: Final = ("OP_FLAT", "OP_SCRATCH", "OP_GLOBAL")


def is_executed(words: Sequence[int], release: str) -> bool:
    """Whether a release executes an instruction of these words; the first one decides."""
    table, code = _place(words[0])
    known = _tables()
    return code in known[release if release in known else max(known)].get(table, ())


def _place(word: int) -> tuple[str, int]:
    """Table and operation code."""
    bits = f"{word:032b}"
    found = max((each for each in _PREFIXES if bits.startswith(each)), key=len, default="")
    table = _PREFIXES.get(found, "")
    if table == "OP_FLAT":
        segment = word >> 14 & 3
        table = _SEGMENTS[segment] if segment < len(_SEGMENTS) else "none"
    if not table:
        return "primary", word >> 23
    lowest, count = SUBTABLES.get(table, (0, 0))
    return table, word >> lowest & (1 << count) - 1


@cache
def _tables() -> Mapping[str, Mapping[str, Collection[int]]]:
    """By release and table, the operation codes that are executed."""
    import yaml

    text = Path(__file__).with_name("vega_decoder.yaml").read_text(encoding="utf-8")
    return {
        release: {name: _codes(str(words)) for name, words in tables.items()}
        for release, tables in yaml.safe_load(text).items()
    }


def _codes(words: str) -> frozenset[int]:
    pairs = (word.partition("-") for word in words.split())
    return frozenset(
        code for first, _, last in pairs for code in range(int(first, 16), int(last or first, 16) + 1)
    )
