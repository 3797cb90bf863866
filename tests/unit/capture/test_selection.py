"""Loops in sequences of kernels, and the recorded launches that the others count to."""

from __future__ import annotations

import numpy as np
import pytest

from apuflow.capture.asked import Asked
from apuflow.capture.journal import Contents, Launched, Module
from apuflow.capture.loops import ROW, Loops
from apuflow.capture.selection import Choice, Selection
from apuflow.interpret.state import Place
from apuflow.kernels.metadata import Kernel

MODULE = Module(0, b"", Place("", 0, 0))
CODE = Contents(0, np.zeros(0, np.uint8))


def iterations(sequence: str) -> list[int]:
    """Of each launch, a letter a kernel, the iterations of its loop that have ended before."""
    loops, found = Loops(), []
    for kernel in sequence:
        found.append(loops.iterations_before(kernel))
        loops.add(kernel)
    return found


@pytest.mark.parametrize(
    ("sequence", "before"),
    [
        ("abcd", [0, 0, 0, 0]),
        ("iababababx", [0, 0, 0, 0, 0, 2, 2, 3, 3, 0]),  # PageRank: a loop of two kernels
        # BC: levels of a search differ by source; the second iteration's last kernel makes the loop known
        ("c" + "sbbbtt" + "sbt" + "sbbt", [0] * 10 + [2, 2, 2, 2]),
        ("ababcababcababc", [0] * 10 + [2] * 5),  # the inner loop is a part of the outer one
        ("a" * (ROW + 2), [0] * ROW + [ROW, ROW + 1]),
    ],
)
def test_iterations_of_loops(sequence: str, before: list[int]) -> None:
    assert iterations(sequence) == before


def recorded(choice: Choice, launches: list[tuple[str, int, int]]) -> list[tuple[int, int, float]]:
    """Of launches (kernel, work-items, instructions) those recorded: number, launches, weight."""
    selection, kept = Selection(choice), list[Launched]()
    for number, (name, items, run) in enumerate(launches, 1):
        kernel = Kernel(name, (), 64, 0, 0, 0, 0, 64, 64, 0, False)
        asked = Asked(MODULE, kernel, (items, 1, 1), (64, 1, 1), 0, (0, 0, 0), b"")
        if not selection.left_out(asked, run, wanted=selection.wanted(name)):
            kept.append(Launched(number, MODULE, CODE, name, *asked[2:4], 0, b"", (), run))
            selection.keep(kept[-1])
    selection.settle()
    return [(each.number, each.launches, each.weight) for each in kept]


SIZES = [("k", 64, run) for run in (100, 300, 100, 300, 290, 100, 100)]


def test_a_launch_that_is_left_out_counts_to_the_one_that_is_most_like_it() -> None:
    """The first launch, with cold caches, stands for itself alone."""
    assert recorded(Choice(every=3), SIZES) == [(1, 1, 1.0), (2, 1, 1.0), (4, 2, 590 / 300), (7, 3, 3.0)]
    assert recorded(Choice(fold=True), SIZES) == [(1, 1, 1.0), (2, 2, 2.0), (3, 3, 3.0), (5, 1, 1.0)]


def test_with_both_options_a_launch_counts_to_its_twin() -> None:
    """Of every third launch the fourth equals the second; the others count to the second and the seventh."""
    found = recorded(Choice(every=3, fold=True), [*SIZES[:5], ("k", 64, 200), ("k", 64, 100), ("k", 64, 101)])
    assert found == [(1, 1, 1.0), (2, 4, (300 + 300 + 290 + 200) / 300), (7, 3, 3.01)]


def test_a_grid_of_its_own_comes_before_the_nearest_instructions() -> None:
    launches = [("k", 64, 90), ("k", 64, 100), ("k", 128, 210), ("k", 64, 190), ("k", 128, 90)]
    assert recorded(Choice(every=9), launches) == [(1, 1, 1.0), (2, 4, 590 / 100)]
    found = recorded(Choice(fold=True), launches[:3] + launches[1:3])
    assert found == [(1, 1, 1.0), (2, 2, 2.0), (3, 2, 2.0)]


def test_iterations_beyond_the_second_count_to_recorded_ones() -> None:
    step = [("a", 64, 10), ("b", 64, 20)]
    found = recorded(Choice(iterations=2), [("init", 64, 5), *step * 20, ("end", 64, 7)])
    assert [number for number, _, _ in found] == [1, 2, 3, 4, 5, 42]
    assert sum(launches for _, launches, _ in found) == 42
    assert sum(weight * run for (_, _, weight), run in zip(found, [5, 10, 20, 10, 20, 7], strict=True)) == 612


def test_launches_that_were_not_executed_count_one_by_one() -> None:
    found = recorded(Choice(every=2, execute=False), [("k", 64, 0)] * 5)
    assert [(number, launches) for number, launches, _ in found] == [(1, 1), (2, 1), (3, 1), (5, 2)]
