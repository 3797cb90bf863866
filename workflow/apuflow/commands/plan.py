"""``apuflow plan SWEEP``: the points of a sweep, what is already there, and what the rest will cost."""

from __future__ import annotations

import json
from pathlib import Path

import typer


def register(app: typer.Typer) -> None:
    """Add ``apuflow plan``."""

    @app.command()
    def plan(
        sweep: str = typer.Argument(help="name of a sweep: a file of configs/sweeps without .yaml"),
        workload: str = typer.Argument("", help="show only this workload, with every point"),
        as_json: bool = typer.Option(False, "--json", help="print JSON"),
    ) -> None:
        """Show a sweep's points, what is already there, and an estimate of time and memory."""
        from apuflow.preflight.plan import plan_sweep

        result = plan_sweep(sweep, workload or None, Path())
        if as_json:
            typer.echo(json.dumps(result.as_json(), indent=2))
        else:
            from apuflow.preflight.text import show

            show(result, every_point=bool(workload))
