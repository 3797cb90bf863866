"""Constants of the timing model that a release of gem5 may change, and the runs that they were fitted to.

They are pipeline steps without an option; a release that adds or removes a step (a message, a queue) changes
only them. Everything else follows from options, the kernels' code, or mechanisms that releases share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from apuflow.core.engines import PREVIEW_RELEASE, PREVIEW_VERSION


@dataclass(frozen=True, slots=True)
class Constants:
    """Latencies without an option; defaults of gem5 v23.0.1.0.

    Sources: the shortest accesses in its runs at the default options (1 GHz GPU, 2 GHz ruby): TCP hit 105
    cycles, store acknowledged 250, load from memory 359, first instruction fetch 1301.

    Attributes:
        tcp_steps: GPU cycles: TLB coalescer, L1 TLB, coalescer, mandatory queue, return bus.
        tcc_steps: GPU cycles beyond ``--TCC_latency`` from the TCP to the TCC and back.
        directory_ruby: ruby cycles in and around the directory: probe and response latency of 30 each, links,
            routers.
        acknowledge_ruby: ruby cycles of a write-through's acknowledgement, which the directory sends on
            arrival.
        dispatch: GPU cycles from the first awake compute unit to its first instruction fetch.
        fetch_steps: GPU cycles between a wavefront's last buffered instruction and the next, beyond the way
            to memory and back: its two buffered lines (``FetchUnit::FetchBufDesc``) are released one at a
            time, and no line is fetched while a branch waits in the buffer (``Wavefront::stopFetch``).
    """

    tcp_steps: float = 5.0
    tcc_steps: float = 26.0
    directory_ruby: float = 80.0
    acknowledge_ruby: float = 50.0
    dispatch: float = 75.0
    fetch_steps: float = 30.0


BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "tcp_steps": (0.0, 60.0),
    "tcc_steps": (0.0, 150.0),
    "directory_ruby": (0.0, 400.0),
    "acknowledge_ruby": (0.0, 300.0),
    "dispatch": (0.0, 2000.0),
    "fetch_steps": (0.0, 200.0),
}
"""Limits of a release's constants: several times those of v23.0.1.0."""
RECORDED_RUNS: Final = 608
"""Runs of gem5 v23.0.1.0 that the model was fitted to (``data/gem5_runs``)."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Origin of a point's constants.

    Attributes:
        release: of the point.
        fitted_to: the release whose runs the constants were fitted to.
        runs: their number.
        preview: version of the preview that fitted them.
    """

    release: str = PREVIEW_RELEASE
    fitted_to: str = PREVIEW_RELEASE
    runs: int = RECORDED_RUNS
    constants: Constants = Constants()
    preview: str = PREVIEW_VERSION

    @property
    def own(self) -> bool:
        """Whether they were fitted to runs of the point's release."""
        return self.release == self.fitted_to

    def __str__(self) -> str:
        older = "" if self.preview == PREVIEW_VERSION else f", fitted by preview {self.preview}"
        return f"{self.fitted_to}, {self.runs} runs{older}"


RECORDED: Final = Calibration()
"""The constants of the release that the model reproduces."""
