"""Which runs of gem5 begin alike, and how the one is started that forks them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from apuflow.containers.shared_start import IDLE_SECONDS, SharedStart
from apuflow.core.owner import Owner
from apuflow.run.command import OUTDIR, gem5_command, start_files
from apuflow.run.process import Process, Simulation

SERVER = Path(__file__).with_name("fork_server.py")
"""Runs inside gem5: it must not be imported."""
_BEGUN = ("config.ini", "citations.bib")
"""What gem5 writes while it builds the machine, besides its standard output and error."""


def shared_start(simulation: Simulation, process: Process) -> SharedStart | None:
    """What a run has in common with others on the same machine; None where it begins by itself.

    The guest's program, its arguments and its environment are part of the machine that gem5 builds, so they
    have to be the same; what its files hold need not be. DNNMark's environment names the run's directory.
    """
    if simulation.shared_start is None or process.rocm:
        return None
    given = start_files(simulation.gem5, process.guest.environment)

    def command(place: Path, *before: str) -> tuple[str, ...]:
        return gem5_command(
            simulation.gem5,
            process.options,
            process.guest,
            place,
            trace_workgroups=process.trace_workgroups,
            before=before,
        )

    def start(place: Path, owner: Owner) -> tuple[str, ...]:
        return command(place, str(SERVER), str(IDLE_SECONDS), str(owner.pid), str(owner.started))

    binary = simulation.gem5.binary.stat()
    kind = json.dumps([command(Path()), given, binary.st_mtime_ns, binary.st_size])
    files = (*process.files, *process.data, *process.copies, *process.links)
    return SharedStart(
        place=simulation.shared_start / hashlib.sha256(kind.encode()).hexdigest()[:16],
        command=start,
        files=given,
        own=tuple(dict.fromkeys(Path(name).parts[0] for name in files)),
        begun=_BEGUN,
        outdir=OUTDIR,
    )
