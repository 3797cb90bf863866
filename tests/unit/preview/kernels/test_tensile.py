"""rocBLAS' own matrix products in the preview."""

from __future__ import annotations

import numpy as np
import pytest
from one_launch import traffic_of

from apuflow import preview
from apuflow.configure import option_rules
from apuflow.core.products import SCALE
from apuflow.core.scalar import Scalar
from apuflow.miopen.launch import Arg, Gemm, Launch
from apuflow.miopen.rocm_4_0_1.gemm import product
from apuflow.preview.kept import kept
from apuflow.preview.kernels.facts import facts_of
from apuflow.preview.kernels.registry import profile
from apuflow.preview.kernels.tensile import adders, has_counts
from apuflow.preview.machine import GpuModel, machine
from apuflow.preview.process import steps
from apuflow.preview.profile import Adders, Stream
from apuflow.preview.reuse import copies_of
from apuflow.preview.step import alone
from apuflow.preview.tables import NO_TILES, Table
from apuflow.preview.timing import times
from apuflow.preview.traffic import tries
from apuflow.rocblas.call import library_launches, product_launch, scale_launch
from apuflow.rocblas.tables import solution_of, solutions


def launches(
    m: int, n: int, k: int, form: str = "NN", beta: float = 0.0, batch: int = 1
) -> tuple[Launch, ...]:
    a, b = form[0] == "T", form[1] == "T"
    gemm = Gemm(m, n, k, a, b, batch, k if a else m, n if b else k, m, m * k, n * k, m * n, beta)
    x, y = (Arg("buffer", name, batch * outer * k, "in", name) for name, outer in (("a", m), ("b", n)))
    z = Arg("buffer", "c", batch * m * n, "inout" if beta else "out", "c")
    return library_launches([product("l", "FullyConnected", "fwd", (x, y, z), gemm)], "gfx801")


def gpu(units: int) -> GpuModel:
    defaults = option_rules.defaults(preview.RELEASE)
    given: dict[str, Scalar | None] = {"num-compute-units": units, "cu-per-sa": units}
    return machine({**defaults, **given}, defaults, barrier_slots=4)


def cycles(found: tuple[Launch, ...], units: int = 4) -> float:
    box = gpu(units)
    made = steps(found, kept(box))
    return float(times(made, [box] * len(made)).ns.sum()) / box.gpu_ns


def test_every_kernel_that_can_be_selected_has_been_counted() -> None:
    for (form, _), one in solutions().items():
        assert has_counts(one.kernel) == (form != "TT")


