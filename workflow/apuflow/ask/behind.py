"""What stands behind the preview's answer, in lines: sums of suites, what they lack, reasons of guesses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

import pandas as pd

from apuflow.ask.question import Answer
from apuflow.core.words import many
from apuflow.plan.points import AXIS
from apuflow_analysis.tables.columns import UNMEASURED, axis_column, flagged
from apuflow_analysis.tables.suite_sums import coverage
from apuflow_analysis.tables.suites import BY_FORMULA, Item, Iteration

_REASON = re.compile(rf"{UNMEASURED}: (.*?)(?:;(?! )|$)")
_FIRST = re.compile(r".*?(?:\(measured [^)]*\)|$)")
_MOST_NAMED = 3
"""Operations and reasons that a line names."""


def behind(answer: Answer, iterations: Sequence[Iteration] | None = None) -> Iterator[str]:
    """Lines on what the numbers of an answer are made of and how far they can be trusted.

    Args:
        iterations: of its suites, those to tell of; None: all.
    """
    yield from guesses(answer.frame)
    chosen = answer.iterations if iterations is None else iterations
    for name in dict.fromkeys(one.suite for one in chosen):
        yield from _of_suite(name, [one for one in chosen if one.suite == name], answer)


def guesses(frame: pd.DataFrame) -> Iterator[str]:
    """Of each workload: how many rows lie outside of the preview's measurements, and why the first one does.

    Rows of suites are told by their operations (``behind``).
    """
    away = frame[flagged(frame, f"{UNMEASURED}: ") & ~frame["flags"].astype(str).str.contains(_OF_SUITES)]
    axes = [name for name in frame.attrs.get("axes", ()) if name in frame.columns]
    for workload, rows in away.groupby("workload", sort=False):
        count = int((frame["workload"] == workload).sum())
        where = ", ".join(f"{axis.removeprefix('layer.')} {rows[axis].iloc[0]}" for axis in axes)
        first = f" ({where})" if where and count > 1 else ""
        yield (
            f"guess: {workload}, {len(rows)} of {many(count, 'row')}: outside of what the preview was "
            f"measured on{first}: {_reason(rows['flags'].iloc[0])}"
        )


def unchecked(frame: pd.DataFrame, own: Collection[str]) -> Iterator[str]:
    """Of each workload among ``own`` the command that says whether its results are right."""
    rows = frame[frame["workload"].isin(own)].drop_duplicates("workload")
    for workload, gfx in zip(rows["workload"], rows["gfx"], strict=True):
        command = f"apuflow check-kernels {workload} --gfx {gfx} --run"
        yield f"{workload}: results are not compared here, but by {command}"


_OF_SUITES = r"unmeasured: \d+ of \d+ operations"


def _reason(flags: object, *, short: bool = False) -> str:
    """Why a row lies outside; ``short``: the first reason alone."""
    found = _REASON.search(str(flags))
    if found is None:
        return ""
    return _FIRST.match(found[1])[0] if short else found[1]  # type: ignore[index]  # it matches any text


def _of_suite(name: str, iterations: Sequence[Iteration], answer: Answer) -> Iterator[str]:
    assert answer.folder is not None
    items = answer.folder.items(iterations)
    ran = items[items["point"].astype(str).str.len() > 0]
    steps, rows = len(items) // len(iterations), len(iterations)
    distinct = len(ran.drop_duplicates("point"))
    over = f" in {rows} rows" if rows > 1 else ""
    yield (
        f"{name}: a total is the sum of its {many(steps, 'step')} ({many(distinct, 'operation')}{over}), its "
        "interval the sum of all ends, as if all errors had one sign"
    )
    yield from _guessed(name, items, ran, answer.operations)
    yield from _left_out(name, iterations)


def _guessed(name: str, items: pd.DataFrame, ran: pd.DataFrame, operations: pd.DataFrame) -> Iterator[str]:
    known = coverage(items)
    if not known[UNMEASURED]:
        return
    texts = operations.drop_duplicates("point").set_index("point")
    away = ran[ran[UNMEASURED].astype(bool)]
    shapes = texts.loc[away["point"], axis_column(AXIS)].to_numpy()
    spent = away["total_ms"].groupby(shapes).sum().nlargest(_MOST_NAMED)
    total = float(items["total_ms"].sum())
    yield (
        f"guess: {name}, {known[UNMEASURED]} of {known['operations']} operations "
        f"({known['unmeasured_share']:.0%} of the time): outside of what the preview was measured on. "
        "The longest:"
    )
    for shape, milliseconds in spent.items():
        flags = texts.loc[away["point"][shapes == shape].iloc[0], "flags"]
        yield f"  {milliseconds / total:.0%} {shape}: {_reason(flags, short=True)}"


def _left_out(name: str, iterations: Sequence[Iteration]) -> Iterator[str]:
    """Steps that no sum has, with their share of the suite's work."""
    items = [item for item in iterations[0].items if item.formula_ms is None]
    left = [item for item in items if not item.point]
    if left:
        share = sum(item.flop for item in left) / max(1, sum(item.flop for item in items))
        yield (
            f"not in the total of {name}: {len(left)} of {many(len(items), 'step')}, {share:.2%} of its "
            f"floating-point operations: {'; '.join(_reasons(left))}"
        )
    formula = [item for item in iterations[0].items if item.formula_ms is not None]
    if formula:
        yield f"in the total of {name} {BY_FORMULA}: {many(len(formula), 'step')}"
    if iterations[0].left_out:
        yield f"left out of {name}: {iterations[0].left_out}"


def _reasons(left: Sequence[Item]) -> Iterator[str]:
    """Each reason once, with what it concerns; the most frequent first."""
    counted = Counter((item.op, item.phase, item.why) for item in left)
    for (op, phase, why), count in counted.most_common():
        yield f"{count} x {op} {phase}: {why}"
