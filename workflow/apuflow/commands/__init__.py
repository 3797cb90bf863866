"""The commands of ``apuflow``: each module adds its own to ``app`` or a group, in a panel of its help."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from typer.core import TyperGroup
from typing_extensions import override

if TYPE_CHECKING:
    from click import Context

START = "Start"
ASK = "Ask and run"
RESULTS = "Read results"
KERNELS = "Networks, kernels, programs"
CHECK = "Check gem5 and the preview"
PANELS = (START, ASK, RESULTS, KERNELS, CHECK)
"""Panels of ``apuflow --help`` in order; each has six commands at most."""


class _ByPanel(TyperGroup):
    """Commands by panel, then by name."""

    @override
    def list_commands(self, ctx: Context) -> list[str]:  # type: ignore[override]
        panels = {name: getattr(command, "rich_help_panel", None) for name, command in self.commands.items()}
        return sorted(panels, key=lambda name: (PANELS.index(panels[name] or CHECK), name))


app = typer.Typer(
    name="apuflow",
    cls=_ByPanel,
    help="Experiments on gem5's GPU model: ask, plan, follow, compare. Snakemake makes the results.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def group(name: str, panel: str, purpose: str) -> typer.Typer:
    """A noun of ``apuflow`` with commands of its own."""
    made = typer.Typer(help=purpose, no_args_is_help=True)
    app.add_typer(made, name=name, rich_help_panel=panel)
    return made


results_group = group(
    "results", RESULTS, "What follows from results of networks: an epoch, devices, other sources."
)
