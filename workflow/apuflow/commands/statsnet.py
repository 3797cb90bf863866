"""``apuflow statsnet``: a few operations that stand for whole networks and suites."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from apuflow.core.words import many

if TYPE_CHECKING:
    from rich.console import Console

    from apuflow.statsnet.make import Request, StatsNet

FAILED = 1


def register(app: typer.Typer) -> None:
    """Add ``apuflow statsnet``."""
    app.command("statsnet")(statsnet)


def statsnet(
    name: Annotated[str, typer.Argument(help="of the new suite")],
    settings: Annotated[
        list[str] | None,
        typer.Argument(help="key=value: n, direction, options of the machine whose statistics count"),
    ] = None,
    of: Annotated[list[str] | None, typer.Option(help="suite of the set; several times")] = None,
    layers: Annotated[int, typer.Option(min=1, help="operations at most")] = 20,
    check: Annotated[
        list[str] | None,
        typer.Option(help="suite that takes no part, for the order of machines; several times"),
    ] = None,
    equal: Annotated[
        bool, typer.Option("--equal", help="give every suite of the set the same cycles")
    ] = False,
    bound: Annotated[float, typer.Option(help="largest error of a statistic that is accepted")] = 0.02,
    curve_bound: Annotated[float, typer.Option(help="largest error of the speedup that is accepted")] = 0.03,
    csv: Annotated[Path | None, typer.Option(help="write every number, target and got, to this file")] = None,
    force: Annotated[bool, typer.Option(help="overwrite a suite of this name")] = False,
) -> None:
    """Make a small suite whose statistics are those of networks and suites together.

    At most 20 of their operations, with whole repeats, found by non-negative least squares on the preview's
    numbers. The suite is written only if statistics and speedup over compute units are within their bounds.
    """
    from apuflow.core.errors import ConfigError
    from apuflow.core.files import write_csv
    from apuflow.core.terminal import terminal_console
    from apuflow.statsnet.make import Request, check_free, make, report, write

    names, held_out = tuple(dict.fromkeys(of or ())), tuple(dict.fromkeys(check or ()))
    if not names:
        raise ConfigError("no suite is named", key="--of", remedy="as in --of resnet50 --of deepbench_gemm")
    for key, value in (("--bound", bound), ("--curve-bound", curve_bound)):
        if not 0 < value < 1:
            raise ConfigError("a share lies between 0 and 1", key=key, value=value, remedy="0.02 is 2 %")
    request = Request(names, tuple(settings or ()), layers, equal, held_out, bound, curve_bound)
    check_free(name, force=force)
    made = make(request)
    console = terminal_console()
    _show(made, console)
    write_csv(csv, report(made))
    if not made.holds:
        console.print("not written: more --layers, or wider bounds")
        raise typer.Exit(FAILED)
    for file in write(name, made, _command(name, request)):
        console.print(str(file))


def _command(name: str, request: Request) -> str:
    """The command line that makes this suite."""
    words = ["apuflow statsnet", name, *request.settings, *(f"--of {one}" for one in request.names)]
    words += [f"--layers {request.most}", *(["--equal"] if request.equal else [])]
    return " ".join(words)


def _show(made: StatsNet, console: Console) -> None:
    from rich.table import Table

    from apuflow.core.terminal import number, table_of
    from apuflow.statsnet.make import FITTED, agreement

    mix, found = made.mix, made.operations
    console.print(
        f"{len(mix.repeats)} of {many(len(found.points), 'operation')}, for "
        f"{many(mix.iterations, 'iteration')} of the set. Each run once: {made.cost:.1%} of the cycles of "
        "an iteration."
    )
    if found.left_out:
        console.print(f"not in the set, because no engine runs it: {many(found.left_out, 'step')}.")
    table = Table(box=None, pad_edge=False)
    for heading in ("statistic", "rows", "largest error", "of", "target", "got"):
        table.add_column(heading, justify="left" if heading in ("statistic", "of") else "right")
    for statistic, rows in made.statistics.groupby(level="statistic", sort=False):
        largest = int(rows["error"].abs().argmax())
        worst = rows.iloc[largest]
        table.add_row(
            str(statistic),
            str(len(rows)),
            f"{worst['error']:+.2%}",
            str(rows.index[largest][1]),
            number(worst["target"]),
            number(worst["got"]),
        )
    console.print(table)
    table = table_of((), ("compute units", "speedup of the set", "of the StatsNet", "error"), no_wrap=False)
    for row in made.speedups.reset_index().to_dict("records"):
        fitted = " (fitted)" if row["compute_units"] in FITTED else ""
        table.add_row(
            str(row["compute_units"]),
            number(row["target"]),
            number(row["got"]),
            f"{row['error']:+.2%}{fitted}",
        )
    console.print(table)
    if made.ranking is None:
        return
    for other in made.ranking.columns.drop("statsnet"):
        same, pairs = agreement(made.ranking["statsnet"], made.ranking[other])
        told = f"order of {len(made.ranking)} machines as on {other}: {same} of {pairs} pairs"
        if other != "set":
            alike, of = agreement(made.ranking["set"], made.ranking[other])
            told += f" (the set itself: {alike} of {of})"
        console.print(told)
