"""What every command has in common: the panels of the help, ``--json`` and ``--csv``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import typer

from apuflow.cli import build_app
from apuflow.commands import PANELS

APP: Any = typer.main.get_command(build_app())


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, dict[str, Any]]]:
    below = getattr(command, "commands", {})
    if not below:
        yield " ".join(path), {name: one for one in command.params for name in one.opts}
    for name, one in below.items():
        yield from leaves(one, (*path, name))


def test_the_help_has_five_panels_of_six_commands_at_most() -> None:
    counts = Counter(command.rich_help_panel for command in APP.commands.values())
    assert set(counts) == set(PANELS) and len(PANELS) == 5
    assert max(counts.values()) <= 6


def test_one_option_means_one_thing_in_every_command() -> None:
    tables = {name: options for name, options in leaves(APP) if {"--json", "--csv"} & set(options)}
    assert len(tables) > 20
    for name, options in tables.items():
        assert {"--json", "--csv"} <= set(options), name
        assert options["--json"].is_flag and not options["--csv"].is_flag, name
    for option in ("--json", "--csv"):
        assert len({options[option].help for options in tables.values()}) == 1
