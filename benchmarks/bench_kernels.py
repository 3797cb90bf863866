r"""Kernel databases of upstream's list for six CU counts and two GPUs: upstream's script against ours.

    .venv/bin/python benchmarks/bench_kernels.py GENERATE_CACHEFILES.PY CACHEFILES.CSV MIOPEN/src/kernels \
        [--compiler clang-ocl] [--jobs COMPILERS_AT_A_TIME] [--rounds N]

Both sides run the same compiler with the same arguments and must leave the same rows and objects. Upstream's
script has fixed paths (``/opt/rocm/bin/clang-ocl``, ``/MIOpen/src/kernels``, ``/root/.cache/miopen/2.9.0``),
so a copy with other paths runs, with a clang-ocl from this machine's clang.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from statistics import median

from measuring import parser, timed

from apuflow.core.errors import ApuflowError
from apuflow.dnnmark import parse
from apuflow.miopen import launches
from apuflow.miopen.compiler import CLANG_OCL_FLAGS, Compiler, host_compiler
from apuflow.miopen.database import DatabasePlan, db_name, plan_database, prepare_databases, read_database
from apuflow.miopen.row_file import read_rows

GPUS = ("gfx801", "gfx803")
DATABASES = tuple(product(GPUS, (1, 2, 4, 8, 16, 32)))
FIXED = {
    "clang": "/opt/rocm/bin/clang-ocl",
    "kernels": "/MIOpen/src/kernels",
    "cache": "/root/.cache/miopen/2.9.0/",
}


def clang_ocl(directory: Path) -> Path:
    """A clang-ocl of this machine's clang, which accepts MIOpen's arguments."""
    host = host_compiler()
    program = directory / "clang-ocl"
    command = " ".join(f"'{part}'" for part in host.command)
    # In newer clangs code object v3 is an option, not a target feature.
    program.write_text(
        "#!/bin/sh\n"
        'for a in "$@"; do shift; case "$a" in -target-feature|+code-object-v3|-Xclang) ;;'
        ' *) set -- "$@" "$a";; esac; done\n'
        f'exec {command} -mcode-object-version=3 "$@"\n'
    )
    program.chmod(0o755)
    return program


def upstream(script: Path, rows: Path, cache: Path) -> None:
    """Twelve runs of upstream's script."""
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir(parents=True)
    for gfx, cus in DATABASES:
        options = ["--num-cus", str(cus), "--gfx-version", gfx]
        subprocess.run([sys.executable, script, rows, *options], check=True, stdout=subprocess.DEVNULL)


def plans(
    rows: Path, compiler: Compiler, kernels: Path, gpus: Sequence[tuple[str, int]]
) -> list[DatabasePlan]:
    """The databases of these GPUs and CU counts."""
    return [
        plan_database(read_rows(rows), gfx, cus, release="bench", compiler=compiler.identity, sources=kernels)
        for gfx, cus in gpus
    ]


def ours(rows: Path, compiler: Compiler, kernels: Path, root: Path, jobs: int) -> None:
    """The same twelve databases."""
    shutil.rmtree(root, ignore_errors=True)
    prepare_databases(plans(rows, compiler, kernels, DATABASES), compiler, kernels, root=root, jobs=jobs)


def same(cache: Path, made: list[Path]) -> int:
    """Number of equal rows. Raises AssertionError if any differs."""
    total = 0
    for path, (gfx, cus) in zip(made, DATABASES, strict=True):
        theirs = {(e.name, e.arguments): e.blob for e in read_database(cache / db_name(gfx, cus))}
        mine = {(e.name, e.arguments): e.blob for e in read_database(path)}
        assert mine == theirs, f"{path.name} differs from upstream's"
        total += len(mine)
    return total


def derivation(shapes: int = 10_000) -> None:
    """Derive the launches of distinct layers, from text to geometry and arguments."""
    for kind in ("Softmax", "Pooling", "BatchNorm", "LRN", "Activation"):
        for number in range(shapes // 5):
            size = f"n={1 + number // 100}\nc={1 + number % 100}\nh=16\nw=16\n"
            launches(parse(f"[DNNMark]\nrun_mode=standalone\n[{kind}]\n{size}"), "fwd", 4)


def main() -> None:
    command = parser(__doc__, jobs=len(os.sched_getaffinity(0)) + 1, rounds=3)
    command.add_argument("script", type=Path, nargs="?", help="upstream's generate_cachefiles.py")
    command.add_argument("rows", type=Path, nargs="?", help="upstream's cachefiles.csv")
    command.add_argument("kernels", type=Path, nargs="?", help="src/kernels of MIOpen rocm-4.0.1")
    command.add_argument("--compiler", type=Path, help="a clang-ocl; default: one of this machine's clang")
    options = command.parse_args()
    print(f"launches of 10,000 distinct layers: {timed(derivation):.2f} s")
    if options.kernels is None:
        print("skipped: name generate_cachefiles.py, cachefiles.csv and MIOpen's src/kernels (see --help)")
        return
    with tempfile.TemporaryDirectory(prefix="bench-kernels-") as name:
        work = Path(name)
        program = (options.compiler or clang_ocl(work)).resolve()
        compiler = Compiler("clang-ocl", (str(program),), CLANG_OCL_FLAGS, "bench")
        rows, kernels, jobs = options.rows, options.kernels.resolve(), options.jobs
        cache, script, root = work / "cache", work / "generate.py", work / "ours"
        places = {"clang": str(program), "kernels": str(kernels), "cache": f"{cache}/"}
        text = options.script.read_text()
        for what, fixed in FIXED.items():
            text = text.replace(fixed, places[what])
        script.write_text(text)
        ratios = []
        for _ in range(options.rounds):
            theirs = timed(lambda: upstream(script, rows, cache))
            mine = timed(lambda: ours(rows, compiler, kernels, root, jobs))
            ratios.append(theirs / mine)
            print(f"upstream, twelve runs: {theirs:6.2f} s   ours: {mine:5.2f} s   ratio {ratios[-1]:.1f}")
        wanted = plans(rows, compiler, kernels, DATABASES)
        count = same(cache, [root / plan.path for plan in wanted])
        print(f"{len(wanted)} databases with {count} rows: keys and decompressed objects equal")
        wanted += plans(rows, compiler, kernels, [(gfx, 64) for gfx in GPUS])
        begin = time.perf_counter()
        built = prepare_databases(wanted, compiler, kernels, root=root, jobs=jobs)
        seconds = time.perf_counter() - begin
        print(f"one more CU count: {len(built.made)} objects compiled, {seconds:.2f} s")
        print(f"median ratio {median(ratios):.1f} (goal: at least 8), {jobs} jobs")


if __name__ == "__main__":
    try:
        main()
    except ApuflowError as error:
        sys.exit(str(error))
