"""``apuflow retry``: allow recorded failures another try."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add ``apuflow retry``."""

    @app.command()
    def retry(
        sweep: str = typer.Argument("", help="only points of this sweep; default: every recorded failure"),
        workload: str = typer.Option("", help="only this workload"),
        status: Annotated[
            list[str] | None, typer.Option(help="only this outcome, such as timeout; may be repeated")
        ] = None,
        dry_run: bool = typer.Option(False, "--dry-run", "-n", help="list them and change nothing"),
    ) -> None:
        """Allow failed points of sweeps with `on_failure: record` another try. Logs and evidence stay."""
        from apuflow.results.retry import recorded_failures, release_for_rerun

        root = Path()
        failures = recorded_failures(
            root, sweep=sweep or None, workload=workload or None, outcomes=status or ()
        )
        chosen = list(failures)
        for run in chosen:
            typer.echo(f"{run.outcome:20} {run.engine}/{run.workload}/{run.point}: {run.detail[:100]}")
            if not dry_run:
                release_for_rerun(root, run)
        if not chosen:
            typer.echo("no recorded failure")
        elif dry_run:
            typer.echo(f"{len(chosen)} would be tried again")
        else:
            typer.echo(
                f"{len(chosen)} will be tried again when the workflow is started once more; "
                "tables, figures and reports that showed them are made again"
            )
