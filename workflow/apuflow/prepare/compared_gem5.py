"""``python -m apuflow.prepare.compared_gem5 GEM5 NAME``: add a gem5 to those compared.

Runs with and without the quick pipeline must have written the same statistics (docs/development.md).
"""

from __future__ import annotations

from pathlib import Path

import typer

from apuflow.core.errors import ApuflowError
from apuflow.prepare import quick_pipeline


def main(gem5: Path, name: str) -> None:
    """Add the files of the checkout GEM5 under a known NAME."""
    try:
        quick_pipeline.add(gem5, name)
    except ApuflowError as error:
        typer.echo(f"apuflow: {error}", err=True)
        raise typer.Exit(1) from None


if __name__ == "__main__":
    typer.run(main)
