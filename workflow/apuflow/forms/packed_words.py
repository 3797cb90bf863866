"""The words of a decoded VOP3P instruction.

See :mod:`apuflow.forms.features`.
"""

from __future__ import annotations

from collections.abc import Iterator

from apuflow.interpret.encodings import Instruction


def features(found: Instruction) -> Iterator[str]:
    """Words of a decoded VOP3P instruction beyond its kinds of operands and CLAMP."""
    count = len(found.sources)
    if found.name.startswith(("v_mfma", "v_smfmac", "v_accvgpr")):
        if not found.name.startswith("v_accvgpr"):
            implied = found.flags & {"implied"}
            if implied:
                yield "implied_accumulation"
            if found.flags - implied - ({"c"} if implied else set()):
                yield "accumulation"
        yield from (word for word, bits in (("cbsz", found.immediate), ("blgp", found.negative)) if bits)
        return
    mask = (1 << count) - 1
    usual = 0 if "_mix" in found.name else mask
    if found.select & mask:
        yield "select_low"
    if found.select_high & mask != usual and not found.name.startswith(("v_dot4", "v_dot8")):
        yield "select_high"
    if found.negative & mask:
        yield "neg_low"
    if found.negative_high & mask:
        yield "neg_high"
