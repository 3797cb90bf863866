"""What the rules that run points are told, and what their jobs find of it on another machine."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sweep_texts import one

from apuflow.configure.point import Point
from apuflow.core import paths
from apuflow.core.errors import ConfigError, EngineError
from apuflow.engines.base import Needs
from apuflow.engines.gem5 import Gem5Kernels
from apuflow.plan.campaign import Campaign
from apuflow.plan.manifest import Manifest
from apuflow.plan.runs import Runs
from apuflow.plan.schedule import OWN_MEMORY_MB, START_MINUTES
from apuflow.prepare.tools import Toolset

SWEEP = "description: x\nengines: [{engine}]\nworkloads: [{workload}]\nlimits: {{wall_time: 90m}}\n"


@pytest.fixture
def root(root: Path) -> Path:
    """A project of one small sweep: whose a run is, is asked of all sweeps, and most that ship are large."""
    for sweep in (root / "configs/sweeps").glob("*.yaml"):
        if sweep.stem != "quickstart":
            sweep.unlink()
    return root


def run_of(root: Path, engine: str, workload: str) -> tuple[Runs, Point, dict[str, str]]:
    """The rules' questions, a point, and the wildcards of the rule that runs it."""
    point = one(root, SWEEP.format(engine=engine, workload=workload), workload)
    wildcards = {"engine": point.engine, "workload": workload, "point": point.id}
    return Runs(Campaign(root)), point, wildcards


def wildcards_of(record: str) -> dict[str, str]:
    """Those of the rule that makes a tool's record; a tool's own name has no wildcard."""
    found = paths.matcher(paths.tool_record()).fullmatch(record)
    assert found is not None
    return found.groupdict()


def test_a_run_may_take_twice_the_memory_that_it_needs(root: Path) -> None:
    """LRN of 100x32x256x256: gem5 keeps 6.7 GB of tensors and the 0.8 GB file that fills them, both twice."""
    inputs, _, wildcards = run_of(root, "gem5-kernels", "lrn_fwd")
    needed = 800e6 + 4 * 6.3e6 + 2 * (6_710_886_400 + 838_860_800)
    assert 2 * needed < (inputs.job_memory(wildcards) - OWN_MEMORY_MB) * 2**20 < 2 * (needed + 102e6)


def test_a_small_run_may_take_4_gb(root: Path) -> None:
    inputs, _, wildcards = run_of(root, "gem5-kernels", "softmax_fwd")
    assert inputs.job_memory(wildcards) == 4000 + OWN_MEMORY_MB


def test_a_run_of_unknown_length_may_take_its_sweeps_wall_limit(root: Path) -> None:
    """One that has begun before and left no record may have been too long for its estimate."""
    inputs, point, wildcards = run_of(root, "gem5-kernels", "softmax_fwd")
    (root / paths.run_dir(point.engine, point.workload, point.id) / "attempts").mkdir(parents=True)
    assert inputs.job_minutes(wildcards) == 90 + START_MINUTES


def test_a_proven_run_needs_no_toolchain(root: Path) -> None:
    inputs, point, wildcards = run_of(root, "gem5-kernels", "softmax_fwd")
    record = root / paths.run_record(point.engine, point.workload, point.id)
    record.parent.mkdir(parents=True)
    record.touch()
    assert inputs.job_inputs(wildcards) == {}
    inputs.check_ready()  # asks nothing of this machine


def test_a_run_that_no_sweep_asks_for_is_refused(root: Path) -> None:
    inputs, _, wildcards = run_of(root, "gem5-kernels", "softmax_fwd")
    with pytest.raises(ConfigError, match="no sweep has this point"):
        inputs.job_inputs({**wildcards, "point": "u4-00000000"})


