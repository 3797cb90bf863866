"""``apuflow schemas``: write the JSON schemas that editors check configuration files with."""

from __future__ import annotations

from pathlib import Path

import typer


def register(app: typer.Typer) -> None:
    @app.command()
    def schemas(
        directory: str = typer.Option("workflow/schemas", help="where to write them"),
    ) -> None:
        """Write the JSON schemas of all configuration files, from the typed models."""
        from apuflow.config.schemas import schema_texts
        from apuflow.files import write_text

        for name, text in schema_texts().items():
            write_text(Path(directory) / name, text)
            typer.echo(Path(directory) / name)
