"""Sweeps written by tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from apuflow.configure import load_sweep
from apuflow.configure.point import Point
from apuflow.plan.points import points, sweep_workloads

HEAD = "description: x\nengines: [preview]\nworkloads: [softmax_fwd]\n"


def write_suite_sweep(root: Path, suite: str, **more: Any) -> None:
    """Sweep ``net``: a suite forward, one image, on both engines without DNNMark.

    Products are the stand-in's, which the recorded runs of networks have.
    """
    sweep = {
        "description": "a test",
        "engines": ["gem5-kernels", "preview"],
        "release": "v23.0",
        "products": "stand-in",
        "suites": [suite],
        "layer": {"n": 1, "direction": "fwd"},
        **more,
    }
    (root / "configs/sweeps/net.yaml").write_text(yaml.safe_dump(sweep))


def one(root: Path, text: str, workload: str = "softmax_fwd") -> Point:
    """The only point of a sweep with this text."""
    (point,) = expand(root, text, workload)
    return point


def expand(root: Path, text: str | bytes, *workloads: str, name: str = "t") -> list[Point]:
    """Points of a sweep with this text, of all its workloads or of those named."""
    path = root / f"configs/sweeps/{name}.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    sweep = load_sweep(name, root)
    names = workloads or sweep_workloads(sweep, root)
    return [point for workload in names for point in points(sweep, workload, root)]
