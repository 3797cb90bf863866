"""The configuration that is shipped, the site, commands, schemas."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import jsonschema
import pytest
import yaml
from sweep_texts import HEAD, expand

from apuflow import dnnmark
from apuflow.campaign.points import points, sweep_workloads
from apuflow.commands.new import write_study
from apuflow.configure import (
    load_release,
    load_site,
    load_sweep,
    load_workload,
    machine_names,
    release_names,
    sweep_names,
    workload_names,
)
from apuflow.configure.reference import MODELS, refresh
from apuflow.configure.schemas import schema_texts
from apuflow.configure.workloads import CommandWorkload, DnnmarkWorkload
from apuflow.core.errors import ConfigError
from apuflow.engines import runs_on

ROOT = Path(__file__).parents[2]


# shipped files ------------------------------------------------------------------------------------------


def test_every_shipped_sweep_expands(root: Path) -> None:
    for name in sweep_names(root):
        sweep = load_sweep(name, root)
        for workload in sweep_workloads(sweep, root):
            found = points(sweep, workload, root)
            assert found and len({point.id for point in found}) == len(found), (name, workload)


def test_default_and_quickstart_are_what_the_readme_says(root: Path) -> None:
    default, quickstart = load_sweep("default", root), load_sweep("quickstart", root)
    assert default.engines == ("gem5",) and default.release == "v22.1"
    assert quickstart.engines == ("preview",)
    assert set(sweep_workloads(quickstart, root)) == set(workload_names(root)) - {
        "dropout_fwd",
        "dropout_bwd",
    }


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


def test_releases_say_what_differs(root: Path) -> None:
    assert release_names(root) == ["v21.1", "v21.2", "v22.0", "v22.1", "v23.0", "v23.1", "v24.0"]
    releases = {name: load_release(name, root) for name in release_names(root)}
    assert releases["v22.1"].gem5.commit == "5fa484e2e02604ad3a5bf01f35ad1f97ca6d17b8"
    assert releases["v22.1"].build_target("gfx801") == "GCN3_X86"
    assert releases["v23.0"].build_target("gfx902") == "VEGA_X86"
    assert releases["v24.0"].gfx == ("gfx902", "gfx900")
    with pytest.raises(ConfigError, match="gfx902"):
        releases["v24.0"].build_target("gfx801")
    redirects = {name: release.capabilities.stdout_file for name, release in releases.items()}
    assert redirects["v23.0"] == "simout" and redirects["v23.1"] == "simout.txt"
    per_kernel = [name for name, release in releases.items() if release.capabilities.per_kernel_statistics]
    assert per_kernel == ["v24.0"]


def test_a_release_says_of_each_of_its_builds_what_it_executes_wrongly(root: Path) -> None:
    path = root / "configs/gem5/v22.1.yaml"
    path.write_text(path.read_text().replace("    VEGA_X86: [narrow", "    # VEGA_X86: [narrow"))
    with pytest.raises(ConfigError, match="for GCN3_X86 and VEGA_X86") as caught:
        load_release("v22.1", root)
    assert str(caught.value.file).startswith(f"{path}:")
    assert caught.value.key == "capabilities.instruction_defects"


# site, commands -----------------------------------------------------------------------------------------


def test_site_is_optional_and_checked(root: Path) -> None:
    assert load_site(root).container == "docker"
    path = root / "configs/site.yaml"
    for text, said in (
        ("container: kubernetes\n", "docker"),
        ("gem5: {binary: /x/gem5.opt}\n", "add source"),
        ("image: {mode: local}\n", "needs a name"),
        ("mirror: {}\n", "did you mean mirrors?"),
        ("memory: 16 GB\n", "512MB, 16GB"),
        (
            "gem5: {scons: [build/X86/gem5.opt]}\n",
            "scons this argument itself: build/X86/gem5.opt",
        ),
        ("gem5: {scons: ['--jobs=9']}\n", "the jobs and the directory are the workflow's"),
        (
            "gem5: {scons: ['PROTOCOL=X'], binary: b, source: .}\n",
            "scons is not called for a gem5",
        ),
    ):
        path.write_text(text)
        with pytest.raises(ConfigError) as caught:
            load_site(root)
        assert said in str(caught.value) and "site.yaml:1" in str(caught.value)


def test_what_is_brought_along_changes_the_identity_of_gem5_points_only(root: Path) -> None:
    (root / "gem5.opt").write_bytes(b"one")
    ids: list[dict[str, str]] = []
    for site in ("", "gem5: {binary: gem5.opt, source: .}\n", "image: {mode: local, name: mine}\n"):
        if site:
            (root / "configs/site.yaml").write_text(site)
        found = {}
        for engine in ("gem5", "preview"):
            (root / "configs/sweeps/t.yaml").write_text(HEAD.replace("preview", engine))
            found[engine] = points(load_sweep("t", root), "softmax_fwd", root)[0].id
        ids.append(found)
    assert len({each["gem5"] for each in ids}) == 3
    assert len({each["preview"] for each in ids}) == 1


def test_command_workloads(root: Path) -> None:
    path = root / "configs/workloads/square.yaml"
    path.write_text(
        "description: x\nkind: command\nbinary: bin/square\narguments: ['-n', '8']\nmemory: 1GB\n"
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


def test_a_new_study_runs_as_it_is(root: Path) -> None:
    path = write_study("mine", root)
    assert len(points(load_sweep("mine", root), "softmax_fwd", root)) == 6
    with pytest.raises(ConfigError, match="there already"):
        write_study("mine", root)
    with pytest.raises(ConfigError, match="not a usable name"):
        write_study("../mine", root)
    assert path == root / "configs/sweeps/mine.yaml"


# schemas ------------------------------------------------------------------------------------------------


def test_schemas_in_the_repository_are_those_of_the_models() -> None:
    for name, text in schema_texts().items():
        assert (ROOT / "workflow/schemas" / name).read_text() == text, "run: apuflow schemas"


@pytest.mark.parametrize(
    ("schema", "folder"),
    [("sweep", "sweeps"), ("machine", "machines"), ("gem5", "gem5"), ("workload", "workloads")],
)
def test_shipped_files_satisfy_the_schemas(schema: str, folder: str) -> None:
    checker = jsonschema.Draft202012Validator(json.loads(schema_texts()[f"{schema}.schema.json"]))
    for path in sorted((ROOT / "configs" / folder).glob("*.yaml")):
        checker.validate(yaml.safe_load(path.read_text()))


@pytest.mark.parametrize(
    "text",
    [
        "axes: {num-tccs: 4}",
        "options: {num-tcc: 1}",
        "foo: 1",
        "engines: [previw]",
        "axes: {layer: {foo: [1]}}",
    ],
)
def test_schemas_refuse_what_the_models_refuse(text: str) -> None:
    checker = jsonschema.Draft202012Validator(json.loads(schema_texts()["sweep.schema.json"]))
    content = {"description": "x", "engines": ["preview"], **yaml.safe_load(text)}
    assert not checker.is_valid(content)


def test_names_are_listed_by_kind(root: Path) -> None:
    assert machine_names(root)[0] == "apu-gfx801"
    (root / "configs/machines/.hidden.yaml").write_text("x")
    (root / "configs/machines/backup.yaml~").write_text("x")
    assert not {".hidden", "backup"} & set(machine_names(root))


def test_the_tables_of_the_documentation_are_those_of_the_models() -> None:
    text = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    assert refresh(text) == text, "run: apuflow schemas"
    assert text.count("<!-- generated: ") == text.count("<!-- end -->") == len(MODELS) + 3
    assert refresh(text.replace("| `engines` |", "| `engine` |")) == text


def test_the_example_of_the_documentation_is_a_sweep(root: Path) -> None:
    text = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    example = text.partition("```yaml\n")[2].partition("```")[0]
    (root / "configs/sweeps/t.yaml").write_text(example)
    sweep = load_sweep("t", root)
    assert sweep_workloads(sweep, root) == ["softmax_fwd"]
    assert len(points(sweep, "softmax_fwd", root)) == 10


def test_the_example_of_the_site_is_a_site(root: Path) -> None:
    """As it stands, and with everything in it switched on."""
    text = (ROOT / "configs/site.example.yaml").read_text(encoding="utf-8")
    (root / "configs/site.yaml").write_text(text)
    assert load_site(root).container == "docker"
    (root / "configs/site.yaml").write_text(re.sub(r"^# (?=\S+:|  )", "", text, flags=re.M))
    site = load_site(root)
    assert site.gem5.binary and site.dnnmark.build and site.mirrors.miopen and site.image.digest


def test_the_example_of_a_command_is_a_workload(root: Path) -> None:
    assert "square" not in workload_names(root)
    shutil.copy(root / "configs/workloads/examples/square.yaml", root / "configs/workloads")
    workload = load_workload("square", root)
    assert isinstance(workload, CommandWorkload)
    assert workload.command.end_marker == "PASSED!"
    assert runs_on(workload, "gem5").state == "yes" and runs_on(workload, "preview").state == "no"
    assert "square" in sweep_workloads(load_sweep("default", root), root)
    assert "square" not in sweep_workloads(load_sweep("quickstart", root), root)


WRONG = {
    "release of another name": ("gem5/v22.1", "options_of: v22.1", "options_of: v22.2", "one of v21.1"),
    "short commit": ("gem5/v22.1", "commit: 5fa484e2e0", "commit: 5fa4", "40 hex digits"),
    "unknown build": ("gem5/v22.1", "GCN3_X86: [", "GCN3: [", "GCN3_X86"),
    "unknown gfx": ("gem5/v22.1", "[gfx801,", "[gfx80,", "gfx801"),
    "GPU at another build": ("gem5/v22.1", "[gfx801, gfx803]", "[gfx801, gfx902]", "list it at VEGA_X86"),
    "counter of another name": ("gem5/v22.1", "never_counted: []", "never_counted: [sqc_hit]", "sqc_hits"),
    "unknown defect": ("gem5/v22.1", "GCN3_X86: [narrow_results,", "GCN3_X86: [narow,", "narrow_results"),
    "version as a number": ("gem5/v22.1", "gem5_version: 22.1.0.0", "gem5_version: 22.1", "text"),
    "no barrier slots": ("gem5/v22.1", "barrier_slots: 4", "barrier_slots: 0", "at least 1"),
    "no network": ("workloads/softmax_fwd", "softmax.dnnmark", "nosuch.dnnmark", "No such file"),
    "network elsewhere": ("workloads/softmax_fwd", "softmax.dnnmark", "../x", "not a usable name"),
    "unknown library": ("workloads/softmax_fwd", "[miopen]", "[miopn]", "'rocblas'"),
    "unknown direction": ("workloads/softmax_fwd", "direction: fwd", "direction: up", "'bwd'"),
    "handles as text": ("workloads/softmax_fwd", "handles: 1", "handles: one", "whole number"),
    "unknown state": ("workloads/softmax_fwd", 'state: "yes"', "state: maybe", "'unproven'"),
}


@pytest.mark.parametrize(("file", "right", "wrong", "said"), WRONG.values(), ids=WRONG.keys())
def test_a_mistake_in_another_file_is_named(root: Path, file: str, right: str, wrong: str, said: str) -> None:
    path = root / f"configs/{file}.yaml"
    text = path.read_text()
    assert right in text
    path.write_text(text.replace(right, wrong))
    with pytest.raises(ConfigError) as caught:
        (load_release if file.startswith("gem5") else load_workload)(path.stem, root)
    line = text[: text.index(right)].count("\n") + 1
    assert said in str(caught.value) and f"{path}:{line}" in str(caught.value)


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
