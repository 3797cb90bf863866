"""What is known about the preview's error: sentences from the real gem5 runs that come with apuflow."""

from __future__ import annotations


def measured_error() -> str:
    """The preview's error against the recorded gem5 runs, in all and per primitive.

    The preview is scored anew each time, so that the sentences are true of the model as it is.
    """
    from apuflow.preview.score import read_tables, recorded, report, score

    scored = score(read_tables(recorded()))
    found = report(scored)
    rank = "" if found["rank_correlation"] is None else f", rank correlation {found['rank_correlation']:.2f}"
    refused = sum(scored.refused.values())
    return (
        f"Measured against {found['runs']} runs of real gem5 (MIOpen's kernels, 1 to 64 compute units): "
        f"the error of the GPU cycles is {100 * found['median_error']:.1f} % in the median and "
        f"{100 * found['p90_error']:.1f} % at the 90th percentile{rank}"
        + (f"; {refused} further runs it does not model" if refused else "")
        + ". Per primitive, median/90th percentile in %: "
        + ", ".join(
            f"{name} {100 * part['median_error']:.0f}/{100 * part['p90_error']:.0f}"
            for name, part in found["primitives"].items()
        )
        + ". `apuflow score` repeats the measurement."
    )
