"""What is known about the preview's error: a sentence from the real gem5 runs that come with the project."""

from __future__ import annotations

from pathlib import Path

RUNS = "tests/data/gem5_runs/runs.csv"
"""Real gem5 v23.0.1.0 runs of MIOpen kernels, 1 to 64 compute units."""


def measured_error(root: Path = Path()) -> str:
    """The preview's error against the recorded gem5 runs; empty where a project has none.

    The preview is scored anew each time, so that the sentence is true of the model as it is.
    """
    from apuflow.preview.score import read_runs, score, summary

    file = root / RUNS
    if not file.is_file():
        return ""
    scored = score(read_runs(file))
    found = summary(scored.frame)
    if not found["runs"]:
        return ""
    rank = "" if found["rank_correlation"] is None else f", rank correlation {found['rank_correlation']:.2f}"
    refused = sum(scored.refused.values())
    return (
        f"Measured against {found['runs']} runs of real gem5 (MIOpen's kernels, 1 to 64 compute units): "
        f"the error of the GPU cycles is {100 * found['median_error']:.1f} % in the median and "
        f"{100 * found['p90_error']:.1f} % at the 90th percentile{rank}"
        + (f"; {refused} further runs it does not model" if refused else "")
        + f". `apuflow score {RUNS}` repeats the measurement."
    )
