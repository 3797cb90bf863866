"""What is found between two sides, on runs and tables of instructions that real gem5s left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from places import ROOT
from regress_runs import RUN, recorded_run, slow_loads
from typer.testing import CliRunner, Result

from apuflow.cli import build_app
from apuflow.core.errors import AnalysisError, ConfigError
from apuflow.forms.table import Row, Table
from apuflow.regress.findings import changed_instructions, compare
from apuflow.regress.sides import of_directory, of_release


def regress(*arguments: str) -> Result:
    return CliRunner().invoke(build_app(), ["regress", *arguments])


def test_a_counter_is_told_with_its_point_and_size(tmp_path: Path) -> None:
    """By hand: 4,800 loads of 583,578.958333 ticks are 2,801,179,000, and a fifth more 3,361,414,800."""
    recorded_run(tmp_path / "a" / RUN)
    slow_loads(recorded_run(tmp_path / "b" / RUN))
    found = compare(of_directory(tmp_path / "a"), of_directory(tmp_path / "b"))
    (one,) = found.counters
    assert (one.name, one.points, one.of) == ("load_latency_ticks", 1, 1)
    assert one.a == pytest.approx(2_801_179_000) and one.b == pytest.approx(3_361_414_800)
    assert one.largest == pytest.approx(0.2) and not one.is_work
    assert found.rows == (("gpu", 1),)


def test_another_launcher_is_told_beside_the_counters(tmp_path: Path) -> None:
    for side, launcher in (("a", "1" * 64), ("b", "2" * 64)):
        recorded_run(tmp_path / side / RUN, provenance={"launcher_sha256": launcher})
    slow_loads(tmp_path / "b" / RUN)
    told = regress(str(tmp_path / "a"), str(tmp_path / "b")).output
    assert "More than gem5 differs: the launchers of 1 point do" in told


def test_equal_runs_end_with_0_and_others_with_1(tmp_path: Path) -> None:
    for side in "ab":
        recorded_run(tmp_path / side / RUN)
    arguments = (str(tmp_path / "a"), str(tmp_path / "b"))
    equal = regress(*arguments)
    assert equal.exit_code == 0 and "No difference in 1 point" in equal.output
    slow_loads(tmp_path / "b" / RUN)
    page = tmp_path / "page.html"
    assert regress(*arguments, "--out", str(page)).exit_code == 1
    assert "<td><code>load_latency_ticks</code></td>" in page.read_text()
    assert "+20.00 %" in page.read_text()
    told = json.loads(regress(*arguments, "--json").stdout)
    assert [each["name"] for each in told if each["kind"] == "counter"] == ["load_latency_ticks"]


def test_a_run_that_fails_on_one_gem5_is_a_difference_with_its_message(tmp_path: Path) -> None:
    recorded_run(tmp_path / "a" / RUN)
    panic = "src/gpu-compute/compute_unit.cc:394: panic: GM read counter for wavefront non-zero"
    recorded_run(tmp_path / "b" / RUN, status="gem5_panic", evidence=panic, statistics=None)
    result = regress(str(tmp_path / "a"), str(tmp_path / "b"))
    assert result.exit_code == 1
    assert f"| softmax_fwd, 4 compute units | completed | gem5_panic | `{panic}` |" in result.output


def test_points_of_one_side_are_named_and_no_common_point_is_refused(tmp_path: Path) -> None:
    recorded_run(tmp_path / "a" / RUN)
    recorded_run(tmp_path / "b" / RUN)
    recorded_run(tmp_path / "b" / "runs/gem5-kernels/softmax_fwd/u8", units=8)
    a, b = of_directory(tmp_path / "a"), of_directory(tmp_path / "b")
    assert [str(key) for key in compare(a, b).only_b] == ["softmax_fwd, 8 compute units"]
    with pytest.raises(ConfigError, match="no point in common"):
        compare(a, of_directory(tmp_path / "b/runs/gem5-kernels/softmax_fwd/u8"))


def test_a_directory_of_two_gem5s_is_refused(tmp_path: Path) -> None:
    recorded_run(tmp_path / "a" / RUN)
    recorded_run(tmp_path / "b" / RUN)
    with pytest.raises(AnalysisError, match="two runs are of the same point"):
        of_directory(tmp_path)


def test_v24_1_against_v24_0() -> None:
    """The GPU's work is equal. Other launchers started the kernels, so times differ by some per cent.

    gem5 24.1 compares a 64-bit integer with a float constant as the manual says (s_cmp_eq_u64).
    """
    a, b = (of_release(name, "gem5-kernels", ROOT) for name in ("v24.0", "v24.1"))
    found = compare(a, b)
    assert found.common == found.launchers == 10
    assert "gpu_cycles" in {each.name for each in found.counters if not each.is_work}
    assert not [each.name for each in found.counters if each.is_work]
    mended = {each.form for each in found.instructions if (each.a, each.b) == ("wrong", "right")}
    assert {"sopc s_cmp_eq_u64 float0", "sopc s_cmp_lg_u64 float1"} <= mended


def test_an_instruction_that_breaks_comes_first(tmp_path: Path) -> None:
    right = Row("vop2", "v_add_f32", "right", frozenset({"dpp"}))
    wrong = Row("vop2", "v_add_f32", "wrong", frozenset({"dpp"}), inputs="v1=1", got="2", expected="3")
    (one,) = changed_instructions(Table((right,)), Table((right, wrong)))
    assert (one.form, one.a, one.b) == ("vop2 v_add_f32 dpp", "right", "wrong")
    assert one.why == "v1=1: 2, expected 3"
    assert not list(changed_instructions(Table((right, wrong)), Table((right, wrong))))


def test_what_is_no_gem5_is_refused_before_anything_runs(tmp_path: Path) -> None:
    program = tmp_path / "gem5.opt"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for name, said in ((str(program), "not inside its sources"), ("v23", "no recorded release")):
        assert said in str(regress("v23.0", name).exception)
    assert "no run of gem5 is here" in str(regress("v23.0", str(tmp_path)).exception)
    assert regress("v23.0").exit_code == 2
