"""Container images: build gem5's own, pull, build Debian's or one from a recipe, or use one that is there."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from apuflow.containers import ApptainerEngine, ContainerEngine
from apuflow.core.errors import ConfigError, EngineError
from apuflow.core.files import atomic_write, sha256_file
from apuflow.prepare.records import ToolRecord

if TYPE_CHECKING:
    from apuflow.containers import DockerEngine
    from apuflow.prepare.image_stages import SourcesBuild

Mode = Literal["build", "pull", "debian", "sources", "local"]
_NAME = re.compile(r"^[a-zA-Z0-9][a-zA-Z0-9._/:@-]*$")


class ImageRecord(ToolRecord):
    """An image that is there.

    Attributes:
        reference: what the engine runs: an image id that no later tag can move, or a ``.sif`` path.
        digest: ``sha256:...`` of its content; from the registry where it was pulled.
    """

    engine: str
    mode: Mode | Literal["none"]
    name: str | None
    reference: str | None
    digest: str | None


def resolve_image(
    engine: ContainerEngine,
    mode: Mode,
    *,
    name: str,
    context: Path | None = None,
    sources: SourcesBuild | None = None,
    digest: str | None = None,
    directory: Path | None = None,
    log: Path,
) -> ImageRecord:
    """Make sure that the engine has an image, and record exactly which.

    Args:
        name: registry name (pull), the tag to give (build, debian, sources), or what is there (local).
        context: directory with the Dockerfile (build, debian).
        sources: recipe and what it is built with (sources).
        digest: pin: another content is refused.
        directory: where Apptainer puts ``.sif`` files.
        log: the engine's output is appended here.

    Raises:
        EngineError: it cannot be made or found, or is not the pinned one.
        ConfigError: the mode does not go with the engine.
    """
    from apuflow.containers import DockerEngine

    log.parent.mkdir(parents=True, exist_ok=True)
    if engine.name == "host":
        return ImageRecord(engine="host", mode="none", name=None, reference=None, digest=None)
    if isinstance(engine, ApptainerEngine):
        record = _apptainer(engine, mode, name, digest, directory or Path("images"), log)
    elif isinstance(engine, DockerEngine):
        record = _docker(engine, mode, name, context, sources, digest, log)
    else:
        raise ConfigError("this container engine runs no images", key="engine", value=engine.name)
    if digest is not None and record.digest != digest:
        raise EngineError(
            f"the image has another digest: {record.digest}",
            key="digest",
            value=digest,
            remedy="correct or remove the pin (image.digest in configs/site.yaml)",
        )
    return record


def _docker(
    engine: DockerEngine,
    mode: Mode,
    name: str,
    context: Path | None,
    sources: SourcesBuild | None,
    digest: str | None,
    log: Path,
) -> ImageRecord:
    from apuflow.containers.docker_connection import engine_errors

    if not _NAME.match(name):
        raise ConfigError(
            "not an image name", key="image.name", value=name, remedy="such as registry/name:tag"
        )
    api = engine.client.api
    if mode == "pull":
        repository, tag = _split(name)
        with engine_errors(f"pull {name}"):
            _write(log, api.pull(repository, tag=digest or tag, stream=True, decode=True), f"pull {name}")
    elif mode == "sources":
        from apuflow.prepare.image_stages import build_stages

        assert sources is not None
        build_stages(engine, sources, name, log)
    elif mode in ("build", "debian"):
        if context is None or not (context / "Dockerfile").is_file():
            raise EngineError(
                "no Dockerfile here", file=context, remedy="correct image.build in configs/gem5"
            )
        network = None if engine.daemon.bridge else "host"
        with engine_errors(f"build {name}"):
            _write(
                log,
                api.build(
                    path=str(context), tag=name, rm=True, forcerm=True, network_mode=network, decode=True
                ),
                f"build {name} from {context}",
            )
    reference = f"{_split(name)[0]}@{digest}" if mode == "pull" and digest else name
    with engine_errors(f"find the image {name}"):
        image: dict[str, Any] = api.inspect_image(reference)  # type: ignore[no-untyped-call]
    from_registry = [entry.partition("@")[2] for entry in image.get("RepoDigests") or []]
    known = from_registry[0] if mode == "pull" and from_registry else str(image["Id"])
    known = known if known.startswith("sha256:") else f"sha256:{known}"
    return ImageRecord(engine=engine.name, mode=mode, name=name, reference=str(image["Id"]), digest=known)


def _split(name: str) -> tuple[str, str]:
    """Repository and tag of an image name; a colon before a slash is a port."""
    repository, _, tag = name.rpartition(":")
    return (repository, tag) if repository and "/" not in tag else (name, "latest")


def _write(log: Path, lines: Iterable[dict[str, Any]], doing: str) -> None:
    """Append an engine's progress to the log; raise the error that stands among it."""
    with log.open("a", encoding="utf-8") as stream:
        for line in lines:
            text = line.get("stream") or line.get("status") or ""
            if "progressDetail" not in line and text.strip():
                print(text.rstrip("\n"), file=stream, flush=True)
            if "error" in line:
                print(line["error"], file=stream)
                raise EngineError(
                    f"cannot {doing}: {str(line['error']).strip().splitlines()[0]}",
                    file=log,
                    remedy="check the name and the network; image mode debian builds from Debian's archive, "
                    "local takes an image that you have",
                )


def _apptainer(
    engine: ApptainerEngine, mode: Mode, name: str, digest: str | None, directory: Path, log: Path
) -> ImageRecord:
    if mode in ("build", "debian", "sources"):
        raise ConfigError(
            "Apptainer cannot build a Dockerfile",
            key="image.mode",
            value=mode,
            remedy="mode pull, or build with docker or podman elsewhere, `apptainer build name.sif "
            "docker-archive://...`, and mode local with that file",
        )
    if mode == "local":
        file = Path(name).resolve()
    else:
        file = (directory / f"{re.sub(r'[^A-Za-z0-9._-]+', '_', name)}.sif").resolve()
        if not file.exists():
            repository = _split(name)[0]
            source = f"docker://{repository}@{digest}" if digest else f"docker://{name}"
            with atomic_write(file, flush=False) as part, log.open("ab") as stream:
                done = subprocess.run(
                    [engine.program, "pull", "--force", str(part), source],
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    check=False,
                )
                if done.returncode != 0:
                    remedy = "check the name and the network"
                    raise EngineError(f"cannot pull {source}", file=log, remedy=remedy)
    if not file.is_file():
        raise EngineError("no such image file", file=file, remedy="correct image.name")
    digest_of_file = f"sha256:{sha256_file(file)}"
    return ImageRecord(
        engine=engine.name,
        mode=mode,
        name=name,
        reference=str(file),
        digest=digest if mode == "pull" and digest else digest_of_file,
    )
