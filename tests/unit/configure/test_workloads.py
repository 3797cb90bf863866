"""Workload files and their networks: shapes, programs, commands."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
from pydantic import Field
from sweep_texts import HEAD, expand, one
from typing_extensions import override

from apuflow import dnnmark
from apuflow.configure import (
    load_release,
    load_sweep,
    load_workload,
    workload_names,
)
from apuflow.configure.base import Model
from apuflow.configure.command_workload import CommandFile, CommandWorkload
from apuflow.configure.operation_workload import DnnmarkWorkload
from apuflow.configure.point import Point
from apuflow.configure.schemas import schema_texts
from apuflow.configure.workload import Runs
from apuflow.configure.workloads import KINDS
from apuflow.configure.yaml_source import Document
from apuflow.core.engines import EngineName
from apuflow.core.errors import ConfigError
from apuflow.engines import runs_on, simulating_engine
from apuflow.engines.command_program import command_process
from apuflow.plan.points import points, sweep_workloads
from apuflow.prepare.doctor import Use

# n, c, h, w of the first layer, handles, program: DNNMark's config_example and benchmarks/*.cc
UPSTREAM = {
    "softmax_fwd": ((100, 1000, 1, 1), 1, "dnnmark_test_fwd_softmax"),
    "softmax_bwd": ((100, 1000, 1, 1), 1, "dnnmark_test_bwd_softmax"),
    "pool_fwd": ((100, 3, 256, 256), 1, "dnnmark_test_fwd_pool"),
    "conv_bwd": ((126, 3, 256, 256), 1, "dnnmark_test_bwd_conv"),
    "lrn_fwd": ((100, 32, 256, 256), 1, "dnnmark_test_fwd_lrn"),
    "activation_fwd": ((100, 32, 256, 256), 1, "dnnmark_test_fwd_activation"),
    "fc_fwd": ((100, 9162, 1, 1), 1, "dnnmark_test_fwd_fc"),
    "bn_bwd": ((100, 1000, 1, 1), 1, "dnnmark_test_bwd_bn"),
    "bypass_fwd": ((100, 1000, 1, 1), 1, "dnnmark_test_fwd_bypass"),
    "dropout_fwd": ((100, 1000, 1, 1), 1, "dnnmark_test_fwd_dropout"),
    "composed": ((1, 3, 32, 32), 3, "dnnmark_test_composed_model"),
    "composed_fwd": ((1, 3, 32, 32), 3, "dnnmark_test_fwd_composed_model"),
    "alexnet": ((16, 3, 227, 227), 21, "dnnmark_test_alexnet"),
    "vgg": ((100, 3, 32, 32), 58, "dnnmark_test_VGG"),
}


@pytest.mark.parametrize("name", UPSTREAM)
def test_workloads_have_upstreams_shapes_programs_and_handles(root: Path, name: str) -> None:
    shape, handles, program = UPSTREAM[name]
    workload = load_workload(name, root)
    assert isinstance(workload, DnnmarkWorkload)
    network = dnnmark.parse(workload.text, workload.file)
    assert tuple(network.layers[0].input) == shape
    assert (workload.handles, workload.program) == (handles, program)


# mmap bytes of DNNMark's default configurations
MMAP = {
    "activation_fwd": 838_860_800,
    "lrn_fwd": 838_860_800,
    "pool_fwd": 78_643_200,
    "conv_fwd": 99_090_432,
    "conv_bwd": 1_056_964_608,
    "fc_fwd": 150_110_208,
    "bn_fwd": 400_000,
    "softmax_fwd": 400_000,
    "composed": 1_048_576,
    "alexnet": 150_994_944,
    "vgg": 26_214_400,
}


@pytest.mark.parametrize("name", MMAP)
def test_networks_fill_as_many_bytes_as_upstreams(root: Path, name: str) -> None:
    workload = load_workload(name, root)
    assert isinstance(workload, DnnmarkWorkload)
    network = dnnmark.parse(workload.text, workload.file)
    assert workload.direction is not None
    assert dnnmark.mmap_bytes(network, workload.direction) == MMAP[name]


def test_every_workload_that_gem5_may_run_has_no_error(root: Path) -> None:
    for name in workload_names(root):
        workload = load_workload(name, root)
        if not isinstance(workload, DnnmarkWorkload):
            continue
        network = dnnmark.parse(workload.text, workload.file)
        problems = dnnmark.check(network, workload.direction, workload.handles)
        errors = [problem for problem in problems if problem.level == "error"]
        assert bool(errors) == (runs_on(workload, "gem5").state == "no"), (name, errors)


def test_command_workloads(root: Path) -> None:
    path = root / "configs/workloads/square.yaml"
    path.write_text(
        "description: x\nkind: command\nbinary: bin/square\narguments: ['-n', '8']\nmemory: 1GB\n"
        "end_marker: PASSED!\n"
    )
    workload = load_workload("square", root)
    assert isinstance(workload, CommandWorkload)
    assert workload.command.arguments == ("-n", "8")
    sweep = HEAD.replace("softmax_fwd", "square")
    assert len(expand(root, sweep.replace("preview", "gem5"))) == 1
    with pytest.raises(ConfigError, match="not programs"):
        expand(root, sweep)
    with pytest.raises(ConfigError, match="no layers"):
        expand(root, sweep.replace("preview", "gem5") + "layer: {n: 1}\n")
    path.write_text("description: x\nkind: command\nbinary: bin/square\narguments: ['a b']\n")
    with pytest.raises(ConfigError, match="white space"):
        load_workload("square", root)
    path.write_text("description: x\nkind: program\n")
    with pytest.raises(ConfigError, match="kind: command"):
        load_workload("square", root)


@pytest.mark.parametrize(
    ("keys", "key", "reason"),
    [
        ("", "end_marker", "nothing would show"),
        ("end_marker: PASSED!\narguments: [--say=PASSED!]", "end_marker", "is given this text"),
        ("end_marker: square", "end_marker", "is given this text"),
        ("end_file: {name: in.txt, lines: 3}\ninputs: [data/in.txt]", "end_file", "is given this file"),
        ("end_file: {name: ../out, lines: 3}", "end_file.name", "not a file that the program"),
        ("end_file: {name: out}", "end_file.lines", "missing"),
    ],
)
def test_a_command_shows_that_it_got_to_its_end(keys: str, key: str, reason: str, root: Path) -> None:
    """From v23.1 gem5 ends with status 0 and whole statistics when a program aborts (pull request 2751)."""
    path = root / "configs/workloads/mine.yaml"
    path.write_text(f"description: x\nkind: command\nbinary: bin/square\n{keys}\n")
    with pytest.raises(ConfigError, match=reason) as caught:
        load_workload("mine", root)
    assert caught.value.key == key and "mine.yaml" in str(caught.value.file)


def test_the_example_of_a_command_is_a_workload(root: Path) -> None:
    assert "square" not in workload_names(root)
    shutil.copy(root / "configs/workloads/examples/square.yaml", root / "configs/workloads")
    workload = load_workload("square", root)
    assert isinstance(workload, CommandWorkload)
    assert workload.command.end_marker == "PASSED!"
    assert runs_on(workload, "gem5").state == "yes" and runs_on(workload, "preview").state == "no"
    assert "square" in sweep_workloads(load_sweep("default", root), root)
    assert "square" not in sweep_workloads(load_sweep("quickstart", root), root)


UPSTREAM_COMMANDS = {
    "square": ("square", "", "nightly"),
    "heterosync_sleep_mutex": ("allSyncPrims-1kernel", "sleepMutex 10 16 4", "nightly"),
    "heterosync_tree_barrier": ("allSyncPrims-1kernel", "lfTreeBarrUniq 10 16 4", "nightly"),
    "lulesh": ("lulesh", "0.01 2", "weekly"),
    "halo_finder": ("ForceTreeTest", "0.5 0.1 64 0.1 1 N 12 rcb", "weekly"),
    "pannotia_bc": ("bc.gem5", "1k_128k.gr", "weekly"),
    "pannotia_color_max": ("color_max.gem5", "1k_128k.gr 0", "weekly"),
    "pannotia_color_maxmin": ("color_maxmin.gem5", "1k_128k.gr 0", "weekly"),
    "pannotia_fw": ("fw_hip.gem5", "-f 1k_128k.gr -m default", ""),
    "pannotia_mis": ("mis_hip.gem5", "1k_128k.gr 0", "weekly"),
    "pannotia_pagerank": ("pagerank.gem5", "coAuthorsDBLP.graph 1", "weekly"),
    "pannotia_pagerank_spmv": ("pagerank_spmv.gem5", "coAuthorsDBLP.graph 1", "weekly"),
    "pannotia_sssp": ("sssp.gem5", "1k_128k.gr 0", "weekly"),
    "pannotia_sssp_ell": ("sssp_ell.gem5", "1k_128k.gr 0", "weekly"),
    "hip_2dshfl": ("2dshfl", "", ""),
    "hip_dynamic_shared": ("dynamic_shared", "", ""),
    "hip_inline_asm": ("inline_asm", "", ""),
    "hip_matrix_transpose": ("MatrixTranspose", "", ""),
    "hip_shared_memory": ("sharedMemory", "", ""),
    "hip_shfl": ("shfl", "", ""),
    "hip_stream": ("stream", "", ""),
    "hip_unroll": ("unroll", "", ""),
    "pennant": ("pennant", "noh.pnt", ""),
}
"""Program, arguments, test: v23.0.1.0's nightly.sh and weekly.sh (lulesh: later tests), or its README."""


