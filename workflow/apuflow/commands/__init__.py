"""The commands of ``apuflow``: each module adds its own to ``app``."""

from __future__ import annotations

import typer

app = typer.Typer(
    name="apuflow",
    help="DNN primitives on gem5's GCN3 APU: plan, check, follow and compare experiments.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
