"""``apuflow kernels``: the MIOpen kernels that a configuration needs, and what a database holds of them."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.core.gpus import gpu
from apuflow.core.words import many

if TYPE_CHECKING:
    from apuflow.dnnmark import Direction
    from apuflow.miopen import Row

EXTRA_ROWS = Path(paths.extra_kernels())


class DirectionChoice(StrEnum):
    """Which passes a program runs."""

    FWD = "fwd"
    BWD = "bwd"
    BOTH = "both"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("kernels")(kernels)


def kernels(
    config: Annotated[
        Path | None,
        typer.Argument(
            help="A .dnnmark file, a workload's name, or a kernel list (.csv) in upstream's format."
        ),
    ] = None,
    direction: Annotated[
        DirectionChoice | None, typer.Option(help="Passes to run; default: the workload's, else both.")
    ] = None,
    compute_units: Annotated[
        list[int] | None,
        typer.Option(
            "--num-cus", min=1, max=4096, help="Compute units of the GPU; default: 4; can be repeated."
        ),
    ] = None,
    gfx: Annotated[
        list[str] | None, typer.Option(help="GPU architecture; default: gfx801; can be repeated.")
    ] = None,
    db: Annotated[Path | None, typer.Option(help="A MIOpen kernel database (.ukdb, .kdb).")] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print a kernel list in upstream's format.")] = False,
    add: Annotated[
        list[str] | None,
        typer.Option(help="'PROGRAM.cl, ARGUMENTS': write this row into the list of --rows."),
    ] = None,
    rows: Annotated[
        Path, typer.Option(help="Kernel list that every database of this project gets.")
    ] = EXTRA_ROWS,
    build: Annotated[
        Path | None,
        typer.Option(help="Write a database per GPU and number of compute units to this directory."),
    ] = None,
    sources: Annotated[
        Path | None, typer.Option(help="MIOpen's src/kernels; default: those of configs/site.yaml.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Compilers at a time; default: cores + 1.")] = None,
) -> None:
    """List the kernel objects that MIOpen looks up for CONFIG, or those that a database holds.

    With both, list those that the database lacks (exit status 1 if any). With --add, write down a kernel that
    cannot be derived. With --build, compile with this machine's clang and write databases, as upstream's
    generate_cachefiles.py does in the image; each kernel is compiled once for all of them.
    """
    sizes, gpus = tuple(compute_units or [4]), tuple(gpu(name, "--gfx").name for name in gfx or ["gfx801"])
    if add:
        _add(add, rows)
    elif config is not None:
        from apuflow.miopen import distinct

        passes: Direction | None = None if direction is None else direction.value
        needed = _needed(config, passes, sizes, gpus[0])
        listed = list(distinct(row for rows_of_gpu in needed.values() for row in rows_of_gpu))
        if build is not None:
            _build(needed, gpus, build, sources, jobs)
        elif csv:
            _print_csv(listed)
        elif db is not None:
            _compare(listed, db, gpus[0])
        else:
            _print_rows(listed)
    elif db is not None:
        _print_database(db)
    else:
        raise ConfigError(
            "nothing to list", remedy="name a .dnnmark file, or --db FILE, or both; apuflow kernels --help"
        )


def _needed(
    config: Path, direction: Direction | None, counts: tuple[int, ...], gfx: str
) -> dict[int, list[Row]]:
    """Rows by number of compute units; traps of the network go to standard error."""
    from apuflow.dnnmark import check, parse
    from apuflow.miopen import network_rows
    from apuflow.miopen.row_file import read_rows

    if config.suffix == ".csv":
        return dict.fromkeys(counts, read_rows(config))
    text, workload_direction = _network_text(config)
    network, passes = parse(text, config), direction or workload_direction
    layers: dict[tuple[str, str, str], list[str]] = {}
    for problem in check(network, passes, gfx=gfx):
        layers.setdefault((problem.level, problem.message, problem.remedy), []).append(problem.layer)
    for (level, message, remedy), names in layers.items():
        typer.echo(f"{level}: {', '.join(filter(None, names))}: {message}; fix: {remedy}", err=True)
    return {count: list(network_rows(network, passes, count)) for count in counts}


def _network_text(config: Path) -> tuple[str, Direction]:
    """The text of a file or workload, and the passes that it runs."""
    from apuflow.configure import load_workload, workload_names
    from apuflow.configure.operation_workload import DnnmarkWorkload

    if not config.exists() and str(config) in workload_names():
        workload = load_workload(str(config))
        if not isinstance(workload, DnnmarkWorkload):
            raise ConfigError("this workload has no DNNMark network", key="config", value=str(config))
        return workload.text, workload.direction
    try:
        return config.read_text(encoding="utf-8"), "both"
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(
            f"cannot read the configuration: {reason}",
            file=config,
            remedy=f"name a .dnnmark file or a workload: {', '.join(workload_names()) or 'none here'}",
        ) from None


def _print_rows(rows: list[Row], marks: dict[tuple[str, str], str] | None = None) -> None:
    for row in rows:
        mark = f"{marks[row.key]:8}" if marks else ""
        typer.echo(f"{mark}{row.program}{f'  (layer {row.layer})' if row.layer else ''}\n   {row.arguments}")
    typer.echo(f"{len(rows)} kernel objects", err=True)


def _print_csv(rows: list[Row]) -> None:
    from apuflow.miopen.row_file import format_row

    for row in rows:
        typer.echo(format_row(row))


def _compare(rows: list[Row], db: Path, gfx: str) -> None:
    from apuflow.miopen.database import lacking, read_database

    missing = {row.key for row in lacking(read_database(db), rows, gfx)}
    _print_rows(rows, {row.key: "missing" if row.key in missing else "present" for row in rows})
    if missing:
        typer.echo(f"{db} lacks {len(missing)} of them for {gfx}", err=True)
        raise typer.Exit(1)


def _print_database(db: Path) -> None:
    from apuflow.miopen.database import read_database

    entries = read_database(db)
    for entry in entries:
        sizes = f"{len(entry.blob)} bytes, {entry.compressed_size} compressed"
        typer.echo(f"{entry.name}  ({sizes})\n   {entry.arguments}")
    counts = Counter(entry.gfx for entry in entries)
    summary = ", ".join(f"{count} for {gfx or 'no GPU'}" for gfx, count in sorted(counts.items()))
    typer.echo(f"{len(entries)} kernel objects{f': {summary}' if summary else ''}", err=True)


def _add(texts: list[str], path: Path) -> None:
    from apuflow.miopen.row_file import add_rows, parse_rows

    added = add_rows(path, [row for text in texts for row in parse_rows(text, "--add")])
    typer.echo(f"{many(added, 'row')} added to {path}; databases built from now on hold them")


def _build(
    needed: dict[int, list[Row]],
    gpus: tuple[str, ...],
    directory: Path,
    sources: Path | None,
    jobs: int | None,
) -> None:
    import os

    from apuflow.miopen.compiler import host_compiler
    from apuflow.miopen.database import db_name
    from apuflow.miopen.prepare import directory_identity, plan_database, prepare_databases
    from apuflow.miopen.row_file import project_rows

    compiler, source = host_compiler(), sources or _site_sources()
    plans = [
        plan_database(
            [*rows, *project_rows()],
            gfx,
            count,
            release="command",
            compiler=compiler.identity,
            sources=directory_identity(source),
        )
        for gfx in gpus
        for count, rows in needed.items()
    ]
    built = prepare_databases(
        plans,
        compiler,
        source,
        jobs=jobs or len(os.sched_getaffinity(0)) + 1,
        place=lambda plan: directory / db_name(plan.gfx, plan.compute_units),
    )
    typer.echo(f"{many(len(built.made), 'kernel')} compiled, {len(built.kept)} were there ({compiler.name})")
    for plan in plans:
        typer.echo(f"{directory / db_name(plan.gfx, plan.compute_units)}: {len(plan.objects)} kernel objects")


def _site_sources() -> Path:
    from apuflow.configure import load_site

    given = load_site(Path()).miopen_source
    if given is None:
        raise ConfigError(
            "MIOpen's kernel sources are needed, and their place is not known",
            key="--sources",
            remedy="give --sources the directory src/kernels of MIOpen at rocm-4.0.1, or set miopen_source "
            "in configs/site.yaml",
        )
    return Path(given) / "src/kernels" if (Path(given) / "src/kernels").is_dir() else Path(given)
