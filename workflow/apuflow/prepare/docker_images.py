"""Docker's images: pulled, or built from gem5's Dockerfile or a recipe, whose stages are kept.

It loads Docker's client, which runs do not need: import it inside of functions.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from apuflow.configure.image_source import ImageSource
from apuflow.containers.docker import DockerEngine, engine_errors, has_image
from apuflow.containers.registry import manifest
from apuflow.core.errors import ConfigError, EngineError
from apuflow.core.units import format_duration
from apuflow.prepare.recipes import (
    DockerfileBuild,
    DockerfileRecord,
    SourcesBuild,
    cost,
    read_done,
    repaired_context,
    write_done,
)
from apuflow.prepare.records import note, repository_and_tag

SOURCES_DIRECTORY = "sources"
"""Directory of local sources in the build's context, and the value of build argument SOURCES for them."""


class _Output(NamedTuple):
    """An engine's last lines and the first line of its error."""

    last: list[str]
    error: str | None


def inspect(engine: DockerEngine, reference: str) -> dict[str, Any]:
    """The engine's facts of an image. Raises EngineError if it has none of this name."""
    with engine_errors(f"find the image {reference}"):
        found: dict[str, Any] = engine.client.api.inspect_image(reference)  # type: ignore[no-untyped-call]
    return found


def pull(engine: DockerEngine, source: ImageSource, log: Path) -> str:
    """Pull an image; return ``repository@digest``.

    Docker returns the digest before the pull. Podman (4.3) has no such call and returns it afterwards. The
    engine keeps finished layers of an interrupted pull.
    """
    repository, tag = repository_and_tag(source.place)
    if engine.daemon.podman and source.digest is None:
        _fetch(engine, source, tag, log)
        names = inspect(engine, source.place)["RepoDigests"]
        return next(str(name) for name in names if name.startswith(f"{repository}@"))
    digest = source.digest if engine.daemon.podman else None
    reference = f"{repository}@{digest or registry_digest(engine, source)}"
    if not has_image(engine.client, reference):
        _fetch(engine, source, reference.partition("@")[2], log)
    return reference


def _fetch(engine: DockerEngine, source: ImageSource, version: str, log: Path) -> None:
    """Pull a tag or a digest of a source."""
    note(log, f"pulling {source.place} as {version}")
    repository, _ = repository_and_tag(source.place)
    try:
        with engine_errors(f"pull {source.place}"):
            lines = engine.client.api.pull(repository, tag=version, stream=True, decode=True)
            failure = _copy(lines, log).error
        if failure is not None:
            raise EngineError(f"cannot pull {source.place}: {failure}", file=log)
    except EngineError as error:
        remedy = registry_remedy(error.message, engine.name, source)
        raise EngineError(error.message, file=error.file, remedy=remedy) from error


def registry_digest(engine: DockerEngine, source: ImageSource) -> str:
    """Digest of a registry's image: the source's if the engine has it, else the registry's."""
    wanted = f"{repository_and_tag(source.place)[0]}@{source.digest}" if source.digest else source.place
    if source.digest is not None and has_image(engine.client, wanted):
        return source.digest
    if engine.daemon.podman:
        return manifest(source.place, source.digest).digest
    api = engine.client.api
    try:
        with engine_errors(f"ask the registry for {wanted}"):
            found: dict[str, Any] = api.inspect_distribution(wanted)  # type: ignore[no-untyped-call]
    except EngineError as error:
        remedy = registry_remedy(error.message, engine.name, source)
        raise EngineError(error.message, remedy=remedy) from error
    return str(found["Descriptor"]["digest"])


def registry_remedy(message: str, engine: str, source: ImageSource) -> str:
    """The fix for an error of Docker's distribution client."""
    if re.search(r"no basic auth|unauthorized|authentication required|denied", message):
        return f"`{engine} login {source.place.partition('/')[0]}`, if you may use it; else another source"
    if re.search(r"manifest unknown|not found|name unknown|no such manifest", message):
        return "the registry has no such image: correct its name, tag or digest"
    return "check the network and the registry's name"


def build_dockerfile(
    engine: DockerEngine, build: DockerfileBuild, place: str, tag: str, log: Path
) -> DockerfileRecord:
    """Build a Dockerfile of gem5's sources, repaired in a copy of its directory ``place``."""
    with tempfile.TemporaryDirectory(prefix="apuflow-image-") as directory:
        context = Path(directory) / "context"
        record = repaired_context(build, place, context)
        note(log, f"building {tag} from {record}")
        error = _build(engine, f"build {tag}", log, tag=tag, path=str(context)).error
    if error is not None:
        raise EngineError(
            f"cannot build {tag} from {build.checkout / place}: {error}",
            file=log,
            remedy="the log ends with the step that failed: check the network, or change the step by an "
            "entry in repairs of this source (docs/configuration.md)",
        )
    return record


