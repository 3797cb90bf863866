"""Processes as /proc shows them."""

from __future__ import annotations

import subprocess

from apuflow.core.proc import process_tree


def test_processes_that_end_while_they_are_looked_at() -> None:
    """A look at a run's memory must not end it: its short-lived children come and go between two reads."""
    script = "i=0; while [ $i -lt 1500 ]; do (:) & i=$((i+1)); done; wait"
    with subprocess.Popen(["sh", "-c", script]) as busy:
        while busy.poll() is None:
            assert process_tree(busy.pid)[0] == busy.pid
