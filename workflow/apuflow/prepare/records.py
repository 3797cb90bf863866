"""Records of tools, small JSON files that change only with their content; the runner of build steps."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from apuflow.containers.job import ContainerEngine, Job, Limits, Mount
from apuflow.core.errors import ApuflowError, EngineError
from apuflow.core.files import write_text
from apuflow.core.owner import Labels
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
        message = f"not a readable {kind.__name__}: {str(error).splitlines()[0]}"
        remedy = "delete it; the workflow makes it again"
        raise ApuflowError(message, file=path, remedy=remedy) from error


def run_step(
    engine: ContainerEngine,
    command: tuple[str, ...],
    *,
    what: str,
    cwd: Path,
    image: str | None,
    project: Path,
    log: Path,
    env: Mapping[str, str] | None = None,
) -> None:
    """Run a build step; its working directory is mounted writable and holds its HOME.

    Raises EngineError if it failed; the message ends with its last lines.
    """
    engine.remove_leftovers(project)
    exit_ = engine.run(
        Job(
            command=command,
            image=image,
            cwd=cwd,
            home=cwd / ".apuflow-home",
            log=log,
            mounts=(Mount(cwd, writable=True),),
            env=env or {},
            limits=Limits(grace_seconds=5.0),
            labels=Labels.here(project, what),
        )
    )
    if exit_.stopped is not None:
        raise EngineError(f"{what} was stopped ({exit_.stopped})", file=log, remedy="run the workflow again")
    if exit_.code == 0:
        return
    if exit_.oom_killed:
        remedy = "use fewer jobs, or allow more memory"
        raise EngineError(f"{what} ran out of memory", file=log, remedy=remedy)
    lines = [line for line in tail(log, 8192).decode(errors="replace").splitlines() if line.strip()][-12:]
    said = "".join(f"\n    {line[:300]}" for line in lines)
    message = f"{what} failed with status {exit_.code}:{said}"
    raise EngineError(message, file=log, remedy="the log has all of it")


def note(log: Path, text: str) -> None:
    """Append a marked line to a log with a tool's output."""
    with contextlib.suppress(OSError), log.open("a", encoding="utf-8") as stream:
        print(f"apuflow: {text}", file=stream, flush=True)


def repository_and_tag(name: str) -> tuple[str, str]:
    """Repository and tag of an image's name; a colon before a slash is a port."""
    repository, _, tag = name.rpartition(":")
    return (repository, tag) if repository and "/" not in tag else (name, "latest")
