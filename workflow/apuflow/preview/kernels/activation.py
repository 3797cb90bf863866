"""MIOpenNeuron.cl: MIOpenActiveFwdLite and MIOpenActiveBwdLite, all modes (bypass is mode 0).

Counts: blocks of the kernels compiled by clang-15 -O3 for gfx801 and gfx902. Straight-line code but for tanh
and soft ReLU, whose branches split lanes by value: both sides run for inputs of both signs, which is what
uniform inputs in (0, 1) do not have; tanh takes the small-argument side below 0.625 and so usually both, but
for the factors 0 that DNNMark passes by default.
"""

from __future__ import annotations

from apuflow.core.errors import NotModelled
from apuflow.preview.instructions import Counts, block
from apuflow.preview.kernels.facts import Facts
from apuflow.preview.lines import lines_of, pages_of
from apuflow.preview.profile import Profile, Stream

_FORWARD: dict[tuple[int, int], tuple[str, int]] = {
    (0, 4): ("sm4 v10 wt2 s9 ld1 st1 en1", 144),
    (0, 2): ("sm4 v10 wt2 s9 ld1 st1 en1", 144),
    (0, 1): ("sm4 v9 wt2 s9 ld1 st1 en1", 140),
    (1, 4): ("sm4 v110 wt2 s16 ld1 st1 en1", 796),
    (1, 2): ("sm4 v60 wt2 s14 ld1 st1 en1", 480),
    (1, 1): ("sm4 v34 wt2 s13 ld1 st1 en1", 330),
    (2, 4): ("sm5 wt2 s54 v127 ld1 br8 st1 en1", 1024),
    (2, 2): ("sm5 wt2 s34 v69 ld1 br4 st1 en1", 660),
    (2, 1): ("sm5 wt2 s18 v38 ld1 st1 en1", 390),
    (3, 4): ("sm4 v22 wt2 s9 ld1 st1 en1", 208),
    (3, 2): ("sm4 v16 wt2 s9 ld1 st1 en1", 176),
    (3, 1): ("sm4 v12 wt2 s9 ld1 st1 en1", 156),
    (4, 4): ("sm4 v135 wt2 s57 ld1 br8 st1 en1", 1664),
    (4, 2): ("sm4 v73 wt2 s33 ld1 br4 st1 en1", 832),
    (4, 1): ("sm4 v67 wt2 s21 ld1 st1 en1", 560),
}
_BACKWARD: dict[tuple[int, int], tuple[str, int]] = {
    (0, 4): ("sm4 wt2 s9 v10 ld1 st1 en1", 144),
    (0, 2): ("sm4 wt2 s9 v10 ld1 st1 en1", 144),
    (0, 1): ("sm4 wt2 s9 v9 ld1 st1 en1", 140),
    (1, 4): ("sm6 wt2 s12 v25 ld2 st1 en1", 240),
    (1, 2): ("sm6 wt2 s12 v19 ld2 st1 en1", 212),
    (1, 1): ("sm6 wt2 s12 v15 ld2 st1 en1", 196),
    (2, 4): ("sm7 wt6 s16 v82 br4 ld2 st1 en1", 392),
    (2, 2): ("sm7 wt5 s14 v48 br2 ld2 st1 en1", 330),
    (2, 1): ("sm7 wt4 s12 v30 ld2 st1 en1", 300),
    (3, 4): ("sm6 wt3 s12 v25 ld2 st1 en1", 260),
    (3, 2): ("sm6 wt3 s12 v19 ld2 st1 en1", 228),
    (3, 1): ("sm6 wt3 s12 v15 ld2 st1 en1", 208),
    (4, 4): ("sm6 wt3 s18 v117 ld2 st1 en1", 880),
    (4, 2): ("sm6 wt3 s16 v65 ld2 st1 en1", 560),
    (4, 1): ("sm6 wt3 s15 v38 ld2 st1 en1", 380),
}
"""(mode, read unit) -> instructions of a wavefront, code bytes."""

_ZERO_TANH = {
    (True, 4): "sm5 wt2 s46 v63 ld1 br8 st1 en1",
    (True, 2): "sm5 wt2 s28 v37 ld1 br4 st1 en1",
    (False, 4): "sm7 wt3 s16 v22 br4 ld2 st1 en1",
    (False, 2): "sm7 wt3 s14 v18 br2 ld2 st1 en1",
}
"""(forward, read unit): tanh with alpha and beta 0, DNNMark's default, where every lane takes one side."""

_OF_OUTPUT = 1, 2
"""Modes whose derivative is computed from the output (``ActivationFunction_Sigmoid_Diff``, Tanh)."""

_FLOPS = {0: 0, 1: 6, 2: 20, 3: 1, 4: 20}


def activation(facts: Facts) -> Profile:
    """One work-item handles ``MIOPEN_READ_UNIT`` elements; the grid covers the tensor exactly once."""
    mode, unit = facts.define("MIOPEN_NRN_OP_ID"), facts.define("MIOPEN_READ_UNIT")
    forward = facts.kernel == "MIOpenActiveFwdLite"
    table = _FORWARD if forward else _BACKWARD
    if (mode, unit) not in table:
        raise NotModelled("activation mode is not modelled", key="MIOPEN_NRN_OP_ID", value=mode)
    text, code = table[mode, unit]
    if mode == 2 and not any(value for name, value in facts.values if name in ("alpha", "beta")):
        text = _ZERO_TANH.get((forward, unit), text)
    items = facts.grid[0]
    waves = -(-items // 64)
    counts: Counts = block(text, items / waves) * waves
    if facts.vega and unit > 1:  # one instruction adds with a shift
        counts += block("v1", items / waves) * -waves
    elements = items * unit
    lines, pages = lines_of(elements), pages_of(elements)
    inputs = int(counts.loads / waves)
    sharing = 4.0 / unit  # a workgroup covers 1 kB of a page, times the read unit
    load = Stream("load", float(waves), lines, lines, pages, sharing=sharing)
    read = ("x",) if forward else ("dy", "y" if mode in _OF_OUTPUT else "x")
    streams = [load._replace(argument=name) for name in read[:inputs]]
    streams.append(Stream("store", float(waves), lines, lines, pages, sharing=sharing, resident=False))
    return Profile(
        workgroups=facts.workgroups,
        waves_per_group=facts.waves_per_group,
        counts=counts,
        streams=tuple(streams),
        waves=waves,
        code_bytes=code,
        rounds=1.0,
        walk_rounds=float(inputs),
        vgprs=16,
        sgprs=24,
        flops=float(_FLOPS[mode] * elements),
        scalar_again=0.0 if forward or mode == 0 else 1.0,
    )
