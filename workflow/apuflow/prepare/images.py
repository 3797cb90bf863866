"""Container images: their possible sources, the one that ``images.lock.yaml`` fixes, and how to get it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import yaml
from pydantic import Field

from apuflow.configure.base import IMAGE_NAME, Model, Name, read
from apuflow.configure.image_source import ImageKind, ImageSource
from apuflow.configure.release import Release
from apuflow.configure.site import ImageMode, Site
from apuflow.containers.host import ApptainerEngine
from apuflow.containers.job import ContainerEngine
from apuflow.core import paths
from apuflow.core.errors import ConfigError, DescribedError, EngineError
from apuflow.core.files import atomic_write, sha256_file, write_text
from apuflow.prepare.recipes import DockerfileBuild, DockerfileRecord, SourcesBuild
from apuflow.prepare.records import ToolRecord, note, repository_and_tag

if TYPE_CHECKING:
    from apuflow.containers.docker import DockerEngine

_FULL = re.compile(r"no space left on device|disk quota exceeded", re.I)
_WITHOUT_IMAGE = (
    "mend one of these, or name an image of yours (image in configs/site.yaml). Without an image: "
    "`snakemake --cores all results/kernels/report.html` runs kernels on gem5 with `container: host`, "
    "`snakemake --cores all results/quickstart/report.html` runs the preview anywhere"
)
_DEBIAN_RECIPE = "docker/gcn-gpu-debian"
"""This project's image without ROCm's runtime: kernels run in it, DNNMark's programs do not start."""
_KINDS: Mapping[ImageMode | None, tuple[ImageKind, ...]] = {
    None: ("local", "registry", "dockerfile", "recipe"),
    "pull": ("registry",),
    "build": ("dockerfile",),
}
"""Kinds of the release's sources by mode."""

_HEAD = """\
# Which image each gem5 release runs in. apuflow adds an entry when an image is found for the first time.
# Commit this file: the next run and the next person then get the same content. To take another image, remove
# the release's entry.
"""


class ImageLock(Model):
    """Content of ``images.lock.yaml``."""

    images: dict[Name, ImageSource] = Field(
        description="by release: the source that gave its image; of a registry with its digest"
    )


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


_Image: TypeAlias = tuple[str, str, DockerfileRecord | None]
"""Reference, digest, and sources of a build (see ``ImageRecord``)."""


@dataclass(frozen=True)
class ImagePlan:
    """How to get an image.

    Attributes:
        sources: in order; a failing one is skipped.
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


def image_sources(site: Site, release: Release) -> tuple[ImageSource, ...]:
    """Sources of the release's image on this site, in order."""
    image = site.image
    if image.sources is not None:
        return image.sources
    if image.mode == "local":
        return (ImageSource(local=image.name, digest=image.digest),)
    if image.mode in ("debian", "sources"):
        return (ImageSource(recipe=image.recipe or _DEBIAN_RECIPE),)
    if image.name is not None and image.mode != "build":
        return (ImageSource(registry=image.name, digest=image.digest),)
    return tuple(
        source.model_copy(update={"digest": image.digest}) if image.digest and kind == "registry" else source
        for source in release.image.sources
        if (kind := source.kind) in _KINDS[image.mode]
    )


def locked_source(site: Site, release: Release, root: Path) -> ImageSource | None:
    """The source that the lock fixes for a release; None without an entry for this site's sources."""
    entry = _locked(root).get(release.name)
    if entry is None:
        return None
    for source in image_sources(site, release):
        if (source.kind, source.place, source.commit) == (entry.kind, entry.place, entry.commit):
            return source.model_copy(update={"digest": entry.digest})
    return None


def sources_to_try(site: Site, release: Release, root: Path) -> tuple[ImageSource, ...]:
    """The source that the lock fixes, else all sources of site and release, in order."""
    locked = locked_source(site, release, root)
    return image_sources(site, release) if locked is None else (locked,)


def lock(release: str, source: ImageSource, digest: str | None, root: Path) -> None:
    """Fix the source of a release's image, of a registry with its digest; an existing entry stays."""
    entries = _locked(root)
    if release in entries or source.kind == "local":
        return
    pinned = {"digest": digest if source.kind == "registry" else None, "repairs": ()}
    entries[release] = source.model_copy(update=pinned)
    plain = ImageLock(images=dict(sorted(entries.items()))).model_dump(mode="json", exclude_defaults=True)
    write_text(root / paths.image_lock(), _HEAD + yaml.safe_dump(plain, sort_keys=False))


