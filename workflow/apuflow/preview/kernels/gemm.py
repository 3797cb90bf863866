"""The tiled SGEMM that stands in for rocBLAS: 16 x 16 outputs a workgroup, tiles of both matrices in LDS.

Counts: one inner step of the tile loop is two loads, two LDS writes, 16 multiply-adds with two LDS reads
each, two barriers.
"""

from __future__ import annotations

from math import ceil

from apuflow.preview.counts import block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.profile import Profile, Stream, lines_of, pages_of

TILE = 16


def sgemm(facts: Facts) -> Profile:
    """``m``, ``n``, ``k`` and ``batch`` are the values of the launch's matrix product."""
    m, n, k = (facts.integer(name) for name in ("m", "n", "k"))
    batch = facts.integer("batch")
    steps = ceil(k / TILE)
    groups, waves = facts.workgroups, facts.waves_per_group
    one = block("sm6 wt2 s24 v20 br2 en1 st1") + block("s6 v22 br3 wt3 ba2 ld2 lw2") * steps
    one += block("lr2 v1 wt1") * (TILE * steps)
    counts = one * (groups * waves)
    loads = float(steps * groups * waves)
    # A tile row is 16 floats: one line where aligned; a wavefront loads four rows.
    store = float(groups * waves)
    streams = (
        Stream(
            "load", loads, loads * 4, batch * lines_of(m * k), pages_of(m * k), "device", 2048.0, 4.0, 2.0
        ),
        Stream(
            "load", loads, loads * 4, batch * lines_of(n * k), pages_of(n * k), "device", 2048.0, 4.0, 2.0
        ),
        Stream(
            "store",
            store,
            store * 4.0,
            batch * lines_of(m * n),
            pages_of(m * n),
            page_group=4.0,
            sharing=2.0,
            resident=False,
        ),
    )
    return Profile(
        workgroups=groups,
        waves_per_group=waves,
        counts=counts,
        streams=streams,
        code_bytes=900.0,
        rounds=float(steps),
        lds_bytes=2 * TILE * TILE * 4,
        vgprs=32,
        sgprs=40,
        lds_conflicts=5.0,
        flops=2.0 * m * n * k * batch,
    )
