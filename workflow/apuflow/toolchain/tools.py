"""Run one step of a build in a container and turn its failure into a message."""

from __future__ import annotations

from pathlib import Path

from apuflow.containers import Engine, Job, Labels, Limits, Mount
from apuflow.core.errors import EngineError
from apuflow.gem5.progress import tail


def run_step(
    engine: Engine,
    command: tuple[str, ...],
    *,
    what: str,
    cwd: Path,
    image: str | None,
    project: Path,
    log: Path,
    mounts: tuple[Mount, ...] = (),
    env: dict[str, str] | None = None,
    limits: Limits | None = None,
    network: bool = False,
) -> None:
    """Run a build step to its end; its working directory is mounted writable and holds its HOME.

    Raises:
        EngineError: it failed; the message ends with the last lines that it printed.
    """
    engine.remove_leftovers(project)
    exit_ = engine.run(
        Job(
            command=command,
            image=image,
            cwd=cwd,
            home=cwd / ".apuflow-home",
            log=log,
            mounts=(*mounts, Mount(cwd, writable=True)),
            env=env or {},
            limits=limits or Limits(grace_seconds=5.0),
            labels=Labels.here(project, what),
            network=network,
        )
    )
    if exit_.code == 0 and exit_.stopped is None:
        return
    lines = [line for line in tail(log, 8192).decode(errors="replace").splitlines() if line.strip()][-12:]
    said = "".join(f"\n    {line[:300]}" for line in lines)
    if exit_.stopped is not None:
        raise EngineError(f"{what} was stopped ({exit_.stopped})", file=log, remedy="run the workflow again")
    if exit_.oom_killed:
        raise EngineError(
            f"{what} ran out of memory", file=log, remedy="use fewer jobs, or allow more memory"
        )
    raise EngineError(
        f"{what} failed with status {exit_.code}:{said}", file=log, remedy="the log has all of it"
    )