def check_recorded(release: Release, site: Site, digest: str | None, record: str, root: Path) -> None:
    """Raise ConfigError if the digest of the image of a ``record`` differs from the lock's."""
    locked = locked_source(site, release, root)
    if locked is None or locked.digest is None or digest is None or locked.digest == digest:
        return
    raise ConfigError(
        f"this project ran gem5 {release.name} in another image than the lock fixes: {digest}",
        file=paths.image_lock(),
        key=f"images.{release.name}.digest",
        value=locked.digest,
        remedy=f"to take the locked image, remove {record} and what was built in the other one "
        f"(build/toolchain/{release.name}); to keep the other one, remove the entry from the lock",
    )


def _locked(root: Path) -> dict[str, ImageSource]:
    path = root / paths.image_lock()
    return dict(read(path, ImageLock).images) if path.is_file() else {}


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
            note(plan.log, f"passed over: {source}: {error.message}")
    raise _no_source(reasons, plan.log)


def resolve_image(engine: ContainerEngine, source: ImageSource, plan: ImagePlan) -> ImageRecord:
    """Make sure that the engine has the image of one source, and record exactly which.

    Raises:
        EngineError: it cannot be made or found, or is not the one of the source's digest.
        ConfigError: the source does not go with the engine.
    """
    from apuflow.containers.docker import DockerEngine

    if isinstance(engine, ApptainerEngine):
        reference, digest, dockerfile = _apptainer(engine, source, plan)
    elif isinstance(engine, DockerEngine):
        reference, digest, dockerfile = _docker(engine, source, plan)
    else:
        raise ConfigError("this container engine runs no images", key="container", value=engine.name)
    if source.digest is not None and digest != source.digest:
        remedy = "correct or remove the digest of this source"
        message = f"the image has another digest: {digest}"
        raise EngineError(message, key="digest", value=source.digest, remedy=remedy)
    return ImageRecord(
        engine=engine.name,
        kind=source.kind,
        name=source.place,
        reference=reference,
        digest=digest,
        dockerfile=dockerfile,
    )


def _docker(engine: DockerEngine, source: ImageSource, plan: ImagePlan) -> _Image:
    from apuflow.prepare import docker_images

    dockerfile, reference = None, plan.tag
    if source.kind == "registry":
        reference = docker_images.pull(engine, source, plan.log)
    elif source.kind == "local":
        reference = source.place
    elif source.kind == "recipe":
        assert plan.build is not None
        docker_images.build_stages(engine, plan.build(source.place), plan.tag, plan.log)
    else:
        build = plan.dockerfile(source)
        dockerfile = docker_images.build_dockerfile(engine, build, source.place, plan.tag, plan.log)
    if not re.match(IMAGE_NAME, reference):
        raise ConfigError("not an image name", key="image.name", value=reference, remedy="registry/name:tag")
    identifier = str(docker_images.inspect(engine, reference)["Id"])
    known = reference.partition("@")[2] or identifier
    return identifier, known if known.startswith("sha256:") else f"sha256:{known}", dockerfile


def look_for_image(engine: ContainerEngine, sources: Sequence[ImageSource]) -> str:
    """Describe the source that would give the image. Raises EngineError with all reasons if there is none."""
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
    from apuflow.containers.docker import DockerEngine, has_image
    from apuflow.prepare import docker_images

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
    image = docker_images.inspect(engine, source.place)
    return f"{source}, {image['Id']}, {_size(int(image['Size']))} on disk"


def _look_in_registry(engine: ContainerEngine, source: ImageSource) -> str:
    """Digest of a registry's image, and bytes to pull."""
    from apuflow.containers.docker import DockerEngine, has_image
    from apuflow.containers.registry import manifest
    from apuflow.prepare import docker_images

    try:
        if not isinstance(engine, DockerEngine):
            found = manifest(source.place, source.digest)
            return f"{source.place}, {found.digest}, {_size(found.layer_bytes)} to pull"
        digest = docker_images.registry_digest(engine, source)
        if has_image(engine.client, f"{repository_and_tag(source.place)[0]}@{digest}"):
            return f"{source.place}, {digest}, pulled already"
    except EngineError as error:
        remedy = error.remedy or docker_images.registry_remedy(error.message, engine.name, source)
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
    return EngineError(f"no source has the image:\n{listed}", file=log, remedy=_WITHOUT_IMAGE)


def _apptainer(engine: ApptainerEngine, source: ImageSource, plan: ImagePlan) -> _Image:
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
        repository, _ = repository_and_tag(source.place)
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
                    remedy = "check the name and the network"
                    raise EngineError(f"cannot pull docker://{name}", file=plan.log, remedy=remedy)
    if not file.is_file():
        raise EngineError("no such image file", file=file, remedy="correct image.name")
    pulled = source.digest if source.kind == "registry" else None
    return str(file), pulled or f"sha256:{sha256_file(file)}", None
