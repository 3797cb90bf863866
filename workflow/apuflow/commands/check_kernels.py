"""``apuflow check-kernels``: compile kernels of your own and hold them against their workload's file."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from apuflow.core.errors import ConfigError
from apuflow.core.gpus import gpu
from apuflow.core.words import many

if TYPE_CHECKING:
    from apuflow.configure.kernel_work import KernelsWork
    from apuflow.kernels.metadata import Kernel


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("check-kernels")(check_kernels)


def check_kernels(
    workloads: Annotated[
        list[str] | None, typer.Argument(help="Workloads of kind kernels; default: all of them.")
    ] = None,
    gfx: Annotated[
        list[str] | None, typer.Option(help="GPU architecture; default: gfx801; can be repeated.")
    ] = None,
    compute_units: Annotated[
        int, typer.Option("--num-cus", min=1, max=4096, help="Compute units of the GPU.")
    ] = 4,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="NAME=VALUE: a parameter; can be repeated.")
    ] = None,
) -> None:
    """Compile the kernels of WORKLOADS and check their launches, arguments, contents and reference.

    Prints registers, LDS and private memory of each kernel, everything that would stop a run before gem5 is
    started, and the instructions that a release of gem5 does not execute, or executes wrongly. Exit status 1
    if anything would stop a run before gem5.
    """
    gpus = [gpu(name, "--gfx").name for name in gfx or ["gfx801"]]
    found = 0
    for name in workloads or _own():
        work = _work(name, set_ or [])
        for each in gpus:
            found += _check(work, each, compute_units)
    if found:
        typer.echo(f"{found} problems", err=True)
        raise typer.Exit(1)


def _own() -> list[str]:
    from apuflow.configure import load_workload, workload_names
    from apuflow.configure.workloads import KernelsWorkload

    return [name for name in workload_names() if isinstance(load_workload(name), KernelsWorkload)]


def _work(name: str, settings: list[str]) -> KernelsWork:
    from apuflow.configure import load_workload
    from apuflow.configure.base import together
    from apuflow.configure.workloads import KernelsWorkload

    workload = load_workload(name)
    if not isinstance(workload, KernelsWorkload):
        raise ConfigError(
            "not a workload of kind kernels",
            key="WORKLOADS",
            value=name,
            remedy="`apuflow kernels` is for those of MIOpen",
        )
    errors: list[ConfigError] = []
    work = workload.work(dict(map(_setting, settings)), errors.append)
    if work is None:
        raise together(errors)
    return work


def _setting(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    try:
        return name.strip(), int(value, 0)
    except ValueError:
        raise ConfigError(
            "not a parameter's value", key="--set", value=text, remedy="NAME=VALUE, a whole number: n=1024"
        ) from None


def _check(work: KernelsWork, gfx: str, compute_units: int) -> int:
    """Print what is known of a workload on a GPU; how many problems it has."""
    from apuflow.kernels.check import problems
    from apuflow.kernels.metadata import read_kernels
    from apuflow.kernels.sources import compiled

    program = work.program(compute_units, gfx)
    kernels: dict[Path, tuple[Kernel, ...]] = {}
    codes = [compiled(str(source), program.compile, gfx) for source in program.sources]
    try:
        for source, code in zip(program.sources, codes, strict=True):
            kernels[source] = read_kernels(code)
        doubts = list(_doubts(codes, gfx))
    finally:
        for code in codes:
            shutil.rmtree(code.parent)
    wrong = list(problems(program, kernels))
    launches = many(len(program.launches), "launch", "launches")
    typer.echo(f"{program.name} on {gfx}, {compute_units} CUs: {launches}, {program.device_bytes:,} bytes")
    for kernel in chain.from_iterable(kernels.values()):
        typer.echo(f"  {_described(kernel)}")
    for each in doubts:
        typer.echo(f"  {each}")
    for each in wrong:
        typer.echo(f"  wrong: {each}")
    if not wrong:
        compared = (
            "launches, arguments and reference fit" if program.reference else "launches fit; no reference"
        )
        typer.echo(f"  {compared}")
    return len(wrong)


def _doubts(codes: list[Path], gfx: str) -> Iterator[str]:
    """What the releases of gem5 that have this GPU are known to do with the instructions of some kernels."""
    from apuflow.configure import load_release, release_names
    from apuflow.configure.catalogue import position
    from apuflow.launcher.defects import suspects
    from apuflow.launcher.unimplemented import missing

    releases = {name: load_release(name) for name in release_names()}
    releases = {
        name: each for name, each in releases.items() if gfx in each.gfx and each.known_by == "sources"
    }
    ordered = sorted(releases, key=lambda name: position(releases[name].options_of))
    build = gpu(gfx).build_target
    lacking = missing(codes, gfx, build, [releases[name].options_of for name in ordered])
    found: dict[str, list[str]] = {}
    for name in ordered:
        said = [f"{each}: gem5 does not execute it" for each in lacking[releases[name].options_of]]
        for text in (*said, *suspects(codes, gfx, releases[name].instruction_defects(gfx))):
            found.setdefault(text, []).append(name)
    for text, names in found.items():
        yield f"on gem5 {', '.join(names)}: {text}"


def _described(kernel: Kernel) -> str:
    arguments = ", ".join(each.type_name or each.kind for each in kernel.given)
    text = (
        f"{kernel.name}({arguments}): {kernel.vector_registers} vector and {kernel.scalar_registers} scalar "
        f"registers, {kernel.lds_bytes} bytes of LDS, {kernel.private_bytes} private"
    )
    return text + (f", {kernel.spilled} registers spilled" if kernel.spilled else "")
