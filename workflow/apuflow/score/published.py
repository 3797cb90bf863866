"""Results of suites beside published measurements: the shape of them, not the numbers.

Compared are the order of a list's items (Spearman's rank correlation) and the ratio of backward to forward.
Neither depends on how fast a machine is. What differs is explained: arithmetic, algorithms, machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import pandas as pd

from apuflow.core.errors import ConfigError

WHY: Final = (
    "Our convolutions run as one matrix product per image (MIOpen's GEMM, DNNMark's choice), unless "
    "`stand_in` names direct kernels. MIOpen on the MI25 took Winograd for 37, direct kernels for 36, "
    "GEMM for 20 and FFT for 1 of DeepBench's 94. So 3x3 filters, Winograd's, stand later in our order, "
    "and 1x1 filters, which need no im2col, earlier.",
    "Backward over forward is near 2 by GEMM: two products against one. Elsewhere each gradient has an "
    "algorithm of its own, from 1.3 (im2col and GEMM) to 2.6 times forward on the Titan X.",
    "The matrix product is not the rocBLAS of 2017: `stand_in` in our tables says which kernel ran. Its "
    "order differs most where few columns meet a transposed factor.",
    "The machine of apu_se.py has a few compute units behind links of 16 GB/s, not 64 behind HBM.",
    "Here everything is fp32, as in AMD's sheets; DeepBench allows 16-bit factors.",
    "Backward, a recurrent layer's gradients run through all steps, and the weights' follow, by DeepBench's "
    "README; its program for AMD times the first alone.",
)
"""Why the shape differs."""
_KEYS: Final = ("suite", "engine", "item", "name", "op", "phase", "set", "repeats", "total_ms")
_DISPLACED: Final = 3


@dataclass(frozen=True)
class Comparison:
    """One iteration of a suite beside one published measurement.

    Attributes:
        which: engine and values of the axes; ``published``: what was measured; ``items``: how many both have.
        rank_correlation: of the forward times; None where there are no items to order.
        by_flops: rank correlation of the floating-point operations with the published times, over the same
            items: what sorting by arithmetic reaches without any model; None where some are not counted.
        ratio, published_ratio: backward over forward (the median over items); None where one has no backward.
        displaced: items whose place in the order differs most, with our place and theirs.
    """

    suite: str
    which: str
    published: str
    items: int
    rank_correlation: float | None
    ratio: float | None
    published_ratio: float | None
    displaced: tuple[tuple[str, int, int], ...] = ()
    by_flops: float | None = None


def compare(file: Path) -> list[Comparison]:
    """Every iteration of a suite (``items/SUITE.csv``) beside every published measurement of it.

    Raises:
        ConfigError: not the items of a suite, or nothing is published of it.
    """
    try:
        items = pd.read_csv(file)
    except (OSError, ValueError):
        items = pd.DataFrame()
    if any(key not in items.columns for key in _KEYS):
        remedy = "make them: snakemake --cores all results/SWEEP/items/SUITE.csv"
        raise ConfigError("not the items of a suite", file=file, remedy=remedy)
    suite = str(items["suite"].iloc[0])
    listed, networks = _read("deepbench_amd.csv"), _read("convnet_benchmarks_titanx.csv")
    lists, whole = listed[listed["suite"] == suite], networks[networks["suite"] == suite]
    if lists.empty and whole.empty:
        remedy = f"known: {', '.join(sorted({*listed['suite'], *networks['suite']}))}"
        raise ConfigError("nothing is published of this suite", value=suite, remedy=remedy)
    axes = list(items.columns[1 : list(items.columns).index("item")])
    found: list[Comparison] = []
    for values, rows in items.groupby(axes, sort=False, dropna=False):
        named = zip(axes, values if isinstance(values, tuple) else (values,), strict=True)
        which = ", ".join(f"{name.removeprefix('layer.')} {value}" for name, value in named if value == value)
        which = which.removeprefix("engine ")
        gpus = lists.groupby("gpu", sort=False)
        found += [_of_list(suite, which, str(gpu), rows, part) for gpu, part in gpus]
        found += _of_network(suite, which, rows, whole)
    return found


def _of_list(suite: str, which: str, gpu: str, rows: pd.DataFrame, part: pd.DataFrame) -> Comparison:
    training = rows[(rows["set"] == "training") & rows["total_ms"].notna()]
    times = training.pivot_table("total_ms", "item", "phase", aggfunc="sum")
    theirs = part.set_index("item")
    named = training.drop_duplicates("item").set_index("item")["name"]
    both = [item for item in times.index if item in theirs.index and theirs["name"][item] == named[item]]
    ours, theirs = times.loc[both], theirs.loc[both]
    if "forward" not in ours.columns or len(both) < 2:
        return Comparison(suite, which, gpu, len(both), None, None, None)
    my_rank, their_rank = ours["forward"].rank(), theirs["forward_ms"].rank()
    ratio = (ours["backward"] / ours["forward"]).median() if "backward" in ours.columns else None
    published = (theirs["backward_ms"] / theirs["forward_ms"]).median()
    far = (my_rank - their_rank).abs().sort_values(ascending=False, kind="stable").index[:_DISPLACED]
    return Comparison(
        suite,
        which,
        gpu,
        len(both),
        float(my_rank.corr(their_rank)),
        _number(ratio),
        _number(published),
        tuple((str(named[item]), round(my_rank[item]), round(their_rank[item])) for item in far),
        _by_flops(training, both, their_rank),
    )


def _by_flops(training: pd.DataFrame, both: list[Any], their_rank: pd.Series[float]) -> float | None:
    """``Comparison.by_flops``, of the column ``flop``, whose 0 says that a step's are not counted."""
    if "flop" not in training.columns:
        return None
    forward = training[training["phase"] == "forward"]
    counted = forward.groupby("item")["flop"].sum().reindex(both)
    return float(counted.rank().corr(their_rank)) if (counted > 0).all() else None


def _of_network(suite: str, which: str, rows: pd.DataFrame, whole: pd.DataFrame) -> Iterator[Comparison]:
    spent = rows.groupby("phase")["total_ms"].sum()
    ratio = spent["backward"] / spent["forward"] if {"forward", "backward"} <= set(spent.index) else None
    for one in whole.to_dict("records"):
        said = f"Titan X, {one['library']}, batch {one['batch']}"
        published = float(one["backward_ms"]) / float(one["forward_ms"])
        yield Comparison(suite, which, said, len(rows), None, _number(ratio), published)


def _number(value: Any) -> float | None:
    return None if value is None or value != value else float(value)


def _read(name: str) -> pd.DataFrame:
    with (files("apuflow") / "data/published" / name).open(encoding="utf-8") as stream:
        return pd.read_csv(stream)
