"""``apuflow suites`` and ``apuflow network``: what suites there are, and tables of networks of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add ``apuflow suites`` and ``apuflow network``."""
    app.command("suites")(suites)
    app.command("network")(network)


def suites(name: Annotated[str, typer.Argument(help="show everything about this suite")] = "") -> None:
    """List the suites: what each is, how much of it engines run, and why not the rest."""
    from apuflow.configure.loading import suite_names
    from apuflow.configure.suite import load_suite
    from apuflow.core.terminal import table_of, terminal_console
    from apuflow.suites.suite import details, overview

    console = terminal_console()
    root = Path()
    if name:
        console.print(details(load_suite(name, root)))
        return
    table = table_of(("suite", "kind"), ("steps", "distinct", "not run"), ("what",))
    for known in suite_names(root):
        table.add_row(*overview(load_suite(known, root)))
    console.print(table)
    console.print(
        "\nsteps: of all directions; distinct: operations, a point each. apuflow suites NAME says what is "
        "not run and why."
    )


def network(
    model: Annotated[
        str, typer.Argument(help="an ONNX file, or package.module:Name (file.py:Name) of a PyTorch module")
    ],
    name: Annotated[str, typer.Argument(help="of the new network and its suite")],
    shape: Annotated[str, typer.Option(help="of one input of a PyTorch module")] = "1x3x224x224",
    n: Annotated[int, typer.Option(min=1, help="images of an iteration")] = 1,
) -> None:
    """Make a network of your own from an ONNX file or a PyTorch module: a table of its layers, and a suite.

    Weights are not read. ONNX files need the library onnx, modules need torch: optional extras of apuflow.
    """
    from apuflow.core.terminal import terminal_console
    from apuflow.workloads.network import add_network

    files, said = add_network(model, name, shape, n, Path())
    console = terminal_console()
    for file in files:
        console.print(str(file))
    console.print(said)
