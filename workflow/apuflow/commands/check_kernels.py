"""``apuflow check-kernels``: compile kernels of your own and hold them against their workload's file."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from apuflow.commands import KERNELS, app
from apuflow.core.errors import ApuflowError, ConfigError
from apuflow.core.gpus import gpu
from apuflow.core.words import many

if TYPE_CHECKING:
    from apuflow.configure.kernel_workload import KernelsWork
    from apuflow.kernels.metadata import Kernel
    from apuflow.kernels.program import Code, KernelsByCode, OwnProgram
    from apuflow.launcher.defects import DefectName
    from apuflow.launcher.known import Known


@app.command(rich_help_panel=KERNELS)
def check_kernels(
    workloads: list[str] | None = typer.Argument(
        None, help="Workloads of kind kernels; default: all of them."
    ),
    gfx: list[str] | None = typer.Option(
        None, help="GPU architecture; default: gfx801, Triton: gfx90a; can be repeated."
    ),
    compute_units: int = typer.Option(4, "--num-cus", min=1, max=4096, help="Compute units of the GPU."),
    set_: list[str] | None = typer.Option(None, "--set", help="NAME=VALUE: a parameter; can be repeated."),
    run: bool = typer.Option(
        False, "--run", help="Also execute the kernels, without gem5, and compare their outputs."
    ),
    release: str | None = typer.Option(
        None, "--as", help="With --run: with the mistakes of this release of gem5."
    ),
    limit: int = typer.Option(
        2_000_000_000, min=1, help="With --run: wavefront instructions after which a launch is stopped."
    ),
) -> None:
    """Compile the kernels of WORKLOADS and check their launches, arguments, contents and reference.

    Prints registers, LDS and private memory of each kernel, everything that would stop a run before gem5 is
    started, and the instructions that a release of gem5 does not execute, or executes wrongly. A problem of
    one workload leaves the others to be checked. Exit status 1 if anything would stop a run before gem5.
    """
    from apuflow.kernels.sources import compiles_for

    gpus = [gpu(name, "--gfx").name for name in gfx or ()]
    settings = dict(map(_setting, set_ or []))
    found = 0
    for name in workloads or ():
        if "=" in name:
            raise ConfigError("not a workload", key="WORKLOADS", value=name, remedy=f"--set {name}")
    for name in workloads or _named():
        try:
            work = _work(name, settings)
        except ApuflowError as error:
            found += _told(name, error)
            continue
        for each in gpus or [work.usual_gpu]:
            if not workloads and not compiles_for(Path(work.spec.source), each):
                typer.echo(f"{name} on {each}: left out, its compiler does not know this GPU")
                continue
            found += _check(work, each, compute_units, limit if run else None, release)
    if found:
        typer.echo(many(found, "problem"), err=True)
        raise typer.Exit(1)


def _named() -> list[str]:
    """Every workload that is, or may be, of kind kernels."""
    from apuflow.configure import load_workload, workload_names
    from apuflow.configure.kernel_workload import KernelsWorkload

    found = []
    for name in workload_names():
        with suppress(ApuflowError):  # named again where it is loaded
            if not isinstance(load_workload(name), KernelsWorkload):
                continue
        found.append(name)
    return found


def _told(about: str, error: ApuflowError) -> int:
    """Print a problem; how many that are."""
    typer.echo(f"{about}: {error}", err=True)
    return 1


def _work(name: str, settings: Mapping[str, int | str]) -> KernelsWork:
    from apuflow.configure import load_workload
    from apuflow.configure.base import together
    from apuflow.configure.kernel_workload import KernelsWorkload

    workload = load_workload(name)
    if not isinstance(workload, KernelsWorkload):
        remedy = "`apuflow kernels` is for those of MIOpen"
        raise ConfigError("not a workload of kind kernels", key="WORKLOADS", value=name, remedy=remedy)
    errors: list[ConfigError] = []
    work = workload.work(settings, errors.append)
    if work is None:
        raise together(errors)
    return work


def _setting(text: str) -> tuple[str, int | str]:
    from apuflow.kernels.element_types import ELEMENT_TYPES

    name, _, value = text.partition("=")
    if value in ELEMENT_TYPES:
        return name.strip(), value
    try:
        return name.strip(), int(value, 0)
    except ValueError:
        remedy = "NAME=VALUE, a whole number or a type: n=1024, type=half"
        raise ConfigError("not a parameter's value", key="--set", value=text, remedy=remedy) from None


@dataclass
class _Compiled:
    """The code objects of a program, plain and as they are changed for a gem5: each is compiled once."""

    program: OwnProgram
    gfx: str
    stack: ExitStack
    made: dict[tuple[Code, str], Path] = field(default_factory=dict)

    def code(self, code: Code, defects: Collection[DefectName] = ()) -> Path:
        """One of them; raises as ``compiled_meanwhile``."""
        from apuflow.kernels.sources import compiled_meanwhile, own_compiler

        key = code, own_compiler(code.source, self.gfx, defects).identity
        if key not in self.made:
            made = compiled_meanwhile(code.source, code.arguments, self.gfx, defects=defects)
            self.made[key] = self.stack.enter_context(made)
        return self.made[key]

    def codes(self, defects: Collection[DefectName] = ()) -> Mapping[Code, Path]:
        """All of them."""
        return {code: self.code(code, defects) for code in self.program.codes}


def _check(work: KernelsWork, gfx: str, compute_units: int, limit: int | None, release: str | None) -> int:
    """Print what is known of a workload on a GPU; how many problems it has.

    Args:
        limit: most wavefront instructions of a launch; None: launches are not executed.
        release: whose mistakes are made.
    """
    from apuflow.kernels.launches import problems
    from apuflow.kernels.metadata import read_kernels

    about = f"{work.name} on {gfx}"
    kernels: dict[Code, tuple[Kernel, ...]] = {}
    failed = 0
    with ExitStack() as stack:
        try:
            program = work.program(compute_units, gfx)
        except ApuflowError as error:
            return _told(about, error)
        compiled = _Compiled(program, gfx, stack)
        for code in program.codes:
            try:
                kernels[code] = read_kernels(compiled.code(code))
            except ApuflowError as error:
                failed += _told(about, error)
        if failed:
            return failed
        doubts = [*_doubts(compiled), *_registers(compiled, kernels)]
        wrong = list(problems(program, kernels, gpu(gfx).isa))
        some, everywhere = _refused(compiled, kernels)
        doubts, wrong = [*doubts, *some], [*wrong, *everywhere]
        results: list[str] = []
        if limit is not None and not wrong:
            try:
                results, wrong = _executed(compiled, kernels, limit, release)
            except ApuflowError as error:
                failed += _told(about, error)
    launches = many(len(program.launches), "launch", "launches")
    typer.echo(f"{about}, {compute_units} CUs: {launches}, {program.device_bytes:,} bytes")
    fits = "launches, arguments and reference fit" if program.compared else "launches fit; no reference"
    described = map(_described, chain.from_iterable(kernels.values()))
    mistakes = [f"wrong: {each}" for each in wrong] or [fits]
    for text in (*described, *doubts, *mistakes, *results):
        typer.echo(f"  {text}")
    return failed + len(wrong)


def _executed(
    compiled: _Compiled, kernels: KernelsByCode, limit: int, release: str | None
) -> tuple[list[str], list[str]]:
    """Execute the launches: what to say of each kernel and output, and which outputs are wrong."""
    from apuflow.configure import load_release
    from apuflow.forms.objects import not_imitated
    from apuflow.interpret.native import library
    from apuflow.kernels.interpreted import interpret_program
    from apuflow.kernels.reference import tolerance

    program, gfx, codes = compiled.program, compiled.gfx, compiled.codes()
    found = load_release(release) if release else None
    defects = found.instruction_defects(gfx) if found else ()
    began = time.monotonic()
    compiled_part = None if defects else library()
    done, errors = interpret_program(
        program, kernels, codes, gfx, limit=limit, defects=defects, library=compiled_part
    )
    seconds = time.monotonic() - began
    total = sum(each.total for each in done.executed)
    as_release = f" as gem5 {release}" if release else ""
    said = [f"executed{as_release}: {total:,} wavefront instructions in {seconds:.1f} s"]
    unknown = not_imitated(codes.values(), found.known(gfx).tables, defects) if found else ()
    if unknown:
        said.append(f"executed as the GPU does, not as gem5 does: {', '.join(unknown)}")
    wrong: list[str] = []
    for name, error in errors.items():
        if error == 0:
            said.append(f"{name} equals its reference")
            continue
        allowed = tolerance(program, program.output(name))
        told = f"differs from its reference by {error:.2g} of its largest element (allowed {allowed:g})"
        if error <= allowed:
            said.append(f"{name} is right: it {told}")
        else:
            wrong.append(f"{name} {told}")
    return said, wrong


def _doubts(compiled: _Compiled) -> Iterator[str]:
    """What the releases of gem5 that have this GPU are known to do with the instructions of some kernels."""
    from apuflow.configure import load_release, release_names
    from apuflow.configure.catalogue import position

    gfx = compiled.gfx
    releases = [each for each in map(load_release, release_names()) if gfx in each.gfx]
    found: dict[str, list[str]] = {}
    for release in sorted(releases, key=lambda each: position(each.options_of)):
        known = release.known(gfx)
        on = f"{release.name} (as {' and '.join(known.measured_on)})" if known.measured_on else release.name
        for text in _known(compiled, known, release.instruction_defects(gfx)):
            found.setdefault(text, []).append(on)
    for text, known_of in found.items():
        yield f"on gem5 {', '.join(known_of)}: {text}"


def _known(compiled: _Compiled, known: Known, defects: Collection[DefectName]) -> Iterator[str]:
    """What is known of the instructions of kernels, before and after their code is changed."""
    from apuflow.forms.objects import met, told, untried

    before = met(compiled.codes().values(), known.tables, certain=True)
    after = met(compiled.codes(defects).values(), known.tables, certain=True) if before else {}
    yield from told(list(after))
    yield from (
        f"{text}; replaced before it runs" for text in told([row for row in before if row not in after])
    )
    if unknown := untried(compiled.codes(defects).values(), known.tables):
        yield f"not known whether right, as no suite of apuflow conformance tried them: {', '.join(unknown)}"


def _refused(compiled: _Compiled, kernels: KernelsByCode) -> tuple[list[str], list[str]]:
    """What keeps the kernels, with their changes, from running on some and on every release of gem5."""
    from apuflow.configure import load_release, release_names
    from apuflow.kernels.refused import refused

    gfx = compiled.gfx
    if not gpu(gfx).runs_as:
        return [], []
    releases = [each for each in map(load_release, release_names()) if gfx in each.gfx]
    found: dict[str, list[str]] = {}
    for release in releases:
        codes = compiled.codes(release.instruction_defects(gfx))
        tables = release.known(gfx).tables
        for each in refused(compiled.program, kernels, codes, gfx, release.options_of, tables):
            found.setdefault(str(each), []).append(release.name)
    some = [
        f"on gem5 {', '.join(names)}: {text}" for text, names in found.items() if len(names) < len(releases)
    ]
    return some, [text for text, names in found.items() if len(names) == len(releases)]


def _registers(compiled: _Compiled, kernels: KernelsByCode) -> Iterator[str]:
    """What kernels need of the machine that have more registers than gem5 can be asked for."""
    from apuflow.kernels.metadata import find_kernel
    from apuflow.launcher.refusals import needs_more

    for code in compiled.program.codes:
        launches = [each for each in compiled.program.launches if each.code == code]
        names = {find_kernel(kernels[code], each.kernel, code.source).name for each in launches}
        yield from needs_more(compiled.code(code), compiled.gfx, names)


def _described(kernel: Kernel) -> str:
    arguments = ", ".join(each.type_name or each.name or each.kind for each in kernel.given)
    text = (
        f"{kernel.name}({arguments}): {kernel.vector_registers} vector and {kernel.scalar_registers} scalar "
        f"registers, {kernel.lds_bytes} bytes of LDS, {kernel.private_bytes} private"
    )
    return text + (f", {kernel.spilled} registers spilled" if kernel.spilled else "")
