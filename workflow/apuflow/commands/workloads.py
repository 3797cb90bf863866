"""``apuflow workloads``: what can be run, what it needs, and whether gem5 can run it."""

from __future__ import annotations

from pathlib import Path

import typer


def register(app: typer.Typer) -> None:
    """Add ``apuflow workloads``."""

    @app.command()
    def workloads(name: str = typer.Argument("", help="show everything about this workload")) -> None:
        """List the workloads: what each needs, and which engines can run it."""
        from apuflow.configure import load_workload, workload_names
        from apuflow.configure.base import together
        from apuflow.core.engines import ENGINES
        from apuflow.core.errors import ConfigError
        from apuflow.core.terminal import table_of, terminal_console
        from apuflow.engines import runs_on

        root = Path()
        console = terminal_console()
        if name:
            console.print(details(name, root))
            return
        table = table_of(("workload", *ENGINES, "needs"), (), ("what",))
        names = workload_names(root)
        if not names:
            raise ConfigError(
                "there is no workload here", remedy="run it in the project's directory, beside configs/"
            )
        mistakes: list[ConfigError] = []
        for shown in names:
            try:
                workload = load_workload(shown, root)
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


def details(name: str, root: Path) -> str:
    """Everything about one workload, as text."""
    from apuflow.configure import load_workload
    from apuflow.core.engines import ENGINES
    from apuflow.engines import runs_on

    workload = load_workload(name, root)
    lines = [f"{name}: {workload.description}", f"program: {workload.program}"]
    for engine in ENGINES:
        runs = runs_on(workload, engine)
        lines.append(f"{engine}: {runs.state} ({runs.reason})")
    if workload.notes:
        lines.append(f"note: {workload.notes}")
    return "\n".join([*lines, *workload.about()])
