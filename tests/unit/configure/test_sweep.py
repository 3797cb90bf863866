"""Sweep files: what is read, how a mistake is named, and those that are shipped."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sweep_texts import HEAD, expand

from apuflow.configure import (
    Sweep,
    load_sweep,
    sweep_names,
    workload_names,
)
from apuflow.configure.catalogue import catalogue
from apuflow.core.engines import ENGINES
from apuflow.core.errors import ApuflowError, ConfigError
from apuflow.plan.points import points, sweep_workloads

BAD = {
    "empty file": ("", "empty"),
    "only comments": ("# nothing\n\n", "empty"),
    "text": ("hello", "mapping"),
    "list": ("- a\n- b\n", "mapping"),
    "not UTF-8": (b"\xff\xfe\x00", "UTF-8"),
    "control character": (b"description: \x00", "control characters"),
    "tabs": (HEAD + "axes:\n\tnum-tccs: [1]\n", "t.yaml:5"),
    "unclosed bracket": (HEAD + "axes: {num-tccs: [1\n", "not YAML"),
    "duplicate key": (HEAD + "axes: {}\noptions: {}\naxes: {}\n", "t.yaml:6"),
    "duplicate key inside": (HEAD + "axes:\n  num-tccs: [1]\n  num-tccs: [2]\n", "axes.num-tccs"),
    "two documents": (HEAD + "---\na: 1\n", "one document"),
    "python tag": (HEAD + "axes: !!python/object/apply:os.system [ls]\n", "constructor"),
    "anchor in itself": (HEAD + "axes: &a {num-tccs: [1], layer: *a}\n", "contains itself"),
    "number as key": (HEAD + "options: {4: 5}\n", "must be text"),
    "missing key": ("engines: [preview]\n", "add description"),
    "unknown key": (HEAD + "axis: {}\n", "did you mean axes?"),
    "name in the file": (HEAD + "name: x\n", "file's own name"),
    "axes as list": (HEAD + "axes: [1, 2]\n", "a mapping is expected"),
    "axis as number": (HEAD + "axes: {num-tccs: 4}\n", "belongs under options"),
    "axis of length 0": (HEAD + "axes: {num-tccs: []}\n", "length 0"),
    "axis of nothing": (HEAD + "axes: {num-tccs: }\n", "list of values"),
    "no layer": (HEAD + "layers: []\n", "without a layer"),
    "workload twice": (
        HEAD.replace("[softmax_fwd]", "[softmax_fwd, pool_fwd, softmax_fwd]"),
        "the name stands twice",
    ),
    "value twice": (HEAD + "axes: {num-tccs: [1, 1]}\n", "twice"),
    "value twice, spelt twice": (HEAD + "axes: {tcc-size: [1024kB, 1MB]}\n", "1024kB is the same"),
    "nested value": (HEAD + "options: {num-tccs: [1]}\n", "single value"),
    "date": (HEAD + "options: {num-tccs: 2020-01-01}\n", "single value"),
    "quoted number": (HEAD + "axes: {num-tccs: ['4']}\n", "whole number"),
    "number as release": (HEAD + "release: 22.1\n", "text is expected"),
    "unknown release": (HEAD + "release: v99\n", "v22.1, v23.0"),
    "release with a path": (HEAD + "release: ../v22.1\n", "not a usable name"),
    "unknown machine": (HEAD + "machine: apu-gfx800\n", "did you mean apu-gfx801"),
    "unknown machine on an axis": (HEAD + "axes: {machine: [apu-gfx801, foo]}\n", "apu-gfx902"),
    "unknown engine": (HEAD.replace("preview", "previw"), "gem5, gem5-kernels, preview"),
    "unknown workload": (HEAD.replace("softmax_fwd", "sofmax_fwd"), "did you mean softmax_fwd"),
    "workload with a path": (HEAD.replace("softmax_fwd", "../softmax_fwd"), "known: activation_bwd"),
    "unknown workload pattern": (HEAD + "per_workload: {sofmax_*: {}}\n", "per_workload.sofmax_*"),
    "workload that cannot run": (HEAD.replace("softmax", "dropout"), "preview cannot run dropout_fwd"),
    "unknown option": (HEAD + "options: {num-tcc: 1}\n", "did you mean num-tccs ("),
    "ignored option": (HEAD + "options: {cpu-clock: 1GHz}\n", "use CPUClock"),
    "three banks": (HEAD + "axes: {num-tccs: [1, 3]}\n", "2 or 4"),
    "gfx803 alone": (HEAD + "options: {gfx-version: gfx803}\n", "dgpu: true"),
    "negative CUs": (HEAD + "axes: {num-compute-units: [-4]}\n", "1 to"),
    "negative batch": (HEAD + "axes: {layer: {n: [-1]}}\n", "at least 1"),
    "huge batch": (HEAD + "axes: {layer: {n: [1000000000000]}}\n", "2147483647"),
    "overflowing tensor": (HEAD + "axes: {layer: {n: [2000000000]}}\n", "overflows"),
    "text as batch": (HEAD + "axes: {layer: {n: [many]}}\n", "whole number"),
    "unknown layer key": (HEAD + "layer: {num_output: 3}\n", "keys that can be set"),
    "dotted layer axis": (HEAD + "axes: {layer.n: [1]}\n", "layer: {n: [...]}"),
    "layer axis as list": (HEAD + "axes: {layer: [1]}\n", "layer: {n: [1, 10, 100]}"),
    "set twice": (
        HEAD + "options: {num-tccs: 1}\naxes: {num-tccs: [2]}\n",
        "two places of this sweep, options",
    ),
    "zip as an axis": (HEAD + "axes: {zip: {num-tccs: [1], num-dirs: [1]}}\n", "zip is no axis"),
    "layers as an axis": (HEAD + "axes: {layers: [{n: 1}]}\n", "beside axes"),
    "a zip of one group": (HEAD + "zip: {num-tccs: [1], num-dirs: [1]}\n", "zip is a list of groups"),
    "unequal zip": (HEAD + "zip: [{num-tccs: [1, 2], num-dirs: [1]}]\n", "equally long"),
    "a row of a zip twice": (
        HEAD + "zip: [{num-tccs: [1, 2, 1], num-dirs: [1, 1, 1]}]\n",
        "row 3 of the lists is row 1 again",
    ),
    "a row of a zip twice, spelt twice": (
        HEAD + "zip: [{num-dirs: [1, 1], tcc-size: [1024kB, 1MB]}]\n",
        "1, 1024kB is the same",
    ),
    "a layer twice": (HEAD + "layers: [{n: 1, c: 2}, {n: 2, c: 2}, {n: 1, c: 2}]\n", "layer 3 is layer 1"),
    "layers of unlike keys": (HEAD + "layers: [{n: 1, c: 2}, {n: 2}]\n", "layer 2 does not have the keys"),
    "an empty layer": (HEAD + "layers: [{}]\n", "layer 1 does not have"),
    "layers as mapping": (HEAD + "layers: {n: 1}\n", "a list is expected"),
    "layers and a layer axis": (HEAD + "layers: [{n: 1}]\naxes: {layer: {n: [2]}}\n", "two places"),
    "unknown key of layers": (HEAD + "layers: [{n: 1, foo: 2}]\n", "keys that can be set"),
    "layers in a file that is not there": (HEAD + "layers: shapes.csv\n", "configs/sweeps/shapes.csv"),
    "numbers and text": (HEAD + "axes: {tcc-size: [256, 256kB]}\n", "mixes numbers and text"),
    "numbers and text in a zip": (HEAD + "zip: [{tcc-size: [262144, 1MB]}]\n", "mixes numbers and text"),
    "numbers and true": (HEAD + "axes: {layer: {n: [1, true]}}\n", "mixes numbers and true or false"),
    "sets that are no power of two": (HEAD + "axes: {tcc-size: [300kB]}\n", "256kB or 512kB"),
    "a cache of one set": (HEAD + "options: {tcp-size: 1kB}\n", "at least 2kB"),
    "clock without a unit": (HEAD + "options: {gpu-clock: 1.5}\n", "for example 1.5GHz"),
    "memory that the preview lacks": (
        HEAD + "axes: {mem-type: [LPDDR3_1600_1x32]}\n",
        "does not model this memory type",
    ),
    "exclusion of no axis": (HEAD + "axes: {num-tccs: [1]}\nexclude: [{num-dirs: 1}]\n", "does not vary"),
    "exclusion of no value": (HEAD + "axes: {num-tccs: [1]}\nexclude: [{num-tccs: 2}]\n", "values: 1"),
    "exclusion of everything": (HEAD + "axes: {num-tccs: [1]}\nexclude: [{num-tccs: 1}]\n", "no point"),
    "too many points": (
        HEAD + "limits: {max_points: 2}\naxes: {num-tccs: [1, 2, 4]}\n",
        "raise limits.max_points",
    ),
    "wall time without unit": (HEAD + "limits: {wall_time: '5'}\n", "90s, 30m"),
    "a figure over no axis": (
        HEAD + "axes: {num-tccs: [1, 2]}\nfigures: {x: num-tcc}\n",
        "did you mean num-tccs?",
    ),
    "lines of no axis": (
        HEAD + "axes: {num-tccs: [1, 2]}\nfigures: {lines: [num-dirs]}\n",
        "its axes: num-tccs",
    ),
    "an axis across and as lines": (
        HEAD + "axes: {num-tccs: [1, 2]}\nfigures: {x: num-tccs, lines: [num-tccs]}\n",
        "keep it in one of x and lines",
    ),
    "a baseline that no point has": (
        HEAD + "axes: {layer: {n: [1, 2]}}\nfigures: {baseline: {layer: {n: 4}}}\n",
        "one of 1, 2",
    ),
    "a figure that does not exist": (HEAD + "figures: {show: [speedups]}\n", "did you mean speedup?"),
    "a figure twice": (HEAD + "figures: {show: [ipc, ipc]}\n", "stands twice"),
    "a sample of 300 %": (HEAD + "sampling: {bound: 3}\n", "at most 1"),
    "a sample of nothing": (HEAD + "sampling: {budget: 0}\n", "above 0"),
    "a sample that is certain": (HEAD + "sampling: {confidence: 1}\n", "below 1"),
    "a sample audited by less than nothing": (HEAD + "sampling: {audit: -1}\n", "at least 0"),
    "a sample by a key that it does not have": (HEAD + "sampling: {bounds: 0.1}\n", "did you mean bound?"),
    "a sample as a number": (HEAD + "sampling: 0.03\n", "a mapping is expected"),
    "a sample of workloads": (HEAD + "sampling: {}\n", "a sample is taken of suites alone"),
    "a sample of suites and workloads": (
        HEAD + "suites: [resnet50]\nsampling: {}\n",
        "give workloads a sweep of their own",
    ),
    "a sample of the preview": (
        HEAD.replace("workloads: [softmax_fwd]", "suites: [resnet50]") + "sampling: {}\n",
        "engines: [gem5-kernels, preview]",
    ),
    "figures of a sample": (
        "description: x\nengines: [gem5-kernels]\nsuites: [resnet50]\nsampling: {}\nfigures: {show: [ipc]}\n",
        "a sample has no figures",
    ),
    "fewer workgroups of the preview": (HEAD + "workgroups: {}\n", "engines: [gem5-kernels]"),
    "too few workgroups": (
        HEAD.replace("preview", "gem5-kernels") + "workgroups: {fills: 3}\n",
        "at least 4",
    ),
    "inputs that nobody knows": (HEAD + "inputs: dram\n", "'caches' or 'memory'"),
    "inputs of DNNMark": (HEAD.replace("preview", "gem5") + "inputs: memory\n", "[gem5-kernels, preview]"),
    "on_failure": (HEAD + "on_failure: ignore\n", "strict"),
    "workgroup without slots": (HEAD + "options: {simds-per-cu: 1, wfs-per-simd: 2}\n", "at least 4"),
    "LDS too small": (HEAD + "options: {lds-size: 512}\n", "at least 1024"),
    "memory too small": (
        HEAD.replace("softmax", "activation") + "options: {mem-size: 1GB}\n",
        "run out of memory",
    ),
    "transposed convolution": (
        HEAD.replace("softmax", "conv") + "layer: {conv_mode: convolution}\n",
        "set conv_mode=cross_correlation",
    ),
}


@pytest.mark.parametrize(("text", "said"), BAD.values(), ids=BAD.keys())
def test_a_mistake_in_a_sweep_is_named(root: Path, text: str | bytes, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        expand(root, text)
    assert said in str(caught.value)
    assert "fix:" in str(caught.value)
    assert "t.yaml" in str(caught.value)


def test_all_mistakes_are_listed_with_their_lines(root: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        expand(root, HEAD + "options:\n  num-tccs: 3\n  foo: 1\naxes:\n  num-dirs: [1, 3]\n")
    for expected in ("3 mistakes", "t.yaml:5", "t.yaml:6", "t.yaml:8"):
        assert expected in str(caught.value)


def test_what_is_set_twice_is_named_with_its_line(root: Path) -> None:
    for first, key in (("axes:\n  num-tccs: [2]\n", "axes.num-tccs"), ("layer:\n  n: 2\n", "layer.n")):
        second = "zip:\n- {num-tccs: [1, 2], layer: {n: [3, 4]}}\n"
        with pytest.raises(ConfigError, match="set in two places of this sweep, ") as caught:
            expand(root, HEAD + first + second)
        assert caught.value.key == key
        assert str(caught.value.file).endswith("t.yaml:5")


def test_a_mistake_over_many_values_is_told_once_with_all_of_them(root: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        expand(root, HEAD + "axes: {num-tccs: [1, 3, 5, 6], layer: {n: [0, 1, -2]}}\n")
    assert "2 mistakes" in str(caught.value)
    assert "value: 3, 5, 6" in str(caught.value) and "value: 0, -2" in str(caught.value)


def test_a_draft_among_the_workloads_does_not_stop_other_sweeps(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "configs/workloads/draft_of_mine.yaml").write_text("kind: [")
    (root / "configs/sweeps/t.yaml").write_text(HEAD.replace("[softmax_fwd]", "all"))
    names = sweep_workloads(load_sweep("t", root), root)
    assert "softmax_fwd" in names and "draft_of_mine" not in names
    assert "draft_of_mine is not part of 'all'" in capsys.readouterr().err


def test_a_layer_that_the_preview_refuses_is_refused_before_anything_runs(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apuflow.preview.kernels.registry.FORMULAS", {})
    with pytest.raises(ConfigError, match=r"does not model this kernel \(kernel: SoftmaxForward\)"):
        expand(root, HEAD + "layer: {n: 12345}\n")


def test_a_mistake_in_the_machine_is_named_there(root: Path) -> None:
    (root / "configs/machines/mine.yaml").write_text("description: x\noptions:\n  num-dirs: 3\n")
    with pytest.raises(ConfigError, match=r"mine\.yaml:3"):
        expand(root, HEAD + "machine: mine\n")


# whatever stands in the file ----------------------------------------------------------------------------

WORDS = st.sampled_from(
    [*Sweep.model_fields, *list(catalogue())[::20], *ENGINES, "n", "all", "-all", "*", "softmax_fwd"]
)


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(string.printable, max_size=6),
    WORDS,
    st.dates(),
)


VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(WORDS, SCALARS), inner, max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.dictionaries(WORDS, VALUES, max_size=6))
def test_no_sweep_however_wrong_ends_in_a_traceback(root: Path, content: dict[str, Any]) -> None:
    text = HEAD if "description" in content else ""
    body = {
        key: value for key, value in content.items() if key not in ("description", "engines", "workloads")
    }
    try:
        expand(root, text + yaml.safe_dump(body if text else content))
    except ApuflowError as error:
        assert str(error)


# shipped files ------------------------------------------------------------------------------------------


def test_every_shipped_sweep_expands(root: Path) -> None:
    for name in sweep_names(root):
        sweep = load_sweep(name, root)
        for workload in sweep_workloads(sweep, root):
            found = points(sweep, workload, root)
            assert found and len({point.id for point in found}) == len(found), (name, workload)


def test_default_and_quickstart_are_what_the_readme_says(root: Path) -> None:
    default, quickstart = load_sweep("default", root), load_sweep("quickstart", root)
    assert default.engines == ("gem5",) and default.release == "v23.0"
    assert quickstart.engines == ("preview",)
    others = ("own_", "ladder_", "silicon_", "triton_", "barrier_", "read_")
    own = {name for name in workload_names(root) if name.startswith(others)}
    assert set(sweep_workloads(quickstart, root)) == set(workload_names(root)) - own - {
        "dropout_fwd",
        "dropout_bwd",
    }


def test_a_sweep_of_the_preview_alone_is_of_the_release_that_it_was_measured_on() -> None:
    head = {"name": "x", "description": "x"}
    assert Sweep.model_validate({**head, "engines": ["preview"]}).release == "v23.0"
    assert Sweep.model_validate({**head, "engines": ["preview", "gem5"]}).release == "v23.0"
    assert Sweep.model_validate({**head, "engines": ["preview"], "release": "v22.1"}).release == "v22.1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("zip: [{}]\n", "a group without lists"),
        ("limits: {wall_time: 0s}\n", "a run takes some time"),
        ("engines: []\n", "names no engine"),
    ],
)
def test_what_is_empty_is_refused_in_plain_words(root: Path, text: str, message: str) -> None:
    head = HEAD.replace("engines: [preview]\n", "") if "engines" in text else HEAD
    with pytest.raises(ConfigError, match=message) as caught:
        expand(root, head + text)
    assert "configs/sweeps/t.yaml" in str(caught.value) and "fix:" in str(caught.value)
