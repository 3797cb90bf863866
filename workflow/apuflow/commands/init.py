"""``apuflow init DIR``: a project to work in, outside of a checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from apuflow.core.words import many


def register(app: typer.Typer) -> None:
    """Add ``apuflow init``."""

    @app.command()
    def init(
        directory: Annotated[Path, typer.Argument(help="the project's directory; made if it does not exist")],
    ) -> None:
        """Write a project: Snakefile, profiles, configuration to start from. What is there already stays."""
        from apuflow.core import project

        written = project.new_project(directory)
        typer.echo(f"{directory}: {many(len(written), 'file')} written")
        typer.echo(f"next: cd {directory} && snakemake --cores all results/quickstart/report.html")
