"""Databases of many runs from few objects."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from apuflow.miopen import Row
from apuflow.miopen.compiler import Compiler
from apuflow.miopen.database import plan_database, prepare_databases, read_database


def test_six_compute_unit_counts_share_their_objects(kernels: Path, whole: bytes, tmp_path: Path) -> None:
    calls = itertools.count()

    def run(command: Sequence[str], directory: Path, log: Path) -> int:
        next(calls)
        Path(command[-1]).write_bytes(whole)
        return 0

    compiler = Compiler("recorded", ("clang-ocl",), (), "recorded")

    def plan(num_cus: int) -> object:
        rows = [Row("Scale.cl", " -DOFFSET=1"), Row("Scale.cl", f" -DOFFSET={2 if num_cus < 8 else 3}")]
        return plan_database(
            rows,
            "gfx801",
            num_cus,
            release="r",
            compiler=compiler.identity,
            sources=kernels,
        )

    plans = [plan(num_cus) for num_cus in (1, 2, 4, 8, 64, 80)]
    prepare_databases(plans, compiler, kernels, root=tmp_path, run=run)  # type: ignore[arg-type]
    assert next(calls) == 3
    names = [Path(item.path).name for item in plans]  # type: ignore[attr-defined]
    assert names == [
        "gfx801_1.ukdb",
        "gfx801_2.ukdb",
        "gfx801_4.ukdb",
        "gfx801_8.ukdb",
        "gfx801_64.ukdb",
        "gfx80150.ukdb",
    ]
    assert all(len(read_database(tmp_path / item.path)) == 2 for item in plans)  # type: ignore[attr-defined]
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.ukdb")}
    prepare_databases([*plans, plan(16)], compiler, kernels, root=tmp_path, run=run)  # type: ignore[list-item]
    assert next(calls) == 4  # nothing was compiled: the count itself took one
    assert all(path.stat().st_mtime_ns == before[path] for path in before)
