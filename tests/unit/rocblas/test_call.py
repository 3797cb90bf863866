"""What is launched for a product, against what Tensile's own host code makes of the same calls.

``tests/data/rocblas_calls.jsonl.xz``: calls of the real layers, of all transposes, edges, batches, alpha and
beta, as Tensile rocm-4.0.0 answered them (``ContractionSolution::solve`` for what
``DistanceMatchingTable::findBestKeyMatch`` picked; A, B and C at 0x1000, 0x2000, 0x3000).
"""

from __future__ import annotations

import json
import lzma
import struct
from collections.abc import Iterator
from itertools import product as pairs
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import DATA

from apuflow.core.products import SCALE, SCALE_NOTE
from apuflow.launcher.dispatch_list import SCALARS
from apuflow.miopen.launch import Arg, Gemm, Launch, expand
from apuflow.miopen.rocm_4_0_1.gemm import product
from apuflow.rocblas.call import changed, library_launches, library_of, stagger
from apuflow.rocblas.tables import Solution, select, solutions

ADDRESSES = {"a": 0x1000, "b": 0x2000, "c": 0x3000}


def recorded() -> Iterator[tuple[Gemm, list[tuple[str, tuple[int, ...], tuple[int, ...], str]]]]:
    with lzma.open(DATA / "rocblas_calls.jsonl.xz", "rt") as file:
        for line in file:
            one = json.loads(line)
            form, m, n, k, batch, lda, ldb, ldc, sa, sb, sc, alpha, beta = one["call"]
            gemm = Gemm(
                m, n, k, form[0] == "T", form[1] == "T", batch, lda, ldb, ldc, sa, sb, sc, beta, alpha=alpha
            )
            yield (
                gemm,
                [(name, tuple(grid), tuple(group), text) for name, grid, group, text in one["kernels"]],
            )


def launch(gemm: Gemm, count: int = 1, loop: int = 0) -> Launch:
    a, b = (Arg("buffer", name, 1 << 20, "in", name) for name in "ab")
    c = Arg("buffer", "c", 1 << 20, "inout" if gemm.beta else "out", "c")
    return product("layer", "FullyConnected", "fwd", (a, b, c), gemm, count, loop)


def packed(one: Launch) -> bytes:
    """The arguments as they lie in memory: each at a multiple of its size."""
    data = b""
    for arg in one.args:
        if isinstance(arg.value, str):
            part = struct.pack("<Q", ADDRESSES[arg.value] + arg.offset)
        else:
            part = struct.pack("<" + SCALARS[arg.kind][1], arg.value)
        data += bytes(-len(data) % len(part)) + part
    return data


def test_launches_are_those_of_tensiles_own_host_code() -> None:
    calls = list(recorded())
    assert len(calls) > 1000
    for gemm, kernels in calls:
        if not kernels:
            assert [one.kernel for one in library_launches([launch(gemm)], "gfx803")] == ["sgemm"]
            continue
        found = library_launches([launch(gemm)], "gfx803")
        if gemm.beta == 1.0 and not (gemm.alpha and gemm.k):
            assert not found  # rocBLAS returns before it asks Tensile
            continue
        assert [(one.kernel, one.grid, one.workgroup) for one in found] == [each[:3] for each in kernels], (
            gemm
        )
        assert [packed(one).hex() for one in found] == [each[3] for each in kernels], gemm


def test_arguments_are_140_bytes() -> None:
    [one] = library_launches([launch(Gemm(4096, 7000, 4096, False, False, 1, 4096, 4096, 4096))], "gfx803")
    assert len(packed(one)) == 140


@pytest.mark.parametrize(
    ("k", "expected"), [(0, 0), (16, 0), (16 * 8, 1), (16 * 127, 15), (16 * 128, 31), (1 << 20, 31)]
)
def test_stagger_is_halved_until_the_sum_has_as_many_steps(k: int, expected: int) -> None:
    [solution] = [one for one in solutions().values() if (one.transposes, one.number) == ("NN", 59)]
    assert (solution.depth_u, solution.global_split_u, solution.stagger_stride_shift) == (16, 1, 2)
    assert stagger(k, solution) == expected


SPLIT = Gemm(128, 96, 256, False, False, 1, 128, 256, 128)


def test_a_split_sum_adds_to_what_another_kernel_has_cleared() -> None:
    scale, add = library_launches([launch(SPLIT)], "gfx801")
    assert (scale.kernel, scale.note, scale.gemm) == (SCALE, SCALE_NOTE, None)
    assert [arg.role for arg in scale.args[:2]] == ["out", "out"]
    assert add.gemm is not None
    assert add.gemm.beta == 1.0
    assert {arg.role for arg in add.args if arg.value == "c"} == {"inout"}
    assert [arg.value for arg in add.args if arg.name == "beta"] == [0.0]


