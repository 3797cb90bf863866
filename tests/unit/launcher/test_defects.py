"""Instructions that gem5 executes wrongly."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import get_args

import pytest
from places import ROOT

from apuflow.configure import load_release
from apuflow.configure.catalogue import RELEASES
from apuflow.launcher.defects import DefectName, suspects
from apuflow.launcher.judge import ProgramJudge
from apuflow.miopen.compiler import Compiler


def assembled(clang: Compiler, tmp_path: Path, *instructions: str, gfx: str = "gfx801") -> Path:
    source, target = tmp_path / "kernel.s", tmp_path / "kernel.o"
    source.write_text("kernel:\n" + "".join(f"  {line}\n" for line in (*instructions, "s_endpgm")))
    command = [clang.command[0], "--target=amdgcn-amd-amdhsa", f"-mcpu={gfx}", "-c", str(source)]
    subprocess.run([*command, "-o", str(target)], check=True)
    return target


@pytest.mark.parametrize(
    ("instruction", "named", "gcn3", "vega"),
    [
        ("v_sub_u16 v1, v0, v1", "v_sub_u16", "v23.1", "v24.1"),
        (
            "v_add_f32_dpp v6, v6, v6 row_shr:1 row_mask:0xf bank_mask:0xf",
            "v_add_f32_dpp",
            "v23.1",
            "v22.1",
        ),
        ("v_perm_b32 v1, s6, v0, v1", "v_perm_b32", "v23.0", "v23.0"),
        ("s_mov_b64 s[4:5], 0xfff", "s_mov_b64", "v23.1", "v23.1"),
        ("v_readfirstlane_b32 s20, v2", "v_readfirstlane_b32", "v23.1", "v22.0"),
        ("v_mul_u32_u24_sdwa v1, v0, s3 src0_sel:WORD_0 src1_sel:DWORD", "v_mul_u32_u24_sdwa", "", "v24.1"),
    ],
)
def test_instruction_that_gem5_executes_wrongly(
    instruction: str, named: str, gcn3: str, vega: str, clang: Compiler, tmp_path: Path
) -> None:
    """``gcn3``, ``vega``: the last release that does, as docs/gem5-kernels.md has read in gem5's sources.

    An instruction that GCN3 does not have is Vega's alone.
    """
    gfx = "gfx801" if gcn3 else "gfx902"
    harmless = (
        "s_mov_b64 s[4:5], 1",
        "v_add_f32 v6, v6, v6",
        "v_cmp_gt_u16 vcc, v0, v1",
        "s_mov_b32 s4, 0xfff",
    )
    built = assembled(clang, tmp_path, *harmless, instruction, gfx=gfx)
    wrong: dict[str, list[str]] = {"GCN3_X86": [], "VEGA_X86": []}
    for name in RELEASES:
        release = load_release(name, ROOT)
        for target, gpus in release.build_targets.items():
            found = suspects([built], gfx, release.instruction_defects(gpus[0]))
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


def test_finished_program_says_what_gem5_executed_wrongly(clang: Compiler, tmp_path: Path) -> None:
    """Lanes that are moved to the wrong places end no run: the row has to say it."""
    moves = assembled(clang, tmp_path, "v_add_f32_dpp v6, v6, v6 row_shr:1 row_mask:0xf bank_mask:0xf")
    results = ProgramJudge((moves,), "gfx801", ("lane_moves", "wide_literals")).results(tmp_path)
    assert results is not None
    assert results.agree is None
    assert "gem5 executes wrongly v_add_f32_dpp: lanes are moved" in (results.note or "")
    assert ProgramJudge((moves,), "gfx801", ()).results(tmp_path) is None


def test_what_ends_gem5_is_no_doubt_about_a_finished_program(clang: Compiler, tmp_path: Path) -> None:
    literal = assembled(clang, tmp_path, "s_mov_b64 s[4:5], 0xfff")
    judge = ProgramJudge((literal,), "gfx801", ("wide_literals",))
    assert judge.results(tmp_path) is None
    assert judge.explained("it ended").startswith("it ended; gem5 executes wrongly s_mov_b64")
