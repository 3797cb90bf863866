"""``apuflow build`` and ``capture``: programs for GPUs, whose launches become workloads."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from apuflow.commands import KERNELS, app
from apuflow.core.errors import ConfigError, EngineError
from apuflow.core.gpus import gpu
from apuflow.core.words import many

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apuflow.capture.journal import Journal
    from apuflow.core.gpus import Gpu


@app.command(rich_help_panel=KERNELS)
def build(
    name: str = typer.Argument(help="The program's file; with --hipcc a directory."),
    hip: list[Path] = typer.Option([], "--hip", help="A source in HIP, or C; can be repeated."),
    gfx: list[str] = typer.Option(
        [],
        help="GPU that it gets code for; can be repeated. Default: those that --compile names, else gfx90a.",
    ),
    arguments: str = typer.Option("", "--compile", help="Further arguments, as hipcc takes them."),
    release: str | None = typer.Option(
        None, "--as", help="Change the code for what this release of gem5 does not execute rightly."
    ),
    hipcc: bool = typer.Option(
        False, "--hipcc", help="Write a directory with bin/hipcc, for makefiles: make HIP_PATH=NAME."
    ),
) -> None:
    """Build a HIP program from its sources by clang, without ROCm: host code and code for GPUs.

    Headers are those of Debian's libamdhip64-dev where it is installed, else small ones of this project. The
    program runs by apuflow capture.
    """
    from apuflow.capture.options import read_line
    from apuflow.capture.toolchain import build_for, write_toolchain
    from apuflow.miopen.compiler import split_arguments

    gpus = tuple(gpu(each, "--gfx").name for each in gfx)
    if hipcc == bool(hip):
        raise ConfigError("what to build", key="--hip", value=name, remedy="give sources, or --hipcc alone")
    if hipcc:
        write_toolchain(Path(name), gpus, release, Path())
        typer.echo(f"{name}: bin/hipcc, bin/hipconfig, include, lib")
        typer.echo(f"next: make HIP_PATH={Path(name).resolve()}, with the program's makefile")
        return
    line = read_line([*split_arguments(arguments), *map(str, hip), "-o", name])
    made = build_for(gpus, release, Path())
    made.run(line)
    typer.echo(f"{name}: code for {', '.join(made.gpus_of(line))}")
    typer.echo(f"next: apuflow capture NAME -- {Path(name) if Path(name).is_absolute() else f'./{name}'}")


@app.command(context_settings={"ignore_unknown_options": True}, rich_help_panel=KERNELS)
def capture(
    name: str = typer.Argument(help="The workload to write."),
    command: list[str] = typer.Argument(help="After --: the program and its arguments."),
    gfx: str | None = typer.Option(None, help="The GPU; default: the first that the program has code for."),
    compute_units: int = typer.Option(4, "--num-cus", min=1, max=4096, help="Compute units of the GPU."),
    kernel: str = typer.Option("", help="Record kernels whose name has this (a regular expression)."),
    every: int = typer.Option(1, min=1, help="Record each kernel's first two launches, then one of so many."),
    iterations: int | None = typer.Option(
        None, min=2, help="Record so many iterations of each outermost loop of launches."
    ),
    fold: bool = typer.Option(
        False, "--fold", help="Record one of equal launches: same kernel, grid and executed instructions."
    ),
    first: int | None = typer.Option(None, min=1, help="Record so many launches, then end the program."),
    execute: bool = typer.Option(True, help="Execute the kernels, or leave memory as it is."),
    limit: int = typer.Option(
        2_000_000_000, min=1, help="Wavefront instructions after which a launch is stopped."
    ),
    opencl: bool | None = typer.Option(
        None, help="The program uses OpenCL; default: whether its file names libOpenCL."
    ),
    rocm: bool = typer.Option(
        False, "--rocm", help="Run it under this machine's ROCm on its own GPU, which --gfx names."
    ),
    force: bool = typer.Option(False, help="Overwrite existing files."),
) -> None:
    """Run a HIP or OpenCL program with the interpreter as its GPU; write its launches as a workload.

    A HIP program is built by apuflow build, or links libamdhip64.so of ROCm 5; an OpenCL program links
    libOpenCL.so. Its host code runs as it is, with the results of the kernels. Prints what was executed, and
    the recorded bytes.
    """
    from apuflow.capture.bundle import targets
    from apuflow.capture.device import Device
    from apuflow.capture.hip import hip_library
    from apuflow.capture.observed import ObservedDevice, tool_variables
    from apuflow.capture.opencl import loader_variables
    from apuflow.capture.selection import Choice
    from apuflow.capture.server import run
    from apuflow.capture.writer import write
    from apuflow.configure.loading import check_new_name
    from apuflow.core import paths
    from apuflow.interpret.native import library
    from apuflow.interpret.waits import waiting

    check_new_name(name, "workload", Path(paths.workload_file(name)), force=force)
    chosen = gpu(gfx, "--gfx") if gfx else None
    data = _program(command[0])
    if opencl is None:
        opencl = b"libOpenCL.so" in data and not rocm
    _check(kernel, chosen, () if opencl or rocm else targets(data))
    choice = Choice(kernel, every, iterations, fold, first, execute, limit)
    made = ObservedDevice if rocm else Device
    runs_on = chosen or _first_gpu(data, opencl=opencl)
    device = made(runs_on, choice, compute_units, library=None if rocm or not execute else library())
    libraries = [] if opencl or rocm else [hip_library(Path())]
    variables = tool_variables(Path()) if rocm else loader_variables(Path()) if opencl else {}
    status = run(command, device, libraries, variables)
    device.settle()
    journal = device.journal
    if status:
        refused = f"; the GPU does not take {journal.refused[0]}" if journal.refused else ""
        launches = many(journal.count, "launch", "launches")
        raise EngineError(
            f"the program ended with exit status {status}, after {launches}{refused}",
            value=command[0],
            remedy="its own messages are above; nothing is written",
        )
    files = write(journal, name, Path(), shlex.join(command))
    seconds = (
        f", {journal.instructions:,} wavefront instructions in {journal.seconds:.1f} s"
        if journal.instructions
        else ""
    )
    typer.echo(f"{name} on {journal.gfx}: {many(journal.count, 'launch', 'launches')}{seconds}")
    size = sum(each.stat().st_size for each in files)
    typer.echo(f"{many(len(journal.launches), 'launch', 'launches')} recorded, {size:,} bytes")
    if (stand_for := sum(each.launches for each in journal.launches)) > len(journal.launches):
        typer.echo(f"they stand for {many(stand_for, 'launch', 'launches')}{_shares(journal)}")
    for path in files:
        typer.echo(f"  {path}")
    for kernel, loop in journal.waiting.items():
        typer.echo(f"no preview: {waiting(kernel, loop)}")
    typer.echo(f"next: apuflow check-kernels {name} --gfx {journal.gfx}")


def _shares(journal: Journal) -> str:
    """How much of the program's instructions recorded launches stand for."""
    if not journal.instructions:
        return ""
    all_of = sum(each.represented for each in journal.launches) / journal.instructions
    equal = sum(each.equal for each in journal.launches) / journal.instructions
    return (
        f" and {all_of:.1%} of the instructions; {equal:.1%} are of launches with as many as the recorded one"
    )


