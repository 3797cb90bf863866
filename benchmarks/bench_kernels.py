r"""Kernel databases of upstream's list for six CU counts and two GPUs: upstream's script against ours.

    .venv/bin/python benchmarks/bench_kernels.py GENERATE_CACHEFILES.PY CACHEFILES.CSV MIOPEN/src/kernels \
        [--compiler clang-ocl] [--jobs N]

Both sides run the same compiler with the same arguments and must leave the same rows and objects. Upstream's
script has fixed paths (``/opt/rocm/bin/clang-ocl``, ``/MIOpen/src/kernels``, ``/root/.cache/miopen/2.9.0``),
so a copy with other paths runs, with a clang-ocl from this machine's clang.
"""

from __future__ import annotations

import argparse
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from apuflow.core.errors import ApuflowError
from apuflow.dnnmark import parse
from apuflow.miopen import Row, launches
from apuflow.miopen.compiler import CLANG_OCL_FLAGS, Compiler, host_compiler
from apuflow.miopen.database import DatabasePlan, db_name, plan_database, prepare_databases, read_database
from apuflow.miopen.row_file import read_rows

CU_COUNTS = (1, 2, 4, 8, 16, 32)
GPUS = ("gfx801", "gfx803")
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
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def upstream(script: Path, rows: Path, cache: Path) -> float:
    """Seconds for twelve runs of upstream's script."""
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir(parents=True)
    begin = time.perf_counter()
    for gfx in GPUS:
        for num_cus in CU_COUNTS:
            options = ["--num-cus", str(num_cus), "--gfx-version", gfx]
            subprocess.run([sys.executable, script, rows, *options], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def plans(rows: list[Row], compiler: Compiler, kernels: Path) -> list[DatabasePlan]:
    """The twelve databases."""
    return [
        plan_database(rows, gfx, cus, release="bench", compiler=compiler.identity, sources=kernels)
        for gfx in GPUS
        for cus in CU_COUNTS
    ]


def ours(rows: Path, compiler: Compiler, kernels: Path, root: Path, jobs: int) -> tuple[float, list[Path]]:
    """Seconds for the same twelve databases."""
    shutil.rmtree(root, ignore_errors=True)
    begin = time.perf_counter()
    wanted = plans(read_rows(rows), compiler, kernels)
    prepare_databases(wanted, compiler, kernels, root=root, jobs=jobs)
    return time.perf_counter() - begin, [root / plan.path for plan in wanted]


def same(cache: Path, made: list[Path]) -> tuple[int, int]:
    """Numbers of equal databases and rows. Raises AssertionError if any differs."""
    total = 0
    for path, (gfx, cus) in zip(made, [(gfx, cus) for gfx in GPUS for cus in CU_COUNTS], strict=True):
        theirs = {(e.name, e.arguments): e.blob for e in read_database(cache / db_name(gfx, cus))}
        mine = {(e.name, e.arguments): e.blob for e in read_database(path)}
        assert mine == theirs, f"{path.name} differs from upstream's"
        total += len(mine)
    return len(made), total


def derivation(shapes: int = 10_000) -> float:
    """Seconds to derive the launches of distinct layers, from text to geometry and arguments."""
    texts = [
        f"[DNNMark]\nrun_mode=standalone\n[{kind}]\nn={1 + number // 100}\nc={1 + number % 100}\nh=16\nw=16\n"
        for kind in ("Softmax", "Pooling", "BatchNorm", "LRN", "Activation")
        for number in range(shapes // 5)
    ]
    begin = time.perf_counter()
    for text in texts:
        launches(parse(text), "fwd", 4)
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("script", type=Path, nargs="?", help="upstream's generate_cachefiles.py")
    parser.add_argument("rows", type=Path, nargs="?", help="upstream's cachefiles.csv")
    parser.add_argument("kernels", type=Path, nargs="?", help="src/kernels of MIOpen rocm-4.0.1")
    parser.add_argument(
        "--compiler", type=Path, help="a clang-ocl; default: one made of this machine's clang"
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=len(os.sched_getaffinity(0)) + 1,
        help="compilers at a time; default: cores + 1",
    )
    parser.add_argument("--rounds", type=int, default=3, help="paired measurements; the median ratio counts")
    options = parser.parse_args()
    print(f"launches of 10,000 distinct layers: {derivation():.2f} s")
    if options.kernels is None:
        print("skipped: name generate_cachefiles.py, cachefiles.csv and MIOpen's src/kernels (see --help)")
        return
    with tempfile.TemporaryDirectory(prefix="bench-kernels-") as name:
        work = Path(name)
        program = (options.compiler or clang_ocl(work)).resolve()
        compiler = Compiler("clang-ocl", (str(program),), CLANG_OCL_FLAGS, "bench")
        kernels, cache, script = options.kernels.resolve(), work / "cache", work / "generate.py"
        places = {"clang": str(program), "kernels": str(kernels), "cache": f"{cache}/"}
        text = options.script.read_text()
        for what, fixed in FIXED.items():
            text = text.replace(fixed, places[what])
        script.write_text(text)
        ratios = []
        for _ in range(options.rounds):
            theirs = upstream(script, options.rows, cache)
            mine, made = ours(options.rows, compiler, kernels, work / "ours", options.jobs)
            ratios.append(theirs / mine)
            print(f"upstream, twelve runs: {theirs:6.2f} s   ours: {mine:5.2f} s   ratio {ratios[-1]:.1f}")
        databases, rows = same(cache, made)
        print(f"{databases} databases with {rows} rows: keys and decompressed objects equal")
        wanted = plans(read_rows(options.rows), compiler, kernels)
        more = [
            plan_database(
                read_rows(options.rows),
                gfx,
                64,
                release="bench",
                compiler="bench",
                sources=kernels,
            )
            for gfx in GPUS
        ]
        begin = time.perf_counter()
        built = prepare_databases([*wanted, *more], compiler, kernels, root=work / "ours", jobs=options.jobs)
        seconds = time.perf_counter() - begin
        print(f"one more CU count: {len(built.made)} objects compiled, {seconds:.2f} s")
        median = sorted(ratios)[len(ratios) // 2]
        print(f"median ratio {median:.1f} (goal: at least 8), {options.jobs} jobs")


if __name__ == "__main__":
    try:
        main()
    except ApuflowError as error:
        sys.exit(str(error))
