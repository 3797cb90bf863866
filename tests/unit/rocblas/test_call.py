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

import pytest
from places import DATA

from apuflow.launcher.dispatch_list import SCALARS
from apuflow.miopen.launch import Arg, Gemm, Launch, expand
from apuflow.miopen.rocm_4_0_1.gemm import product
from apuflow.rocblas import library_launches
from apuflow.rocblas.call import SCALE, SCALE_NOTE, changed, library_of, stagger
from apuflow.rocblas.tables import solutions

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
