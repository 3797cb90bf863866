"""Snakemake, started by commands that need files of a project."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from apuflow.core.errors import EngineError


def run_workflow(
    targets: Sequence[str], root: Path = Path(), cores: int = 0, out: IO[Any] | None = None
) -> None:
    """Let Snakemake make files of a project.

    Args:
        cores: 0: all of this machine.
        out: where its messages go; None: to standard output.

    Raises:
        EngineError: it failed; its message is on the terminal.
    """
    used = str(cores or len(os.sched_getaffinity(0)))
    command = [sys.executable, "-m", "snakemake", "--cores", used, *targets]
    if subprocess.run(command, cwd=root, stdout=out, check=False).returncode != 0:
        told = f"snakemake --cores {used} {targets[0]}" + (" ..." if len(targets) > 1 else "")
        remedy = "follow its advice, then this command again"
        raise EngineError("the runs failed; their message is above", value=told, remedy=remedy)