@pytest.mark.parametrize("form", ["NN", "NT", "TN"])
@pytest.mark.parametrize("shape", [(4096, 4096, 4096), (1760, 128, 1760), (100, 70, 132), (3025, 64, 363)])
def test_the_multiplications_are_there_and_not_much_more(form: str, shape: tuple[int, int, int]) -> None:
    """A wavefront instruction multiplies 64 pairs; a whole tile is computed at the edges, too."""
    m, n, k = shape
    found = launches(m, n, k, form)[-1]
    solution = solution_of(found.kernel)
    assert solution is not None
    tiles_m, tiles_n = -(-m // solution.macro_tile_m), -(-n // solution.macro_tile_n)
    padded = tiles_m * solution.macro_tile_m * tiles_n * solution.macro_tile_n * k / 64
    counts = profile(facts_of(found, vega=False)).counts
    assert padded <= counts.valu * 1.01
    if min(shape) > 1000:
        assert counts.instructions < 2 * padded
    assert profile(facts_of(found, vega=False)).flops == 2.0 * m * n * k


def test_a_split_sum_is_scaled_first_and_adds_with_its_own_traffic() -> None:
    scale, add = launches(128, 96, 256)
    assert scale.kernel == SCALE
    kinds = [stream.kind for stream in profile(facts_of(add, vega=False)).streams]
    assert kinds == ["load", "load", "store", "load"]
    assert profile(facts_of(scale, vega=False)).counts.stores == 128 * 96 / 64


def test_reading_c_costs_loads() -> None:
    without, with_c = (launches(4096, 7000, 4096, beta=beta)[-1] for beta in (0.0, 1.0))
    assert without.kernel == with_c.kernel
    assert (
        profile(facts_of(with_c, vega=False)).counts.loads
        > profile(facts_of(without, vega=False)).counts.loads
    )


def test_occupancy_is_that_of_the_kernels_registers_and_lds() -> None:
    for shape in ((4096, 7000, 4096), (128, 96, 256)):
        found = launches(*shape)[-1]
        solution, made = solution_of(found.kernel), profile(facts_of(found, vega=False))
        assert solution is not None
        assert (made.vgprs, made.lds_bytes) == (solution.vgprs, solution.lds_bytes)


RECORDED = [
    ("NN", "MT64x64x16", 1, (128, 128, 128), 68_016),
    ("NN", "MT64x64x16", 1, (100, 70, 132), 73_849),
    ("NN", "MT64x64x16", 1, (512, 512, 512), 1_565_019),
    ("NT", "MT128x128x8", 1, (128, 64, 64), 111_943),
]
"""Runs of gem5 v23.0.1.0, gfx801, 4 compute units: form, tile, split, m x n x k, cycles."""


@pytest.mark.parametrize(("form", "tile", "split", "shape", "measured"), RECORDED)
def test_cycles_are_near_those_of_gem5(
    form: str, tile: str, split: int, shape: tuple[int, int, int], measured: int
) -> None:
    """Within a quarter, for each kernel of that tile: which of them ran was not written down."""
    m, n, k = shape
    a = form[0] == "T"
    gemm = Gemm(m, n, k, a, form[1] == "T", 1, k if a else m, n if form[1] == "T" else k, m)
    x, y, z = (Arg("buffer", name, 1 << 20, "in", name) for name in "abc")
    call = product("l", "FullyConnected", "fwd", (x, y, z), gemm)
    for one in solutions().values():
        if (one.transposes, one.global_split_u) == (form, split) and f"_{tile}_" in one.kernel:
            found: tuple[Launch, ...] = (product_launch(call, gemm, one, "out"),)
            found += (scale_launch(call, gemm),) if one.splits else ()
            assert 0.75 * measured < cycles(found) < 1.25 * measured, one.kernel


@pytest.mark.parametrize(
    ("form", "shape", "instructions", "vector_memory"),
    [
        ("NN", (694, 8, 1174), 1_235_248, 14_432),
        ("NN", (1877, 33, 9), 945_004, 9_912),
        ("NT", (1648, 7, 142), 518_296, 5_768),
        ("NT", (192, 4, 1836), 415_056, 11_136),
    ],
)
def test_instructions_of_split_sums_are_those_of_gem5(
    form: str, shape: tuple[int, int, int], instructions: int, vector_memory: int
) -> None:
    """Runs in which no addition was tried twice. Instructions without a lane in C are no memory accesses."""
    counts = profile(facts_of(launches(*shape, form)[-1], vega=False)).counts
    assert counts.vector_memory == pytest.approx(vector_memory, rel=1e-3)
    assert counts.instructions == pytest.approx(instructions, rel=0.02)


def test_swaps_at_the_edge_of_c_are_waited_for_one_by_one() -> None:
    """MT64x32x16, GSU2, disassembled: inside, two batches of four swaps, each with one ``s_waitcnt``."""
    inside, edge = (profile(facts_of(launches(m, 1808, 60)[-1], vega=False)) for m in (64, 18))
    assert edge.swaps > 6.0
    assert inside.swaps < 3.0


def test_workgroups_of_products_share_their_pages() -> None:
    """11 x 185 x 833 on 36 units, gem5: 162 page walks."""
    found = launches(11, 185, 833, "NT")[-1]
    assert traffic_of(alone(profile(facts_of(found, vega=False))), gpu(36)).cold_pages == pytest.approx(
        162, abs=3
    )


def test_more_compute_units_take_less_time_where_there_are_workgroups() -> None:
    """64 x 49 x 256, 8 at a time, gem5: 527,820 cycles on 4 units, 286,298 on 16."""
    found = launches(64, 49, 256, batch=8)
    assert cycles(found, 16) < 0.6 * cycles(found, 4)


def test_additions_that_disturb_each_other_eat_up_what_more_units_give() -> None:
    """256 x 256 x 256 in four parts, gem5: 1,272,218 cycles on 4 units, 1,164,750 on 16."""
    found = launches(256, 256, 256)
    assert cycles(found, 4) == pytest.approx(1_272_218, rel=0.4)
    assert 0.5 < cycles(found, 16) / cycles(found, 4) < 1.0


@pytest.mark.parametrize(
    ("k", "adding", "even"),
    [(128, 4, 1.0), (10, 1, 0.0), (42, 2, 0.3125), (91, 3, (1 + 2 * (1 - 5 / 32 / 1.5)) / 3)],
)
def test_parts_of_a_sum_that_add_something(k: int, adding: int, even: float) -> None:
    """MT32x8x32 in four parts. k = 91: two whole steps for the first two, the rest of 27 for the last.

    It comes 5/32 of a step earlier, and three additions last one and a half.
    """
    one = next(s for s in solutions().values() if "_MT32x8x32_" in s.kernel and s.global_split_u == 4)
    found = adders(k, one, tiles_m=4)
    assert (found.adding, found.share, found.apart) == (adding, adding / 4, 4)
    assert found.even == pytest.approx(even)


@pytest.mark.parametrize(
    ("adding", "used", "running", "groups", "swaps"),
    [
        (4.0, 16, 64, 64, 2.5),
        (4.0, 16, 64, 256, pytest.approx(2.09, rel=0.2)),  # 128 x 128 x 128
        (4.0, 4, 4, 256, 1.0),  # one of a tile at a time
        (1.0, 16, 64, 64, 1.0),
    ],
)
def test_tries_of_an_addition(adding: float, used: int, running: int, groups: int, swaps: float) -> None:
    """In step, the last of four needs four swaps, if each meets all others: 2.5 on average."""
    one = Adders(adding=adding, share=1.0, apart=4.0, even=1.0, turns=1.0)
    assert tries(one, *np.array([[used], [running], [groups]]))[0] == swaps


def copies(stream: Stream, used: int, resident: int, busiest: int) -> float:
    table = Table.of([stream])
    machine = np.array([[used], [resident], [busiest]])
    return float(copies_of(table, table.inner("tiles", NO_TILES), *machine)[0])


def test_workgroups_of_one_unit_share_lines_in_the_tcp() -> None:
    """8 tiles along m on 4 units: a unit has the same two of them again and again."""
    a = Stream("load", 1.0, 1.0, 1.0, 1.0, line_sharing=16.0, every=8)
    b = Stream("load", 1.0, 1.0, 1.0, 1.0, line_sharing=8.0, following=8)
    assert copies(a, used=4, resident=4, busiest=4) == 16 * 2 / 4
    assert copies(b, used=4, resident=4, busiest=4) == 8 * (1 + 3 * 4 / 8) / 4
    assert copies(a, used=4, resident=1, busiest=1) == 16.0


def test_workgroups_that_begin_when_others_end_share_little() -> None:
    """Four of eight on a unit begin together, and bring two tiles; the others each bring their own."""
    a = Stream("load", 1.0, 1.0, 1.0, 1.0, line_sharing=16.0, every=8)
    assert copies(a, used=4, resident=4, busiest=8) == 16 * (2 + 4) / 8
