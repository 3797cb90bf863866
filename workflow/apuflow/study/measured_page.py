"""``python -m apuflow.study.measured_page``: the preview's errors as a page, ``docs/measured/preview.md``.

Source: the recorded runs of gem5 (``data/README.md``), scored by the timing model as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from apuflow.core import project
from apuflow.core.engines import PREVIEW_VERSION
from apuflow.core.files import write_text
from apuflow.preview.counters import counter_columns
from apuflow.preview.timing import times
from apuflow.study.score import drawn, modelled, ordered_pairs, point_errors, read_tables, recorded, score

PAGE: Final = Path("docs/measured/preview.md")
UNSEEN: Final = tuple(f"draw{number}" for number in range(24, 29))
"""Sweeps of layers by which no rule of the model was chosen."""
COUNTERS: Final = (
    "instructions", "vector_memory_insts", "tcp_load_events", "tcc_reads", "tcc_read_misses",
    "dram_bytes_read", "dram_bytes_written", "l1_tlb_misses", "page_walks",
)  # fmt: skip
FEWEST: Final = 100
"""Smallest count of gem5 whose relative error means something."""
_ERRORS: Final = ("median", "90th percentile", "largest")


def text() -> str:
    """The page: errors of the preview's GPU cycles and counters, by set of runs and by primitive."""
    alone = score(read_tables(recorded())).frame
    tables = {
        name: _table_of(name) for name in ("products", "networks", "networks_2", "wide", "scaling", "large")
    }
    layers = score(read_tables(drawn())).frame
    of_layers = point_errors(layers)
    facts = layers.groupby("point")[["primitive", "num_dirs", "sweep"]].first()
    sets = [
        ("one kernel alone", alone["error"]),
        ("whole layers drawn at random", of_layers),
        *((f"... with `num-dirs` of {n}", of_layers[facts["num_dirs"] == n]) for n in "124"),
        ("... by which no rule was chosen", of_layers[facts["sweep"].isin(UNSEEN)]),
        ("products of rocBLAS", tables["products"]),
        ("operations of AlexNet and DeepBench", tables["networks"]),
        ("operations of SqueezeNet", tables["networks_2"]),
        ("sweeps on machines with several directories", tables["wide"]),
        ("sweeps over one option or size", tables["scaling"]),
        ("layers of more than 10 million cycles", tables["large"]),
    ]  # fmt: skip
    pairs = {
        str(name): ordered_pairs(rows.reset_index(drop=True)) for name, rows in alone.groupby("primitive")
    }
    right, every = ordered_pairs(alone)
    return "\n".join(
        [
            "# Measured error of the preview\n",
            f"Preview {PREVIEW_VERSION} against the recorded runs of gem5 in `data/`.\n"
            "An error is the relative difference of GPU cycles in percent, without its sign.\n"
            "`python -m apuflow.study.measured_page` writes this page.\n",
            "## By set of runs\n",
            table(("runs of gem5", "number", *_ERRORS), (row(name, part) for name, part in sets)),
            "## One kernel alone\n",
            "A pair is two runs of a sweep over compute units, more than 10 % apart on gem5.\n"
            "The last column counts the pairs that the preview puts in the same order.\n",
            table(
                ("primitive", "runs", *_ERRORS, "in order"),
                [
                    *(
                        (*row(str(name), part["error"]), "{} of {}".format(*pairs[str(name)]))
                        for name, part in alone.groupby("primitive")
                    ),
                    (*row("all", alone["error"]), f"{right} of {every}"),
                ],
            ),
            "## Layers drawn at random\n",
            table(
                ("primitive", "layers", *_ERRORS),
                (row(str(name), part) for name, part in of_layers.groupby(facts["primitive"])),
            ),
            "## Counters\n",
            f"The same kernels, but for those that run several times; counts of {FEWEST} and more.\n",
            table(("counter", "kernels", *_ERRORS), (row(f"`{name}`", part) for name, part in counts())),
        ]
    )


def counts() -> Iterable[tuple[str, pd.Series]]:
    """Of each counter the relative errors over the kernels of drawn layers that run once."""
    known = modelled(read_tables(drawn()))
    known = known.part(np.array([len(steps) == 1 and steps[0].times == 1 for steps in known.steps]))
    found = counter_columns(times([steps[0] for steps in known.steps], known.machines))
    for name in COUNTERS:
        real = pd.to_numeric(known.frame[name])
        error = pd.Series(np.asarray(found[name], dtype=float)) / real - 1.0
        yield name, error[real >= FEWEST].dropna()


def row(name: str, errors: pd.Series) -> tuple[str, ...]:
    """A name, the number of errors, and their median, 90th percentile and maximum in percent."""
    off = 100 * errors.abs()
    return (
        name,
        f"{len(off):,}",
        *(f"{number:.1f}" for number in (off.median(), off.quantile(0.9), off.max())),
    )


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; its columns but the first hold numbers."""
    lines = [headings, ["---", *["--:"] * (len(headings) - 1)], *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _table_of(name: str) -> pd.Series:
    """Errors of the points of one recorded table."""
    return point_errors(score(read_tables([project.recorded_runs() / f"{name}.csv"])).frame)


def main() -> None:
    """Write the page."""
    write_text(PAGE, text())


if __name__ == "__main__":
    main()
