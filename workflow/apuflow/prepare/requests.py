"""A site's gem5, DNNMark and image as values for names of records and identities."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any

from apuflow.configure.gem5_build import Build
from apuflow.configure.image_source import ImageSource
from apuflow.configure.release import Release
from apuflow.configure.site import Site
from apuflow.configure.workload import Workload
from apuflow.core import paths
from apuflow.core.errors import ConfigError, EngineError
from apuflow.core.files import remembered_sha256
from apuflow.core.git import changes_of, commit_of
from apuflow.prepare import quick_pipeline
from apuflow.prepare.images import check_recorded, image_sources
from apuflow.prepare.recipes import directory_sha256
from apuflow.prepare.sources import Origin, gem5_patches, origin
from apuflow.rocblas.tables import ROCBLAS_COMMIT, TENSILE_COMMIT


@cache
def checkout_commit(directory: Path) -> str:
    """Commit of a git checkout, with a hash of its uncommitted changes. Raises ConfigError if it is none."""
    try:
        commit, changes = commit_of(directory), changes_of(directory)
    except EngineError as error:
        message = "not a git checkout"
        remedy = "name the directory of a clone, and install git"
        raise ConfigError(message, file="configs/site.yaml", value=str(directory), remedy=remedy) from error
    return f"{commit}+{hashlib.sha256(changes).hexdigest()[:12]}" if changes else commit


def gem5_content(release: Release, gfx: str, site: Site, root: Path) -> dict[str, Any]:
    """The gem5 that runs a GPU architecture: the site's own by its hash, else by commit and build."""
    if site.gem5.binary is not None:
        return {"binary": supplied_hash(root, site.gem5.binary)}
    scons = {"scons": list(site.gem5.scons)} if site.gem5.scons else {}
    built: dict[str, Any] = {"target": release.build_target(gfx), **scons, **_build(release, site, root)}
    if site.gem5.source is not None:
        return {"source": supplied_commit(root, site.gem5.source), **built}
    return {"commit": release.gem5.commit, **built}


