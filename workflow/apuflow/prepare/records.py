"""Records of tools: small JSON files that change only with their content.

Also the runner of build steps, which turns failures into messages.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from apuflow.containers import ContainerEngine, Job, Labels, Limits, Mount
from apuflow.core.errors import ApuflowError, EngineError
from apuflow.core.files import write_text
from apuflow.run.status import tail


class ToolRecord(BaseModel):
    """A record without times: equal content gives equal bytes, so nothing reruns."""

    model_config = ConfigDict(extra="forbid", frozen=True)


R = TypeVar("R", bound=ToolRecord)


def write_record(path: Path, record: ToolRecord) -> None:
    """Write a record; an equal file keeps its time stamp."""
    text = record.model_dump_json(indent=1) + "\n"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        write_text(path, text)


def read_record(path: Path, kind: type[R]) -> R:
    """Read a record of a kind. Raises ApuflowError if it is missing or unreadable."""
    try:
        return kind.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise ApuflowError(
            f"not a readable {kind.__name__}: {str(error).splitlines()[0]}",
            file=path,
            remedy="delete it; the workflow makes it again",
        ) from error


def run_step(
    engine: ContainerEngine,
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
    """Run a build step; its working directory is mounted writable and holds its HOME.

    Raises:
        EngineError: it failed; the message ends with its last lines.
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
