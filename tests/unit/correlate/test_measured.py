"""Files of measured times."""

from __future__ import annotations

from pathlib import Path

import pytest
from places import ROOT

from apuflow.core.errors import ConfigError
from apuflow.correlate.measured import read

OWN = "workload,parameters,time_us\nsilicon_fir,length=1024 taps=8,4.9\n"
SCRIPTS = "kernel_name,problem_size,iterations,avg_ms\nfir,1024_taps8,51,0.0049\n"


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "times.csv"
    file.write_text(text)
    return file


@pytest.mark.parametrize("text", [OWN, SCRIPTS])
def test_both_forms_say_the_same(tmp_path: Path, text: str) -> None:
    [found] = read(written(tmp_path, text))
    assert (found.workload, found.parameters) == ("silicon_fir", {"length": 1024, "taps": 8})
    assert found.seconds == pytest.approx(4.9e-6)


def test_a_size_may_name_a_number_twice_and_a_product(tmp_path: Path) -> None:
    """A matrix of 4096 rows with 16,384 numbers has 4 a row."""
    text = "kernel_name,problem_size,avg_ms\nspmv_csr_scalar,4096x4096_nnz16384,0.0053\n"
    [found] = read(written(tmp_path, text))
    assert found.parameters == {"rows": 4096, "per_row": 4}


def test_the_shipped_times_are_what_was_published() -> None:
    """453 rows of 24 names; without a workload are the copies (3 x 10) and the search of a graph (20)."""
    found = read(ROOT / "data/silicon/mi300a.csv")
    assert len(found) == 453 and len({one.kernel for one in found}) == 24
    assert sum(not one.workload for one in found) == 50
    [largest] = [one for one in found if (one.kernel, one.size) == ("vectoradd", "536870912")]
    assert largest.seconds == pytest.approx(2.8381e-3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            OWN.replace("time_us", "time_min"),
            r"another unit[\s\S]*:1[\s\S]*time_ns, time_us, time_ms, time_s",
        ),
        (
            OWN.replace("time_us", "time_us,time_ms").replace("4.9", "4.9,0.0049"),
            "another unit, or in several",
        ),
        (OWN.replace("workload,", "name,"), r"other columns[\s\S]*name, parameters, time_us"),
        (SCRIPTS.replace("avg_ms", "avg_us"), r"other columns[\s\S]*avg_us"),
        (OWN.replace("length=1024 taps=8", ""), r"the size is missing[\s\S]*times.csv:2"),
        (SCRIPTS.replace("1024_taps8", ""), r"the size is missing[\s\S]*{length}_taps{taps}"),
        (SCRIPTS.replace("1024_taps8", "1024"), "not a size of this kernel"),
        (OWN.replace("length=1024", "length"), "not parameters"),
        (OWN.replace("4.9", "0"), r"not a time[\s\S]*'0'"),
        (OWN.replace("4.9", "4.9 us"), "not a time"),
        (
            OWN + OWN.splitlines()[1].replace("length=1024 taps=8", "taps=8 length=1024"),
            "same size as in line 2",
        ),
        (SCRIPTS + SCRIPTS.splitlines()[1], r"same size as in line 2[\s\S]*times.csv:3"),
        (SCRIPTS.replace("fir,", "fire,"), r"no workload computes this kernel[\s\S]*did you mean fir"),
        (OWN.splitlines()[0], "no measured time"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        read(written(tmp_path, text))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read measured times[\s\S]*absent.csv"):
        read(tmp_path / "absent.csv")