def test_the_programs_of_gem5_resources(root: Path) -> None:
    """Arguments are those of gem5's own tests; what no test of gem5 runs is unproven."""
    examples = root / "configs/workloads/examples"
    assert {file.stem for file in examples.glob("*.yaml")} == set(UPSTREAM_COMMANDS)
    for name, (program, arguments, tested) in UPSTREAM_COMMANDS.items():
        shutil.copy(examples / f"{name}.yaml", root / "configs/workloads")
        workload = load_workload(name, root)
        assert isinstance(workload, CommandWorkload)
        command = workload.command
        assert (Path(command.binary).name, " ".join(command.arguments)) == (program, arguments), name
        assert runs_on(workload, "gem5").state == ("yes" if tested else "unproven"), name
        assert tested in runs_on(workload, "gem5").reason
        named = {word for word in command.arguments if "." in word and word[0].isalnum() and "/" not in word}
        assert {Path(file).name for file in command.inputs} == {word for word in named if word[0] != "0"}
        assert (command.memory == "8GB") == (name.startswith("pannotia") or name in ("lulesh", "pennant"))


def test_a_program_finds_its_inputs(root: Path) -> None:
    shutil.copy(root / "configs/workloads/examples/pannotia_fw.yaml", root / "configs/workloads")
    sweep = HEAD.replace("softmax_fwd", "pannotia_fw").replace("preview", "gem5")
    (root / "programs").mkdir()
    for name in ("fw_hip.gem5", "1k_128k.gr"):
        (root / "programs" / name).write_text(name)
    (point,) = expand(root, sweep)
    workload = load_workload("pannotia_fw", root)
    assert isinstance(workload, CommandWorkload)
    process = command_process(point, load_release("v22.1", root), workload.command, project=root)
    assert process.links == {"1k_128k.gr": root / "programs/1k_128k.gr"}
    assert process.guest.arguments == ("-f", "1k_128k.gr", "-m", "default")
    assert set(point.describe()["command"]["inputs"]) == {"1k_128k.gr"}
    (root / "programs/1k_128k.gr").unlink()
    with pytest.raises(ConfigError, match=r"no such file[\s\S]*inputs"):
        command_process(point, load_release("v22.1", root), workload.command, project=root)
    file = root / "configs/workloads/pannotia_fw.yaml"
    file.write_text(file.read_text().replace("[programs/1k_128k.gr]", "[a/x.gr, b/x.gr]"))
    with pytest.raises(ConfigError, match="another name"):
        load_workload("pannotia_fw", root)


