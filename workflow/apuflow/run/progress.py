"""What can be seen of a run while it runs: ``progress.json`` in its run directory."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from apuflow.core.files import write_text
from apuflow.core.scheduler import Placement, end_of

_GLOG = re.compile(rb"^[IWEF](\d\d)(\d\d) (\d\d):(\d\d):(\d\d)\.(\d{6}) ", re.M)
_GUEST_EPOCH = 1_000_000_000
"""gem5's guests start at this second of the Unix clock (src/sim/syscall_emul.hh, seconds_since_epoch)."""
_TAIL = 1 << 16

LOST = "lost.txt"
"""In the directory of a try that left no outcome: why, as far as anybody knows."""


class Progress(BaseModel):
    """A running (or lost) run.

    Attributes:
        owner: the process that runs it; when that is dead and the file still there, the run was lost.
        seconds: wall time so far.
        ticks: simulated ticks reached at the guest's last log line (a lower bound), or None.
        memory_bytes: memory in use.
        line: the last thing that the guest said.
        job, node: where a scheduler has placed it; "" without one.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    point: str
    attempt: int
    owner: str
    started: str
    seconds: float
    process: str = ""
    ticks: int | None = None
    memory_bytes: int | None = None
    line: str = ""
    log: str = ""
    job: str = ""
    node: str = ""

    @property
    def ticks_per_second(self) -> float | None:
        """Simulated ticks per second of the host's time (a lower bound)."""
        return self.ticks / self.seconds if self.ticks is not None and self.seconds > 0 else None

    def write(self, path: Path) -> None:
        """Replace the progress file."""
        write_text(path, self.model_dump_json())


def read_progress(path: Path) -> Progress | None:
    """The progress file, or None when there is none or it is unreadable."""
    try:
        return Progress.model_validate(json.loads(path.read_bytes()))
    except (OSError, ValueError, ValidationError):
        return None


def why_lost(progress: Progress) -> str | None:
    """What the scheduler says of a run that is gone without an outcome; None where none says anything."""
    here = Placement.here()
    if progress.job and progress.job == here.job:
        return here.taken_back()
    return end_of(progress.job, progress.memory_bytes)


def guest_ticks(text: bytes) -> int | None:
    """Simulated ticks (picoseconds) at the last glog line, or None.

    glog prints the guest's clock: local time, which without a time zone file is UTC, without the year.
    """
    lines = _GLOG.findall(text)
    if not lines:
        return None
    month, day, hour, minute, second, micro = (int(group) for group in lines[-1])
    start = datetime.fromtimestamp(_GUEST_EPOCH, UTC)
    try:
        then = datetime(start.year, month, day, hour, minute, second, micro, UTC)
    except ValueError:
        return None
    elapsed = then - start
    micros = (elapsed.days * 86_400 + elapsed.seconds) * 1_000_000 + elapsed.microseconds
    return micros * 1_000_000 if micros >= 0 else None


def tail(path: Path, limit: int = _TAIL) -> bytes:
    """The last bytes of a file that may still be growing; empty when there is none."""
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - limit))
            return stream.read(limit)
    except OSError:
        return b""
