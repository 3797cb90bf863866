"""``apuflow explain``: command lines as people paste them."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.configure import load_machine


def test_a_line_may_begin_with_its_first_option(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    line = "--num-compute-units=32 --gfx-version=gfx900 --dgpu -n3"
    done = CliRunner().invoke(build_app(), ["explain", line, "--release", "v24.0", "--machine", "mine"])
    assert done.exit_code == 0, done.output
    assert load_machine("mine", root).options["num-compute-units"] == 32


@pytest.mark.parametrize(
    ("line", "release"),
    [
        ("build/GCN3_X86/gem5.opt configs/example/apu_se.py -n3 -c square", "v23.1"),
        ("build/VEGA_X86/gem5.opt configs/example/apu_se.py -n3 -c square", "v24.1"),
        ("apu_se.py -n3 --dgpu --gfx-version=gfx803", "v23.1"),
        ("apu_se.py -n3 --dgpu --gfx-version=gfx900", "v24.1"),
        ("apu_se.py -n3", "v24.1"),
    ],
)
def test_the_newest_known_release_that_can_run_the_line(
    line: str, release: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GCN3 is gone from v24.0 on; v25.0 and v25.1 are known in part."""
    monkeypatch.chdir(root)
    assert f"in gem5 {release} this is" in CliRunner().invoke(build_app(), ["explain", line]).output


def test_a_release_that_is_known_in_part_says_so(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    told = CliRunner().invoke(build_app(), ["explain", "apu_se.py -n3", "--release", "v25.1"]).output
    assert "v25.1 is known in part: options and what is made of them as in v25.0" in told
    known = CliRunner().invoke(build_app(), ["explain", "apu_se.py -n3", "--release", "v25.0"]).output
    assert "in part" not in known
