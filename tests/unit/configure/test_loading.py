"""Files of configs/ by their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from apuflow.configure import (
    load_machine,
    load_release,
    load_sweep,
    load_workload,
    machine_names,
)
from apuflow.core.errors import ConfigError


@pytest.mark.parametrize("name", ["../default", "a/b", "..", "", "nosuch", ".hidden", "a b", "a\nb"])
def test_names_that_are_no_files_list_the_known_ones(root: Path, name: str) -> None:
    for load, known in (
        (load_sweep, "quickstart"),
        (load_workload, "softmax_fwd"),
        (load_machine, "apu-gfx801"),
        (load_release, "v22.1"),
    ):
        with pytest.raises(ConfigError) as caught:
            load(name, root)
        assert known in str(caught.value)


def test_an_unreadable_file_is_named(root: Path) -> None:
    (root / "configs/sweeps/t.yaml").mkdir()
    with pytest.raises(ConfigError, match="cannot read"):
        load_sweep("t", root)


def test_elsewhere_than_in_a_project_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="beside configs/"):
        load_sweep("quickstart", tmp_path)


def test_names_are_listed_by_kind(root: Path) -> None:
    assert machine_names(root)[0] == "apu-gfx801"
    (root / "configs/machines/.hidden.yaml").write_text("x")
    (root / "configs/machines/backup.yaml~").write_text("x")
    assert not {".hidden", "backup"} & set(machine_names(root))


WRONG = {
    "release of another name": ("gem5/v22.1", "options_of: v22.1", "options_of: v22.2", "one of v21.1"),
    "short commit": ("gem5/v22.1", "commit: 5fa484e2e0", "commit: 5fa4", "40 hex digits"),
    "unknown build": ("gem5/v22.1", "GCN3_X86: [", "GCN3: [", "GCN3_X86"),
    "unknown gfx": ("gem5/v22.1", "[gfx801,", "[gfx80,", "gfx801"),
    "GPU at another build": ("gem5/v22.1", "[gfx801, gfx803]", "[gfx801, gfx902]", "list it at VEGA_X86"),
    "counter of another name": ("gem5/v22.1", "never_counted: []", "never_counted: [sqc_hit]", "sqc_hits"),
    "unknown defect": ("gem5/v22.1", "[narrow_results,", "[narow,", "narrow_results"),
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
