"""A proof of the gem5 that APUFLOW_TEST_GEM5 names; MIOpen's kernels are those of APUFLOW_TEST_MIOPEN.

The known answers were made with clang 15 and gcc 12: with other compilers the tests fail, and name them.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import needs
import pytest
import real_gem5
import yaml
from conftest import copy_project
from places import ROOT
from rocblas_checkouts import checkouts
from typer.testing import CliRunner, Result

from apuflow.answers.answer import SWEEP, read, recorded
from apuflow.cli import build_app
from apuflow.core import paths

pytestmark = pytest.mark.gem5


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Name of its release; the process is in a project of it, which a guest can see: not below /tmp."""
    binary, found = real_gem5.binary(), real_gem5.release()
    kernels = Path(os.environ.get("APUFLOW_TEST_MIOPEN", "/nonexistent"))
    if not kernels.is_dir():
        needs.MIOPEN.skip()
    directory = Path(tempfile.mkdtemp(prefix=".gem5-test-", dir=ROOT))
    project = copy_project(directory)
    mine = {"binary": str(binary), "source": str(binary.parents[2]), "allow_dirty": True}
    site = {
        "container": "host",
        "gem5_by_release": {found.name: mine},
        "miopen_source": str(kernels),
        **_products(found.name),
    }
    (project / "configs/site.yaml").write_text(yaml.safe_dump(site))
    monkeypatch.chdir(project)
    yield found.name
    shutil.rmtree(directory)


def _products(release: str) -> dict[str, str]:
    """The kernels of matrix products that the answers were made with."""
    table = recorded("gem5-kernels", ROOT).get(release)
    made = {answer.fact("products") for answer in read(table)} if table else set()
    if "rocblas" not in made:
        return {"products": "stand-in"}
    tensile, rocblas = checkouts()
    return {"products": "rocblas", "tensile_source": str(tensile), "rocblas_source": str(rocblas)}


def prove(release: str, *options: str) -> Result:
    return CliRunner().invoke(
        build_app(), ["doctor", "--prove", "gem5-kernels", "--release", release, *options]
    )


def test_this_gem5_counts_as_the_recorded_one(release: str) -> None:
    """Where its release has no answers, the message lists those that have."""
    result = prove(release, "--all")
    if release not in recorded("gem5-kernels", Path()):
        assert f"no recorded answer for engine gem5-kernels with release {release}" in str(result.exception)
        return
    assert result.exit_code == 0, result.output
    assert result.output.count("equal    ") == 10


def test_a_changed_option_is_named_and_a_run_that_was_there_is_made_again(release: str) -> None:
    if release not in recorded("gem5-kernels", Path()):
        pytest.skip(f"no answers of {release} are recorded")
    sweep = Path(paths.sweep_file(SWEEP))
    sweep.write_text(f"{sweep.read_text()}options: {{mem-req-latency: 60}}\n")
    assert prove(release).exit_code == 1
    [record] = Path("runs").glob("gem5-kernels/softmax_fwd/*/run.json")
    first = record.stat().st_ino
    result = prove(release)
    assert record.stat().st_ino != first
    assert result.exit_code == 1
    assert "usual cause: other options: mem-req-latency=60, recorded 50" in result.output
    assert "load_latency_ticks" in result.output
    assert "instructions of each kind" in result.output
    assert not list(Path("build/set_aside").rglob("run.json"))
