"""What a run of kernels has computed, and which instructions may have spoiled it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from launcher_layers import HEAD, LAYERS
from launcher_tools import code_object, played, run, source_rows

from apuflow.configure import load_release
from apuflow.configure.catalogue import RELEASES
from apuflow.dnnmark import parse
from apuflow.engines.gem5_kernels import kernel_run
from apuflow.launcher import judge as verdict
from apuflow.launcher.defects import DefectName, suspects
from apuflow.launcher.judge import KernelJudge
from apuflow.miopen import launches
from apuflow.miopen.compiler import Compiler

OPTIONS: dict[str, int | str] = {
    "num-compute-units": 4,
    "num-cpus": 3,
    "gfx-version": "gfx801",
    "dgpu": False,
}
ROOT = Path(__file__).parents[2]


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
    monkeypatch.setattr("apuflow.engines.gem5_kernels.LARGEST", 50)
    found = launches(parse(LAYERS["bypass"]), "fwd", 4)
    objects = dict.fromkeys(source_rows(found), tmp_path / "k.o")
    process = kernel_run(
        found, gfx="gfx801", options=OPTIONS, launcher=tmp_path / "l", objects=objects
    ).process
    assert "dump" not in process.files["all/dispatch.list"]
    assert process.judge is not None
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
    assert process.judge is not None
    results = process.judge.results(tmp_path)
    assert results.agree is None
    assert "NumPy has no reference for MIOpenBatchNormFwdTrainSpatial" in (results.note or "")


def assembled(clang: Compiler, tmp_path: Path, *instructions: str) -> Path:
    source, target = tmp_path / "kernel.s", tmp_path / "kernel.o"
    source.write_text("kernel:\n" + "".join(f"  {line}\n" for line in (*instructions, "s_endpgm")))
    command = [clang.command[0], "--target=amdgcn-amd-amdhsa", "-mcpu=gfx801", "-c", str(source)]
    subprocess.run([*command, "-o", str(target)], check=True)
    return target


@pytest.mark.parametrize(
    ("instruction", "named", "gcn3", "vega"),
    [
        ("v_sub_u16 v1, v0, v1", "v_sub_u16", "v23.1", "v24.0"),
        (
            "v_add_f32_dpp v6, v6, v6 row_shr:1 row_mask:0xf bank_mask:0xf",
            "v_add_f32_dpp",
            "v23.1",
            "v22.1",
        ),
        ("v_perm_b32 v1, s6, v0, v1", "v_perm_b32", "v23.0", "v23.0"),
        ("s_mov_b64 s[4:5], 0xfff", "s_mov_b64", "v23.1", "v23.1"),
        ("v_readfirstlane_b32 s20, v2", "v_readfirstlane_b32", "v23.1", "v22.0"),
    ],
)
def test_instruction_that_gem5_executes_wrongly(
    instruction: str, named: str, gcn3: str, vega: str, clang: Compiler, tmp_path: Path
) -> None:
    """``gcn3``, ``vega``: the last release that does, as docs/gem5-kernels.md has read in gem5's sources."""
    harmless = (
        "s_mov_b64 s[4:5], 1",
        "v_add_f32 v6, v6, v6",
        "v_cmp_gt_u16 vcc, v0, v1",
        "s_mov_b32 s4, 0xfff",
    )
    built = assembled(clang, tmp_path, *harmless, instruction)
    wrong: dict[str, list[str]] = {"GCN3_X86": [], "VEGA_X86": []}
    for name in RELEASES:
        release = load_release(name, ROOT)
        for target, gpus in release.build_targets.items():
            found = suspects([built], "gfx801", release.instruction_defects(gpus[0]))
            assert not found or (len(found) == 1 and found[0].startswith(named))
            wrong[target] += [name] if found else []
    assert wrong == {
        "GCN3_X86": [name for name in RELEASES if name <= gcn3],
        "VEGA_X86": [name for name in RELEASES if "v21.2" <= name <= vega],
    }


def test_sound_instructions_are_not_named(clang: Compiler, tmp_path: Path) -> None:
    sound = (
        "s_mov_b64 s[4:5], -1",
        "v_lshrrev_b32 v1, 16, v0",
        "flat_load_dword v1, v[2:3]",
        "v_cvt_f32_f16 v1, v0",
    )
    assert suspects([assembled(clang, tmp_path, *sound)], "gfx801", get_args(DefectName)) == ()
