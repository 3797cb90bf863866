"""The possible sources of a release's image, and the one that ``images.lock.yaml`` fixes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml
from pydantic import Field

from apuflow.configure.base import Model, Name, read
from apuflow.configure.image_source import ImageKind, ImageSource
from apuflow.configure.release import Release
from apuflow.configure.site import ImageMode, Site
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.core.files import write_text

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
    entry = _read(root).get(release.name)
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
    entries = _read(root)
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


def _read(root: Path) -> dict[str, ImageSource]:
    path = root / paths.image_lock()
    return dict(read(path, ImageLock).images) if path.is_file() else {}
