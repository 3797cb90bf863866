"""What a run of kernels has computed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from launcher_layers import HEAD, LAYERS
from launcher_tools import code_object, played, run, source_rows

from apuflow.dnnmark import parse
from apuflow.engines.derived_kernels import kernel_run
from apuflow.launcher import judge as verdict
from apuflow.launcher.judge import KernelJudge
from apuflow.miopen import launches

OPTIONS: dict[str, int | str] = {
    "num-compute-units": 4,
    "num-cpus": 3,
    "gfx-version": "gfx801",
    "dgpu": False,
}


@pytest.fixture
def finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[KernelJudge, Path]:
    """A copy of 30 elements, run by a device that does nothing: its output stays zero."""
    found = launches(parse(LAYERS["bypass"]), "fwd", 4)
    source = tmp_path / "object.o"
    source.write_bytes(code_object("MIOpenActiveFwdLite", kernarg=48))
    objects = dict.fromkeys(source_rows(found), source)
    made = kernel_run(found, gfx="gfx801", options=OPTIONS, launcher=played(), objects=objects)
    process = made.process
    work = tmp_path / "work"
    (work / "all").mkdir(parents=True)
    (work / "all" / "dispatch.list").write_text(process.files["all/dispatch.list"])
    (work / "kernel0.o").symlink_to(source)
    monkeypatch.chdir(work)
    assert run(played(), *process.guest.arguments, trace=tmp_path / "trace", idle=True).returncode == 0
    assert isinstance(process.judge, KernelJudge)
    return process.judge, work


def test_wrong_output_is_kept_and_named(finished: tuple[KernelJudge, Path]) -> None:
    judge, work = finished
    results = judge.results(work)
    assert (results.agree, results.outputs, results.max_relative_error) == (False, 1, 1.0)
    assert results.note is not None
    assert f"{results.worst} differs from NumPy by 1 of its largest element" in results.note
    assert (work / "all" / "out0.bin").is_file()


def test_right_output_is_removed(finished: tuple[KernelJudge, Path]) -> None:
    judge, work = finished
    source = judge.run.contents.buffers[0]
    values = source.contents.values(source.size).view(np.float32)
    (values * np.float32(1 + 2e-5)).tofile(work / "all" / "out0.bin")
    results = judge.results(work)
    assert results.agree
    assert results.max_relative_error == pytest.approx(2e-5, rel=0.05)
    assert results.note is None
    assert not (work / "all" / "out0.bin").exists()


def test_output_that_is_not_finite(finished: tuple[KernelJudge, Path]) -> None:
    judge, work = finished
    np.full(30, np.inf, np.float32).tofile(work / "all" / "out0.bin")
    results = judge.results(work)
    assert (results.agree, results.max_relative_error) == (False, None)


def test_missing_output_is_not_a_right_one(finished: tuple[KernelJudge, Path]) -> None:
    judge, work = finished
    (work / "all" / "out0.bin").unlink()
    results = judge.results(work)
    assert results.agree is None
    assert "an output is missing" in (results.note or "")


def test_large_outputs_are_said_to_be_unchecked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apuflow.engines.derived_kernels.LARGEST", 50)
    found = launches(parse(LAYERS["bypass"]), "fwd", 4)
    objects = dict.fromkeys(source_rows(found), tmp_path / "k.o")
    process = kernel_run(
        found, gfx="gfx801", options=OPTIONS, launcher=tmp_path / "l", objects=objects
    ).process
    assert "dump" not in process.files["all/dispatch.list"]
    assert isinstance(process.judge, KernelJudge)
    results = process.judge.results(tmp_path)
    assert results.agree is None
    assert f"60 elements are more than are compared ({verdict.LARGEST:,})" in (results.note or "")


def test_kernel_without_reference_is_said_to_be_unchecked(tmp_path: Path) -> None:
    """Spatial batch normalisation of large images takes three kernels that pass sums through their output."""
    keys = "batchnorm_mode=spatial\nepsilon=1e-5\nexp_avg_factor=0.5\n"
    text = f"{HEAD}[BatchNorm]\nname=l\nn=4\nc=4\nh=32\nw=32\nprevious_layer=null\n{keys}"
    found = launches(parse(text), "fwd", 4)
    assert len(found) == 3
    objects = dict.fromkeys(source_rows(found), tmp_path / "k.o")
    process = kernel_run(
        found, gfx="gfx801", options=OPTIONS, launcher=tmp_path / "l", objects=objects
    ).process
    assert isinstance(process.judge, KernelJudge)
    results = process.judge.results(tmp_path)
    assert results.agree is None
    assert "NumPy has no reference for MIOpenBatchNormFwdTrainSpatial" in (results.note or "")
