"""What a search is asked for, from a user's words, and its answer in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from apuflow.ask.judge import doubts
from apuflow.ask.search import CLOCKED, Found
from apuflow.configure.sweep import Sweep
from apuflow.core.errors import ConfigError
from apuflow.core.terminal import number
from apuflow.core.words import many
from apuflow_analysis.tables.objectives import Objective, end_names


def objectives_of(
    sweep: Sweep, minimise: Sequence[str], maximise: Sequence[str], cost: Sequence[str]
) -> list[Objective]:
    """The objectives in their order: what is to be good, then what is to be cheap.

    Without any to be good: those of the sweep; else the GPU's cycles, or its time where a cycle has no fixed
    length.
    """
    good = [Objective(text) for text in minimise] + [Objective(text, larger=True) for text in maximise]
    if not good:
        varied = {*sweep.axes, *(name for group in sweep.zip for name in group)}
        usual = "gpu_time" if varied & set(CLOCKED) else "gpu_cycles"
        good = [Objective(text) for text in sweep.figures.objectives or (usual,)]
    return [*good, *(Objective(text) for text in cost)]


def share_of(text: str, objectives: Sequence[Objective]) -> float:
    """``10%`` or ``0.1`` as a share.

    Raises:
        ConfigError: it is none, or there is nothing that is to be cheap.
    """
    digits, percent = text.strip().removesuffix("%").strip(), text.strip().endswith("%")
    try:
        share = float(digits) / (100 if percent else 1)
    except ValueError:
        share = -1.0
    most = 1.0 if objectives[0].larger else 100.0
    if not 0 <= share < most:
        remedy = "10% or 0.1" + ("; below 100% of what shall be large" if objectives[0].larger else "")
        raise ConfigError("not a share", key="--within", value=text, remedy=remedy)
    if len(objectives) < 2:
        remedy = "name what shall be cheap: --cost 'num_compute_units + tcc_size / 512e3'"
        raise ConfigError("--within chooses the cheapest machine", key="--cost", remedy=remedy)
    return share


def sentence(found: Found) -> Iterator[str]:
    """The answer of a search, and how far the intervals carry it."""
    row = found.rows.iloc[0]
    if found.within is None:
        yield f"best: {_machine(found, row)}: {_told(found, row)}"
        if found.undecided and "judged" not in found.rows:
            more = many(found.undecided, "more point")
            yield f"{more} may be as fast as the first within the preview's error"
        return
    first, share = found.objectives[0], f"{100 * found.within:.3g} %"
    values = found.rows[first.expression].astype(float)
    best = found.rows.iloc[int(values.argmax() if first.larger else values.argmin())]
    away = abs(float(row[first.expression]) / float(best[first.expression]) - 1)
    yield f"cheapest within {share} of the best: {_machine(found, row)}: {_told(found, row)}"
    yield f"the best {first.expression}: {_machine(found, best)}: {_told(found, best)}; {away:.1%} from it"
    if "judged" in found.rows:
        return
    surely, cheaper = doubts(found)
    if surely and not cheaper:
        yield "the intervals carry this: no cheaper machine can be as near, and this one is near for certain"
        return
    reasons = [] if surely else [f"this machine may miss the best by more than {share}"]
    if cheaper:
        reasons.append(f"{many(cheaper, 'cheaper machine')} may be within {share}")
    yield f"the intervals do not carry this: {', and '.join(reasons)}"


def _machine(found: Found, row: pd.Series[Any]) -> str:
    return ", ".join(f"{axis.removeprefix('layer.')} {number(row[axis])}" for axis in found.axes)


def _told(found: Found, row: pd.Series[Any]) -> str:
    """Each objective of a row with its interval, where it has one."""
    parts = []
    for objective in found.objectives:
        text = objective.expression
        low, high = (float(row.get(name, float("nan"))) for name in end_names(text))
        ends = f" ({number(_three(low))} to {number(_three(high))})" if low < high else ""
        parts.append(f"{text} {number(row[text])}{ends}")
    guess = " (guess)" if "unmeasured: " in str(row["flags"]) else ""
    return ", ".join(parts) + guess


def _three(value: float) -> float:
    return float(f"{value:.3g}")
