"""``apuflow ask``: a quick question to the preview, without a sweep file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import pandas as pd

    from apuflow.configure import Sweep

SHOWN = ("gpu_cycles", "ipc", "occupancy", "valu_utilization", "bound")
MAX_ROWS = 100
MOST_EXPLAINED = 8


def register(app: typer.Typer) -> None:
    """Add ``apuflow ask``."""
    app.command("ask")(ask)


def ask(
    workloads: Annotated[
        str, typer.Argument(help="names or patterns of workloads, names of suites, with commas between")
    ],
    settings: Annotated[
        list[str] | None,
        typer.Argument(
            help="key=value or key=value,value: apu_se.py options, layer keys, machine, release, products"
        ),
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option("--column", "-c", help="counter or metric to show; several times")
    ] = None,
    why: Annotated[
        bool,
        typer.Option("--why", help=f"say what the cycles are made of, for {MOST_EXPLAINED} points at most"),
    ] = False,
    csv: Annotated[Path | None, typer.Option(help="write the whole table here")] = None,
    save: Annotated[str, typer.Option(help="keep the question as a sweep of this name")] = "",
    force: Annotated[bool, typer.Option(help="let --save overwrite a sweep")] = False,
) -> None:
    """Print the preview's answer: apuflow ask conv_fwd num-compute-units=4,16,64 n=1,10."""
    from apuflow.ask import question as asking
    from apuflow.core.errors import ApuflowError, ConfigError
    from apuflow.core.files import write_csv
    from apuflow.preflight.plan import of_preview
    from apuflow_analysis.tables.cliffs import cliff_texts
    from apuflow_analysis.tables.columns import PRODUCTS
    from apuflow_analysis.tables.tables import AXES

    if not workloads.strip(", "):
        raise ConfigError(
            "no workload is named", key="workloads", value=workloads, remedy="such as conv_fwd or 'pool_*'"
        )
    content = asking.described(workloads, settings or [])
    sweep = asking.question(content)
    frame = asking.answer(sweep)
    shown = tuple(column or SHOWN)
    for name in shown:
        if name not in frame.columns:
            raise ApuflowError(
                "no such column",
                key="--column",
                value=name,
                remedy="docs/metrics.md lists counters and metrics",
            )
    if frame[PRODUCTS].nunique() > 1:
        shown = tuple(dict.fromkeys((*shown, PRODUCTS)))
    axes = [str(name) for name in frame.attrs.get(AXES, ())] or [
        name.replace("-", "_") for name in (*sweep.axes,)
    ]
    _show(frame, [*(["workload"] if frame["workload"].nunique() > 1 else []), *axes], shown)
    if told := of_preview(frame, sweep, Path()):
        typer.echo(f"matrix products: {told}")
    for text in cliff_texts(frame, axes):
        typer.echo(f"steep step: {text}")
    if why:
        _explain(sweep)
    write_csv(csv, frame)
    if save:
        path = asking.save(content, save, force=force)
        print(f"{path}\nnext: apuflow plan {save}")


def _explain(sweep: Sweep) -> None:
    from apuflow.ask.why import why
    from apuflow.core.errors import ConfigError
    from apuflow.plan.points import points, sweep_workloads

    asked = [point for name in sweep_workloads(sweep) for point in points(sweep, name)]
    if len(asked) > MOST_EXPLAINED:
        raise ConfigError(
            f"explains {MOST_EXPLAINED} points at most",
            key="--why",
            value=len(asked),
            remedy="ask for fewer values",
        )
    for point in asked:
        typer.echo(f"\n{point.workload} {point.label}:" if len(asked) > 1 else "")
        for line in why(point):
            typer.echo(line)


def _show(frame: pd.DataFrame, axes: list[str], columns: tuple[str, ...]) -> None:
    from apuflow.core.terminal import blocks, interval, number, terminal_console
    from apuflow_analysis.tables.columns import INTERVAL

    shown = frame.head(MAX_ROWS)
    cells = {name.removeprefix("layer."): [str(value) for value in shown[name]] for name in axes}
    for name in columns:
        cells[name] = [number(value) for value in shown[name]]
        if name == "gpu_cycles" and {*INTERVAL} <= {*frame.columns}:
            cells["interval of cycles"] = [interval(row) for row in shown.to_dict("records")]
    console = terminal_console()
    console.print(blocks([*cells], [*zip(*cells.values(), strict=True)], len(axes), console.width))
    if len(frame) > MAX_ROWS:
        console.print(f"and {len(frame) - MAX_ROWS} more rows: --csv FILE writes them all")
