"""``apuflow correlate``: modelled times beside measured ones."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from apuflow.commands import CHECK, app, complete
from apuflow.commands.output import Csv, Json, give
from apuflow.core.engines import EngineName
from apuflow.core.words import many

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from apuflow.correlate.compared import Compared
    from apuflow.correlate.hardware import Gpu
    from apuflow.correlate.summary import Errors


@app.command(rich_help_panel=CHECK)
def correlate(
    places: list[str] = typer.Argument(
        metavar="PLACE...", help="machines, for the preview; or sweeps that ran"
    ),
    measured: Path | None = typer.Option(
        None, help="measured times, CSV: workload, parameters, time_us; or what gpu_perf_scripts writes"
    ),
    engine: str | None = typer.Option(None, help="whose rows of a sweep: preview or gem5-kernels"),
    release: str = typer.Option(
        "v24.1", help="gem5 release of the preview's machine", autocompletion=complete.release
    ),
    budget: float = typer.Option(
        4.0,
        min=0.001,
        help="millions of wavefront instructions to execute for a size at most; larger are left out",
    ),
    out: Path = typer.Option(Path("results/correlate"), help="directory of tables and figures"),
    as_json: Json = False,
    csv: Csv = None,
) -> None:
    """Put modelled times beside times that were measured on a real GPU, by default an MI300A's.

    On a machine the preview models the second run of what was measured. A sweep's tables have first runs.
    Written are PLACE-ENGINE.csv, .svg and .png, and PLACE-ENGINE-errors.csv.
    """
    import pandas as pd

    from apuflow.core import project
    from apuflow.core.terminal import terminal_console
    from apuflow.correlate.compared import compare
    from apuflow.correlate.hardware import read_gpu
    from apuflow.correlate.measured import read

    file = measured or project.place("data/silicon") / "mi300a.csv"
    times, gpu = read(file), read_gpu(file)
    named = f"{gpu.gpu} ({file.name})" if gpu else str(file)
    chosen, most = _engine(engine), round(budget * 1e6)
    found = [compare(each, times, engine=chosen, release=release, budget=most) for each in places]
    written = [path for each in found for path in _write(each, out, named)]

    def show() -> None:
        console = terminal_console()
        for each in found:
            console.print(f"{each.place}, engine {each.engine}, beside {named}")
            _show(each, console)
            _show_differences(each, gpu, console)

    give(pd.concat([each.table.assign(place=each.place) for each in found]), as_json, csv, show)
    typer.echo("written: " + ", ".join(map(str, written)), err=as_json)


def _engine(name: str | None) -> EngineName | None:
    from apuflow.configure.base import listing
    from apuflow.core.engines import ENGINES
    from apuflow.core.errors import ConfigError

    for known in ENGINES:
        if name == known:
            return known
    if name is not None:
        raise ConfigError(
            "no such engine", key="--engine", value=name, remedy=f"one of {listing([*ENGINES])}"
        )
    return None


def _rows(found: Compared) -> list[tuple[str, str, Errors, Errors, pd.DataFrame]]:
    """Errors of all rows and of each group, of kernels alone and with the overhead."""
    from apuflow.correlate.summary import errors, groups

    parts = [("all", "all", found.table), *groups(found.table)]
    return [
        (kind, name, errors(part, "modelled_us"), errors(part, "modelled_with_overhead_us"), part)
        for kind, name, part in parts
    ]


def _show(found: Compared, console: Console) -> None:
    from apuflow.core.terminal import table_of
    from apuflow.correlate.summary import rank

    first, later = found.launching.first * 1e6, found.launching.later * 1e6
    run = (
        "first runs, caches and TLBs empty"
        if found.first
        else "second runs, caches and TLBs as the first left them"
    )
    console.print(f"modelled: {many(len(found.table), 'measurement')}, {run}")
    console.print(
        f"launch overhead, at most: {first:.2f} us (shortest single launch), "
        f"{later:.2f} us for each launch after it (least of the rows with several)"
    )
    numbers = (
        "rows",
        "WMAPE",
        "with overhead",
        "bias",
        "with overhead",
        "within 2x",
        "with overhead",
        "rank, with overhead",
    )
    shown = table_of(("by", ""), numbers)
    for kind, name, alone, added, _ in _rows(found):
        cells = (
            *(f"{alone.wmape:.1%}", f"{added.wmape:.1%}", f"{alone.bias:+.1%}", f"{added.bias:+.1%}"),
            *(f"{alone.within_two:.0%}", f"{added.within_two:.0%}", _correlation(added.rank)),
        )
        shown.add_row(kind, name, str(alone.rows), *cells)
    console.print(shown)
    orders = (
        *(("kernels alone", "modelled_us"), ("with overhead", "modelled_with_overhead_us")),
        *(
            ("vector lane operations alone", "lane_operations"),
            ("bytes of the launches' buffers alone", "bytes"),
        ),
        ("number of launches alone", "launches"),
    )
    told = ", ".join(f"{name} {_correlation(rank(found.table, column))}" for name, column in orders)
    console.print(f"rank correlation with the measured times: {told}")
    for why, count in Counter(each.why for each in found.left_out).items():
        console.print(f"left out: {many(count, 'measurement')}: {why}")


def _correlation(value: float | None) -> str:
    return "-" if value is None else f"{round(value, 3) + 0.0:.3f}"


def _show_differences(found: Compared, gpu: Gpu | None, console: Console) -> None:
    from apuflow.core.terminal import table_of
    from apuflow.correlate.hardware import differences

    shown = table_of(("not alike", "measured GPU", "machine"), (), ("nearest options",))
    for each in differences(found.point, gpu):
        shown.add_row(*each)
    console.print(shown)


def _write(found: Compared, out: Path, named: str) -> list[Path]:
    """Table, figure and errors of a place; the files that were written."""
    import pandas as pd

    from apuflow.core.files import write_csv
    from apuflow_analysis.figures.correlation import write_correlation

    stem = out / f"{found.place}-{found.engine}"
    notes = [
        f"measured: {named}; modelled: {found.place}, engine {found.engine}",
        f"{len(found.table)} measurements; left out: {len(found.left_out)}",
    ]
    paths = write_correlation(found.table, notes, stem)
    rows = [
        {
            "by": kind,
            "part": name,
            **alone._asdict(),
            **{f"{key}_with_overhead": value for key, value in added._asdict().items() if key != "rows"},
        }
        for kind, name, alone, added, _ in _rows(found)
    ]
    summary = stem.with_name(f"{stem.name}-errors.csv")
    write_csv(summary, pd.DataFrame(rows))
    return [*paths, summary]