@pytest.mark.parametrize(
    ("release", "site", "needs_sources"),
    [
        ("v24.0", "image: {mode: build}\n", True),
        ("v22.1", "image: {mode: build}\n", False),  # another gem5's Dockerfile
        ("v24.0", "image: {mode: local, name: mine}\n", False),
        ("v24.0", "container: host\nimage: {mode: build}\n", False),
    ],
)
def test_an_image_needs_gem5s_checkout_where_it_is_built_from_it(
    root: Path, release: str, site: str, needs_sources: bool
) -> None:
    (root / "configs/site.yaml").write_text(site)
    tools = Toolset(release, root)
    found = Runs(Campaign(root)).tool_inputs("image")(wildcards_of(tools.record("image")))
    assert found == ([tools.record("source-gem5")] if needs_sources else [])


def test_a_gem5_is_compiled_in_an_image_and_ones_own_is_not(root: Path) -> None:
    tools = Toolset("v22.1", root)
    wildcards = {**wildcards_of(tools.record("gem5-GCN3_X86")), "target": "GCN3_X86"}
    found = Runs(Campaign(root)).tool_inputs("gem5-{target}")(wildcards)
    assert found == [tools.record("source-gem5"), tools.record("image")]
    (root / "gem5.opt").write_bytes(b"mine")
    (root / "configs/site.yaml").write_text("gem5: {binary: gem5.opt, source: .}\n")
    tools = Toolset("v22.1", root)
    found = Runs(Campaign(root)).tool_inputs("gem5")(wildcards_of(tools.record("gem5")))
    assert found == [tools.record("source-gem5")]


def test_a_record_of_another_wish_is_refused_with_the_right_one(root: Path) -> None:
    other = wildcards_of(Toolset("v22.1", root).record("image"))
    (root / "configs/site.yaml").write_text("image: {mode: local, name: mine}\n")
    with pytest.raises(ConfigError) as caught:
        Runs(Campaign(root)).tool_inputs("image")(other)
    assert Toolset("v22.1", root).record("image") in str(caught.value)


def test_a_kernel_that_no_sweep_asks_for_is_refused(root: Path) -> None:
    inputs, _, _ = run_of(root, "preview", "softmax_fwd")
    with pytest.raises(ConfigError, match="no sweep needs this file") as caught:
        inputs.kernels.made_from(paths.kernel_object())({"gfx": "gfx801", "object": "MIOpenSoftmax-0123"})
    assert caught.value.value == "cachefiles/objects/gfx801/MIOpenSoftmax-0123.o"


# jobs on other machines ------------------------------------------------------------------------------------
TWO = "description: x\nengines: [gem5-kernels]\nworkloads: [softmax_fwd]\naxes: {num-compute-units: [4, 8]}\n"
TABLE = {"under": "t/", "workload": "softmax_fwd"}


@pytest.fixture
def needs_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points whose only input is a record, so that planning them asks for no compiler."""
    monkeypatch.setattr(Gem5Kernels, "needs", lambda self, tools, point: Needs(("gem5.json",)))


def elsewhere(root: Path) -> Runs:
    return Runs(Campaign(root), lambda: True)


def checkpoints() -> Any:
    """Snakemake's, when the image is there."""
    return SimpleNamespace(image=SimpleNamespace(get=lambda **wildcards: None))


@pytest.mark.usefixtures("needs_little")
def test_a_job_finds_its_row_whatever_has_become_of_the_sweeps(root: Path) -> None:
    """The workflow plans; then every sweep is damaged; a job still knows point, memory, time and inputs."""
    (root / "configs/sweeps/t.yaml").write_text(TWO)
    (root / "configs/site.yaml").write_text("batch: 0s\n")
    runs = elsewhere(root)
    table = runs.table_inputs(TABLE, checkpoints())
    assert len(table["records"]) == 2 and table["batches"] == []
    found = paths.matcher(paths.run_record()).fullmatch(table["records"][0])
    assert found is not None
    wildcards = found.groupdict()
    needed = dict(runs.job_inputs(wildcards))
    for sweep in (root / "configs/sweeps").iterdir():
        sweep.write_text("nonsense: [")
    job = Runs(Campaign(root), is_job=True)
    assert job.job_inputs(wildcards) == needed
    [plan] = needed.pop("plan")
    assert [plan] == table["plan"]
    [task] = Manifest(plan, root).tasks(engine="gem5-kernels", id=wildcards["point"])
    assert task.inputs.files == needed["needs"]
    assert task.point.axes == {"num-compute-units": 4}
    assert job.job_memory(wildcards) == runs.job_memory(wildcards)
    assert 10 < job.job_minutes(wildcards) == runs.job_minutes(wildcards) < 7 * 24 * 60


