"""Launches between traced ones."""

from __future__ import annotations

import numpy as np
import pytest

from apuflow.preview.kernels.facts import Facts
from apuflow.preview.kernels.numbers import constants, numbers
from apuflow.preview.kernels.traced import Process, fitted, logarithms


def process(totals: dict[tuple[float, float], float]) -> Process:
    """Launches with two numbers, n and c, and one total."""
    known = logarithms(np.array(list(totals)))
    logs = np.log1p(np.array(list(totals.values()))[:, None])
    return Process(("n", "c"), known, ("valu",), *fitted(known, logs), {})


def test_a_product_of_powers_is_found_between_and_beyond_the_launches() -> None:
    work = {(n, c): 300.0 * n * c * c for n in (7.0, 15.0, 63.0, 255.0) for c in (15.0, 31.0, 127.0)}
    known = process(work)
    assert known.at({"n": 31.0, "c": 63.0})["valu"] == pytest.approx(300 * 31 * 63 * 63, rel=0.1)
    assert known.at({"n": 511.0, "c": 255.0})["valu"] == pytest.approx(300 * 511 * 255 * 255, rel=0.25)


def test_a_launch_that_was_traced_has_its_own_total() -> None:
    jumps = {
        (float(n), float(c)): 100.0 * n * (5 if c > 9 else 1) for n in (1, 4, 16, 64) for c in (8, 10, 30)
    }
    known = process(jumps)
    for (n, c), total in jumps.items():
        assert known.at({"n": n, "c": c})["valu"] == pytest.approx(total, rel=0.05)


def test_a_total_that_is_always_nothing_stays_nothing() -> None:
    known = process({(float(n), 8.0): 0.0 for n in range(1, 9)})
    assert known.at({"n": 100.0, "c": 8.0})["valu"] == 0.0


def test_launches_of_one_compiled_code_differ_in_arguments_and_grid_alone() -> None:
    code = " -DMLO_A=3 -DNAME=word"
    one = Facts("k", (64, 1, 1), (64, 1, 1), code, (("n", 2.0),))
    other = Facts("k", (128, 1, 1), (64, 1, 1), code, (("n", 5.0),))
    assert constants(one) == constants(other) == {"vega": 0.0, "MLO_A": 3.0, "NAME=word": 1.0}
    assert numbers(other) == {
        **{
            "vega": 0.0,
            "MLO_A": 3.0,
            "NAME=word": 1.0,
            "n": 5.0,
            "workgroups": 2.0,
            "wavefronts": 2.0,
            "work-items": 128.0,
        },
        **{"grid x": 128.0, "grid y": 1.0, "grid z": 1.0},
        **{"workgroup x": 64.0, "workgroup y": 1.0, "workgroup z": 1.0},
    }
