"""``apuflow explain``: what each word of a command line of apu_se.py does, and the machine that it makes."""

from __future__ import annotations

from pathlib import Path

import typer

from apuflow.commands import CHECK, app
from apuflow.commands.output import Csv, Json, give
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar


@app.command("explain", context_settings={"ignore_unknown_options": True}, rich_help_panel=CHECK)
def explain_line(
    line: str = typer.Argument(
        help="A command line of apu_se.py, in quotes; what stands before the script is gem5's."
    ),
    release: str | None = typer.Option(
        None, help="gem5 release: a file of configs/gem5; default: the newest known one with the line's GPU."
    ),
    machine: str | None = typer.Option(None, help="Write the machine to configs/machines/NAME.yaml."),
    meant: bool = typer.Option(
        False, "--meant", help="The machine that ignored words were meant to give, where gem5 can."
    ),
    force: bool = typer.Option(False, help="Overwrite an existing machine."),
    as_json: Json = False,
    csv: Csv = None,
) -> None:
    """Say what each word of LINE does in a gem5 release, what is ignored, and what is used instead.

    Exit status 1 if gem5 would not start, or end at once, because of a word.
    """
    from apuflow.configure import command_line, load_release
    from apuflow.configure.base import NAME

    if machine is not None and not NAME.match(machine):
        remedy = "letters, digits, . _ -"
        raise ConfigError("not a name for a machine", key="--machine", value=machine, remedy=remedy)
    known = load_release(release or _newest(line))
    explained = command_line.explain(line, known.options_of, known.capabilities.set_bits)
    lines = []
    if known.facts.assumed_of is not None and "options" not in known.origins:
        like = known.facts.assumed_of
        lines.append(f"{known.name} is known in part: options and what is made of them as in {like}")
    if explained.gem5:
        lines.append(f"before apu_se.py: {' '.join(explained.gem5)}")
    width = min(48, max((len(word.text) for word in explained.words), default=0))
    lines += [f"{word.effect:9}  {word.text:{width}}  {word.said}" for word in explained.words]
    lines += [f"in gem5 {known.name} this is:", *(f"  {text}" for text in command_line.used(explained))]
    options, changes = dict(explained.machine), list[str]()
    if meant:
        options, changes = command_line.as_meant(explained)
        lines += [f"  as meant: {text}" for text in changes]
    rows = [{"effect": str(word.effect), "word": word.text, "meaning": word.said} for word in explained.words]
    give(rows, as_json, csv, lambda: typer.echo("\n".join(lines)))
    if machine is not None:
        typer.echo(f"{_write(machine, options, line, changes, force=force)} written", err=as_json)
    if any(word.effect in ("refused", "unknown") for word in explained.words):
        raise typer.Exit(1)


def _newest(line: str) -> str:
    """The newest release known by its sources, with the GPU or the gem5 build that the line names."""
    from apuflow.configure import load_release, release_names
    from apuflow.core.gpus import GPUS

    builds = {name: each.isa.build_target for name, each in GPUS.items()}
    wanted = {build for name, build in builds.items() if name in line or build in line}
    known = [load_release(name) for name in release_names()]
    read = [release for release in known if release.known_by == "sources"] or known
    fitting = [release for release in read if wanted <= set(release.build_targets)]
    return (fitting or read)[-1].name


def _write(name: str, options: dict[str, Scalar], line: str, changes: list[str], *, force: bool) -> Path:
    import yaml

    path = Path(paths.machine_file(name))
    if path.exists() and not force:
        raise ConfigError("the machine exists", file=path, remedy="choose another name, or give --force")
    if not path.parent.is_dir():
        raise ConfigError("no configs/machines here", file=path, remedy="run it in the project's directory")
    head = "".join(f"# {text}\n" for part in (f"From: {line}", *changes) for text in part.splitlines())
    description = f"From a command line of apu_se.py, {'as meant' if changes else 'as gem5 reads it'}"
    body = {"description": description, "options": options}
    path.write_text(head + yaml.safe_dump(body, sort_keys=False, width=1000), encoding="utf-8")
    return path
