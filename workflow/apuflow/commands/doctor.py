"""``apuflow doctor``: what this machine has and lacks for each engine and kind of workload, with the fix."""

from __future__ import annotations

from pathlib import Path

import typer


def register(app: typer.Typer) -> None:
    """Add ``apuflow doctor``."""

    @app.command()
    def doctor(
        release: str = typer.Option(
            "",
            help="name of a gem5 release: a file of configs/gem5 without .yaml; default: the default sweep's",
        ),
        engine: str = typer.Option("gem5", help="whose readiness the exit status tells: gem5, gem5-kernels"),
        offline: bool = typer.Option(False, "--offline", help="do not contact the source repositories"),
    ) -> None:
        """Check this machine for each engine. Exit status 1 when `--engine` cannot run here."""
        from rich.console import Console
        from rich.markup import escape

        from apuflow.configure import load_release, load_site, load_sweep
        from apuflow.prepare.doctor import State, Use, examine, ready

        if engine not in list(Use):
            raise typer.BadParameter(f"{engine!r} is none of {', '.join(Use)}", param_hint="--engine")
        name = release or load_sweep("default").release
        checks = examine(load_site(Path()), load_release(name), Path.cwd(), network=not offline)
        console = Console(soft_wrap=True, highlight=False)
        marks = {State.OK: "[green]ok     [/]", State.WARNING: "[yellow]warning[/]"}
        for check in checks:
            mark = marks.get(check.state, "[red]MISSING[/]")
            console.print(
                f"{mark}  {check.name:27} {escape(check.detail)}  [dim]({', '.join(check.uses)})[/]"
            )
            if check.fix:
                console.print(f"{'':9}[bold]fix:[/] {escape(check.fix)}")
        console.print()
        for use in Use:
            verdict = "[green]ready[/]" if ready(checks, use) else "[red]not ready[/]"
            console.print(f"{use:13} {verdict}")
        if not ready(checks, Use(engine)):
            raise typer.Exit(1)
