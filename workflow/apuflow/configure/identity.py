"""Where a result comes from: the part of a point's identity that is not options and network.

The engine and its version, the pinned sources, the image, and hashes of what the user brought along.

The readable part of a point's name: what sets it apart from release defaults and the shipped network.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from apuflow.configure.catalogue import Value
from apuflow.configure.loading import Workload
from apuflow.configure.release import Release
from apuflow.configure.site import Site
from apuflow.configure.sweep import DEFAULT_RELEASE
from apuflow.configure.workload import EngineName
from apuflow.core import paths, versions
from apuflow.core.errors import ConfigError, EngineError
from apuflow.core.files import remembered_sha256
from apuflow.core.git import changes_of, commit_of


def engine_content(
    engine: EngineName, release: Release, gfx: str, workload: Workload, site: Site, root: Path
) -> dict[str, Any]:
    """What decides the result of this engine besides options and network, as JSON-able values."""
    content: dict[str, Any] = {"engine": engine, "direction": workload.direction}
    if engine in versions.ENGINES:
        content["version"] = engine_version(engine)
    if engine == "preview":
        content["barrier_slots"] = release.capabilities.barrier_slots
        return content
    content["gem5"] = _gem5(release, gfx, site, root)
    if engine == "gem5-kernels":
        content["miopen"] = release.miopen.source.commit
        return content
    content["image"] = _image(release, site, root)
    if workload.command is not None:
        command = workload.command
        content["command"] = {
            "binary": _hash(root, command.binary),
            "arguments": list(command.arguments),
            "environment": dict(sorted(command.environment.items())),
        }
        return content
    content["benchmark"] = workload.benchmark
    content["miopen"] = release.miopen.source.commit
    if site.dnnmark.build is not None:
        content["dnnmark"] = {"build": _hash(root, f"{site.dnnmark.build}/libdnnmark.so")}
    elif site.dnnmark.source is not None:
        content["dnnmark"] = {"source": _commit(root, site.dnnmark.source)}
    else:
        content["dnnmark"] = release.resources.commit
    return content


def engine_version(engine: EngineName) -> str:
    """Version of an engine that is part of this project."""
    return versions.ENGINES[engine]


@functools.cache
def checkout_commit(directory: Path) -> str:
    """Commit that a git checkout stands at; with a hash of its uncommitted changes, if it has any.

    Raises:
        ConfigError: it is no git checkout.
    """
    try:
        commit, changes = commit_of(directory), changes_of(directory)
    except EngineError as error:
        raise ConfigError(
            "not a git checkout",
            file="configs/site.yaml",
            value=str(directory),
            remedy="name the directory of a clone, and install git",
        ) from error
    return f"{commit}+{hashlib.sha256(changes).hexdigest()[:12]}" if changes else commit


def _gem5(release: Release, gfx: str, site: Site, root: Path) -> dict[str, Any]:
    if site.gem5.binary is not None:
        return {"binary": _hash(root, site.gem5.binary)}
    target = release.build_target(gfx)
    built = {"target": target} | ({"scons": list(site.gem5.scons)} if site.gem5.scons else {})
    if site.gem5.source is not None:
        return {"source": _commit(root, site.gem5.source), **built}
    return {"commit": release.gem5.commit, **built}


def asked(tool: str, release: Release, site: Site, root: Path) -> str:
    """Eight hex digits that name what this site asks of a tool. They are part of its record's name, so that
    another image, commit, checkout or program than the recorded one is never taken for it.

    Args:
        tool: ``source-gem5``, ``source-resources``, ``source-miopen``, ``image``, ``dnnmark``, ``gem5`` (the
            site's own) or ``gem5-<build target>``.
    """
    text = json.dumps([tool, _asked(tool, release, site, root)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _asked(tool: str, release: Release, site: Site, root: Path) -> dict[str, Any]:
    gem5 = _source(site.gem5.source, release.gem5.commit, root)
    resources = _source(site.dnnmark.source, release.resources.commit, root)
    if tool == "source-gem5":
        return gem5
    if tool == "source-resources":
        return resources
    if tool == "source-miopen":
        return {"commit": release.miopen.source.commit}
    image = _asked_image(release, site) | {"engine": site.engine}
    if image["mode"] == "build":
        image["gem5"] = gem5
    if tool == "image":
        return image
    if tool == "gem5":
        binary = str(site.gem5.binary)
        return {"binary": binary, "sha256": _hash(root, binary), "gem5": gem5}
    if tool == "dnnmark":
        build = site.dnnmark.build
        return {"build": build} if build is not None else {"resources": resources, "image": image}
    return {"gem5": gem5, "image": image, "scons": list(site.gem5.scons)}


def _source(place: str | None, commit: str, root: Path) -> dict[str, Any]:
    if place is None:
        return {"commit": commit}
    with contextlib.suppress(ConfigError):
        return {"source": place, "commit": _commit(root, place)}
    return {"source": place}


def recorded_digest(release: Release, site: Site, root: Path) -> str | None:
    """Digest of the image that is asked for, as stage ``image`` recorded it; None before that stage."""
    place = root / paths.tool_record(release.name, "image", asked("image", release, site, root))
    try:
        record = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    digest = record.get("digest") if isinstance(record, dict) else None
    return digest if isinstance(digest, str) else None


def _image(release: Release, site: Site, root: Path) -> dict[str, Any]:
    """The image by mode, name and the digest that is pinned, or was recorded when it was first seen."""
    image = _asked_image(release, site)
    if image["mode"] != "host" and image["digest"] is None:
        image["digest"] = recorded_digest(release, site, root)
    return image


def _asked_image(release: Release, site: Site) -> dict[str, Any]:
    if site.engine == "host":
        return {"mode": "host"}
    mode = site.image.mode or release.image.mode
    name = site.image.name or (release.image.pull if mode == "pull" else mode)
    return {"mode": mode, "name": name, "digest": site.image.digest}


def brought(site: Site, workloads: Iterable[Workload], root: Path) -> dict[str, str]:
    """What the user brought along: place as configured to hash or commit, for machines that lack it."""
    files = [workload.command.binary for workload in workloads if workload.command is not None]
    if site.dnnmark.build is not None:
        files.append(f"{site.dnnmark.build}/libdnnmark.so")
    if site.gem5.binary is not None:
        files.append(site.gem5.binary)
    checkouts = [place for place in (site.gem5.source, site.dnnmark.source) if place is not None]
    found = {place: _hash(root, place) for place in files}
    with contextlib.suppress(ConfigError):
        found |= {place: _commit(root, place) for place in checkouts}
    return dict(sorted(found.items()))


@functools.cache
def _hash(root: Path, place: str) -> str:
    """SHA-256 of a file that the user brought, here or as an archive recorded it; else its name."""
    file = root / place
    if not file.is_file():
        return _recorded(root).get(place, place)
    return remembered_sha256(file, root / paths.hash_note(place))


def _commit(root: Path, place: str) -> str:
    """Commit of a checkout that the user brought, or as an archive recorded it."""
    recorded = None if (root / place).exists() else _recorded(root).get(place)
    return recorded or checkout_commit(root / place)


@functools.cache
def _recorded(root: Path) -> dict[str, str]:
    try:
        return dict(json.loads((root / paths.brought_record()).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


LABEL_LENGTH = 100
"""Longest label; with the identity behind it, it must stay a file name."""


def option_parts(release: str, changed: Mapping[str, Value], cus: int) -> tuple[str, ...]:
    """``u8``, ``num-tccs4``, ``dgpu``: the release if it is not the default one, the CUs, what else differs.

    Left out: ``mem-size``, which follows the workload, and ``cu-per-sa`` where it follows the CUs.
    """
    parts = [] if release == DEFAULT_RELEASE else [release]
    parts.append(f"u{cus}")
    for name, value in changed.items():
        if name in ("num-compute-units", "mem-size") or (name == "cu-per-sa" and value == cus):
            continue
        parts.append(name if value is True else value_part(name, value))
    return tuple(parts)


def value_part(name: str, value: Value) -> str:
    """Name and value as part of a file name."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return name + re.sub(r"[^A-Za-z0-9._-]", "-", text)


def join(*parts: str) -> str:
    """The parts as one label, cut to a length that file systems take."""
    return "_".join(part for part in parts if part)[:LABEL_LENGTH].rstrip("_-.")
