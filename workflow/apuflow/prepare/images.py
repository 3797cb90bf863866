"""Container images: pulled, local, or built from a Dockerfile."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from apuflow.configure.base import IMAGE_NAME
from apuflow.configure.image_source import ImageKind, ImageSource
from apuflow.containers import ApptainerEngine, ContainerEngine
from apuflow.core.errors import ConfigError, DescribedError, EngineError
from apuflow.core.files import atomic_write, sha256_file
from apuflow.prepare.dockerfile import DockerfileBuild, DockerfileRecord, repaired_context
from apuflow.prepare.records import ToolRecord

if TYPE_CHECKING:
    from apuflow.containers import DockerEngine
    from apuflow.prepare.image_stages import SourcesBuild


class ImageRecord(ToolRecord):
    """An existing image.

    Attributes:
        kind: kind of its source; none: the host's tools.
        name: the source's name or directory.
        reference: image id, independent of tags, or ``.sif`` path.
        digest: ``sha256:...`` of its content; of pulled images from the registry.
        dockerfile: sources of the build; None unless from gem5's Dockerfile.
    """

    engine: str
    kind: ImageKind | Literal["none"]
    name: str | None
    reference: str | None
    digest: str | None
    dockerfile: DockerfileRecord | None = None


@dataclass(frozen=True)
class ImagePlan:
    """How to get an image.

    Attributes:
        sources: sources in order; a failing one is skipped.
        tag: name of a built image.
        dockerfile: returns the build of a source of kind dockerfile; called when needed.
        build: inputs of a source of kind recipe.
        directory: of Apptainer's ``.sif`` files.
        log: gets the engine's output and the reasons of skipped sources.
    """

    sources: Sequence[ImageSource]
    log: Path
    tag: str = ""
    dockerfile: Callable[[ImageSource], DockerfileBuild] = lambda _: DockerfileBuild()
    build: Callable[[str], SourcesBuild] | None = None
    directory: Path = Path("images")


def first_image(engine: ContainerEngine, plan: ImagePlan) -> tuple[ImageRecord, ImageSource | None]:
    """The image of the first working source, and that source.

    Raises:
        EngineError: no source has it (ONE message with each and its reason), or the disk is full.
        ConfigError: a source does not go with the engine.
    """
    plan.log.parent.mkdir(parents=True, exist_ok=True)
    if engine.name == "host":
        return ImageRecord(engine="host", kind="none", name=None, reference=None, digest=None), None
    reasons: list[tuple[ImageSource, DescribedError]] = []
    for source in plan.sources:
        try:
            return resolve_image(engine, source, plan), source
        except (EngineError, ConfigError) as error:
            if len(plan.sources) == 1 or _FULL.search(error.message):
                raise
            reasons.append((source, error))
            _note(plan.log, f"passed over: {source}: {error.message}")
    raise _no_source(reasons, plan.log)


WITHOUT_IMAGE = (
    "mend one of these, or name an image of yours (image in configs/site.yaml). Without an image: "
    "`snakemake --cores all results/kernels/report.html` runs kernels on gem5 with `container: host`, "
    "`snakemake --cores all results/quickstart/report.html` runs the preview anywhere"
)
_FULL = re.compile(r"no space left on device|disk quota exceeded", re.I)


def resolve_image(engine: ContainerEngine, source: ImageSource, plan: ImagePlan) -> ImageRecord:
    """Make sure that the engine has the image of one source, and record exactly which.

    Raises:
        EngineError: it cannot be made or found, or is not the one of the source's digest.
        ConfigError: the source does not go with the engine.
    """
    from apuflow.containers import DockerEngine

    if isinstance(engine, ApptainerEngine):
        record = _apptainer(engine, source, plan)
    elif isinstance(engine, DockerEngine):
        record = _docker(engine, source, plan)
    else:
        raise ConfigError("this container engine runs no images", key="container", value=engine.name)
    if source.digest is not None and record.digest != source.digest:
        raise EngineError(
            f"the image has another digest: {record.digest}",
            key="digest",
            value=source.digest,
            remedy="correct or remove the digest of this source",
        )
    return record


def _docker(engine: DockerEngine, source: ImageSource, plan: ImagePlan) -> ImageRecord:
    from apuflow.containers.docker_connection import engine_errors

    dockerfile, reference = None, plan.tag
    if source.kind == "registry":
        reference = _pull(engine, source, plan.log)
    elif source.kind == "local":
        reference = source.place
    elif source.kind == "recipe":
        _build_recipe(engine, source, plan)
    else:
        dockerfile = _build_dockerfile(engine, source, plan)
    if not re.match(IMAGE_NAME, reference):
        raise ConfigError("not an image name", key="image.name", value=reference, remedy="registry/name:tag")
    with engine_errors(f"find the image {reference}"):
        image: dict[str, Any] = engine.client.api.inspect_image(reference)  # type: ignore[no-untyped-call]
    known = reference.partition("@")[2] or str(image["Id"])
    known = known if known.startswith("sha256:") else f"sha256:{known}"
    return ImageRecord(
        engine=engine.name,
        kind=source.kind,
        name=source.place,
        reference=str(image["Id"]),
        digest=known,
        dockerfile=dockerfile,
    )


def _build_recipe(engine: DockerEngine, source: ImageSource, plan: ImagePlan) -> None:
    from apuflow.prepare.image_stages import build_stages

    assert plan.build is not None
    build_stages(engine, plan.build(source.place), plan.tag, plan.log)


_BROKEN_STEP = (
    "the log ends with the step that failed: check the network, or change the step by an entry in repairs of "
    "this source (docs/configuration.md)"
)


def _build_dockerfile(engine: DockerEngine, source: ImageSource, plan: ImagePlan) -> DockerfileRecord:
    """Build a Dockerfile of gem5's sources, repaired in a copy of its directory."""
    from apuflow.containers.docker_connection import engine_errors

    build = plan.dockerfile(source)
    with tempfile.TemporaryDirectory(prefix="apuflow-image-") as directory:
        context = Path(directory) / "context"
        record = repaired_context(build, source.place, context)
        _note(plan.log, f"building {plan.tag} from {record}")
        with engine_errors(f"build {plan.tag}"):
            lines = engine.client.api.build(
                path=str(context),
                tag=plan.tag,
                rm=True,
                forcerm=True,
                network_mode=None if engine.daemon.bridge else "host",
                decode=True,
            )
            _write(plan.log, lines, f"build {plan.tag} from {build.checkout / source.place}", _BROKEN_STEP)
    return record


