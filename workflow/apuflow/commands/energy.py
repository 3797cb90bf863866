"""``apuflow energy`` shows the energy of a table or run by part, over files of coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from apuflow.commands import RESULTS, app
from apuflow.commands.output import Csv, Json, give
from apuflow.core.errors import ApuflowError

if TYPE_CHECKING:
    import pandas as pd


@app.command(rich_help_panel=RESULTS)
def energy(
    table: Annotated[Path, typer.Argument(help="A result table (.csv, .parquet) or a run directory.")],
    coefficients: Annotated[
        list[Path] | None,
        typer.Option(
            "--coefficients", help="A file of your own, in the place of apuflow's; several: an interval."
        ),
    ] = None,
    kernels: Annotated[bool, typer.Option("--kernels", help="Of a run: kernel by kernel.")] = False,
    as_json: Json = False,
    csv: Csv = None,
) -> None:
    """Show the energy of each row by part, as an interval over files of coefficients.

    Energies are relative; they were not validated on AMD.
    """
    from apuflow_analysis.energy.coefficients import shipped
    from apuflow_analysis.tables.energy import by_part, sources_of

    sources = sources_of(coefficients) if coefficients else shipped()
    found = by_part(_rows(table, kernels), sources)
    give(found, as_json, csv, lambda: _show(found, [source.title for source in sources]))


def _show(found: pd.DataFrame, titles: Sequence[str]) -> None:
    """Print a line per row of the table, a column per part that takes energy."""
    from apuflow.core.terminal import Entry, stacked, terminal_console
    from apuflow_analysis.energy.coefficients import PARTS
    from apuflow_analysis.energy.formulas import LABEL
    from apuflow_analysis.tables.energy import WHOLE

    named = list(found.columns[: found.columns.get_loc("part")])
    shown = [WHOLE, *(part for part in PARTS if found.loc[found["part"] == part, "high"].max() > 0)]
    scale, unit = _unit(float(found.loc[found["part"] == WHOLE, "high"].max()))
    entries = []
    for key, rows in found.groupby(named, sort=False, dropna=False):
        cells = rows.set_index("part")[["low", "high"]].astype(float)
        told = ", ".join(str(value) for value in key if value not in ("", None))
        entries.append(Entry(told, [_cell(cells["low"][part], cells["high"][part], scale) for part in shown]))
    console = terminal_console()
    console.print(stacked([f"{part} ({unit})" for part in shown], entries))
    console.print(f"{LABEL}. Interval over {'; '.join(titles)}.")


def _rows(path: Path, kernels: bool) -> pd.DataFrame:
    """The rows with counters of a table, a run or its kernels."""
    if path.is_dir():
        if kernels:
            from apuflow.results.kernels import run_kernels

            return run_kernels(path)[0]
        from apuflow_analysis.tables.tables import build

        return build([path])
    if kernels:
        remedy = "give a run directory, as runs/gem5-kernels/WORKLOAD/POINT"
        raise ApuflowError("a table has no kernels", file=path, key="--kernels", remedy=remedy)
    from apuflow_analysis.tables.store import read

    return read(path)


def _unit(largest: float) -> tuple[float, str]:
    """A unit in which the largest energy has one to three digits before the point."""
    units = ((1.0, "J"), (1e-3, "mJ"), (1e-6, "uJ"), (1e-9, "nJ"))
    return next((one for one in units if largest >= one[0]), units[-1])


def _cell(low: float, high: float, scale: float) -> str:
    low, high = low / scale, high / scale
    if low != low or high != high:
        return "-"
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
