"""Slurm's commands with answers of a test's own."""

from __future__ import annotations

from pathlib import Path

import pytest


def silent(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of commands that fail until a test writes what they print."""
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")
    for command in ("scontrol", "sacct", "squeue"):
        says(directory, command, None)
    return directory


def says(directory: Path, command: str, text: str | None) -> None:
    """From now on a command prints this; None: it fails."""
    (directory / f"{command}.txt").write_text(text or "")
    script = directory / command
    script.write_text(f"#!/bin/sh\ncat {directory}/{command}.txt\nexit {int(text is None)}\n")
    script.chmod(0o755)
