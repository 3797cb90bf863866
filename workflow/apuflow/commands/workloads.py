"""``apuflow workloads``, ``suites`` and ``network``: what can be run, and networks of one's own."""

from __future__ import annotations

from pathlib import Path

import typer

from apuflow.commands import app
from apuflow.core.errors import ConfigError


@app.command()
def workloads(name: str = typer.Argument("", help="show everything about this workload")) -> None:
    """List the workloads: what each needs, and which engines can run it."""
    from apuflow.configure import load_workload, workload_names
    from apuflow.configure.base import together
    from apuflow.core.engines import ENGINES
    from apuflow.core.terminal import table_of, terminal_console
    from apuflow.engines import runs_on

    console = terminal_console()
    if name:
        console.print(_details(name))
        return
    table = table_of(("workload", *ENGINES, "needs"), (), ("what",))
    names = workload_names()
    if not names:
        remedy = "run it in the project's directory, beside configs/"
        raise ConfigError("there is no workload here", remedy=remedy)
    mistakes: list[ConfigError] = []
    for shown in names:
        try:
            workload = load_workload(shown)
        except ConfigError as error:
            mistakes.append(error)
            continue
        states = [runs_on(workload, engine).state for engine in ENGINES]
        table.add_row(shown, *states, " ".join(workload.needs) or "-", workload.description)
    console.print(table)
    console.print(
        "\nyes: tested upstream or nothing against it   unproven: nothing known for or against   "
        "no: fails.  apuflow workloads NAME says why."
    )
    if mistakes:
        raise together(mistakes)


def _details(name: str) -> str:
    """Everything about one workload, as text."""
    from apuflow.configure import load_workload
    from apuflow.core.engines import ENGINES
    from apuflow.engines import runs_on

    workload = load_workload(name)
    lines = [f"{name}: {workload.description}", f"program: {workload.program}"]
    for engine in ENGINES:
        runs = runs_on(workload, engine)
        lines.append(f"{engine}: {runs.state} ({runs.reason})")
    if workload.notes:
        lines.append(f"note: {workload.notes}")
    return "\n".join([*lines, *workload.about()])


@app.command()
def suites(name: str = typer.Argument("", help="show everything about this suite")) -> None:
    """List the suites: what each is, how much of it engines run, and why not the rest."""
    from apuflow.configure.loading import suite_names
    from apuflow.configure.suite import load_suite
    from apuflow.core.terminal import table_of, terminal_console
    from apuflow.suites.suite import details, overview

    console = terminal_console()
    if name:
        console.print(details(load_suite(name, Path())))
        return
    table = table_of(("suite", "kind"), ("steps", "distinct", "not run"), ("what",))
    for known in suite_names():
        table.add_row(*overview(load_suite(known, Path())))
    console.print(table)
    console.print(
        "\nsteps: of all directions; distinct: operations, a point each. apuflow suites NAME says what is "
        "not run and why."
    )


@app.command()
def network(
    model: str = typer.Argument(
        help="an ONNX file, or package.module:Name (file.py:Name) of a PyTorch module"
    ),
    name: str = typer.Argument(help="of the new network and its suite"),
    shape: str = typer.Option(
        "nx3x224x224",
        help="of the inputs of a PyTorch module; names are open sizes: nxsequence:int64, nxsequence=64x768",
    ),
    n: int = typer.Option(1, min=1, help="images of an iteration"),
    partial: bool = typer.Option(
        False, "--partial", help="leave out operators that are not known; the suite names them"
    ),
) -> None:
    """Make a network of your own from an ONNX file or a PyTorch module: a table, and a suite.

    Weights are not read. ONNX files need the library onnx, modules need torch: optional extras of apuflow.
    """
    from apuflow.core.terminal import terminal_console
    from apuflow.workloads.network import add_network

    files, said = add_network(model, name, shape, n, Path(), partial=partial)
    console = terminal_console()
    for file in files:
        console.print(str(file))
    console.print(said)
