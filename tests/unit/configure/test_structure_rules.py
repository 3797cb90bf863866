"""Machines with more controllers of a kind than gem5's Ruby has bits for."""

from __future__ import annotations

from pathlib import Path

import pytest
from sweep_texts import HEAD, expand
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.configure import load_release, option_rules
from apuflow.configure.structure_rules import controllers
from apuflow.core.errors import ConfigError

GEM5 = HEAD.replace("preview", "gem5-kernels") + "release: v23.0\n"

# Options, the machine type that gem5 ends for and its count, worked out by hand from GPU_VIPER.py and
# apu_se.py (v23.0.1.0). One controller less starts: Set.hh ends gem5 when size > NUMBER_BITS_PER_SET.
TOO_MANY = [
    ("num-compute-units: 65", "num-compute-units: 64", "65 TCP"),
    ("num-compute-units: 64, num-cp: 1", "num-compute-units: 63, num-cp: 1", "65 TCP"),
    ("num-tccs: 128", "num-tccs: 64", "128 TCC"),
    ("num-dirs: 128", "num-dirs: 64", "128 Directory"),
    # 64 instruction caches, 64 / 4 = 16 scalar caches
    ("num-compute-units: 64, cu-per-sqc: 1", "num-compute-units: 64, cu-per-sqc: 2", "80 SQC"),
    # 33 of each; 32 of each fill the set
    (
        "num-compute-units: 33, cu-per-sqc: 1, cu-per-scalar-cache: 1",
        "num-compute-units: 32, cu-per-sqc: 1, cu-per-scalar-cache: 1",
        "66 SQC",
    ),
]


@pytest.mark.parametrize(("refused", "taken", "named"), TOO_MANY)
def test_a_machine_that_ends_gem5_at_its_start_is_no_point(
    refused: str, taken: str, named: str, root: Path
) -> None:
    caches = "tcc-size: 8MB, l3_size: 16MB, "
    assert len(expand(root, GEM5 + f"options: {{{caches}{taken}}}\n")) == 1
    with pytest.raises(ConfigError, match=f"{named} controllers") as caught:
        expand(root, GEM5 + f"options: {{{caches}{refused}}}\n")
    assert "configs/sweeps/t.yaml:" in str(caught.value)
    assert "set_bits" in str(caught.value)


def test_the_nearest_machine_that_starts_is_the_fix(root: Path) -> None:
    with pytest.raises(ConfigError, match="at most 64"):
        expand(root, GEM5 + "axes: {num-compute-units: [64, 128]}\n")


@pytest.mark.parametrize(
    ("release", "bits"),
    [("v21.1", 64), ("v23.0", 64), ("v24.0", 64), ("v24.1", 64), ("v25.0", 128), ("v25.1", 128)],
)
def test_bits_of_a_set_by_release(release: str, bits: int) -> None:
    """SConsopts and Kconfig: 64. Pull request 1693, later than v24.1's commit, sets 128 for VEGA_X86."""
    assert load_release(release).capabilities.set_bits == bits


def test_a_gem5_that_was_built_with_more_bits_takes_more(root: Path) -> None:
    text = (root / "configs/gem5/v23.0.yaml").read_text()
    (root / "configs/gem5/wide.yaml").write_text(
        text.replace("  barrier_slots", "  set_bits: 128\n  barrier_slots")
    )
    assert len(expand(root, GEM5.replace("v23.0", "wide") + "options: {num-compute-units: 128}\n")) == 1


def test_explain_says_that_gem5_ends(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    done = CliRunner().invoke(build_app(), ["explain", "apu_se.py -n3 -u 237"])
    assert done.exit_code == 1
    assert "refused    -u 237" in done.output
    wide = CliRunner().invoke(build_app(), ["explain", "apu_se.py -n3 -u 128", "--release", "v25.0"])
    assert wide.exit_code == 0, wide.output


def test_the_preview_models_it_and_plan_says_that_gem5_does_not_start(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    (root / "configs/sweeps/t.yaml").write_text(HEAD + "release: v23.0\noptions: {num-compute-units: 128}\n")
    done = CliRunner().invoke(build_app(), ["plan", "t"], env={"COLUMNS": "300"})
    assert done.exit_code == 0, done.output
    assert "v23.0: gem5 ends at its start: 128 TCP controllers" in " ".join(done.output.split())


def test_gem5s_default_machine_has_one_controller_of_most_kinds() -> None:
    """v23.0: 4 units, 1 SQC and 1 scalar cache for all 4, 3 CPU cores in 2 pairs."""
    counts = {each.machine_type: each.count for each in controllers(option_rules.defaults("v23.0"))}
    assert counts == {"TCP": 4, "SQC": 2, "TCC": 1, "Directory": 1, "CorePair": 2}
