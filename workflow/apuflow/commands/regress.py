"""``apuflow regress A B``: what two gem5s count and execute differently, and since which commit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from apuflow.commands import CHECK, app
from apuflow.commands.output import Csv, Json, give
from apuflow.core.errors import ConfigError

if TYPE_CHECKING:
    from apuflow.regress.binary import Points
    from apuflow.regress.findings import Findings
    from apuflow.regress.sides import Side


@app.command(rich_help_panel=CHECK)
def regress(
    a: str = typer.Argument(
        "", metavar="A", help="a gem5 binary, a release with recorded answers, or a directory"
    ),
    b: str = typer.Argument("", metavar="B", help="the same of the other gem5"),
    release: str = typer.Option(
        "", help="gem5 release whose options hold for binaries; default: A's or B's name"
    ),
    points: int = typer.Option(
        10, min=1, max=10, help="known-answer points that binaries run, the smallest first"
    ),
    sweep: str = typer.Option("", help="a sweep that binaries run, too"),
    instructions: bool = typer.Option(
        False,
        "--instructions",
        help="binaries also run every form of every instruction: half an hour or more",
    ),
    out: Path | None = typer.Option(None, "--out", "-o", help="write the page here: FILE.md or FILE.html"),
    as_json: Json = False,
    csv: Csv = None,
    bisect: str = typer.Option(
        "", metavar="GOOD..BAD", help="find the first commit with other results than GOOD"
    ),
    source: Path | None = typer.Option(None, help="with --bisect: a checkout of gem5, which stays as it is"),
    build: str = typer.Option("", help="with --bisect: shell command; default: scons build/TARGET/gem5.opt"),
    product: str = typer.Option(
        "", help="with --bisect: what the build makes; default: build/TARGET/gem5.opt"
    ),
) -> None:
    """Compare two gem5s: which points end in another way, which counters and instructions changed.

    A directory holds runs of one gem5: a project, an unpacked archive. Binaries run the points of sweep
    known_answers in projects below build/regress, which keep their results. Exit status 1 when something
    differs.
    """
    from apuflow.regress.binary import Points
    from apuflow.regress.findings import compare

    if out is not None and out.suffix not in (".md", ".html"):
        raise typer.BadParameter("the page is FILE.md or FILE.html", param_hint="--out")
    if bool(bisect) == bool(a) or bool(a) != bool(b) or bool(bisect) != (source is not None):
        raise typer.BadParameter("name A and B, or --bisect GOOD..BAD with --source DIR")
    wanted = Points(_release(release, a, b), points, sweep or None)
    note = ""
    if source is not None:
        first, second, note = _bisected(bisect, source, build, product, wanted, instructions=instructions)
    else:
        first, second = (_side(name, wanted, instructions=instructions) for name in (a, b))
    found = compare(first, second)
    _show(first, second, found, note, out, as_json=as_json, csv=csv)
    if not found.equal:
        raise typer.Exit(1)


def _release(given: str, a: str, b: str) -> str:
    from apuflow.answers.answer import recorded
    from apuflow.configure import load_sweep

    known = recorded("gem5-kernels", Path())
    return given or next((name for name in (a, b) if name in known), "") or load_sweep("default").release


def _side(name: str, wanted: Points, *, instructions: bool) -> Side:
    from apuflow.answers.answer import recorded
    from apuflow.regress.binary import of_binary
    from apuflow.regress.sides import of_directory, of_release

    known, place = recorded("gem5-kernels", Path()), Path(name)
    if name in known:
        return of_release(name, "gem5-kernels", Path())
    if place.is_dir():
        return of_directory(place)
    if place.is_file() and os.access(place, os.X_OK):
        measure = (lambda project: _measure(project, wanted.release)) if instructions else None
        return of_binary(place, wanted, Path(), measure)
    remedy = (
        f"name a gem5 binary, a directory with runs, or one of {', '.join(known) or 'no recorded release'}"
    )
    raise ConfigError("this is no gem5 and no recorded release", value=name, remedy=remedy)


def _measure(project: Path, release: str) -> None:
    """Run every form of every instruction in a project."""
    from apuflow.conformance import suite

    for line in suite.run(
        suite.chosen(release, "", (), (), project), 2, lambda said: typer.echo(said, err=True)
    ):
        typer.echo(line, err=True)


def _bisected(
    bisect: str, source: Path, build: str, product: str, wanted: Points, *, instructions: bool
) -> tuple[Side, Side, str]:
    from apuflow.configure import load_release
    from apuflow.regress.bisect import Search, search

    good, _, bad = bisect.partition("..")
    if not good or not bad:
        raise typer.BadParameter("two commits with .. between: v23.0.0.0..v23.1.0.0", param_hint="--bisect")
    found = load_release(wanted.release)
    product = product or f"build/{found.build_target(found.gfx[0])}/gem5.opt"
    build = build or f"scons -j{len(os.sched_getaffinity(0))} {product}"
    options = ["--release", wanted.release, "--points", str(wanted.first)]
    options += ["--sweep", wanted.sweep] if wanted.sweep else []
    options += ["--instructions"] if instructions else []
    commit = search(
        Search(source, good, bad, build, product, tuple(options)),
        Path(),
        lambda place: _side(str(place), wanted, instructions=instructions),
        lambda said: typer.echo(said, err=True),
    )
    return (
        commit.good,
        commit.bad,
        f"First commit that differs from {good}: {commit.commit} ({commit.subject})",
    )


def _show(
    a: Side, b: Side, found: Findings, note: str, out: Path | None, *, as_json: bool, csv: Path | None
) -> None:
    from apuflow.core.files import write_text
    from apuflow.regress.page import html, markdown

    text = markdown(a, b, found)
    if note:
        title, _, rest = text.partition("\n")
        text = f"{title}\n\n{note}\n{rest}"
    if out is not None:
        write_text(out, text if out.suffix == ".md" else html(text))

    def show() -> None:
        if out is None:
            typer.echo(text.rstrip())
        else:
            said = "no difference" if found.equal else "differences"
            typer.echo(f"{note}\n{out}" if note else f"{out}: {said}")

    give(_rows(found, note), as_json, csv, show)


def _rows(found: Findings, note: str) -> list[dict[str, Any]]:
    """A row for each difference: points that end in another way, counters, instructions."""
    rows = [
        *(("point", str(key), a.status, b.status, None, 1) for key, a, b in found.ended),
        *(("counter", each.name, each.a, each.b, each.largest, each.points) for each in found.counters),
        *(("statistics", name, None, None, None, points) for name, points in found.rows),
        *(("instruction", each.form, each.a, each.b, None, None) for each in found.instructions),
    ]
    names = ("kind", "name", "a", "b", "largest", "points")
    return [{**dict(zip(names, row, strict=True)), "note": note} for row in rows]
