"""What a call of snakemake may name."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from places import ROOT

from apuflow.core import paths, project
from apuflow.core.errors import ApuflowError, ConfigError
from apuflow.plan import targets
from apuflow.plan.campaign import Campaign

NEAREST = {
    "results/quickstart/repot.html": "results/quickstart/report.html",
    "results/quickstart/report.HTML": "results/quickstart/report.html",
    "results/quickstat/repot.html": "results/quickstart/report.html",
    "results/quickstart/softmax_fwd": "results/quickstart/softmax_fwd.csv",
    "results/quickstart/softmax_fwd.CSV": "results/quickstart/softmax_fwd.csv",
    "results/quickstart/softmax_fwd.xlsx": "results/quickstart/softmax_fwd.csv",
    "results/quickstart/figures/spedup.pdf": "results/quickstart/figures/speedup.svg",
    "results/quickstart/figures/speedup.pdf": "results/quickstart/figures/speedup.svg",
    "results/quickstart": "results/quickstart/report.html",
    "results/quickstart/figures": "results/quickstart/report.html",
    "results": "results/report.html",
    "results/x.html": "results/report.html",
    "softmax_fwd.csv": "results/softmax_fwd.csv",
    "result/quickstart/report.html": "results/quickstart/report.html",
}


@pytest.mark.parametrize(("target", "near"), NEAREST.items())
def test_a_result_that_no_rule_makes_is_refused_with_the_nearest(target: str, near: str) -> None:
    with pytest.raises(ConfigError, match="no result has this name") as caught:
        targets.refuse_unknown(Campaign(ROOT), target)
    assert re.fullmatch(paths.unknown_result("/project"), target)
    assert caught.value.value == target
    assert str(caught.value.remedy).startswith(f"did you mean {near}? ")


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("results/nosuchsweep/softmax_fwd.csv", ["unknown sweep", "quickstart"]),
        ("results/quickstart/figures/nosuch.svg", ["no such figure", "speedup"]),
        ("results/default/softmax_fwd.csv", ["directly in results/", "leave 'default/' out"]),
    ],
)
def test_a_result_that_no_sweep_has_is_refused_with_what_is_known(target: str, expected: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        targets.check_targets(Campaign(ROOT), [target])
    assert all(text in str(caught.value) for text in expected), caught.value


def test_an_absolute_path_is_answered_with_the_path_inside_of_the_project() -> None:
    with pytest.raises(ConfigError) as caught:
        targets.refuse_unknown(Campaign(ROOT), f"{ROOT}/results/quickstart/softmax_fwd.csv")
    assert str(caught.value.remedy).endswith(" results/quickstart/softmax_fwd.csv")


@pytest.mark.parametrize(
    ("path", "taken"),
    {
        "all": False,
        "table": False,
        "runs/gem5/a/b/run.json": False,
        "cachefiles/x.o": False,
        "configs/sweeps/a.yaml": False,
        "/elsewhere/results/x.csv": False,
        "notes.txt": False,
        "results/quickstart/report.html": False,
        "results/softmax_fwd.parquet": False,
        "results/quickstart/figures/ipc.png": False,
        "results/networks/items/resnet18.times.csv": False,
        "results/net/sampled.totals.csv": False,
        "/project/results/quickstart/report.html": True,
        "Results/a.csv": True,
        "reslts/a.csv": True,
        "resutls/a.csv": True,
        "my_results/a.csv": True,
    }.items(),
)
def test_only_what_looks_like_a_result_and_is_none_is_refused(path: str, taken: bool) -> None:
    assert bool(re.fullmatch(paths.unknown_result("/project"), path)) == taken


@pytest.mark.parametrize(
    ("key", "place"),
    [
        ("num_compute_units", "options: {num-compute-units: ...}"),
        ("axes", "configs/sweeps/NAME.yaml, axes: ..."),
        ("container", "configs/site.yaml: container: ..."),
        ("contaner", "did you mean container "),
    ],
)
def test_a_key_of_the_command_line_is_answered_with_its_file(key: str, place: str) -> None:
    with pytest.raises(ConfigError, match="reads no --config") as caught:
        targets.refuse_configuration({key: 8}, ())
    assert caught.value.key == key and place in str(caught.value.remedy)
    with pytest.raises(ConfigError, match="reads no --configfile"):
        targets.refuse_configuration({}, [Path("my.yaml")])
    targets.refuse_configuration({}, ())


def test_a_snakefile_with_rules_of_its_own_is_not_ours_alone(tmp_path: Path) -> None:
    own = tmp_path / "Snakefile"
    own.write_text(project.SNAKEFILE)
    assert targets.is_ours_alone(str(own)) and targets.is_ours_alone(str(ROOT / "Snakefile"))
    own.write_text(project.SNAKEFILE + "rule mine:\n    output: 'results/mine.html'\n")
    assert not targets.is_ours_alone(str(own))


def test_a_module_with_a_prefix_is_refused() -> None:
    """As ``snakemake.modules.WorkflowModifier`` has it while a module is loaded."""
    for prefix in (None, "sub/"):
        modifier = SimpleNamespace(path_modifier=SimpleNamespace(prefix=prefix, _prefix_replacements=None))
        if prefix is None:
            targets.refuse_moved_paths(modifier)
            continue
        with pytest.raises(ConfigError, match="cannot have prefix"):
            targets.refuse_moved_paths(modifier)


@pytest.mark.parametrize("name", ["a{x}b", "a}", "a\nb", "a\x1bb"])
def test_a_path_that_snakemake_takes_apart_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ApuflowError, match="which Snakemake and its scripts do not take"):
        targets.refuse_braces(tmp_path / name)


@pytest.mark.parametrize("name", ["a b", "a%b", "a$b", "it's", "ä*ö", "a[1]"])
def test_other_paths_are_taken(tmp_path: Path, name: str) -> None:
    targets.refuse_braces(tmp_path / name)
