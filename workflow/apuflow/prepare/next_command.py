"""The next command that a machine can run."""

from __future__ import annotations

import os
from pathlib import Path

from apuflow.configure import load_sweep
from apuflow.core import paths
from apuflow.core.errors import ApuflowError

KERNELS_SWEEP = "kernels"
PREVIEW_SWEEP = "quickstart"


def next_command(release: str, root: Path, *, dnnmark: bool, kernels: bool, preview: bool = True) -> str:
    """The largest step without missing requirements.

    Args:
        release: the examined release; sweeps of others are not proposed.
        dnnmark: whether engine gem5 can run DNNMark.
        kernels: whether engine gem5-kernels can run.
        preview: whether Snakemake can run.
    """
    if not preview:
        return "apuflow ask softmax_fwd num-compute-units=4,16"
    cores = len(os.sched_getaffinity(0))
    if dnnmark and _runs(paths.DEFAULT_SWEEP, release, root):
        return f"snakemake --cores {cores} {paths.table('', 'softmax_fwd')}"
    if kernels and _runs(KERNELS_SWEEP, release, root):
        return f"snakemake --cores {cores} {paths.report(paths.under(KERNELS_SWEEP))}"
    if kernels and (root / paths.known_answers("gem5-kernels", release)).is_file():
        return f"apuflow doctor --prove gem5-kernels --release {release}"
    return f"snakemake --cores {cores} {paths.report(paths.under(PREVIEW_SWEEP))}"


def _runs(sweep: str, release: str, root: Path) -> bool:
    """Whether a sweep exists and is of this release only."""
    try:
        found = load_sweep(sweep, root)
    except ApuflowError:
        return False
    return found.release == release
