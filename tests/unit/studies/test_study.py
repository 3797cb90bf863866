"""Studies: their files, numbers of tables, verdicts."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from places import ROOT
from result_frames import grid

from apuflow.core.errors import ConfigError
from apuflow.studies.numbers import NotThere, number
from apuflow.studies.repeat import needed_workloads, repeat
from apuflow.studies.study import Study, Value, load_study, study_names
from apuflow.studies.verdicts import verdicts, write_page

STUDY = """\
title: A paper
source: Authors, 2020
differs: another GPU
tiers:
  preview: {sweep: default}
  gem5: {cannot: nobody has tried}
statements:
  scales:
    says: Four times the units are twice as fast
    source: section 1
    values:
      speedup:
        {column: gpu_time, workload: softmax_fwd, where: {num-compute-units: 1}, over: {num-compute-units: 4}}
    holds: speedup > 2
    expected: {speedup: 3.5}
cannot:
  - {what: Figure 2, because: it shows energy}
"""


def table(low: float = 0.9, high: float = 1.1) -> pd.DataFrame:
    """64,000 cycles shared by 1 and 4 units; their interval."""
    frame = grid({"num_compute_units": [1, 4]})
    frame["gpu_time"] = frame["gpu_cycles"] * 1e-9
    frame["gpu_cycles_low"], frame["gpu_cycles_high"] = frame["gpu_cycles"] * low, frame["gpu_cycles"] * high
    frame["flags"] = ""
    return frame


def study(root: Path, text: str = STUDY) -> Study:
    file = root / "configs/studies/mine/study.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return load_study("mine", root)


def test_the_shipped_studies_are_right() -> None:
    """Every tier has a sweep with the workloads of its statements, or a reason."""
    assert {"dnnmark_2017", "register_allocator"} <= set(study_names(ROOT))
    for name in study_names(ROOT):
        shipped = load_study(name, ROOT)
        for tier, how in shipped.tiers.items():
            if how.sweep is not None:
                assert needed_workloads(shipped, tier, how.sweep, ROOT)


@pytest.mark.parametrize(
    ("was", "instead", "key", "message"),
    [
        ("sweep: default", "sweep: defalt", "tiers.preview.sweep", "unknown sweep"),
        ("speedup > 2", "speed > 2", "statements.scales.holds", "a value that is not there: speed"),
        ("expected: {speedup:", "expected: {speed:", "statements.scales.expected", "no value has this name"),
        ("over: {num-compute-units:", "over: {num-cus:", "over.num-cus", "not an axis"),
        ("sweep: default", "sweep: default, cannot: never", "tiers.preview.sweep", "one of the two"),
        ("title:", "figures: {ipcs: figure 1}\ntitle:", "figures", "there is no such figure"),
        ("says:", "sayz:", "statements.scales.sayz", ""),
    ],
)
def test_a_mistake_is_named_with_file_key_and_fix(
    root: Path, was: str, instead: str, key: str, message: str
) -> None:
    with pytest.raises(ConfigError) as error:
        study(root, STUDY.replace(was, instead))
    told = str(error.value)
    assert message in told
    assert f"{key}\n" in told and "configs/studies/mine/study.yaml" in told and "fix:" in told


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.9, 1.1, "holds"),  # 4 x 0.9 / 1.1 = 3.27
        (0.5, 2.0, "not carried by the interval"),  # 4 x 0.5 / 2 = 1 to 16
    ],
)
def test_a_speedup_holds_only_if_all_of_its_interval_does(
    root: Path, low: float, high: float, verdict: str
) -> None:
    (found,) = verdicts(study(root), "preview", table(low, high))
    assert found["verdict"] == verdict
    assert found["values"]["speedup"] == pytest.approx([4 * low / high, 4.0, 4 * high / low])


def test_a_run_of_gem5_has_no_interval() -> None:
    frame = table().assign(engine="gem5-kernels", gpu_cycles_low=None, gpu_cycles_high=None)
    value = Value(column="gpu_time", workload="softmax_*", where={"num-compute-units": 4}, reduce="mean")
    assert number(frame, value, 0.1) == pytest.approx([16e-6] * 3)


def test_numbers_without_an_interval_get_the_tolerance_and_outside_of_measurements_that_of_the_cycles() -> (
    None
):
    frame = table(0.5, 3.0).assign(occupancy=0.4)
    value = Value(column="occupancy", workload="softmax_fwd", where={"num-compute-units": 1})
    assert number(frame, value, 0.1) == pytest.approx((0.36, 0.4, 0.44))
    frame["flags"] = "unmeasured: cycles"
    assert number(frame, value, 0.1) == pytest.approx((0.2, 0.4, 1.2))


def test_what_the_tables_lack_is_no_verdict(root: Path) -> None:
    frame = table()
    frame.loc[frame["num_compute_units"] == 4, "status"] = "timeout"
    (found,) = verdicts(study(root), "preview", frame)
    assert found["verdict"] == "no number" and "ended as timeout" in found["why"]
    with pytest.raises(NotThere, match="2 rows where one is needed"):
        number(table(), Value(column="gpu_time", workload="softmax_fwd"), 0.1)


def test_a_tier_that_cannot_repeat_it_says_why_before_anything_runs(root: Path) -> None:
    study(root)
    with pytest.raises(ConfigError, match="cannot be repeated: nobody has tried") as error:
        repeat("mine", "gem5", 1, root)
    assert "--tier preview" in str(error.value)
    wrong = STUDY.replace("workload: softmax_fwd", "workload: softmaxx")
    with pytest.raises(ConfigError, match="does not have this workload"):
        needed_workloads(study(root, wrong), "preview", "default", root)


def test_the_page_has_verdict_interval_published_value_and_what_is_not_repeated(root: Path) -> None:
    mine = study(root)
    page = write_page(mine, "preview", verdicts(mine, "preview", table()), root).read_text()
    assert "**holds** | speedup 4 (3.27 to 4.89) | speedup 3.5 |" in page
    assert "- Figure 2: it shows energy" in page
    assert "- Tier gem5: nobody has tried" in page
