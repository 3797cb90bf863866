"""``python -m apuflow.ask.networks`` writes ``docs/measured/networks.md``.

It has the share of each network's time that lies inside what the preview was measured on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from apuflow.ask.question import answered, described, question
from apuflow.configure.loading import suite_names
from apuflow.configure.suite import load_suite
from apuflow.core.engines import PREVIEW_VERSION
from apuflow.core.files import write_text
from apuflow.core.words import many
from apuflow.score.measured import table
from apuflow.suites.suite import NETWORK
from apuflow_analysis.tables.suite_sums import coverage

PAGE: Final = Path("docs/measured/networks.md")
IMAGES: Final = (1, 4)
UNITS: Final = (4, 16, 64)
MACHINE: Final = {"machine": "apu-gfx902", "release": "v24.1"}


def networks(root: Path) -> list[str]:
    """Suites of a network of layers."""
    return [name for name in suite_names(root) if load_suite(name, root).kind == NETWORK]


def inside(network: str, root: Path) -> Iterator[float]:
    """Share of an iteration's time, for each of ``IMAGES`` on each of ``UNITS``; the last varies fastest.

    An operation is inside where all its kernels are (``preview.coverage``).
    """
    axes = {"n": IMAGES, "num-compute-units": UNITS}
    settings = [f"{name}={','.join(map(str, values))}" for name, values in axes.items()]
    settings += [f"{name}={value}" for name, value in MACHINE.items()]
    answer = answered(question(described(network, settings, root), root), root)
    assert answer.folder is not None
    for one in answer.iterations:
        yield 1.0 - coverage(answer.folder.items([one]))["unmeasured_share"]


def page(names: Iterable[str], root: Path) -> str:
    """The page: a row for each network."""
    head = ("network", *(f"{many(n, 'image')}, {units} units" for n in IMAGES for units in UNITS))
    rows = ((name, *(f"{100 * share:.0f}" for share in inside(name, root))) for name in names)
    return "\n".join(
        [
            "# Networks inside what the preview was measured on\n",
            "Share of the time of an iteration of training, in percent, that lies\n"
            f"[inside](../preview.md#coverage) what preview {PREVIEW_VERSION} was measured on. Outside, an\n"
            "interval is a guess. Images have the network's default size. The machine is `apu-gfx902` of\n"
            "gem5 v24.1, with the stand-in for matrix products.\n"
            "`python -m apuflow.ask.networks` writes this page.\n",
            table(head, rows),
        ]
    )


def main() -> None:
    """Write the page."""
    write_text(PAGE, page(networks(Path()), Path()))


if __name__ == "__main__":
    main()