def test_a_program_with_more_threads_than_cpu_cores_is_refused(root: Path) -> None:
    """A HIP stream has a thread, and a thread without a core waits for ever: known before anything runs."""
    for name in ("hip_stream", "square"):
        shutil.copy(root / f"configs/workloads/examples/{name}.yaml", root / "configs/workloads")
    sweep = HEAD.replace("preview", "gem5").replace("softmax_fwd", "{}")
    assert expand(root, sweep.format("square"))[0].options["num-cpus"] == 3
    for options in ("", "options: {num-cpus: 4}\n"):
        with pytest.raises(ConfigError, match="hip_stream needs 5 CPU cores") as caught:
            expand(root, sweep.format("hip_stream") + options)
        assert "options: {num-cpus: 5}" in str(caught.value)
    axes = "axes: {num-cpus: [5, 6]}\n"
    assert [point.options["num-cpus"] for point in expand(root, sweep.format("hip_stream") + axes)] == [5, 6]
    file = root / "configs/workloads/square.yaml"
    file.write_text(file.read_text() + "cpu_cores: 2\n")
    with pytest.raises(ConfigError, match="cpu_cores"):
        load_workload("square", root)


def test_a_bare_yes_is_a_yes(root: Path) -> None:
    path = root / "configs/workloads/softmax_fwd.yaml"
    path.write_text(path.read_text().replace('state: "yes"', "state: yes"))
    assert runs_on(load_workload("softmax_fwd", root), "gem5").state == "yes"


