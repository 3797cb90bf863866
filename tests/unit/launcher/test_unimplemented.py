"""Instructions that gem5 does not execute."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import needs
import pytest
import unimplemented_sources
import yaml
from places import ROOT
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.launcher.disassembly import missing
from apuflow.miopen.compiler import Compiler

TABLE = ROOT / "workflow/apuflow/launcher/unimplemented.yaml"


def assembled(clang: Compiler, tmp_path: Path, gfx: str, *instructions: str) -> Path:
    source, target = tmp_path / "kernel.s", tmp_path / f"{gfx}.o"
    source.write_text("kernel:\n" + "".join(f"  {line}\n" for line in (*instructions, "s_endpgm")))
    command = [clang.command[0], "--target=amdgcn-amd-amdhsa", f"-mcpu={gfx}", "-c", str(source)]
    subprocess.run([*command, "-o", str(target)], check=True)
    return target


def test_what_each_release_does_not_execute(clang: Compiler, tmp_path: Path) -> None:
    """By gem5's ``execute``: ds_add_u32 in VEGA from v23.0 on, v_rcp_f16 and ds_max_rtn_u32 nowhere."""
    code = ("ds_add_u32 v0, v1", "v_rcp_f16 v1, v0", "ds_max_rtn_u32 v2, v0, v1", "v_rcp_f32 v1, v0")
    vega = assembled(clang, tmp_path, "gfx902", *code)
    assert missing([vega], "gfx902", ("v22.1", "v23.0", "v24.1", "v25.0")) == {
        "v22.1": ("ds_add_u32", "ds_max_rtn_u32", "v_rcp_f16"),
        "v23.0": ("ds_max_rtn_u32", "v_rcp_f16"),
        "v24.1": ("ds_max_rtn_u32", "v_rcp_f16"),
        "v25.0": ("ds_max_rtn_u32", "v_rcp_f16"),  # not read: like the last one that was
    }
    gcn3 = assembled(clang, tmp_path, "gfx801", "s_mov_b32 m0, -1", *code)
    assert missing([gcn3], "gfx801", ("v23.1",)) == {"v23.1": ("ds_add_u32", "ds_max_rtn_u32", "v_rcp_f16")}


@pytest.mark.usefixtures("clang")
def test_check_kernels_says_on_which_gem5_a_kernel_ends(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Atomics of LDS whose results are asked for: ds_add_rtn_u32, which no release that was read executes."""
    monkeypatch.chdir(root)
    (root / "configs/workloads/kernels/local.cl").write_text(
        "kernel void count(global uint *out) {\n"
        "  local uint n; n = 0; barrier(CLK_LOCAL_MEM_FENCE);\n"
        "  out[get_global_id(0)] = atomic_add(&n, get_global_id(0));\n}\n"
    )
    (root / "configs/workloads/local.yaml").write_text(
        "description: d\nkind: kernels\nsource: kernels/local.cl\n"
        "buffers:\n  out: {type: uint, elements: 256, contents: touch}\n"
        "launches:\n  - {kernel: count, grid: [256], workgroup: [64], arguments: [out]}\n"
    )
    told = CliRunner().invoke(build_app(), ["check-kernels", "local", "--gfx", "gfx902"]).output
    assert "v23.0, v23.1, v24.0: ds_add_rtn_u32: gem5 does not execute it" in told
    assert "v24.1: ds_add_rtn_u32: gem5 ends" in told
    assert "v25.0" not in told  # nobody has read it as a whole


@pytest.mark.gem5
@pytest.mark.skipif("APUFLOW_TEST_GEM5" not in os.environ, reason=needs.GEM5.reason)
@pytest.mark.parametrize(("build", "folder"), unimplemented_sources.BUILDS.items())
def test_the_table_is_what_the_sources_say(build: str, folder: str) -> None:
    recorded = yaml.safe_load(TABLE.read_text())[build]
    sources = str(Path(os.environ["APUFLOW_TEST_GEM5"]).resolve().parents[2])
    found = unimplemented_sources.by_last_release(sources, folder)
    assert {name: text.split() for name, text in recorded.items()} == {
        name: names for name, names in found.items() if names
    }