def _pull(engine: DockerEngine, source: ImageSource, log: Path) -> str:
    """Pull an image; return ``repository@digest``.

    Docker returns the digest before the pull. Podman (4.3) has no such call and returns it afterwards. The
    engine keeps finished layers of an interrupted pull.
    """
    from apuflow.containers.docker_connection import engine_errors, has_image

    repository, tag = _split(source.place)
    if engine.daemon.podman and source.digest is None:
        _fetch(engine, source, tag, log)
        with engine_errors(f"find the image {source.place}"):
            image: dict[str, Any] = engine.client.api.inspect_image(source.place)  # type: ignore[no-untyped-call]
        return next(str(name) for name in image["RepoDigests"] if name.startswith(f"{repository}@"))
    digest = source.digest if engine.daemon.podman else None
    reference = f"{repository}@{digest or _registry_digest(engine, source)}"
    if not has_image(engine.client, reference):
        _fetch(engine, source, reference.partition("@")[2], log)
    return reference


def _fetch(engine: DockerEngine, source: ImageSource, version: str, log: Path) -> None:
    """Pull a tag or a digest of a source."""
    from apuflow.containers.docker_connection import engine_errors

    _note(log, f"pulling {source.place} as {version}")
    try:
        with engine_errors(f"pull {source.place}"):
            lines = engine.client.api.pull(_split(source.place)[0], tag=version, stream=True, decode=True)
            _write(log, lines, f"pull {source.place}")
    except EngineError as error:
        remedy = _registry_remedy(error.message, engine.name, source)
        raise EngineError(error.message, file=error.file, remedy=remedy) from error


def _registry_digest(engine: DockerEngine, source: ImageSource) -> str:
    """Digest of a registry's image: the source's if the engine has it, else the registry's."""
    from apuflow.containers.docker_connection import engine_errors, has_image
    from apuflow.containers.registry import manifest

    wanted = f"{_split(source.place)[0]}@{source.digest}" if source.digest else source.place
    if source.digest is not None and has_image(engine.client, wanted):
        return source.digest
    if engine.daemon.podman:
        return manifest(source.place, source.digest).digest
    api = engine.client.api
    try:
        with engine_errors(f"ask the registry for {wanted}"):
            found: dict[str, Any] = api.inspect_distribution(wanted)  # type: ignore[no-untyped-call]
    except EngineError as error:
        remedy = _registry_remedy(error.message, engine.name, source)
        raise EngineError(error.message, remedy=remedy) from error
    return str(found["Descriptor"]["digest"])


def look_for_image(engine: ContainerEngine, sources: Sequence[ImageSource]) -> str:
    """Describe the source that would give the image, without pulling or building.

    Raises:
        EngineError: no source has it; one message with all reasons.
    """
    reasons: list[tuple[ImageSource, DescribedError]] = []
    for source in sources:
        try:
            found = _look(engine, source)
        except EngineError as error:
            reasons.append((source, error))
        else:
            return found + "".join(f"; not {other}: {error.message}" for other, error in reasons)
    raise _no_source(reasons)


