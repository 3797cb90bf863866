"""Differences between two answers of a point, and their usual causes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from apuflow.answers.answer import Answer, Kind

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
        "launcher": "a launcher from another C compiler: the simulated CPU runs other code before each "
        "kernel, so caches and the times of kernels shift by some per cent; the work of the GPU stays",
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
    """All differences in the order of the table: facts, options, counters, rows."""
    return tuple(
        Difference(*key, recorded.values.get(key), here.values.get(key))
        for key in dict.fromkeys((*recorded.values, *here.values))
        if recorded.values.get(key) != here.values.get(key)
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
        f"{_BY_FACT[name]} (recorded {_seen(recorded, name)}, here {_seen(here, name)})"
        for name in _BY_FACT
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
