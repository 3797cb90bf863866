"""Build an image from a recipe, stage by stage. Stages are kept, so a stopped build continues."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apuflow.core.errors import ConfigError, EngineError
from apuflow.core.units import format_duration
from apuflow.prepare.recipes import Recipe, cost, read_done, write_done

if TYPE_CHECKING:
    from apuflow.containers import DockerEngine

BASE_ARGUMENT = "BASE"
"""Build argument of the recipe's first FROM."""

SOURCES_ARGUMENT = "SOURCES"
"""Build argument: where the recipe fetches its sources."""

DEBIAN_ARGUMENT = "DEBIAN_MIRROR"
"""Build argument: the archive for the recipe's apt."""

SOURCES_DIRECTORY = "sources"
"""Directory of local sources in the build's context, and SOURCES' value for them."""


@dataclass(frozen=True)
class SourcesBuild:
    """Inputs of building an image.

    Attributes:
        base: a Debian suite for debootstrap, or the name of an image (with ``:`` or ``/``); None: the
        recipe's FROM.
        arguments: build arguments by name.
        sources: address or directory of the recipe's sources; a directory becomes part of the build's
        context.
        debian: address of Debian's archive; None: the usual one.
        note: file of finished stages and their times.
        cores: processors of a stage.
    """

    recipe: Recipe
    note: Path
    base: str | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    sources: str | None = None
    debian: str | None = None
    cores: int | None = None


def build_stages(engine: DockerEngine, build: SourcesBuild, name: str, log: Path) -> None:
    """Build the stages in order and tag the last one.

    Each stage gets an image ``name-stage``, so that the engine keeps it. Docker caches unchanged steps, so a
    repeated build continues at the failed step.

    Raises:
        EngineError: a stage failed; the message names it and ends with its last output.
        ConfigError: an argument that the recipe lacks.
    """
    arguments = _arguments(engine, build, log)
    done = read_done(build.note)
    say = _MarkedLog(log)
    say(f"{build.recipe.directory}: {cost(build.recipe, done)}")
    with tempfile.TemporaryFile() as context:
        _pack(build, context)
        for number, stage in enumerate(build.recipe.stages, 1):
            final = stage == build.recipe.stages[-1]
            say(f"stage {number} of {len(build.recipe.stages)}: {stage}")
            started = time.monotonic()
            context.seek(0)
            _build(
                engine, build, context, arguments, stage, name if final else f"{_plain(name)}-{stage}", log
            )
            seconds = round(time.monotonic() - started, 1)
            done[stage] = max(seconds, done.get(stage, 0.0))
            write_done(build.note, done)
            left = build.recipe.seconds(done)
            rest = "" if final or left is None else f"; about {format_duration(left)} left on two cores"
            say(f"stage {stage} done in {format_duration(seconds)}{rest}")


def _build(
    engine: DockerEngine,
    build: SourcesBuild,
    context: Any,
    arguments: Mapping[str, str],
    stage: str,
    tag: str,
    log: Path,
) -> None:
    from apuflow.containers.docker_connection import engine_errors  # runs do not need Docker's client

    limits: Any = {"cpusetcpus": _processors(build.cores)} if build.cores else None
    last: list[str] = []
    with engine_errors(f"build stage {stage} of {build.recipe.directory}"):
        lines = engine.client.api.build(
            fileobj=context,
            custom_context=True,
            tag=tag,
            target=None if stage == "image" else stage,
            buildargs=dict(arguments),
            rm=True,
            forcerm=True,
            network_mode=None if engine.daemon.bridge else "host",
            container_limits=limits,
            decode=True,
        )
        error = _copy(lines, log, last)
    if error is not None:
        said = "".join(f"\n    {line[:300]}" for line in last[-8:])
        raise EngineError(
            f"stage {stage} of the image failed: {error.strip().splitlines()[0]}{said}",
            file=log,
            remedy="correct the recipe or the mirrors and start again: the stages before it are kept, and it "
            "goes on at the step that failed",
        )


def _copy(lines: Iterable[dict[str, Any]], log: Path, last: list[str]) -> str | None:
    """Append the engine's output to the log; return its error."""
    with log.open("a", encoding="utf-8") as stream:
        for line in lines:
            text = str(line.get("stream") or line.get("status") or "").rstrip("\n")
            if text.strip() and "progressDetail" not in line:
                print(text, file=stream, flush=True)
                last.append(text)
            if "error" in line:
                print(line["error"], file=stream, flush=True)
                return str(line["error"])
    return None


