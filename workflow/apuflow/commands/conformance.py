"""``apuflow conformance``: every instruction of a GPU on a real gem5, beside what the manual says."""

from __future__ import annotations

from pathlib import Path

import typer

from apuflow.commands import CHECK, app


@app.command(rich_help_panel=CHECK)
def conformance(
    release: str = typer.Option("", help="name of a gem5 release; default: the default sweep's"),
    gfx: str = typer.Option("", help="GPU architecture; default: the release's first"),
    only: list[str] | None = typer.Option(
        None,
        help="only forms like this, with * for any text: v_cmp_*, 'vop3 v_cmp_lt_f32 abs0'; can be repeated",
    ),
    from_: list[str] | None = typer.Option(
        None, "--from", help="only cases of this generator: vector, scalar, memory, matrix, packed"
    ),
    jobs: int = typer.Option(2, min=1, help="processes of gem5 side by side"),
    listed: bool = typer.Option(False, "--list", help="print the forms and run nothing"),
    report: str = typer.Option("", help="write what an upstream maintainer needs to know of this form"),
    changed: bool = typer.Option(
        False, "--changed", help="run the forms that apuflow changes for this gem5, with their changes"
    ),
    interpreter: bool = typer.Option(
        False, "--interpreter", help="compute the expected values only, without gem5"
    ),
) -> None:
    """Run every form of every GPU instruction on gem5 and compare with the interpreter.

    Prints counts by encoding and verdict, and writes the table of the release, unless `--only` or `--from`
    leave forms out. Results are kept in build/conformance: a suite that was interrupted goes on.
    """
    from apuflow.conformance import suite

    chosen = suite.chosen(release, gfx, tuple(only or ()), tuple(from_ or ()), Path())
    if listed:
        for line in suite.forms(chosen):
            typer.echo(line)
    elif interpreter:
        for line in suite.interpreted(chosen):
            typer.echo(line)
    elif report:
        typer.echo(suite.report(chosen, report, jobs, lambda _: None))
    elif changed:
        from apuflow.conformance import changed_suite

        for line in changed_suite.run(chosen, jobs, typer.echo):
            typer.echo(line)
    else:
        for line in suite.run(chosen, jobs, typer.echo):
            typer.echo(line)
