"""Runs in every state that a run can be in."""

from __future__ import annotations

from pathlib import Path

from apuflow.core.owner import Owner
from apuflow.core.record import Provenance, RunRecord, Status
from apuflow.run.status import Progress


def record(status: Status, evidence: str = "", attempt: int = 1) -> RunRecord:
    return RunRecord(
        engine="gem5", workload="softmax_fwd", direction="fwd", point="u4-0123abcd", identity={}, axes={},
        options={},
        gfx="gfx801", release="v23.0", status=status, evidence=evidence, exit_code=0, attempt=attempt,
        started="2026-11-21T00:00:00+00:00", ended="2026-11-21T00:01:00+00:00", wall_seconds=60.0,
        peak_memory_bytes=2 << 30, host={}, command=["gem5.opt"], statistics=None, ticks=6_000_000_000,
        provenance=Provenance(),
    )  # fmt: skip


def progress(owner: Owner) -> Progress:
    return Progress(
        point="u8-0123abcd",
        attempt=1,
        owner=str(owner),
        started="2026-11-21T00:00:00+00:00",
        seconds=10.0,
        ticks=5_000_000_000,
        memory_bytes=1 << 30,
        line="DNNMark: Running [Softmax] forward: STARTED",
        log="log",
    )


def write_one_of_each(project: Path) -> None:
    """One run of every kind, with its letter at the begin of its name."""
    base = project / "runs/gem5/softmax_fwd"
    record(Status.COMPLETED).write(base / "a-completed/run.json")
    record(Status.DEADLOCK, "Possible [bold]deadlock").write(base / "b-failed/attempts/1/failure.json")
    record(Status.GEM5_PANIC, "the later one", 10).write(base / "b-failed/attempts/10/failure.json")
    record(Status.TIMEOUT, "stopped at its wall limit").write(base / "c-recorded/run.json")
    progress(Owner.current()).write(base / "d-running/progress.json")
    gone = Owner("localhost", "boot", 1, 1)
    progress(Owner(Owner.current().host, gone.boot, 1, 1)).write(base / "e-lost/progress.json")
    (base / "f-broken").mkdir()
    (base / "f-broken/run.json").write_text('{"half": ')
    (base / "g-empty").mkdir()