def test_a_mistake_in_a_network_is_named_there(root: Path) -> None:
    path = root / "configs/workloads/softmax.dnnmark"
    path.write_text(path.read_text().replace("c=1000", "c=many"))
    with pytest.raises(ConfigError) as caught:
        points(load_sweep("quickstart", root), "softmax_fwd", root)
    assert "softmax.dnnmark" in str(caught.value)


class ProgramFile(Model):
    """``kind: program``: a program that prints PASSED."""

    kind: Literal["program"]
    description: str
    path: str
    runs_on: dict[EngineName, Runs] = Field(default_factory=dict)


@dataclass(frozen=True)
class ProgramWorkload(CommandWorkload):
    """A kind of workload in one class, of which no other module knows."""

    kind: ClassVar[str] = "program"
    title: ClassVar[str] = "a program that prints PASSED"
    schema: ClassVar[type[Model] | None] = ProgramFile

    @classmethod
    @override
    def beside(cls, spec: Any, path: Path, document: Document) -> dict[str, Any]:
        return {
            "command": CommandFile(kind="command", description="x", binary=spec.path, end_marker="PASSED")
        }


def test_a_kind_of_one_class_has_files_points_schema_and_refusals(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KINDS, "program", ProgramWorkload)
    file = root / "configs/workloads/mine.yaml"
    file.write_text("kind: program\ndescription: x\npath: programs/mine\n")
    point = one(root, "description: x\nengines: [gem5]\nworkloads: [mine]\n", "mine")
    assert point.describe()["command"]["binary"] == "programs/mine" and Point.of_row(point.row()) == point
    assert simulating_engine("gem5").use(load_workload("mine", root)) is Use.PROGRAM
    with pytest.raises(ConfigError, match="preview runs DNNMark's layers, not programs"):
        one(root, HEAD.replace("softmax_fwd", "mine"), "mine")
    assert "ProgramFile" in schema_texts()["workload.schema.json"]
    file.write_text("kind: prog\n")
    with pytest.raises(ConfigError, match=r"kind: program \(a program that prints PASSED\)"):
        load_workload("mine", root)
