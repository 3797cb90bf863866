"""``apuflow kernels``: the MIOpen kernels that a configuration needs, and what a database holds of them."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from apuflow import paths
from apuflow.errors import ConfigError

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
    num_cus: Annotated[int, typer.Option(min=1, max=4096, help="Compute units of the GPU.")] = 4,
    gfx: Annotated[
        str, typer.Option(help="GPU architecture, for warnings and the comparison with --db.")
    ] = "gfx801",
    db: Annotated[Path | None, typer.Option(help="A MIOpen kernel database (.ukdb, .kdb).")] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print a kernel list in upstream's format.")] = False,
    add: Annotated[
        list[str] | None,
        typer.Option(help="'PROGRAM.cl, ARGUMENTS': write this row into the list of --rows."),
    ] = None,
    rows: Annotated[
        Path, typer.Option(help="Kernel list that every database of this project gets.")
    ] = EXTRA_ROWS,
) -> None:
    """List the kernel objects that MIOpen looks up for CONFIG, or those that a database holds.

    With both, say which ones the database lacks (exit status 1 if any). With --add, write down a kernel that
    cannot be derived.
    """
    if add:
        _add(add, rows)
    elif config is not None:
        needed = _needed(config, None if direction is None else direction.value, num_cus, gfx)
        if csv:
            _print_csv(needed)
        elif db is not None:
            _compare(needed, db, gfx)
        else:
            _print_rows(needed)
    elif db is not None:
        _print_database(db)
    else:
        raise ConfigError(
            "nothing to list", remedy="name a .dnnmark file, or --db FILE, or both; apuflow kernels --help"
        )


def _needed(config: Path, direction: Direction | None, num_cus: int, gfx: str) -> list[Row]:
    from apuflow.dnnmark import check, parse
    from apuflow.miopen import network_rows
    from apuflow.miopen.extra import read_rows

    if config.suffix == ".csv":
        return read_rows(config)
    text, workload_direction = _network_text(config)
    network, passes = parse(text, config), direction or workload_direction
    layers: dict[tuple[str, str, str], list[str]] = {}
    for problem in check(network, passes, gfx=gfx):
        layers.setdefault((problem.level, problem.message, problem.remedy), []).append(problem.layer)
    for (level, message, remedy), names in layers.items():
        typer.echo(f"{level}: {', '.join(filter(None, names))}: {message}; fix: {remedy}", err=True)
    return list(network_rows(network, passes, num_cus))


def _network_text(config: Path) -> tuple[str, Direction]:
    """The text of a file or workload, and the passes that it runs."""
    from apuflow.config import load_workload, workload_names

    if not config.exists() and str(config) in workload_names():
        workload = load_workload(str(config))
        if workload.config_text is None or workload.direction is None:
            raise ConfigError("this workload has no DNNMark network", key="config", value=str(config))
        return workload.config_text, workload.direction
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
    from apuflow.miopen.extra import format_row

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
    from apuflow.miopen.extra import add_rows, parse_rows

    added = add_rows(path, [row for text in texts for row in parse_rows(text, "--add")])
    typer.echo(f"{added} rows added to {path}; databases built from now on hold them")
