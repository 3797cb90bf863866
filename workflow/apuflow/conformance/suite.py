"""What the command does: choose cases, run them, print and write what came out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from apuflow.configure import Release, load_release, load_sweep
from apuflow.configure.catalogue import position
from apuflow.conformance.assemble import Assembled, assembled
from apuflow.conformance.case import Form
from apuflow.conformance.expected import expected
from apuflow.conformance.generators import GENERATORS, all_cases, isa_of, matches
from apuflow.conformance.run import Judged, Suite, judged
from apuflow.conformance.simulator import Simulator
from apuflow.core.gpus import gpu
from apuflow.core.words import many
from apuflow.launcher.disassembly import not_executed

VERDICTS: Final = ("right", "wrong", "stops", "unknown")
_SHOWN: Final = 60
"""Forms that are not right which are printed."""


@dataclass(frozen=True)
class Chosen:
    """Which cases run on which gem5."""

    release: Release
    gfx: str
    only: tuple[str, ...]
    generators: tuple[str, ...]
    root: Path

    @property
    def whole(self) -> bool:
        """Whether no form is left out."""
        return not self.only and set(self.generators) == set(GENERATORS)

    @property
    def place(self) -> Path:
        """Directory of what is kept."""
        return self.root.resolve() / "build/conformance" / f"{self.release.name}-{self.gfx}"

    def assembled(self) -> list[Assembled]:
        """The cases that LLVM accepts."""
        cases = all_cases(isa_of(self.gfx), self.generators)
        if self.only:
            cases = (each for each in cases if any(matches(each.form, pattern) for pattern in self.only))
        return assembled(cases)


def chosen(release: str, gfx: str, only: tuple[str, ...], generators: tuple[str, ...], root: Path) -> Chosen:
    """What the user asks for.

    Raises:
        ConfigError: no such release, or it does not have the GPU.
    """
    found = load_release(release or load_sweep("default", root).release, root)
    gfx = gfx or found.gfx[0]
    found.build_target(gpu(gfx, "--gfx").name)
    return Chosen(found, gfx, only, generators or GENERATORS, root)


def forms(wanted: Chosen) -> Iterator[str]:
    """A line for each form, and their number."""
    names = [str(each.case.form) for each in wanted.assembled()]
    yield from dict.fromkeys(names)
    yield f"{many(len(set(names)), 'form')}, {many(len(names), 'case')}"


def interpreted(wanted: Chosen) -> Iterator[str]:
    """Which cases have no expected value, and how many have one."""
    count = 0
    for each, values in expected(wanted.assembled(), wanted.gfx):
        if isinstance(values, str):
            yield f"{each.case.form}: {values}"
        else:
            count += 1
    yield f"{many(count, 'case')} with expected values"


def run(wanted: Chosen, jobs: int, say: Callable[[str], None]) -> Iterator[str]:
    """Run cases: lines with what is not right, and counts."""
    found = results(wanted, jobs, say)
    bad = [each for each in found if each.verdict in ("wrong", "stops", "unknown") and not each.taken_from]
    for each in bad if not wanted.whole else ():
        yield described(each)
    yield from counts(found)


def results(wanted: Chosen, jobs: int, say: Callable[[str], None]) -> list[Judged]:
    """Run what has no result yet, and judge all.

    Raises:
        EngineError: there is no gem5, or it does not start.
    """
    simulator = Simulator.of(wanted.release.name, wanted.gfx, wanted.root)
    some = wanted.assembled()
    stop = not_executed(wanted.release.build_target(wanted.gfx), wanted.release.options_of)

    def likely(form: Form) -> bool:
        return form.instruction in stop or "sdwa" in form.features or "dpp" in form.features

    suite = Suite(some, simulator, wanted.place, jobs, likely, say)
    return list(judged(some, suite.run(), wanted.gfx))


def described(each: Judged) -> str:
    """A line about a case."""
    text = f"{each.verdict:7} {each.form}: {each.text}"
    if each.failure is not None:
        text += f"\n        {each.failure.place}: {each.failure.inputs}"
        text += f"\n        gem5 {each.failure.got}, expected {each.failure.expected} ({each.failure.lanes})"
    return text + (f": {each.message}" if each.message else "")


def counts(found: Sequence[Judged]) -> Iterator[str]:
    """Forms by encoding and verdict."""
    worst: dict[Form, str] = {}
    for each in found:
        worst[each.form] = max(each.verdict, worst.get(each.form, "right"), key=VERDICTS_BY_WEIGHT.index)
    table = Counter((form.encoding, verdict) for form, verdict in worst.items())
    encodings = list(dict.fromkeys(form.encoding for form in worst))
    yield f"{'':8}" + "".join(f"{verdict:>9}" for verdict in VERDICTS)
    for encoding in encodings:
        yield f"{encoding:8}" + "".join(f"{table[encoding, verdict]:>9,}" for verdict in VERDICTS)
    totals = Counter(worst.values())
    yield f"{'all':8}" + "".join(f"{totals[verdict]:>9,}" for verdict in VERDICTS)


VERDICTS_BY_WEIGHT: Final = ("right", "unknown", "wrong", "stops")
