"""Errors, order and launch overhead, calculated by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from apuflow.correlate.measured import Measurement
from apuflow.correlate.modelled import Modelled
from apuflow.correlate.summary import errors, groups, overhead, rank, table


def modelled(
    measured: float, seconds: float, launches: int = 1, bound: str = "dram", host: str = ""
) -> Modelled:
    one = Measurement("k", f"{measured}", "silicon_relu", {"n": 1}, measured * 1e-6, host)
    return Modelled(one, "preview", launches, seconds * 1e-6, bound, 1.0, 1.0, first=False)


def test_errors_of_three_times() -> None:
    """Measured 10, 20, 70; modelled 4, 30, 60: 6 + 10 + 10 over 100; sum 94; 4 is not within two of 10."""
    frame = pd.DataFrame({"measured_us": [10.0, 20.0, 70.0], "modelled_us": [4.0, 30.0, 60.0]})
    found = errors(frame, "modelled_us")
    assert found == pytest.approx((3, 0.26, -0.06, 2 / 3, 1.0))


def test_rank_correlation() -> None:
    """Spearman by 1 - 6 sum(d^2) / (n (n^2 - 1)): ranks 1 2 3 4 and 2 1 4 3 give 1 - 6 * 4 / 60."""
    frame = pd.DataFrame({"measured_us": [1.0, 2.0, 3.0, 4.0], "modelled_us": [20.0, 10.0, 900.0, 30.0]})
    assert rank(frame, "modelled_us") == pytest.approx(0.6)
    assert rank(frame.assign(bytes=7.0), "bytes") is None
    assert rank(frame.head(2), "modelled_us") is None


def test_launch_overhead_is_of_measured_times_alone() -> None:
    """The shortest single launch takes 5 us; 3 launches in 11 us leave (11 - 5) / 2, 2 in 9 us leave 4."""
    found = overhead([(7e-6, 1), (5e-6, 1), (11e-6, 3), (9e-6, 2)])
    assert found == pytest.approx((5e-6, 3e-6))
    assert found.of(3) == pytest.approx(11e-6)
    assert overhead([(12e-6, 3)]).of(3) == pytest.approx(12e-6)


def test_rows_are_told_by_what_limits_them() -> None:
    """5 us of overhead are half of 8 us, a tenth of 50 us."""
    launching = overhead([(5e-6, 1)])
    frame = table(
        [modelled(8, 2), modelled(50, 20), modelled(2000, 1, bound="valu", host="copies")], launching
    )
    assert list(frame["limit"]) == ["launch", "memory", "compute"]
    assert frame["modelled_with_overhead_us"][1] == pytest.approx(25) and frame["error"][1] == pytest.approx(
        -0.6
    )
    parts = {(kind, name): len(part) for kind, name, part in groups(frame)}
    assert parts["measured time", "up to 10 us"] == parts["measured time", "over 1 ms"] == 1
    assert parts["measured", "with copies by the host"] == 1 and parts["kernel", "k"] == 3
