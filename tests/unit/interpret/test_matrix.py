"""Matrix instructions against products of NumPy, with the layouts of AMD's manual written out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import machine_code
import numpy as np
import pytest
from numpy.typing import NDArray

from apuflow.core.errors import EngineError
from apuflow.interpret.fp8 import to_fp8, values
from apuflow.interpret.opcodes import IsaName

LANE = np.arange(64)
Place = Callable[[int, int, int], tuple[int, int]]


def _placed(elements: NDArray[np.generic], place: Place, count: int) -> dict[int, NDArray[np.uint32]]:
    """Registers that hold elements (blocks, rows, columns) where ``place`` says: lane and item of each."""
    items = np.zeros((64, count), elements.dtype)
    for (block, i, j), value in np.ndenumerate(elements):
        lane, item = place(block, i, j)
        items[lane, item] = value
    raw = np.ascontiguousarray(items).view(np.uint8)
    words = np.ascontiguousarray(raw).view(np.uint32)
    return {number: words[:, number] for number in range(words.shape[1])}


def _given(first: int, registers: dict[int, NDArray[np.uint32]]) -> dict[str, object]:
    return {f"v{first + number}": word.astype(np.int64) for number, word in registers.items()}


def _a(rows: int, depth: int, blocks: int) -> Place:
    """K_L = K / (64 / (M * B)); A[b,i,k] is item k % K_L of lane i + M * (b + B * (k / K_L))."""
    each = depth // (64 // (rows * blocks))
    return lambda b, i, k: (i + rows * (b + blocks * (k // each)), k % each)


def _result(rows: int, columns: int, high: int) -> Place:
    """D[b,i,j]: H = 4, of fp64 1; chapter 7.1.4.2."""
    inside = -(-64 // (columns * rows // high))
    lanes = 64 // inside // columns
    groups = rows // (high * lanes)
    return lambda b, i, j: (
        j + columns * (i // high % lanes + lanes * (b % inside)),
        i % high + high * (i // (high * lanes) + groups * (b // inside)),
    )


SHAPES: list[tuple[IsaName, str, int, int, int, int, Any]] = [
    ("gfx940", "v_mfma_f32_32x32x1_2b_f32", 32, 32, 1, 2, np.float32),
    ("gfx940", "v_mfma_f32_4x4x1_16b_f32", 4, 4, 1, 16, np.float32),
    ("gfx940", "v_mfma_f32_16x16x4_4b_f16", 16, 16, 4, 4, np.float16),
    ("gfx940", "v_mfma_f32_4x4x4_16b_f16", 4, 4, 4, 16, np.float16),
    ("gfx940", "v_mfma_f32_32x32x8_f16", 32, 32, 8, 1, np.float16),
    ("gfx940", "v_mfma_i32_32x32x16_i8", 32, 32, 16, 1, np.int8),
    ("gfx940", "v_mfma_i32_4x4x4_16b_i8", 4, 4, 4, 16, np.int8),
    ("gfx940", "v_mfma_f64_16x16x4_f64", 16, 16, 4, 1, np.float64),
    ("gfx940", "v_mfma_f64_4x4x4_4b_f64", 4, 4, 4, 4, np.float64),
    ("gfx940", "v_mfma_f32_16x16x8_xf32", 16, 16, 8, 1, np.float32),
]


@pytest.mark.parametrize(
    ("isa", "name", "m", "n", "k", "blocks", "kind"), SHAPES, ids=[each[1] for each in SHAPES]
)
def test_products_in_the_layouts_of_the_manual(
    isa: IsaName, name: str, m: int, n: int, k: int, blocks: int, kind: Any
) -> None:
    random = np.random.default_rng(3)
    output: Any = np.int32 if kind is np.int8 else np.float64 if kind is np.float64 else np.float32
    a: NDArray[Any] = random.integers(-4, 5, (blocks, m, k)).astype(kind)
    b: NDArray[Any] = random.integers(-4, 5, (blocks, k, n)).astype(kind)
    c: NDArray[Any] = random.integers(-9, 10, (blocks, m, n)).astype(output)
    high = 1 if output is np.float64 else 4
    each, items = m * k * blocks // 64, m * n * blocks // 64
    width = np.dtype(output).itemsize // 4
    turned = np.swapaxes(b, 1, 2)
    where = _result(m, n, high)
    registers = {
        **_given(2, _placed(a, _a(m, k, blocks), each)),
        **_given(6, _placed(turned, _a(n, k, blocks), each)),
        **_given(32, _placed(c, where, items)),
    }
    sizes = [max(1, each * np.dtype(kind).itemsize // 4), items * width]
    names = [f"v[{first}:{first + size - 1}]" if size > 1 else f"v{first}"
             for first, size in ((64, sizes[1]), (2, sizes[0]), (6, sizes[0]), (32, sizes[1]))]  # fmt: skip
    waves = machine_code.execute(isa, [f"{name} {', '.join(names)}"], registers)
    expected = a.astype(np.float64) @ b.astype(np.float64) + c
    got = np.ascontiguousarray(waves.v[64 : 64 + sizes[1], 0].T).view(output)
    for (block, i, j), value in np.ndenumerate(expected):
        assert got[where(block, i, j)] == value, (block, i, j)


def test_bf16_is_summed_in_fp32() -> None:
    one, third = 0x3F80, 0x3EAB  # 1 and bf16 next to a third
    registers: dict[str, object] = {"v2": third | third << 16, "v3": third | third << 16}
    registers |= {"v6": one | one << 16, "v7": one | one << 16}
    waves = machine_code.execute(
        "gfx940", ["v_mfma_f32_16x16x16_bf16 v[8:11], v[2:3], v[6:7], 1.0"], registers
    )
    assert waves.vf[8, 0].tolist() == [1 + 16 * float(np.uint32(third << 16).view(np.float32))] * 64


def test_exec_is_ignored_and_c_may_be_in_accumulation_registers() -> None:
    registers: dict[str, object] = {"v2": 1.0, "v3": 2.0, "exec": 1}
    registers |= {f"v{256 + number}": float(number) for number in range(4)}
    waves = machine_code.execute("gfx90a", ["v_mfma_f32_16x16x4f32 a[0:3], v2, v3, a[0:3]"], registers)
    assert [waves.vf[256 + number, 0, 40] for number in range(4)] == [8, 9, 10, 11]


def test_accumulation_registers_are_moved() -> None:
    lines = ["v_accvgpr_write_b32 a1, v2", "v_accvgpr_mov_b32 a2, a1", "v_accvgpr_read_b32 v0, a2"]
    waves = machine_code.execute("gfx90a", lines, {"v2": LANE, "exec": 0b101})
    assert waves.v[0, 0, :4].tolist() == [0, 0, 2, 0]


@pytest.mark.parametrize(("size", "chosen"), [(1, 1), (2, 2)])
def test_a_block_of_a_is_broadcast(size: int, chosen: int) -> None:
    """Lane l reads A of lane l % S + S * ABID, S = 64 / 2^CBSZ (chapter 7.1.6.1)."""
    line = f"v_mfma_f32_16x16x1f32 v[8:23], v2, v3, 0 cbsz:{size} abid:{chosen}"
    waves = machine_code.execute("gfx90a", [line], {"v2": LANE.astype(float), "v3": 1.0})
    part = 64 >> size
    where = _result(16, 16, 4)
    for block in range(4):
        for row in range(16):
            lane, item = where(block, row, 5)
            assert waves.vf[8 + item, 0, lane] == (row + 16 * block) % part + part * chosen


@pytest.mark.parametrize(
    ("number", "source"),
    [(1, LANE % 32), (2, LANE % 32 + 32), (3, (LANE + 16) % 64), (4, LANE % 16), (7, LANE % 16 + 48)],
)
def test_lanes_of_b_are_permuted(number: int, source: NDArray[np.int64]) -> None:
    """Table "Permutations corresponding to BLGP values"; the product of each block is B's row."""
    line = f"v_mfma_f32_4x4x1f32 v[8:11], v2, v3, 0 blgp:{number}"
    waves = machine_code.execute("gfx90a", [line], {"v2": 1.0, "v3": LANE.astype(float)})
    assert waves.vf[8, 0].tolist() == source.tolist()


