"""``apuflow kernels``: the MIOpen kernels that a configuration needs, and what a database holds of them."""

from __future__ import annotations

import os
from collections import Counter
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from apuflow.commands import KERNELS, app
from apuflow.commands.output import Csv, Json, give
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.core.gpus import gpu
from apuflow.core.words import many

if TYPE_CHECKING:
    from apuflow.dnnmark import Direction
    from apuflow.miopen import Row
    from apuflow.miopen.database import DatabasePlan

EXTRA_ROWS = Path(paths.extra_kernels())


class DirectionChoice(StrEnum):
    """Which passes a program runs."""

    FWD = "fwd"
    BWD = "bwd"
    BOTH = "both"


@app.command(rich_help_panel=KERNELS)
def kernels(
    config: Path | None = typer.Argument(
        None, help="A .dnnmark file, a workload's name, or a kernel list (.csv) in upstream's format."
    ),
    direction: DirectionChoice | None = typer.Option(
        None, help="Passes to run; default: the workload's, else both."
    ),
    compute_units: list[int] | None = typer.Option(
        None, "--num-cus", min=1, max=4096, help="Compute units of the GPU; default: 4; can be repeated."
    ),
    gfx: list[str] | None = typer.Option(None, help="GPU architecture; default: gfx801; can be repeated."),
    db: Path | None = typer.Option(None, help="A MIOpen kernel database (.ukdb, .kdb)."),
    upstream: bool = typer.Option(
        False, "--kernel-list", help="Print a kernel list in upstream's format, as CONFIG can be."
    ),
    add: list[str] | None = typer.Option(
        None, help="'PROGRAM.cl, ARGUMENTS': write this row into the list of --rows."
    ),
    rows: Path = typer.Option(EXTRA_ROWS, help="Kernel list that every database of this project gets."),
    build: Path | None = typer.Option(
        None, help="Write a database per GPU and number of compute units to this directory."
    ),
    sources: Path | None = typer.Option(
        None, help="MIOpen's src/kernels; default: those of configs/site.yaml."
    ),
    jobs: int | None = typer.Option(None, min=1, help="Compilers at a time; default: cores + 1."),
    as_json: Json = False,
    csv: Csv = None,
) -> None:
    """List the kernel objects that MIOpen looks up for CONFIG, or those that a database holds.

    With both, list those that the database lacks (exit status 1 if any). With --add, write down a kernel that
    cannot be derived. With --build, compile with this machine's clang and write databases, as upstream's
    generate_cachefiles.py does in the image; each kernel is compiled once for all of them.
    """
    sizes, gpus = tuple(compute_units or [4]), tuple(gpu(name, "--gfx").name for name in gfx or ["gfx801"])
    if add:
        from apuflow.miopen.row_file import add_rows, parse_rows

        added = add_rows(rows, [row for text in add for row in parse_rows(text, "--add")])
        typer.echo(f"{many(added, 'row')} added to {rows}; databases built from now on hold them")
    elif config is not None:
        from apuflow.miopen import distinct

        passes: Direction | None = None if direction is None else direction.value
        needed = _needed(config, passes, sizes, gpus[0])
        listed = list(distinct(row for rows_of_gpu in needed.values() for row in rows_of_gpu))
        if build is not None:
            _build(needed, gpus, build, sources, jobs)
        elif upstream:
            from apuflow.miopen.row_file import format_row

            for row in listed:
                typer.echo(format_row(row))
        elif db is not None:
            _compare(listed, db, gpus[0], as_json, csv)
        else:
            give([row._asdict() for row in listed], as_json, csv, lambda: _print_rows(listed))
    elif db is not None:
        _print_database(db, as_json, csv)
    else:
        remedy = "name a .dnnmark file, or --db FILE, or both; apuflow kernels --help"
        raise ConfigError("nothing to list", remedy=remedy)


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
        remedy = f"name a .dnnmark file or a workload: {', '.join(workload_names()) or 'none here'}"
        raise ConfigError(f"cannot read the configuration: {reason}", file=config, remedy=remedy) from None


def _print_rows(rows: list[Row], marks: dict[tuple[str, str], str] | None = None) -> None:
    for row in rows:
        mark = f"{marks[row.key]:8}" if marks else ""
        typer.echo(f"{mark}{row.program}{f'  (layer {row.layer})' if row.layer else ''}\n   {row.arguments}")
    typer.echo(f"{len(rows)} kernel objects", err=True)


def _compare(rows: list[Row], db: Path, gfx: str, as_json: bool, csv: Path | None) -> None:
    from apuflow.miopen.database import lacking, read_database

    missing = {row.key for row in lacking(read_database(db), rows, gfx)}
    marks = {row.key: "missing" if row.key in missing else "present" for row in rows}
    table = [{"state": marks[row.key], **row._asdict()} for row in rows]
    give(table, as_json, csv, lambda: _print_rows(rows, marks))
    if missing:
        typer.echo(f"{db} lacks {len(missing)} of them for {gfx}", err=True)
        raise typer.Exit(1)


def _print_database(db: Path, as_json: bool, csv: Path | None) -> None:
    from apuflow.miopen.database import read_database

    entries = read_database(db)

    def show() -> None:
        for entry in entries:
            sizes = f"{len(entry.blob)} bytes, {entry.compressed_size} compressed"
            typer.echo(f"{entry.name}  ({sizes})\n   {entry.arguments}")

    rows = [
        {"program": entry.name, "arguments": entry.arguments, "gfx": entry.gfx}
        | {"bytes": len(entry.blob), "compressed_bytes": entry.compressed_size}
        for entry in entries
    ]
    give(rows, as_json, csv, show)
    counts = Counter(entry.gfx for entry in entries)
    summary = ", ".join(f"{count} for {gfx or 'no GPU'}" for gfx, count in sorted(counts.items()))
    typer.echo(f"{len(entries)} kernel objects{f': {summary}' if summary else ''}", err=True)


def _build(
    needed: dict[int, list[Row]],
    gpus: tuple[str, ...],
    directory: Path,
    sources: Path | None,
    jobs: int | None,
) -> None:
    from apuflow.miopen.compiler import host_compiler
    from apuflow.miopen.database import db_name, plan_database, prepare_databases
    from apuflow.miopen.row_file import project_rows

    compiler, source = host_compiler(), sources or _site_sources()
    plan = partial(plan_database, release="command", compiler=compiler.identity, sources=source)
    plans = [plan([*rows, *project_rows()], gfx, count) for gfx in gpus for count, rows in needed.items()]

    def place(database: DatabasePlan) -> Path:
        return directory / db_name(database.gfx, database.compute_units)

    jobs = jobs or len(os.sched_getaffinity(0)) + 1
    built = prepare_databases(plans, compiler, source, jobs=jobs, place=place)
    typer.echo(f"{many(len(built.made), 'kernel')} compiled, {len(built.kept)} were there ({compiler.name})")
    for database in plans:
        typer.echo(f"{place(database)}: {len(database.objects)} kernel objects")


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
    kernels = Path(given) / "src/kernels"
    return kernels if kernels.is_dir() else Path(given)