@pytest.mark.usefixtures("needs_little")
def test_points_are_planned_once_and_those_that_have_run_are_not_in_a_batch(root: Path) -> None:
    (root / "configs/sweeps/t.yaml").write_text(TWO)
    runs = elsewhere(root)
    table = runs.table_inputs(TABLE, checkpoints())
    [mark] = table["batches"]
    assert table["records"] == []
    assert runs.table_inputs(TABLE, checkpoints()) == table
    name = {"batch": Path(mark).stem}
    job = Runs(Campaign(root), is_job=True)
    assert job.job_inputs(name) == runs.job_inputs(name)
    assert job.job_minutes(name) == runs.job_minutes(name)
    assert job.job_memory(name) == runs.job_memory(name) == 4000 + OWN_MEMORY_MB
    first = Manifest(table["plan"][0], root).tasks(**name)[0]
    (root / first.point.record).parent.joinpath("attempts").mkdir(parents=True)
    again = elsewhere(root)
    assert again.table_inputs(TABLE, checkpoints())["batches"] == []
    wildcards = dict(zip(("engine", "workload", "point"), Path(first.point.record).parts[1:4], strict=True))
    again.job_inputs(wildcards)
    assert again.job_minutes(wildcards) == 7 * 24 * 60 + 10


@pytest.mark.usefixtures("needs_little")
def test_a_part_of_the_points_comes_in_a_batch_of_its_own(root: Path) -> None:
    """As a round of a sample asks for; the next round's are another batch, in a plan of its own."""
    (root / "configs/sweeps/t.yaml").write_text(TWO.replace("[4, 8]", "[1, 2, 4, 8]"))
    runs = elsewhere(root)
    sweep = runs.campaign.load("t")
    records = runs.campaign.records(sweep, "softmax_fwd")
    batches = []
    for part in (records[:2], records[2:]):
        found = runs.in_batches(sweep, "softmax_fwd", part)
        [mark] = found["batches"]
        assert found["records"] == []
        [plan] = runs.job_inputs({"batch": Path(mark).stem})["plan"]
        assert {task.point.record for task in Manifest(plan, root).tasks(batch=Path(mark).stem)} == set(part)
        batches.append(mark)
    assert runs.in_batches(sweep, "softmax_fwd", records)["batches"] == batches


def test_a_job_without_a_plan_is_told_the_command_to_run(root: Path) -> None:
    job = Runs(Campaign(root), is_job=True)
    with pytest.raises(EngineError, match="no plan has this job") as caught:
        job.job_inputs({"engine": "gem5", "workload": "softmax_fwd", "point": "u4-00000000"})
    assert caught.value.value == "runs/gem5/softmax_fwd/u4-00000000"
    assert "snakemake --cores all" in str(caught.value.remedy)


@pytest.mark.usefixtures("needs_little")
def test_plans_of_finished_runs_are_removed(root: Path) -> None:
    (root / "configs/sweeps/t.yaml").write_text(TWO)
    table = elsewhere(root).table_inputs(TABLE, checkpoints())
    plan, mark = root / table["plan"][0], root / table["batches"][0]
    mark.parent.mkdir(parents=True)
    mark.touch()
    Runs(Campaign(root)).clean()
    assert plan.exists() and mark.exists()
    for task in Manifest(table["plan"][0], root).tasks(batch=mark.stem):
        (root / task.point.record).parent.mkdir(parents=True)
        (root / task.point.record).touch()
    Runs(Campaign(root)).clean()
    assert not plan.exists() and not mark.exists()
