"""The points by which users find finished runs: all of every sweep, and what their identities are made of.

ANY_VERSION stands for the version of the preview: a new timing model renames all its points.

Usage: python tests/frozen_points.py    (prints the full list, of which ``points.txt`` holds a digest)
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from conftest import copy_project

# All names of the project that this file needs; nothing below imports more.
from apuflow.campaign.campaign import Campaign
from apuflow.configure import Site, load_release, machine_names, release_names, sweep_names
from apuflow.configure.point import Point
from apuflow.core import paths
from apuflow.core.engines import ENGINES
from apuflow.core.errors import ConfigError
from apuflow.prepare.requests import request

SEPARATOR = " = "
REFUSED = "refused"
ANY_VERSION = "VERSION"
"""In the place of the preview's version."""


def named(label: str, content: Mapping[str, Any]) -> str:
    """The id of a point: 8 hex digits of SHA-256 over its description as canonical JSON."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"{label}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def frozen(point: Point) -> dict[str, Any]:
    """Id and description of a point; with ANY_VERSION if it is one of the preview."""
    content = point.describe()
    if content["engine"] != "preview":
        return {"id": point.id, "describe": content}
    content |= {"version": ANY_VERSION}
    return {"id": named(point.label, content), "describe": content}


def _ids(points: Iterable[Point]) -> str:
    return " ".join(str(frozen(point)["id"]) for point in points)


def listed(root: Path) -> Iterator[str]:
    """Every point of every sweep in ``root``: a line per sweep, engine and workload, ids in their order.

    Then a point of every engine on every machine and release, which the sweeps do not all use.
    """
    campaign = Campaign(root)
    for name in sweep_names(root):
        sweep = campaign.load(name)
        for engine in sweep.engines:
            for workload in campaign.workloads(sweep):
                yield f"{name} {engine} {workload}{SEPARATOR}{_ids(campaign.points(name, workload, engine))}"
    yield from _on_machines(root)


def _on_machines(root: Path) -> Iterator[str]:
    project = root / "machines"
    shutil.copytree(root / "configs", project / "configs")
    campaign = Campaign(project)
    for release in release_names(root):
        for engine in ENGINES:
            for machine in machine_names(root):
                name = f"{release}-{machine}-{engine}"
                (project / f"configs/sweeps/{name}.yaml").write_text(
                    f"description: one point\nengines: [{engine}]\nworkloads: [softmax_fwd]\n"
                    f"release: {release}\nmachine: {machine}\n"
                )
                try:
                    found = _ids(campaign.points(name, "softmax_fwd"))
                except ConfigError:
                    found = REFUSED
                yield f"release={release} {engine} {machine}{SEPARATOR}{found}"


def digest_lines(root: Path) -> Iterator[str]:
    """A line per sweep (or release) and engine: number of points, hash of their list, first and last id."""
    for name, group in groupby(listed(root), key=lambda line: " ".join(line.split(" ", 2)[:2])):
        lines = list(group)
        ids = [each for line in lines for each in line.partition(SEPARATOR)[2].split() if each != REFUSED]
        digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
        ends = f", {ids[0]} to {ids[-1]}" if ids else ""
        yield f"{name}{SEPARATOR}{len(ids)} points, digest {digest}{ends}"


_DIGEST = "sha256:" + "0123456789abcdef" * 4
_OWN_SITE = f"""\
image: {{mode: local, name: my/image, digest: "{_DIGEST}"}}
gem5: {{scons: ["CCFLAGS_EXTRA=-O1"]}}
dnnmark: {{build: programs/dnnmark}}
"""
_OWN_GEM5 = "engine: host\ngem5: {binary: programs/square, source: programs}\n"

_DESCRIBED: Mapping[str, tuple[str, str, str]] = {
    "gem5, DNNMark": ("gem5", "softmax_bwd", ""),
    "gem5, command": ("gem5", "square", ""),
    "gem5-kernels": ("gem5-kernels", "softmax_bwd", ""),
    "preview": ("preview", "softmax_bwd", ""),
    "gem5, own image, DNNMark and scons arguments": ("gem5", "softmax_bwd", _OWN_SITE),
    "gem5, own gem5 without containers": ("gem5", "softmax_bwd", _OWN_GEM5),
}
"""Engine, workload and ``configs/site.yaml`` of the points that are described in full."""

_RECORDED = "gem5, DNNMark, image recorded"


def described_points(root: Path) -> dict[str, Any]:
    """One point of each kind with everything that its identity is made of."""
    found = {}
    for number, (name, (engine, workload, site)) in enumerate(_DESCRIBED.items()):
        project = _small_project(root, root / f"described/{number}", engine, workload, site)
        found[name] = _described(project, workload)
    project = _small_project(root, root / "described/recorded", "gem5", "softmax_bwd", "")
    image = request("image", load_release("v23.0", project), Site(), project)
    record = project / paths.tool_record("v23.0", "image", image)
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps({"digest": _DIGEST}))
    return found | {_RECORDED: _described(project, "softmax_bwd")}


def _small_project(root: Path, project: Path, engine: str, workload: str, site: str) -> Path:
    """The configuration of ``root`` with a sweep of one point, a program called square and a DNNMark."""
    shutil.copytree(root / "configs", project / "configs")
    configs = project / "configs"
    shutil.copy(configs / "workloads/examples/square.yaml", configs / "workloads/square.yaml")
    layer = "" if workload == "square" else "layer: {n: 10}\n"
    (configs / "sweeps/frozen.yaml").write_text(
        f"description: one point\nengines: [{engine}]\nworkloads: [{workload}]\n"
        f"options: {{num-compute-units: 8, tcc-size: 512kB}}\n{layer}"
    )
    if site:
        (configs / "site.yaml").write_text(site)
    for file in ("programs/square", "programs/dnnmark/libdnnmark.so"):
        (project / file).parent.mkdir(parents=True, exist_ok=True)
        (project / file).write_text(f"the bytes of {file}\n")
    return project


def _described(project: Path, workload: str) -> dict[str, Any]:
    (point,) = Campaign(project).points("frozen", workload)
    return frozen(point)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        print(*listed(copy_project(Path(directory))), sep="\n")
