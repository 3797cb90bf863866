"""What the image's rocBLAS is given: a table of the sizes that products are nearest to, and their kernels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rocblas_checkouts import checkouts

from apuflow.core.errors import ConfigError, EngineError
from apuflow.miopen.launch import Gemm, Launch
from apuflow.rocblas import objects
from apuflow.rocblas.objects import ProductLibrary, Size, read_table, table_sizes, write_table
from apuflow.rocblas.tables import LOGIC, measured, solutions

SIZES: tuple[Size, ...] = tuple(
    (row.transposes, *row.key, row.solution) for form in ("NN", "NT", "TN") for row in measured(form)[:2]
)


def product(form: str, m: int, n: int, k: int) -> Launch:
    a, b = form[0] == "T", form[1] == "T"
    gemm = Gemm(m, n, k, a, b, 1, k if a else m, n if b else k, m)
    return Launch("fc1", "fc", "fwd", None, None, "sgemm", (1, 1, 1), (1, 1, 1), (), gemm=gemm)


problems = st.tuples(
    st.sampled_from(["NN", "NT", "TN"]), st.integers(4, 9000), st.integers(4, 9000), st.integers(1, 9000)
)


@given(st.lists(problems, min_size=1, max_size=5))
def test_a_small_table_sends_each_product_to_the_same_kernel_as_the_whole(
    asked: list[tuple[str, int, int, int]],
) -> None:
    """Products of at least 4 x 4, which every kernel takes: the nearest size of either table is the same."""
    small = table_sizes([product(*one) for one in asked], "gfx801")

    def nearest(table: Sequence[tuple[int, ...]], size: tuple[int, ...]) -> int:
        return min(sum((a - b) ** 2 for a, b in zip(row, size, strict=True)) for row in table)

    for form, *size in asked:
        kept = [row[1:4] for row in small if row[0] == form]
        assert nearest(kept, tuple(size)) == nearest([row.key for row in measured(form)], tuple(size))
    assert len(small) <= len(asked)


def test_a_product_without_such_a_kernel_is_refused_by_its_layer() -> None:
    with pytest.raises(ConfigError, match="no tuned gfx803 kernel for TT") as caught:
        table_sizes([product("TT", 64, 64, 64)], "gfx801")
    assert (caught.value.key, caught.value.value) == ("image.rocblas_kernels", "fc1")


def test_another_size_is_another_table_and_another_gpu_the_same() -> None:
    table = ProductLibrary(SIZES, "gfx801", ()).table
    assert table == ProductLibrary(SIZES, "gfx803", ()).table
    assert table != ProductLibrary(SIZES[1:], "gfx801", ()).table


def _packed(sizes: tuple[Size, ...]) -> bytes:
    """A table as Tensile packs it, by hand: a problem for each size."""
    names = [solutions()[form, number].kernel for form, _, _, _, number in sizes]
    problems = {
        index: {"rows": [{"library": {"table": [{"key": size[1:4], "value": {"index": index}}]}}]}
        for index, size in enumerate(sizes)
    }
    content = {
        "solutions": [{"index": index, "name": name} for index, name in enumerate(names)],
        "library": {"rows": [{"library": {"map": problems}}]},
    }
    return bytes(msgpack.packb(content))


@pytest.mark.parametrize("written", [SIZES, SIZES[1:]], ids=["as asked", "one size less"])
def test_a_table_appears_only_when_it_reads_back_as_asked(
    written: tuple[Size, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tensile(_tensile: Path, order: list[str], out: Path, _log: Path, **_: Any) -> None:
        assert Path(order[-1]) == out
        out.write_bytes(_packed(written))

    monkeypatch.setattr(objects, "run_tensile", tensile)
    for name in LOGIC.values():
        logic = tmp_path / "library/src/blas3/Tensile/Logic/asm_full" / f"r9nano_{name}.yaml"
        logic.parent.mkdir(parents=True, exist_ok=True)
        logic.write_text("[]")
    out = tmp_path / "made/table.dat"
    if written == SIZES:
        write_table(SIZES, tmp_path, tmp_path, out, tmp_path / "log")
        assert len(read_table(out)) == len(SIZES)
        return
    with pytest.raises(EngineError, match="differs from the request"):
        write_table(SIZES, tmp_path, tmp_path, out, tmp_path / "log")
    assert list(out.parent.iterdir()) == []


@pytest.mark.gem5
def test_tensile_writes_the_table_for_whatever_gpu_there_is(tmp_path: Path) -> None:
    """rocBLAS asks by GPU first: a table for gfx803 gives gfx801 nothing, one for any GPU serves both."""
    out = tmp_path / "table.dat"
    write_table(SIZES, *checkouts(), out, tmp_path / "log")
    content = msgpack.unpackb(out.read_bytes(), strict_map_key=False)
    assert [row["predicate"]["type"] for row in content["library"]["rows"]] == ["TruePred"]
    assert sorted(read_table(out)) == sorted(
        (m, n, k, solutions()[form, number].kernel) for form, m, n, k, number in SIZES
    )