def build_stages(engine: DockerEngine, build: SourcesBuild, name: str, log: Path) -> None:
    """Build a recipe's stages in order and tag the last one.

    Each stage gets an image ``name-stage``, so that the engine keeps it. Docker caches unchanged steps, so a
    repeated build continues at the failed step.

    Raises:
        EngineError: a stage failed; the message names it and ends with its last output.
        ConfigError: an argument that the recipe lacks.
    """
    recipe = build.recipe
    arguments = _arguments(engine, build, log)
    done = read_done(build.note)
    note(log, f"{recipe.directory}: {cost(recipe, done)}")
    with tempfile.TemporaryFile() as context:
        _pack(build, context)
        for number, stage in enumerate(recipe.stages, 1):
            final = stage == recipe.stages[-1]
            note(log, f"stage {number} of {len(recipe.stages)}: {stage}")
            started = time.monotonic()
            context.seek(0)
            output = _build(
                engine,
                f"build stage {stage} of {recipe.directory}",
                log,
                tag=name if final else f"{repository_and_tag(name)[0]}-{stage}",
                fileobj=context,
                custom_context=True,
                target=None if stage == "image" else stage,
                buildargs=dict(arguments),
                container_limits={"cpusetcpus": _processors(build.cores)} if build.cores else None,
            )
            if output.error is not None:
                said = "".join(f"\n    {line[:300]}" for line in output.last[-8:])
                raise EngineError(
                    f"stage {stage} of the image failed: {output.error}{said}",
                    file=log,
                    remedy="correct the recipe or the mirrors and start again: the stages before it are "
                    "kept, and it goes on at the step that failed",
                )
            seconds = round(time.monotonic() - started, 1)
            done[stage] = max(seconds, done.get(stage, 0.0))
            write_done(build.note, done)
            left = recipe.seconds(done)
            rest = "" if final or left is None else f"; about {format_duration(left)} left on two cores"
            note(log, f"stage {stage} done in {format_duration(seconds)}{rest}")


def _build(engine: DockerEngine, doing: str, log: Path, **options: Any) -> _Output:
    with engine_errors(doing):
        network = None if engine.daemon.bridge else "host"
        build = engine.client.api.build
        lines = build(rm=True, forcerm=True, network_mode=network, decode=True, **options)
        return _copy(lines, log)


def _copy(lines: Iterable[dict[str, Any]], log: Path) -> _Output:
    """Append an engine's progress to the log, up to its first error."""
    last: list[str] = []
    with log.open("a", encoding="utf-8") as stream:
        for line in lines:
            text = str(line.get("stream") or line.get("status") or "").rstrip("\n")
            if text.strip() and "progressDetail" not in line:
                print(text, file=stream, flush=True)
                last.append(text)
            if "error" in line:
                print(line["error"], file=stream, flush=True)
                return _Output(last, str(line["error"]).strip().splitlines()[0])
    return _Output(last, None)


def _arguments(engine: DockerEngine, build: SourcesBuild, log: Path) -> dict[str, str]:
    """Build arguments by name, those of the base image, the sources and Debian's archive among them."""
    arguments, known = dict(build.arguments), build.recipe.arguments
    if build.base is not None:
        arguments["BASE"] = _base(engine, build.base, build.debian, log)
    if build.sources is not None:
        arguments["SOURCES"] = SOURCES_DIRECTORY if Path(build.sources).is_dir() else build.sources
    if build.debian is not None and "DEBIAN_MIRROR" in known:
        arguments["DEBIAN_MIRROR"] = build.debian
    for name in arguments:
        if name not in known:
            listed = ", ".join(sorted(known)) or "none"
            raise ConfigError(
                f"the recipe takes no build argument {name}",
                file=build.recipe.directory / "Dockerfile",
                key="image.arguments",
                value=name,
                remedy=f"declare it there (ARG {name}), or leave it out; it takes {listed}",
            )
    return arguments


def _base(engine: DockerEngine, base: str, mirror: str | None, log: Path) -> str:
    """Name of the base image; a Debian suite's minimal system is made if missing."""
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
    note(log, f"base: debian {base} by debootstrap")
    with tempfile.TemporaryDirectory(prefix="apuflow-base-", dir="/var/tmp") as work:
        root, archive = Path(work) / "root", Path(work) / "base.tar"
        command = [program, "--variant=minbase", base, str(root), *([mirror] if mirror else [])]
        with log.open("ab") as stream:
            code = subprocess.run(command, stdout=stream, stderr=subprocess.STDOUT, check=False).returncode
        if code != 0:
            message = f"debootstrap failed with status {code} for Debian {base}"
            remedy = "check the suite's name and the network, or name an archive (mirrors.debian)"
            raise EngineError(message, file=log, remedy=remedy)
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
            if (own := build.recipe.directory / SOURCES_DIRECTORY).exists():
                message = f"the recipe has a directory {SOURCES_DIRECTORY} of its own"
                remedy = "rename it: local sources are put there"
                raise ConfigError(message, file=own, key="mirrors.image_sources", remedy=remedy)
            archive.add(build.sources, SOURCES_DIRECTORY, filter=plain)


def _processors(count: int) -> str:
    """The first processors of this process in Docker's notation."""
    allowed = sorted(os.sched_getaffinity(0))
    return ",".join(map(str, allowed[:count]))
