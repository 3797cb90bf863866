"""The ``apuflow`` command: finds the modules of ``apuflow.commands`` and turns our errors into messages."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import typer

from apuflow import __version__, commands
from apuflow.core.errors import DescribedError


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"apuflow {__version__}")
        raise typer.Exit


@commands.app.callback()
def _options(
    version: bool = typer.Option(False, "--version", is_eager=True, callback=_version, help="print it"),
) -> None:
    """Options of ``apuflow`` itself; what they do is done by their callbacks."""


def build_app() -> typer.Typer:
    """The application with every command."""
    for module in pkgutil.iter_modules(commands.__path__):
        importlib.import_module(f"{commands.__name__}.{module.name}")
    return commands.app


def main() -> None:
    """Entry point. Exit status 2: the user's input is wrong; 1: the command says that something failed."""
    try:
        build_app()()
    except DescribedError as error:
        print(f"apuflow: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except (IsADirectoryError, NotADirectoryError, PermissionError) as error:
        place = error.filename2 or error.filename
        print(f"apuflow: {error.strerror}\n  file:  {place}\n  fix:   name another file", file=sys.stderr)
        raise SystemExit(2) from None
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(0) from None


if __name__ == "__main__":
    main()
