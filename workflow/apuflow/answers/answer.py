"""Known answers, the results of sweep ``known_answers``: their table, their differences, usual causes."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, get_args

from apuflow.configure.release import Release
from apuflow.core import paths
from apuflow.core.engines import EngineName
from apuflow.core.errors import ConfigError
from apuflow.core.files import write_text

SWEEP: Final = "known_answers"
"""The sweep of the points that have answers, the smallest first."""

DIGITS: Final = 16
"""Of a hash, in a fact."""

OTHER_LAUNCHER: Final = (
    "the simulated CPU runs other code before each kernel, so caches and the times of kernels shift by some "
    "per cent; the work of the GPU stays"
)

Kind: TypeAlias = Literal["fact", "option", "counter", "rows"]
"""fact: what a run was made from; option: of ``apu_se.py``; counter: as in tables; rows: a hash of rows."""

_KINDS: Final = get_args(Kind)
_HEAD: Final = ("kind", "name")


@dataclass(frozen=True)
class Answer:
    """Result of a point.

    Attributes:
        values: as text, by kind and name.
        counted: the counters of a recorded table; None: all.
    """

    workload: str
    values: Mapping[tuple[Kind, str], str]
    counted: Collection[str] | None = field(default=None, compare=False)

    def fact(self, name: str) -> str:
        """A fact by name; empty if there is none."""
        return self.values.get(("fact", name), "")

    def count(self, kind: Kind) -> int:
        """Number of values of a kind."""
        return sum(key[0] == kind for key in self.values)

    @property
    def rows(self) -> int:
        """Rows of statistics behind its hashes."""
        return sum(int(text.partition(":")[0]) for key, text in self.values.items() if key[0] == "rows")


def write(file: Path, answers: Sequence[Answer]) -> None:
    """Write a table: a row for each value, a column for each point."""
    keys = dict.fromkeys(key for answer in answers for key in answer.values)
    ordered = sorted(keys, key=lambda key: _KINDS.index(key[0]))
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow([*_HEAD, *(answer.workload for answer in answers)])
    table.writerows([*key, *(answer.values.get(key, "") for answer in answers)] for key in ordered)
    write_text(file, text.getvalue())


def read(file: Path) -> tuple[Answer, ...]:
    """The answers of a table, in its order.

    Raises:
        ConfigError: the file cannot be read or is not such a table; with the line.
    """
    remedy = "restore the file, or record it again: `apuflow doctor --record ENGINE --release RELEASE`"
    try:
        lines = list(csv.reader(file.read_text(encoding="utf-8").splitlines()))
    except (OSError, ValueError, csv.Error) as error:
        raise ConfigError(f"cannot read known answers: {error}", file=file, remedy=remedy) from None
    head = lines[0] if lines else []
    if tuple(head[:2]) != _HEAD or len(head) < 3:
        told = ",".join(head[:3])
        raise ConfigError("not a table of known answers", file=f"{file}:1", value=told, remedy=remedy)
    values: list[dict[tuple[Kind, str], str]] = [{} for _ in head[2:]]
    for number, line in enumerate(lines[1:], 2):
        kind = next((each for each in _KINDS if line[:1] == [each]), None)
        if kind is None or len(line) != len(head):
            problem = (
                f"not a row of known answers: one of {', '.join(_KINDS)}, a name, {len(head) - 2} values"
            )
            raise ConfigError(problem, file=f"{file}:{number}", value=",".join(line), remedy=remedy)
        for each, text in zip(values, line[2:], strict=True):
            if text:
                each[kind, line[1]] = text
    counted = frozenset(line[1] for line in lines[1:] if line[0] == "counter")
    return tuple(Answer(name, each, counted) for name, each in zip(head[2:], values, strict=True))


def recorded(engine: EngineName, root: Path) -> dict[str, Path]:
    """Tables of an engine by release."""
    return {file.stem: file for file in sorted(root.glob(paths.known_answers(engine, "*")))}


def find(engine: EngineName, release: Release, root: Path) -> tuple[str, tuple[Answer, ...]]:
    """The answers to compare a release with, and the release that gave them.

    Its own, else those of the same commit of gem5, else those of ``options_of`` (for a fork).

    Raises:
        ConfigError: there are none; the message lists the recorded ones.
    """
    tables = recorded(engine, root)
    if release.name in tables:
        return release.name, read(tables[release.name])
    answers = {name: read(file) for name, file in tables.items()}
    for name, each in answers.items():
        if each and each[0].fact("gem5_commit") == release.gem5.commit:
            return name, each
    if release.options_of in answers:
        return release.options_of, answers[release.options_of]
    raise none_recorded(engine, release.name, root)


def none_recorded(engine: EngineName, release: str, root: Path) -> ConfigError:
    """The error for a release without answers: what is recorded, and how to record."""
    tables = {name: recorded(name, root) for name in get_args(EngineName)}
    known = [f"{name} with {', '.join(found)}" for name, found in tables.items() if found]
    remedy = (
        f"recorded are: {'; '.join(known) or 'none'}. `apuflow doctor --record {engine} --release {release}` "
        "records this machine's gem5, for later comparisons"
    )
    problem = f"no recorded answer for engine {engine} with release {release}"
    file = root / paths.known_answers(engine, release)
    return ConfigError(problem, file=file, key="--release", value=release, remedy=remedy)


WORK: Final = frozenset(
    {
        *("kernels_launched", "workgroups", "wavefronts", "instructions", "valu_insts", "salu_insts"),
        *("smem_insts", "vmem_insts", "flat_insts", "lds_insts", "other_insts", "vector_memory_insts"),
        *("valu_thread_cycles", "flops"),
    }
)
"""Counters that depend on code and input alone, not on latencies, sizes or the order of events."""

_BY_FACT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "engine_version": "another version of this engine: its kernels, guest or model changed; an answer of "
        "this version has to be recorded (`apuflow doctor --record`)",
        "layer": "another layer: configs/workloads or configs/sweeps/known_answers.yaml was changed",
        "products": "other kernels for matrix products (`products` in configs/site.yaml)",
        "corrections": "other changes for instructions that gem5 executes wrongly",
        "kernel_code": "other kernel code, so other counts of instructions: another compiler, MIOpen or "
        "instruction_defects of the release",
        "image": "another container image: its ROCm runs other kernels and calls",
        "gem5_version": "another version of gem5",
        "gem5_commit": "another commit of gem5",
        "gem5_patches": "other patches on gem5's sources",
        "gem5_notes": "changed sources of gem5, or another build of its pipeline",
        "launcher": f"a launcher of another version or C compiler: {OTHER_LAUNCHER}",
    }
)
"""Facts that explain other differences, the strongest cause first."""


@dataclass(frozen=True)
class Difference:
    """A value that differs from the recorded one; None if one of the two lacks it."""

    kind: Kind
    name: str
    recorded: str | None
    here: str | None


def differences(recorded: Answer, here: Answer) -> tuple[Difference, ...]:
    """All differences in the order of the table: facts, options, counters, rows.

    Counters that apuflow did not have when the answer was recorded are left out.
    """
    return tuple(
        Difference(kind, name, recorded.values.get((kind, name)), here.values.get((kind, name)))
        for kind, name in dict.fromkeys((*recorded.values, *here.values))
        if recorded.values.get((kind, name)) != here.values.get((kind, name))
        and not (kind == "counter" and recorded.counted is not None and name not in recorded.counted)
    )


def changed(found: Sequence[Difference], *kinds: Kind) -> list[Difference]:
    """The differences of some kinds."""
    return [each for each in found if each.kind in kinds]


def equal(found: Sequence[Difference]) -> bool:
    """Whether all statistics are as recorded."""
    return not changed(found, "counter", "rows")


def same_work(found: Sequence[Difference]) -> bool:
    """Whether the kernels did the same work, so that only times, caches or the simulated CPU differ."""
    return not any(each.name in WORK for each in changed(found, "counter"))


def causes(recorded: Answer, here: Answer) -> tuple[str, ...]:
    """Differences in what two answers were made from, the strongest cause first."""
    found = differences(recorded, here)
    facts = {each.name: each for each in changed(found, "fact")}
    named = [
        f"{cause} (recorded {_seen(recorded, name)}, here {_seen(here, name)})"
        for name, cause in _BY_FACT.items()
        if name in facts
    ]
    options = [f"{each.name}={each.here}, recorded {each.recorded}" for each in changed(found, "option")]
    where = "configs/machines, or options_of of the release"
    first = [f"other options: {'; '.join(options)} ({where})"] if options else []
    return (*first, *named)


def _seen(answer: Answer, name: str) -> str:
    """A fact as text; kernel code with its compiler."""
    value = answer.fact(name) or "none"
    compiler = answer.fact("kernel_compiler")
    return f"{value} by {compiler}" if name == "kernel_code" and compiler else value


def _unknown_cause(found: Sequence[Difference]) -> str:
    """The usual cause if all facts of the two runs are equal."""
    if not same_work(found):
        return (
            "the same kernels did other work: gem5 executes an instruction in another way, or an input is "
            "damaged (remove build/inputs and cachefiles, and prove again)"
        )
    return (
        "commit, options, kernels and launcher are as recorded: gem5 was built from other sources than its "
        "checkout has (`git -C SOURCE status`, then build again), or it does not give equal runs: prove again"
    )


def lines(recorded: Answer, here: Answer, most: int = 12) -> Iterator[str]:
    """The differences as text: up to ``most`` counters with values, names of others, the usual cause."""
    found = differences(recorded, here)
    counters, made = changed(found, "counter"), causes(recorded, here)
    if equal(found):
        yield from (f"though made from {each}" for each in made)
        return
    for each in counters[:most]:
        before, after = each.recorded or "none", each.here or "none"
        yield f"{each.name:22} {before:>15} recorded, {after:>15} here{_change(each)}"
    if len(counters) > most:
        yield "also: " + ", ".join(each.name for each in counters[most:])
    if parts := changed(found, "rows"):
        yield f"rows of {', '.join(each.name for each in parts)} differ"
    if counters and same_work(found):
        yield "the work of the GPU is as recorded: workgroups, wavefronts, instructions of each kind"
    for cause in made or (_unknown_cause(found),):
        yield f"usual cause: {cause}"


def _change(each: Difference) -> str:
    """The difference of a counter in per cent."""
    if each.recorded in (None, "0") or each.here is None:
        return ""
    return f" ({100 * (float(each.here) / float(str(each.recorded)) - 1):+.2f} %)"