def _look(engine: ContainerEngine, source: ImageSource) -> str:
    from apuflow.containers import DockerEngine
    from apuflow.containers.docker_connection import engine_errors, has_image

    if source.kind in ("dockerfile", "recipe"):
        return f"to be built from {source}"
    if source.kind == "registry":
        return _look_in_registry(engine, source)
    if not isinstance(engine, DockerEngine):
        if not Path(source.place).is_file():
            raise EngineError("no such image file", remedy="correct its name")
        return f"{source}, {_size(Path(source.place).stat().st_size)}"
    if not has_image(engine.client, source.place):
        raise EngineError("the engine has no such image", remedy="correct its name")
    with engine_errors(f"find the image {source.place}"):
        image: dict[str, Any] = engine.client.api.inspect_image(source.place)  # type: ignore[no-untyped-call]
    return f"{source}, {image['Id']}, {_size(int(image['Size']))} on disk"


def _look_in_registry(engine: ContainerEngine, source: ImageSource) -> str:
    """Digest of a registry's image, and bytes to pull."""
    from apuflow.containers import DockerEngine
    from apuflow.containers.docker_connection import has_image
    from apuflow.containers.registry import manifest

    try:
        if not isinstance(engine, DockerEngine):
            found = manifest(source.place, source.digest)
            return f"{source.place}, {found.digest}, {_size(found.layer_bytes)} to pull"
        digest = _registry_digest(engine, source)
        if has_image(engine.client, f"{_split(source.place)[0]}@{digest}"):
            return f"{source.place}, {digest}, pulled already"
    except EngineError as error:
        remedy = error.remedy or _registry_remedy(error.message, engine.name, source)
        raise EngineError(error.message, remedy=remedy) from error
    try:
        size = f"{_size(manifest(source.place, digest).layer_bytes)} to pull"
    except EngineError as error:  # the engine's mirror or proxy may reach it
        size = f"size unknown ({error.message})"
    return f"{source.place}, {digest}, {size}"


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


def _no_source(reasons: Sequence[tuple[ImageSource, DescribedError]], log: Path | None = None) -> EngineError:
    listed = "\n".join(
        f"  {number}. {source}: {error.message}"
        + (f"\n     file: {error.file}" if error.key and error.file else "")
        + (f"\n     fix: {error.remedy}" if error.remedy else "")
        for number, (source, error) in enumerate(reasons, 1)
    )
    return EngineError(f"no source has the image:\n{listed}", file=log, remedy=WITHOUT_IMAGE)


def _registry_remedy(message: str, engine: str, source: ImageSource) -> str:
    """The fix for an error of Docker's distribution client."""
    if re.search(r"no basic auth|unauthorized|authentication required|denied", message):
        return f"`{engine} login {source.place.partition('/')[0]}`, if you may use it; else another source"
    if re.search(r"manifest unknown|not found|name unknown|no such manifest", message):
        return "the registry has no such image: correct its name, tag or digest"
    return "check the network and the registry's name"


def _note(log: Path, text: str) -> None:
    with log.open("a", encoding="utf-8") as stream:
        print(f"apuflow: {text}", file=stream)


def _split(name: str) -> tuple[str, str]:
    """Repository and tag of an image name; a colon before a slash is a port."""
    repository, _, tag = name.rpartition(":")
    return (repository, tag) if repository and "/" not in tag else (name, "latest")


_WRONG_NAME = "check the name and the network"


def _write(log: Path, lines: Iterable[dict[str, Any]], doing: str, remedy: str = _WRONG_NAME) -> None:
    """Append an engine's progress to the log; raise its error."""
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
                    remedy=remedy,
                )


def _apptainer(engine: ApptainerEngine, source: ImageSource, plan: ImagePlan) -> ImageRecord:
    if source.kind in ("dockerfile", "recipe"):
        raise ConfigError(
            "Apptainer cannot build a Dockerfile",
            key="image.sources",
            value=source.place,
            remedy="build it with docker or podman elsewhere, `apptainer build name.sif docker-archive://...`"
            ", and mode local with that file",
        )
    if source.kind == "local":
        file = Path(source.place).resolve()
    else:
        repository = _split(source.place)[0]
        name = f"{repository}@{source.digest}" if source.digest else source.place
        file = (plan.directory / f"{re.sub(r'[^A-Za-z0-9._-]+', '_', name)}.sif").resolve()
        if not file.exists():
            with atomic_write(file, flush=False) as part, plan.log.open("ab") as stream:
                done = subprocess.run(
                    [engine.program, "pull", "--force", str(part), f"docker://{name}"],
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    check=False,
                )
                if done.returncode != 0:
                    raise EngineError(f"cannot pull docker://{name}", file=plan.log, remedy=_WRONG_NAME)
    if not file.is_file():
        raise EngineError("no such image file", file=file, remedy="correct image.name")
    pulled = source.kind == "registry" and source.digest
    return ImageRecord(
        engine=engine.name,
        kind=source.kind,
        name=source.place,
        reference=str(file),
        digest=source.digest if pulled else f"sha256:{sha256_file(file)}",
    )