def test_signs_of_fp64_products() -> None:
    two = int(np.float64(2).view(np.uint64)) >> 32
    registers: dict[str, object] = {"v3": two, "v5": two, "v7": two}
    line = "v_mfma_f64_4x4x4_4b_f64 v[8:9], v[2:3], v[4:5], v[6:7] neg:[1,0,1]"
    waves = machine_code.execute("gfx940", [line], registers)
    assert waves.v[9, 0, 3] == np.float64(-18).view(np.uint64) >> np.uint64(32)


def test_subnormal_halves_count_on_gfx940_and_not_on_gfx90a() -> None:
    registers: dict[str, object] = {"v2": 1, "v6": int(np.float16(1).view(np.uint16))}
    for isa, name, expected in (
        ("gfx940", "v_mfma_f32_4x4x4_16b_f16", 2.0**-24),
        ("gfx90a", "v_mfma_f32_4x4x4f16", 0),
    ):
        waves = machine_code.execute(isa, [f"{name} v[8:11], v[2:3], v[6:7], 0"], registers)  # type: ignore[arg-type]
        assert waves.vf[8, 0, 0] == expected


def test_products_of_fp8_and_bf8() -> None:
    random = np.random.default_rng(5)
    a, b = random.integers(-4, 5, (1, 16, 32)), random.integers(-4, 5, (1, 32, 16))
    bytes_a, bytes_b = to_fp8(a.astype(np.float32), "fp8"), to_fp8(b.astype(np.float32), "bf8")
    assert values("bf8")[bytes_b].tolist() == b.tolist()
    registers = {
        **_given(2, _placed(bytes_a, _a(16, 32, 1), 8)),
        **_given(6, _placed(np.swapaxes(bytes_b, 1, 2), _a(16, 32, 1), 8)),
    }
    line = "v_mfma_f32_16x16x32_fp8_bf8 v[8:11], v[2:3], v[6:7], 0"
    waves = machine_code.execute("gfx940", [line], registers)
    where = _result(16, 16, 4)
    for (block, i, j), value in np.ndenumerate(a @ b):
        lane, item = where(block, i, j)
        assert waves.vf[8 + item, 0, lane] == value


