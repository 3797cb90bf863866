"""``apuflow schemas``: write what is generated from the typed models: JSON schemas and reference tables."""

from __future__ import annotations

from pathlib import Path

import typer


def register(app: typer.Typer) -> None:
    """Add ``apuflow schemas``."""

    @app.command()
    def schemas(
        directory: str = typer.Option("workflow/schemas", help="where to write them"),
    ) -> None:
        """Write the JSON schemas of all configuration files, and the tables of the documents."""
        from apuflow.configure.reference import refresh
        from apuflow.configure.schemas import schema_texts
        from apuflow.core.files import write_text

        for name in ("configuration", "operations", "networks", "explanation/what-gem5-gets-wrong"):
            document = Path(f"docs/{name}.md")
            if document.exists():
                write_text(document, refresh(document.read_text(encoding="utf-8")))
                typer.echo(document)
        for name, text in schema_texts().items():
            write_text(Path(directory) / name, text)
            typer.echo(Path(directory) / name)
