"""A project whose upstream is the stand-in repositories: the whole gem5 path in seconds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from places import ROOT, made_once
from standins import repositories

from apuflow.configure import load_sweep
from apuflow.configure.sweep import DEFAULT_RELEASE
from apuflow.prepare.tools import Toolset

SNAKEMAKE = Path(sys.executable).with_name("snakemake")
STANDINS = Path(repositories.__file__).parent


RELEASE = load_sweep("default", ROOT).release


@dataclass(frozen=True)
class Gem5Project:
    """A copy of the project with its release pinned to the stand-ins."""

    root: Path
    gem5: repositories.Repository

    @property
    def binary(self) -> Path:
        """gem5.opt as the workflow built it."""
        return self.root / f"build/sources/gem5-{self.gem5.commit[:12]}/build/GCN3_X86/gem5.opt"

    @property
    def gem5_record(self) -> Path:
        """What the workflow recorded of it for a sweep that names no release."""
        return self.root / Toolset(DEFAULT_RELEASE, self.root).record("gem5-GCN3_X86")

    def run(self, *arguments: str, cores: int = 2, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(SNAKEMAKE), "--cores", str(cores), *arguments],
            cwd=self.root,
            capture_output=True,
            text=True,
            timeout=600,
            env={**repositories.environment(), **environment},
        )

    def copy(self, root: Path) -> Gem5Project:
        """A copy that stands on its own."""
        shutil.copytree(self.root, root, symlinks=True)
        for record in (root / "build/toolchain").rglob("*.json"):
            quoted, state = json.dumps(str(root))[1:-1], record.stat()
            record.write_text(record.read_text().replace(str(self.root), quoted))
            os.utime(record, ns=(state.st_atime_ns, state.st_mtime_ns))
        return Gem5Project(root, self.gem5)

    def records(self, workload: str = "softmax_fwd", engine: str = "gem5") -> list[Path]:
        return sorted((self.root / "runs" / engine / workload).glob("*/run.json"))

    def sweep(self, name: str, **content: Any) -> None:
        """Write a sweep."""
        text = {"description": "a test", "engines": ["gem5"], "workloads": ["softmax_fwd"], **content}
        (self.root / f"configs/sweeps/{name}.yaml").write_text(yaml.safe_dump(text, sort_keys=False))


def make(root: Path, upstream: Path, site: dict[str, Any]) -> Gem5Project:
    """Pin its releases to stand-ins made below ``upstream``, and write ``configs/site.yaml``."""
    gem5 = repositories.make_gem5(upstream / "gem5")
    resources = repositories.make_resources(upstream / "gem5-resources")
    for name in {RELEASE, DEFAULT_RELEASE}:
        release = root / f"configs/gem5/{name}.yaml"
        content = yaml.safe_load(release.read_text())
        content["gem5"]["commit"], content["resources"]["commit"] = gem5.commit, resources.commit
        release.write_text(yaml.safe_dump(content, sort_keys=False))
    if site["container"] == "host":  # DNNMark's setup.sh wants /opt/rocm, which only the image has
        directory = resources.path / "src/gpu/DNNMark"
        subprocess.run(["./setup.sh", "HIP"], cwd=directory, check=True, capture_output=True)
        subprocess.run(["make", "-C", "build"], cwd=directory, check=True, capture_output=True)
        site = {"dnnmark": {"build": str(directory / "build")}, **site}
    miopen = upstream / "miopen"
    shutil.copytree(STANDINS / "miopen", miopen)
    mirrors = {"gem5": str(gem5.path), "gem5_resources": str(resources.path)}
    given = {"miopen_source": str(miopen), "mirrors": mirrors, **site}
    (root / "configs/site.yaml").write_text(yaml.safe_dump(given))
    return Gem5Project(root, gem5)


def made(new_project: Callable[[Path], Path]) -> Gem5Project:
    """A finished project to be copied: sources, gem5, kernels and one proven run with its table."""

    def finish(place: Path) -> None:
        project = make(new_project(place), place, {"container": "host"})
        project.sweep("one", axes={"num-compute-units": [4]})
        done = project.run("results/one/softmax_fwd.csv")
        assert done.returncode == 0, done.stdout + done.stderr

    place = made_once("gem5", finish)
    gem5 = place / "gem5"
    return Gem5Project(place / "project", repositories.Repository(gem5, repositories.head(gem5)))
