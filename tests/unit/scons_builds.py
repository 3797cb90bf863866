"""Builds of gem5 by a scons that only writes its goal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from apuflow.configure.gem5_build import Build
from apuflow.containers.job import Exit
from apuflow.prepare.builds import Gem5Record, build_gem5
from apuflow.prepare.sources import SourceRecord


class Recorder:
    """A container engine that writes the goal of scons instead of building it.

    As gem5's SConstruct until v23.0 it makes the directory ``build`` alone, not those above it.
    """

    name = "host"

    def __init__(self) -> None:
        self.command: tuple[str, ...] = ()
        self.environment: dict[str, str] = {}

    def remove_leftovers(self, project: Path) -> None:
        """Nothing is left."""

    def run(self, job: Any) -> Any:
        self.command = job.command
        self.environment = dict(job.env)
        goal = job.cwd / job.command[1]
        goal.parent.parent.mkdir(exist_ok=True)
        goal.parent.mkdir()
        goal.write_bytes(b"")
        goal.chmod(0o755)
        return Exit(code=0, seconds=1.0)


def built(
    sources: Path, build: Build, target: str = "VEGA_X86", arguments: tuple[str, ...] = ()
) -> tuple[Gem5Record, Recorder]:
    """A build of sources, which get an apu_se.py, and what it told scons."""
    script = sources / "configs/example/apu_se.py"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text("")
    engine: Any = Recorder()
    record = build_gem5(
        SourceRecord(path=str(sources), commit="0" * 40),
        target,
        build=build,
        arguments=arguments,
        container=engine,
        jobs=2,
        image=None,
        project=sources,
        log=sources.parent / f"{sources.name}.log",
    )
    return record, engine
