"""Which configuration files a workload's points of a sweep are made from."""

from __future__ import annotations

from pathlib import Path

from apuflow import paths
from apuflow.config import Sweep, load_workload
from apuflow.sweep import plan, releases

SITE = "configs/site.yaml"


def configuration_files(sweep: Sweep, workload: str, root: Path = Path()) -> list[str]:
    """Every file, relative to ``root``, that decides these points: a change of one may change a row."""
    files = [paths.sweep_file(sweep.name), paths.workload_file(workload)]
    network = load_workload(workload, root).config_file
    if network is not None:
        files.append(network.relative_to(root).as_posix())
    machines = dict.fromkeys(
        str(value)
        for dimension in plan(sweep, workload, root).dimensions
        for row in dimension
        for name, value in row
        if name == "machine"
    )
    files += [paths.machine_file(name) for name in machines or (sweep.machine,)]
    files += [paths.release_file(name) for name in releases(sweep, workload, root)]
    if (root / SITE).exists():
        files.append(SITE)
    return files