def test_a_loop_scales_and_adds_in_every_pass() -> None:
    gemm = SPLIT._replace(step_a=100, step_c=128 * 96, offset_c=7)
    found = list(expand(library_launches([launch(gemm, 2, loop=1)], "gfx801")))
    assert [one.kernel == SCALE for one in found] == [True, False, True, False]
    assert [one.args[0].offset for one in found[::2]] == [28, 28 + 4 * 128 * 96]
    last = {arg.name: arg.offset for arg in found[-1].args if arg.kind == "buffer"}
    assert last == {"D": 28 + 4 * 128 * 96, "C": 28 + 4 * 128 * 96, "A": 400, "B": 0}
    assert found[-1].gemm is not None
    assert (found[-1].gemm.offset_a, found[-1].gemm.offset_c) == (100, 7 + 128 * 96)


def test_other_launches_stay_the_very_same() -> None:
    other = Launch("l", "Softmax", "fwd", "p.cl", "", "k", (64, 1, 1), (64, 1, 1), ())
    assert library_launches([other], "gfx801")[0] is other
    given = launch(SPLIT)
    assert library_launches([given], "gfx801")[1] is library_launches([given], "gfx801")[1]


def test_what_runs_is_named() -> None:
    stand_in = launch(SPLIT._replace(transpose_a=True, transpose_b=True, lda=256, ldb=96))
    [one] = library_launches([stand_in], "gfx801")
    assert one.kernel == "sgemm"
    assert "TT" in one.note
    assert library_of(one, "gfx801") == ""
    scale, add = library_launches([launch(SPLIT)], "gfx801")
    assert library_of(add, "gfx801") == "rocBLAS rocm-4.0.0, gfx803 kernel assembled for gfx801"
    assert library_of(add, "gfx803") == "rocBLAS rocm-4.0.0"
    assert "another GPU" in changed(add, "gfx801")
    assert "; no priorities (s_setprio ends gem5 before v24.0); " in changed(add, "gfx801")
    assert "flat atomics" in changed(add, "gfx803")
    assert "another GPU" not in changed(add, "gfx803")
    assert (library_of(scale, "gfx801"), changed(scale, "gfx801")) == ("", "")


def test_only_kernels_that_load_rows_at_an_offset_are_changed_there() -> None:
    """Of the tile 64x128x16 of TN products the second load of B has an offset."""
    rows = Gemm(216, 29, 1178, True, False, 1, 1178, 1178, 216)
    [transposed] = library_launches([launch(rows)], "gfx803")
    assert "_Alik_Bljk_SB_MT64x128x16_" in transposed.kernel
    assert "rows at an offset" in changed(transposed, "gfx803")
    assert "rows at an offset" not in changed(library_launches([launch(SPLIT)], "gfx803")[1], "gfx803")


# properties -----------------------------------------------------------------------------------------------
@st.composite
def calls(draw: st.DrawFn, most: int = 3000) -> Gemm:
    """A call of rocBLAS: padded rows, gaps between the products of a batch, offsets, any alpha and beta."""
    m, n, k = (draw(st.one_of(st.integers(1, 40), st.integers(1, most))) for _ in range(3))
    a, b, batch = draw(st.booleans()), draw(st.booleans()), draw(st.integers(1, 3))
    pad, gap, offset = (draw(st.tuples(*[st.integers(0, 5)] * 3)) for _ in range(3))
    lda, ldb, ldc = (k if a else m) + pad[0], (n if b else k) + pad[1], m + pad[2]
    sizes = lda * (m if a else k), ldb * (k if b else n), ldc * n
    strides = [size + more for size, more in zip(sizes, gap, strict=True)]
    beta, alpha = draw(st.sampled_from([0.0, 0.5, 1.0])), draw(st.sampled_from([1.0, -1.5, 0.0]))
    shape = Gemm(m, n, k, a, b, batch, lda, ldb, ldc, beta=beta, alpha=alpha)
    shape = shape._replace(stride_a=strides[0], stride_b=strides[1], stride_c=strides[2])
    return shape._replace(offset_a=offset[0], offset_b=offset[1], offset_c=offset[2])