def test_a_sparse_product_is_that_of_the_matrix_with_its_zeros() -> None:
    random = np.random.default_rng(7)
    full = np.zeros((16, 32))
    kept = np.zeros((1, 16, 16), np.float16)
    index = np.zeros(64, np.int64)
    for i in range(16):
        for group in range(8):
            places = sorted(random.choice(4, 2, replace=False))
            for number, place in enumerate(places):
                element = 2 * group + number
                value = random.integers(1, 5)
                full[i, 4 * group + place] = kept[0, i, element] = value
                lane, item = i + 16 * (element // 4), element % 4
                index[lane] |= int(place) << 2 * item
    b = random.integers(-4, 5, (1, 32, 16)).astype(np.float16)
    registers = {
        **_given(2, _placed(kept, _a(16, 16, 1), 4)),
        **_given(4, _placed(np.swapaxes(b, 1, 2), _a(16, 32, 1), 8)),
        "v12": index,
    }
    waves = machine_code.execute(
        "gfx940", ["v_smfmac_f32_16x16x32_f16 v[8:11], v[2:3], v[4:7], v12"], registers
    )
    where = _result(16, 16, 4)
    for (i, j), value in np.ndenumerate(full @ b[0].astype(np.float64)):
        lane, item = where(0, i, j)
        assert waves.vf[8 + item, 0, lane] == value


def test_a_broadcast_from_no_block_is_refused() -> None:
    with pytest.raises(EngineError, match="with this CBSZ or ABID"):
        machine_code.execute("gfx90a", ["v_mfma_f32_16x16x4f32 v[8:11], v2, v3, 0 cbsz:1"], {})
