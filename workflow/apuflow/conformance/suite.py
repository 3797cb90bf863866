"""What the command does: choose cases, run them, print and write what came out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from apuflow.configure import Release, load_release, load_sweep
from apuflow.configure.base import did_you_mean
from apuflow.conformance.assemble import Assembled, assembled
from apuflow.conformance.expected import expected
from apuflow.conformance.generators import GENERATORS, all_cases, isa_of, matches
from apuflow.conformance.made import counted, of_judged, worst
from apuflow.conformance.report import page
from apuflow.conformance.run import Judged, Suite, judged
from apuflow.conformance.simulator import Simulator
from apuflow.conformance.sources import Sources
from apuflow.core.errors import ConfigError
from apuflow.core.files import write_text
from apuflow.core.gpus import BuildTarget, gpu
from apuflow.core.words import many
from apuflow.forms.form import Form
from apuflow.forms.table import WEIGHT, table_file, text


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
    def build(self) -> BuildTarget:
        """gem5's build."""
        return self.release.build_target(self.gfx)

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
    machine = gpu(gfx or found.gfx[0], "--gfx")
    found.build_target(machine.name)
    gfx = machine.told
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
    """Run cases; write the table if none is left out. Lines with what is not right, and counts."""
    simulator = Simulator.of(wanted.release.name, wanted.gfx, wanted.root)
    found = [each for _, each in results(wanted, simulator, wanted.assembled(), jobs, say)]
    deciding = worst(found)
    if wanted.whole:
        made = of_judged(found, _sources(wanted, simulator).of, _about(wanted, simulator))
        file = wanted.root / table_file(wanted.release.name, wanted.build)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, text(made))
        yield f"{file}: {many(len(made.rows), 'row')}"
    else:
        yield from (described(each) for each in deciding if each.verdict != "right" and not each.taken_from)
    yield from counts(deciding)


def report(wanted: Chosen, name: str, jobs: int, say: Callable[[str], None]) -> str:
    """The page of a form.

    Args:
        name: the form's, or an instruction's: then of its form with the fewest words that is not right.

    Raises:
        ConfigError: there is no such form.
    """
    some = wanted.assembled()
    mine = [each for each in some if name in (str(each.case.form), each.case.form.instruction)]
    if not mine:
        known = {str(each.case.form) for each in some} | {each.case.form.instruction for each in some}
        remedy = f"{did_you_mean(name, known)}`apuflow conformance --list` prints the forms"
        raise ConfigError("no form of this name", key="--report", value=name, remedy=remedy)
    simulator = Simulator.of(wanted.release.name, wanted.gfx, wanted.root)
    found = results(wanted, simulator, mine, jobs, say)
    each, bad = max(found, key=lambda pair: (WEIGHT.index(pair[1].verdict), -len(pair[1].form.features)))
    source = _sources(wanted, simulator).of(bad.form)
    return page(each, bad, _about(wanted, simulator), source, wanted.gfx)


def results(
    wanted: Chosen, simulator: Simulator, some: Sequence[Assembled], jobs: int, say: Callable[[str], None]
) -> list[tuple[Assembled, Judged]]:
    """Run what has no result yet, and judge all.

    Raises:
        EngineError: gem5 does not start.
    """
    tables = wanted.release.known(wanted.gfx, wanted.root).tables
    stop = {name for table in tables for name in table.instructions("stops")}

    def likely(form: Form) -> bool:
        words, name = " ".join(form.features), form.instruction
        wide = "64" in name and "literal" in words
        whole = "constant" in words and re.search(r"_f(16|32|64)", name) is not None
        return wide or whole or name in stop or "sdwa" in form.features or "dpp" in form.features

    suite = Suite(some, simulator, wanted.place, jobs, likely, say)
    return list(judged(some, suite.run(), wanted.gfx))


def _sources(wanted: Chosen, simulator: Simulator) -> Sources:
    return Sources(simulator.source / "src/arch/amdgpu" / isa_of(wanted.gfx))


def _about(wanted: Chosen, simulator: Simulator) -> str:
    commit = simulator.record.source.commit or "of an unknown commit"
    return f"gem5 {wanted.release.name}, {commit}, build {wanted.build}, machine {wanted.gfx}"


def described(each: Judged) -> str:
    """A line about a case."""
    text = f"{each.verdict:7} {each.form}: {each.text}"
    if each.failure is not None:
        text += f"\n        {each.failure.place}: {each.failure.inputs}"
        text += f"\n        gem5 {each.failure.got}, expected {each.failure.expected} ({each.failure.lanes})"
    return text + (f": {each.message}" if each.message else "")


def counts(deciding: Sequence[Judged]) -> Iterator[str]:
    """Forms by encoding and verdict."""
    found = dict(counted(deciding))
    found["all"] = {verdict: sum(numbers[verdict] for numbers in found.values()) for verdict in WEIGHT}
    return shown(found, 8)


def shown(found: Mapping[str, Mapping[str, int]], width: int) -> Iterator[str]:
    """A table of numbers by verdict; ``width``: of its names."""
    yield " " * width + "".join(f"{verdict:>9}" for verdict in WEIGHT)
    for name, numbers in found.items():
        yield f"{name:{width}}" + "".join(f"{numbers[verdict]:>9,}" for verdict in WEIGHT)
