"""A launch's profile from its totals: what the interpreter counted, or what is interpolated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from apuflow.preview.instructions import Counts
from apuflow.preview.lines import LINE
from apuflow.preview.profile import MatrixWork, Profile, Reuse, Stream

COUNTED: Final = (
    *("valu", "salu", "smem", "branches", "waits", "barriers", "nops", "ends", "loads", "stores"),
    *("lds_reads", "lanes"),
)
"""Totals that are fields of ``Counts``; the accesses of LDS are together."""
ACCESSED: Final = ("accesses", "lines", "pages", "group_lines", "group_pages", "between")
"""Of loads and of stores: accesses to lines, different lines and pages, pairs of a workgroup and a line or
page, and lines that a workgroup touches between two uses of a line, summed over accesses."""
TOTALS: Final = (
    *COUNTED,
    *(f"{kind}_{name}" for kind in ("load", "store") for name in ACCESSED),
    *("load_waits", "store_waits", "scalar_waits", "bank_turns", "line_atomics", "code_bytes", "stores_last"),
    "flops",
)
"""All of them. Waits are ``s_waitcnt`` of wavefronts by what they wait for; ``bank_turns`` accesses of LDS
instructions to the bank that has most; ``line_atomics`` atomics to the line that has most; ``stores_last`` 1
where workgroups load all before they store."""
NO_MATRIX: Final = MatrixWork()
LANES: Final = 64
"""Of a wavefront."""
AGAIN, SHARED = 0.05, 1.05
"""Part of a workgroup's accesses that find its own lines again, and workgroups per line, above which lines
are reused."""


def profile_of(
    totals: Mapping[str, float],
    workgroups: int,
    waves: int,
    waves_per_group: int,
    *,
    lds_bytes: int,
    vgprs: int,
    sgprs: int = 32,
    matrix: MatrixWork = NO_MATRIX,
) -> Profile:
    """Profile of a launch with these totals (``TOTALS``)."""
    counts = Counts(**{name: totals[name] for name in COUNTED})
    counts = counts._replace(lanes=min(counts.lanes, LANES * counts.valu))
    load, store = _stream("load", counts.loads, totals), _stream("store", counts.stores, totals)
    return Profile(
        workgroups=workgroups,
        waves_per_group=waves_per_group,
        waves=waves,
        counts=counts,
        streams=tuple(stream for stream in (load, store) if stream is not None),
        code_bytes=totals["code_bytes"],
        rounds=totals["load_waits"] / waves,
        walk_rounds=min(load.pages / workgroups * load.sharing, 1.0) if load else 0.0,
        store_rounds=totals["store_waits"] / waves,
        stores_last=totals["stores_last"] > 0.5,
        line_atomics=totals["line_atomics"],
        scalar_again=max(0.0, totals["scalar_waits"] / waves - 1.0),
        lds_bytes=lds_bytes,
        vgprs=vgprs,
        sgprs=sgprs,
        lds_conflicts=max(0.0, totals["bank_turns"] / counts.lds - 1.0) if counts.lds else 0.0,
        flops=totals["flops"],
        matrix=matrix,
    )


def _stream(
    kind: Literal["load", "store"], instructions: float, totals: Mapping[str, float]
) -> Stream | None:
    """All loads, or all stores; None: there are none."""
    found = [totals[f"{kind}_{name}"] for name in ACCESSED]
    accesses, lines, pages, group_lines, group_pages, between = found
    if not instructions:
        return None
    accesses = max(1.0, accesses)
    lines, pages = max(1.0, min(lines, accesses)), max(1.0, pages)
    group_lines = min(max(group_lines, lines), accesses)
    again, shared = 1.0 - group_lines / accesses, group_lines / lines
    reuse: Reuse = "group" if again > AGAIN else "device" if shared > SHARED else "none"
    return Stream(
        kind,
        instructions,
        accesses,
        lines,
        pages,
        reuse=reuse,
        window_bytes=between / accesses * LINE,
        sharing=max(1.0, group_pages / pages),
        line_sharing=shared,
        resident=kind == "load",
    )