def _program(name: str) -> bytes:
    """The file of a program, which may be named as the shell finds it."""
    found = name if Path(name).is_file() else shutil.which(name)
    if found is None:
        remedy = "name it as a path, as in -- ./program"
        raise ConfigError("no such program", key="COMMAND", value=name, remedy=remedy)
    return Path(found).read_bytes()


def _first_gpu(program: bytes, *, opencl: bool) -> Gpu:
    """The first GPU that a program has code for; OpenCL is compiled for any."""
    from apuflow.capture.bundle import targets
    from apuflow.core.gpus import GPUS

    found = ("gfx801",) if opencl else targets(program)
    known = [each for each in found if each in GPUS]
    if known:
        return GPUS[known[0]]
    if not found:
        remedy = "build it by apuflow build --hip; of a script that starts it, name the GPU by --gfx"
        raise ConfigError("the program's file has no code for GPUs", key="COMMAND", remedy=remedy)
    raise ConfigError(
        "the program has no code for a GPU that gem5 models",
        key="COMMAND",
        value=", ".join(found),
        remedy=f"build it for one of {', '.join(GPUS)}",
    )


def _check(pattern: str, chosen: Gpu | None, found: Sequence[str]) -> None:
    """Raise ConfigError for a pattern that is none, or a GPU that the program has no code for."""
    try:
        re.compile(pattern)
    except re.error as error:
        what = f"not a regular expression: {error}"
        raise ConfigError(what, key="--kernel", value=pattern, remedy="correct it") from None
    if chosen and found and chosen.name not in found:
        raise ConfigError(
            "the program has no code for this GPU",
            key="--gfx",
            value=chosen.name,
            remedy=f"its code is for {', '.join(found)}: build it for {chosen.name}",
        )
