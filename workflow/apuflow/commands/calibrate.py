"""``apuflow calibrate``: the preview's constants of a gem5 release, fitted to runs of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("calibrate")(calibrate)


def calibrate(
    release: Annotated[str, typer.Argument(help="a gem5 release: a file of configs/gem5")],
    tables: Annotated[
        list[Path] | None,
        typer.Argument(
            help="results/SWEEP/WORKLOAD.csv with runs of it; default: those of sweep calibration"
        ),
    ] = None,
) -> None:
    """Fit the preview's constants to runs of RELEASE, and write them into its file.

    Without tables those of sweep calibration are taken (for another release than its own, of a copy of it);
    if they are not there, the command that makes them is printed. A third of the runs, by their names, is
    held out: the constants change only if the error on them falls by a tenth or more.
    """
    from apuflow.configure.base import check_name
    from apuflow.configure.loading import release_names
    from apuflow.core import paths
    from apuflow.core.words import many
    from apuflow.study import calibration_file
    from apuflow.study.calibrate import calibrate as fit

    root = Path()
    check_name(release, "gem5 release", release_names(root))
    if not tables:
        sweep = calibration_file.sweep_of_release(release, root)
        tables = sorted(Path(paths.RESULTS, sweep).glob("*.csv"))
        if not tables:
            typer.echo(f"no runs of {release} yet. Make them, then call this again:")
            typer.echo(f"  snakemake --cores all results/{sweep}/report.html")
            raise typer.Exit(1)
    frame, hashes, refused = calibration_file.proven_runs(release, tables)
    for reason, count in refused.items():
        typer.echo(f"left out: {reason} ({many(count, 'run')})")
    found = fit(frame)
    file = calibration_file.write_calibration(release, found, hashes, root)
    typer.echo(f"{many(len(found.runs), 'run')} of {release}; mean error of GPU cycles, before and after:")
    for name, errors in (("fitted to", found.fitted), ("held out", found.held_out)):
        typer.echo(f"  {name:10} {errors.before:6.1%} {errors.after:6.1%}")
    typer.echo(
        "the constants of v23.0 stay: others are not clearly better" if found.kept else "new constants"
    )
    typer.echo(str(file))