def given_to(one: Launch) -> dict[str, Any]:
    """The numbers that a kernel gets; of a buffer, the element at which it begins."""
    return {arg.name: arg.offset // 4 if isinstance(arg.value, str) else arg.value for arg in one.args}


def own(found: tuple[Launch, ...]) -> tuple[Solution, Launch] | None:
    """The launch of rocBLAS' own kernel."""
    by_name = {one.kernel: one for one in solutions().values()}
    return next(((by_name[one.kernel], one) for one in found if one.kernel in by_name), None)


@given(calls())
def test_every_tile_of_c_is_computed_once_by_each_part_of_the_sum(gemm: Gemm) -> None:
    """What a workgroup makes of its place and arguments: ``KernelWriterAssembly.py``, ``graWorkGroup``."""
    chosen = own(library_launches([launch(gemm)], "gfx803"))
    if chosen is None:
        return
    solution, one = chosen
    args, wgm = given_to(one), solution.workgroup_mapping
    groups = [-(-size // of) for size, of in zip(one.grid, one.workgroup, strict=True)]
    assert groups[2] == gemm.batch
    seen = set()
    for first, second in pairs(range(groups[0]), range(groups[1])):
        tile_n, part = divmod(second, solution.global_split_u)
        block, serial = divmod(tile_n, wgm)
        serial = serial * args["tiles_m"] + first
        full = block < args["full_blocks"]
        wide, magic = (wgm, (1 << 31) // wgm + 1) if full else (args["rest"], args["magic_of_rest"])
        tile_m = serial * magic >> 31
        seen.add((tile_m, serial - tile_m * wide + block * wgm, part))
    tiles = -(-gemm.m // solution.macro_tile_m), -(-gemm.n // solution.macro_tile_n)
    assert seen == set(pairs(*map(range, (*tiles, solution.global_split_u))))
    assert len(seen) == groups[0] * groups[1]


@given(calls(most=60))
def test_the_arguments_alone_describe_the_product(gemm: Gemm) -> None:
    """Element by element from what the kernels are given, against NumPy's product of the matrices."""
    found = library_launches([launch(gemm)], "gfx803")
    if not found or own(found) is None:
        return
    random = np.random.default_rng(1)

    def matrices(rows: int, columns: int, leading: int, stride: int, offset: int) -> tuple[Any, Any]:
        memory = random.integers(-9, 9, offset + gemm.batch * max(stride, leading * columns)).astype(float)
        views = [
            memory[start : start + leading * columns].reshape(columns, leading).T[:rows]
            for start in (offset + stride * number for number in range(gemm.batch))
        ]
        return memory, views

    a, of_a = matrices(*((gemm.k, gemm.m) if gemm.transpose_a else (gemm.m, gemm.k)), gemm.lda,
                       gemm.stride_a, gemm.offset_a)  # fmt: skip
    b, of_b = matrices(*((gemm.n, gemm.k) if gemm.transpose_b else (gemm.k, gemm.n)), gemm.ldb,
                       gemm.stride_b, gemm.offset_b)  # fmt: skip
    c, of_c = matrices(gemm.m, gemm.n, gemm.ldc, gemm.stride_c, gemm.offset_c)
    wanted = [
        gemm.alpha * (x.T if gemm.transpose_a else x) @ (y.T if gemm.transpose_b else y) + gemm.beta * z
        for x, y, z in zip(of_a, of_b, of_c, strict=True)
    ]
    for one in found:
        args = given_to(one)
        m, n, batch = np.ogrid[: args["m"], : args["n"], : args["batch"]]
        at_c = args["C"] + m + n * args["stride_c1"] + batch * args["stride_c2"]
        before = args["beta"] * c[at_c] if args["beta"] else 0.0
        if one.kernel == SCALE:
            c[at_c] = before
            continue
        k = np.arange(args["k"])[:, None, None, None]
        at_a = args["A"] + batch * args["stride_a2"]
        at_a = at_a + (k + m * args["stride_a1"] if gemm.transpose_a else m + k * args["stride_a1"])
        at_b = args["B"] + batch * args["stride_b2"]
        at_b = at_b + (n + k * args["stride_b1"] if gemm.transpose_b else k + n * args["stride_b1"])
        splits = len(found) == 2  # what adds leaves C as the first kernel made it
        c[at_c] = args["alpha"] * (a[at_a] * b[at_b]).sum(axis=0) + (c[at_c] if splits else before)
        first = {"a": at_a, "b": at_b, "c": at_c}
        reach = {name: int(at.max()) + 1 - args[name.upper()] for name, at in first.items() if at.size}
        alone = {"a": "stride_a2", "b": "stride_b2"}  # the sizes of A and B are those of one product
        for name, size in reach.items():
            batches = (gemm.batch - 1) * args[alone[name]] if name in alone else 0
            assert args[f"size_{name}"] == size - batches
    for expected, z in zip(wanted, of_c, strict=True):
        np.testing.assert_array_equal(z, expected)


@given(calls(), st.sampled_from(["gfx803", "gfx801", "gfx900", "gfx902"]))
def test_a_product_runs_rocblas_kernel_or_says_why_not(gemm: Gemm, gfx: str) -> None:
    found = library_launches([launch(gemm)], gfx)
    if not found:
        assert gemm.beta == 1.0
        assert not gemm.alpha
    elif own(found) is None:
        [one] = found
        assert (one.kernel, one.gemm) == ("sgemm", gemm)
        assert one.note.endswith(select(gemm, gfx).reason)
        assert gfx in ("gfx900", "gfx902") or (gemm.transpose_a and gemm.transpose_b)
    else:
        assert len(found) == 1 + any(one.kernel == SCALE for one in found)


@given(st.integers(0, 1 << 20), st.sampled_from(sorted(solutions())))
def test_workgroups_start_no_further_apart_than_the_sum_is_long(k: int, key: tuple[str, int]) -> None:
    """A power of two less one, as the kernel masks with it, and within the steps of its part."""
    solution = solutions()[key]
    apart = stagger(k, solution) + 1
    assert apart & (apart - 1) == 0
    assert apart <= max(1, solution.stagger_u)
    steps = k // solution.depth_u // solution.global_split_u
    assert apart == 1 or apart << solution.stagger_stride_shift <= steps