def _arguments(engine: DockerEngine, build: SourcesBuild, log: Path) -> dict[str, str]:
    arguments = dict(build.arguments)
    if build.base is not None:
        arguments[BASE_ARGUMENT] = _base(engine, build.base, build.debian, log)
    if build.sources is not None:
        local = Path(build.sources).is_dir()
        arguments[SOURCES_ARGUMENT] = SOURCES_DIRECTORY if local else build.sources
    if build.debian is not None and DEBIAN_ARGUMENT in build.recipe.arguments:
        arguments[DEBIAN_ARGUMENT] = build.debian
    unknown = [name for name in arguments if name not in build.recipe.arguments]
    if unknown:
        known = ", ".join(sorted(build.recipe.arguments)) or "none"
        raise ConfigError(
            f"the recipe takes no build argument {unknown[0]}",
            file=build.recipe.directory / "Dockerfile",
            key="image.arguments",
            value=unknown[0],
            remedy=f"declare it there (ARG {unknown[0]}), or leave it out; it takes {known}",
        )
    return arguments


def _base(engine: DockerEngine, base: str, mirror: str | None, log: Path) -> str:
    """Name of the base image; a Debian suite's minimal system is made if missing."""
    from apuflow.containers.docker_connection import engine_errors

    if ":" in base or "/" in base:
        return base
    name = f"apuflow/debian-{base}"
    if engine.client.images.list(name=name):
        return f"{name}:latest"
    program = shutil.which("debootstrap")
    if program is None or os.getuid() != 0:
        missing = "debootstrap is not on this machine" if program is None else "debootstrap needs root"
        raise EngineError(
            f"{missing}: the base image debian {base} cannot be made",
            key="image.base",
            value=base,
            remedy="apt install debootstrap and run as root once, or name an image that you have "
            f"(image.base: debian:{base})",
        )
    say = _MarkedLog(log)
    say(f"base: debian {base} by debootstrap")
    with tempfile.TemporaryDirectory(prefix="apuflow-base-", dir="/var/tmp") as work:
        root, archive = Path(work) / "root", Path(work) / "base.tar"
        command = [program, "--variant=minbase", base, str(root), *([mirror] if mirror else [])]
        with log.open("ab") as stream:
            code = subprocess.run(command, stdout=stream, stderr=subprocess.STDOUT, check=False).returncode
        if code != 0:
            raise EngineError(
                f"debootstrap failed with status {code} for Debian {base}",
                file=log,
                remedy="check the suite's name and the network, or name an archive (mirrors.debian)",
            )
        subprocess.run(["tar", "-C", str(root), "-cf", str(archive), "."], check=True)
        with engine_errors(f"import the base image debian {base}"):
            engine.client.api.import_image_from_file(str(archive), repository=name, tag="latest")
    return f"{name}:latest"


def _pack(build: SourcesBuild, target: Any) -> None:
    """The build's context: the recipe and local sources.

    It has no owners and times, so that a new checkout does not invalidate Docker's cache.
    """

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mtime = 0
        return entry

    with tarfile.open(fileobj=target, mode="w") as archive:
        for path in sorted(build.recipe.directory.iterdir()):
            archive.add(path, path.name, filter=plain)
        if build.sources is not None and Path(build.sources).is_dir():
            if (build.recipe.directory / SOURCES_DIRECTORY).exists():
                raise ConfigError(
                    f"the recipe has a directory {SOURCES_DIRECTORY} of its own",
                    file=build.recipe.directory / SOURCES_DIRECTORY,
                    key="mirrors.image_sources",
                    remedy="rename it: local sources are put there",
                )
            archive.add(build.sources, SOURCES_DIRECTORY, filter=plain)


def _processors(count: int) -> str:
    """The first processors of this process in Docker's notation."""
    allowed = sorted(os.sched_getaffinity(0))
    return ",".join(map(str, allowed[:count]))


def _plain(name: str) -> str:
    """An image's name without tag."""
    head, _, tag = name.rpartition(":")
    return head if head and "/" not in tag else name


class _MarkedLog:
    """Writes marked lines to a log with the engine's output."""

    def __init__(self, log: Path) -> None:
        self.log = log

    def __call__(self, text: str) -> None:
        with suppress(OSError), self.log.open("a", encoding="utf-8") as stream:
            print(f"apuflow: {text}", file=stream, flush=True)