def request(tool: str, release: Release, site: Site, root: Path) -> str:
    """Hash (8 hexadecimal digits) of what this site requests of a tool; part of its record's name.

    Args:
        tool: ``source-`` and gem5, resources, miopen, rocblas or tensile; ``image``, ``dnnmark``, ``gem5``
            (the site's own) or ``gem5-<build target>``.
    """
    text = json.dumps([tool, _requested(tool, release, site, root)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _requested(tool: str, release: Release, site: Site, root: Path) -> dict[str, Any]:
    gem5, resources = (_source(origin(each, release, site), root) for each in ("gem5", "resources"))
    sources: dict[str, dict[str, Any]] = {
        "source-gem5": gem5,
        "source-resources": resources,
        "source-miopen": {"commit": release.miopen.source.commit},
        "source-rocblas": {"source": site.rocblas_source, "commit": ROCBLAS_COMMIT},
        "source-tensile": {"source": site.tensile_source, "commit": TENSILE_COMMIT},
    }
    if tool in sources:
        return sources[tool]
    engine = site.container_engine
    image = _requested_image(release, site, engine) | {"engine": engine} | _recipe(site, root)
    first = next(iter(image_sources(site, release)), None)
    if engine != "host" and first is not None and first.is_of_the_gem5_that_runs:
        image["gem5"] = gem5
    if tool == "image":
        return image
    if tool == "gem5":
        binary = str(site.gem5.binary)
        return {"binary": binary, "sha256": supplied_hash(root, binary), "gem5": gem5}
    if tool == "dnnmark":
        build = site.dnnmark.build
        return {"build": build} if build is not None else {"resources": resources, "image": image}
    return {"gem5": gem5, "image": image, "scons": list(site.gem5.scons), **_build(release, site, root)}


def gem5_build(release: Release, site: Site) -> Build:
    """How gem5 is compiled: the site's value, else the release's."""
    return site.gem5.build or release.gem5.build


def _build(release: Release, site: Site, root: Path) -> dict[str, Any]:
    """How gem5 is compiled, with hashes of the patches of its sources; empty if as upstream."""
    build, keys = gem5_build(release, site), dict[str, Any]()
    if places := gem5_patches(release, site):
        keys["patches"] = [supplied_hash(root, place) for place in places]
    if not build.default:
        keys["build"] = build.model_dump(mode="json", exclude_defaults=True)
        if build.quick_pipeline:
            keys["quick_pipeline"] = quick_pipeline.digest()
    return keys


def _recipe(site: Site, root: Path) -> dict[str, Any]:
    """What an image is built from, without mirrors, which hold the same."""
    image = site.image
    if image.recipe is None:
        return {}
    return {
        "recipe": supplied_directory(root, image.recipe),
        "base": image.base,
        "arguments": dict(sorted(image.arguments.items())),
    }


def _source(found: Origin, root: Path) -> dict[str, Any]:
    if found.checkout is None:
        return {"commit": found.commit}
    with contextlib.suppress(ConfigError):
        return {"source": found.checkout, "commit": supplied_commit(root, found.checkout)}
    return {"source": found.checkout}


def recorded_digest(release: Release, site: Site, root: Path) -> str | None:
    """Digest of the requested image, as stage ``image`` recorded it; None before that stage.

    Raises ConfigError if the lock fixes another image.
    """
    if next(root.glob(paths.tool_record(release.name, "image", "*")), None) is None:
        return None  # independent of the engine that runs it
    path = paths.tool_record(release.name, "image", request("image", release, site, root))
    record = _read(root / path)
    digest = record.get("digest") if isinstance(record, dict) else None
    if not isinstance(digest, str):
        return None
    check_recorded(release, site, digest, path, root)
    return digest


def image_content(release: Release, site: Site, root: Path) -> dict[str, Any]:
    """The image by its recorded digest; before that, by its sources.

    The machine's engine is not part of it: a site without ``container`` has the same points everywhere.
    """
    digest = recorded_digest(release, site, root)
    return _requested_image(release, site, site.container) if digest is None else {"digest": digest}


def _requested_image(release: Release, site: Site, engine: str | None) -> dict[str, Any]:
    if engine == "host":
        return {"kind": "host"}
    dump = partial(ImageSource.model_dump, mode="json", exclude_defaults=True)
    why = {"repairs": {"__all__": {"why"}}}
    return {"sources": [dump(source, exclude=why) for source in image_sources(site, release)]}


def dnnmark_content(release: Release, site: Site, root: Path) -> Any:
    """The DNNMark that runs: the site's own build or checkout, else gem5-resources' commit."""
    if site.dnnmark.build is not None:
        return {"build": supplied_hash(root, f"{site.dnnmark.build}/libdnnmark.so")}
    if site.dnnmark.source is not None:
        return {"source": supplied_commit(root, site.dnnmark.source)}
    return release.resources.commit


def supplied(
    site: Site, workloads: Iterable[Workload], root: Path, releases: Iterable[Release] = ()
) -> dict[str, str]:
    """What the user supplied: configured place to hash or commit, for machines that lack it."""
    files = [file for workload in workloads for file in workload.supplied]
    files += [place for release in releases for place in gem5_patches(release, site.of(release.name))]
    if site.dnnmark.build is not None:
        files.append(f"{site.dnnmark.build}/libdnnmark.so")
    files += [gem5.binary for gem5 in site.gem5_builds if gem5.binary is not None]
    found = {place: supplied_hash(root, place) for place in files}
    if site.image.recipe is not None:
        found[site.image.recipe] = supplied_directory(root, site.image.recipe)
    checkouts = (*(gem5.source for gem5 in site.gem5_builds), site.dnnmark.source)
    with contextlib.suppress(ConfigError):
        found |= {place: supplied_commit(root, place) for place in checkouts if place is not None}
    return dict(sorted(found.items()))


@cache
def supplied_hash(root: Path, place: str) -> str:
    """SHA-256 of a file that the user supplied, from here or an archive; else its name."""
    file = root / place
    if not file.is_file():
        return _recorded(root).get(place, place)
    return remembered_sha256(file, root / paths.hash_note(place))


@cache
def supplied_directory(root: Path, place: str) -> str:
    """SHA-256 of a directory that the user supplied, as ``supplied_hash`` for a file."""
    directory = root / place
    return directory_sha256(directory) if directory.is_dir() else _recorded(root).get(place, place)


def supplied_commit(root: Path, place: str) -> str:
    """Commit of a checkout that the user supplied, from here or an archive."""
    recorded = None if (root / place).exists() else _recorded(root).get(place)
    return recorded or checkout_commit(root / place)


@cache
def _recorded(root: Path) -> dict[str, str]:
    return dict(_read(root / paths.supplied_record()))


def _read(file: Path) -> Any:
    """Content of a JSON file; empty if it cannot be read."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
