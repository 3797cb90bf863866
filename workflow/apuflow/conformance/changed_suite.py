"""Runs changed cases on gem5, and makes the table of changes from what came out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from apuflow.conformance.assemble import Assembled, stored
from apuflow.conformance.changed import Changed, changed, covers, machines_of
from apuflow.conformance.expected import Values, expected
from apuflow.conformance.fates import counted, fates
from apuflow.conformance.run import Judged, Suite, judge
from apuflow.conformance.simulator import Simulator
from apuflow.conformance.store import Kept
from apuflow.conformance.suite import Chosen, described, shown
from apuflow.core.errors import ConfigError
from apuflow.core.files import write_text
from apuflow.core.words import many
from apuflow.forms.changes import Change, changes_file, text
from apuflow.forms.form import Form
from apuflow.forms.table import WEIGHT, Row, Table, table_file


@dataclass(frozen=True)
class Tried:
    """A changed case and how it came out."""

    change: Changed
    judged: Judged


def run(wanted: Chosen, jobs: int, say: Callable[[str], None]) -> Iterator[str]:
    """Run changed cases; write the table if none is left out. Lines with what is not right, and counts.

    Raises:
        ConfigError: the release has no table of forms yet.
    """
    found = wanted.release.known(wanted.gfx, wanted.root)
    if found.measured_on or not found.tables:
        raise ConfigError(
            "the changes of a release are held against its table of forms, which is not there",
            file=table_file(wanted.release.name, wanted.build),
            remedy=f"apuflow conformance --release {wanted.release.name}",
        )
    known, some = found.tables[0], wanted.assembled()
    tried = results(wanted, changed(some, wanted.release, wanted.gfx), jobs, say)
    rows = list(table_of(tried, some, known, wanted.gfx))
    if wanted.whole:
        file = wanted.root / changes_file(wanted.release.name, wanted.build)
        write_text(file, text(rows, known.about))
        yield f"{file}: {many(len(rows), 'row')}"
        yield f"rows of the table of forms: {counted(fates(known, rows, wanted.release, wanted.gfx))}"
    for each in tried:
        if each.judged.verdict != "right":
            lines = "; ".join(each.change.text)
            yield f"{each.change.gfx} {' '.join(each.change.by)}: {described(each.judged)}\n        {lines}"
    yield from _counts(tried)


def results(wanted: Chosen, found: Sequence[Changed], jobs: int, say: Callable[[str], None]) -> list[Tried]:
    """Run what has no result yet, and judge all: the expected values are those of the unchanged case.

    Raises:
        EngineError: gem5 does not start.
    """
    simulator = Simulator.of(wanted.release.name, wanted.gfx, wanted.root)
    made = [each.made for each in found if each.made.words]
    kept = Suite(made, simulator, wanted.place, jobs, say=say, covers=covers).run()
    originals = {each.of.key: each.of for each in found}
    wants = {each.key: want for each, want in expected(list(originals.values()), wanted.gfx)}
    return [Tried(each, _judged(each, kept, wants)) for each in found]


def _judged(each: Changed, kept: Mapping[str, Kept], wants: Mapping[str, Values | str]) -> Judged:
    if not each.made.words:
        return Judged(each.of.case.form, each.of.printed, "stops", "LLVM refuses what takes its place")
    made, got, want = each.made, kept[each.made.key], wants[each.of.key]
    if "output_modifiers" in each.by:
        made = replace(made, case=replace(made.case, tolerance=max(made.case.tolerance, _ANY_ZERO)))
    if "scaled_sums" in each.by and "scc" in made.case.results and not got.message:
        got = Kept(_with_flag(made, got.data, want))
    return replace(judge(made, got, want), text=each.of.printed)


_HAZARD: Final = "no_lane"
"""gem5 miscounts most memory instructions without an active lane: rows of their own say so."""
_ANY_ZERO: Final = 1e-9
"""A tolerance that only makes zeros of both signs equal: LLVM uses OMOD where either zero will do
(``SIFoldOperands.cpp``)."""


def _with_flag(made: Assembled, data: bytes, want: Values | str) -> bytes:
    """The values with the expected SCC: LLVM never reads that of S_LSHL1_ADD_U32."""
    if isinstance(want, str):
        return data
    row = [register.name for register in stored(made.case)].index("s86")
    rows = Values.of(made, data).rows.copy()
    rows[:, row] = want.rows[:, row]
    return rows.tobytes() + data[rows.nbytes :]


def table_of(tried: Sequence[Tried], some: Sequence[Assembled], known: Table, gfx: str) -> Iterator[Change]:
    """The table of changes; ``some``: all cases, ``gfx``: the GPU that gem5 is told."""
    by_row = defaultdict[tuple[Row, str, str, tuple[str, ...]], list[Tried]](list)
    rows = _rows(known)
    for each in tried:
        form = each.change.of.case.form
        for row in rows(form):
            by_row[row, each.change.gfx, each.change.way, each.change.by].append(each)
    totals = defaultdict[tuple[Row, str], set[Form]](set)
    for name, cases in machines_of(some, gfx).items():
        for case in cases:
            for row in rows(case.case.form):
                totals[row, name].add(case.case.form)
    made: dict[tuple[object, ...], Change] = {}
    for (row, name, way, by), mine in by_row.items():
        change = _change(row, name, way, by, mine, len(totals[row, name]))
        key = tuple(getattr(change, each) for each in change.__dict__ if each not in ("gpus", "text"))
        made[key] = replace(made[key], gpus=(*made[key].gpus, name)) if key in made else change
    yield from sorted(made.values(), key=_order)


def _order(change: Change) -> tuple[object, ...]:
    return (
        *(change.encoding, change.instruction, WEIGHT.index(change.verdict), sorted(change.features)),
        *(change.changes, change.way, change.gpus),
    )


def _rows(known: Table) -> Callable[[Form], list[Row]]:
    """The rows that are about a form."""
    found = defaultdict[tuple[str, str], list[Row]](list)
    for row in known.rows:
        found[row.encoding, row.instruction].append(row)

    def rows(form: Form) -> list[Row]:
        words = frozenset(form.features)
        if _HAZARD in words:
            return []
        mine = found[form.encoding, form.instruction]
        bad = [row for row in mine if row.verdict != "right" and row.features - {"special"} <= words]
        worst = max((row.verdict for row in bad), key=WEIGHT.index, default="right")
        if worst == "right":
            return [replace(row, features=frozenset()) for row in mine if row.verdict == "right"]
        return [row for row in bad if row.verdict == worst]

    return rows


def _change(row: Row, gfx: str, way: str, by: tuple[str, ...], mine: Sequence[Tried], forms: int) -> Change:
    verdicts = defaultdict[Form, list[Tried]](list)
    for each in mine:
        verdicts[each.change.of.case.form].append(each)
    bad = [each for each in mine if each.judged.verdict != "right"]
    right = sum(all(each.judged.verdict == "right" for each in some) for some in verdicts.values())
    shown = min(bad or mine, key=lambda each: len(each.change.of.case.form.features))
    problem = ""
    if bad:
        failed = shown.judged.failure
        problem = shown.judged.message or (
            f"{failed.inputs}: {failed.got}, expected {failed.expected} ({failed.lanes})" if failed else ""
        )
    return Change(
        *(row.encoding, row.instruction, row.features, row.verdict, (gfx,), way, by),
        *(forms, len(verdicts), right, "; ".join(shown.change.text), problem[:160]),
    )


def _counts(tried: Sequence[Tried]) -> Iterator[str]:
    """Cases by change and verdict."""
    found = defaultdict[str, dict[str, int]](lambda: dict.fromkeys(WEIGHT, 0))
    for each in tried:
        for name in (" ".join(each.change.by), "all"):
            found[name][each.judged.verdict] += 1
    return shown(dict(sorted(found.items(), key=lambda pair: pair[0] == "all")), 34)
