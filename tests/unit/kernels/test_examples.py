"""The shipped examples: their dispatch lists, as the guest program itself reads and checks them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from launcher_tools import built, played, run
from places import ROOT

from apuflow.configure import load_workload
from apuflow.configure.kernel_workload import KernelsWorkload
from apuflow.core.errors import ConfigError
from apuflow.kernels.guest import DATA, object_file, own_guest
from apuflow.kernels.metadata import read_kernels
from apuflow.kernels.sources import compiled
from apuflow.launcher.plan import LIST
from apuflow.miopen.compiler import Compiler

EXAMPLES = {
    "own_square": 1,
    "own_vector_add": 1,
    "own_transpose": 1,
    "own_reduction": 2,
    "own_histogram": 1,
    "own_grid_barrier": 1,
}
"""Workload and its launches."""


@pytest.mark.parametrize("gfx", ["gfx801", "gfx902"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_guest_accepts_the_list(
    name: str, gfx: str, clang: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels, sizes of arguments, buffers and data are right for the program that starts them on gem5."""
    workload = load_workload(name, ROOT)
    assert isinstance(workload, KernelsWorkload)
    errors: list[ConfigError] = []
    work = workload.work({}, errors.append)
    assert work is not None, errors
    program = work.program(4, gfx)
    (made_of,) = program.codes
    code = compiled(str(made_of.source), made_of.arguments, gfx, ROOT)
    shutil.copy(code, tmp_path / object_file(0))
    shutil.rmtree(code.parent)
    guest = own_guest(
        program, {made_of: read_kernels(tmp_path / object_file(0))}, gfx=gfx, statistics="dispatch"
    )
    (tmp_path / LIST).parent.mkdir()
    (tmp_path / LIST).write_text(guest.contents.text())
    if guest.data is not None:
        (tmp_path / DATA).write_bytes(guest.data)
    monkeypatch.chdir(tmp_path)
    checked = run(built(), "--check", LIST)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    done = run(played(), LIST, trace=tmp_path / "trace", idle=True)
    assert done.returncode == 0, done.stderr
    assert f"apuflow-launcher: {EXAMPLES[name]} of {EXAMPLES[name]} dispatches done" in done.stdout
    assert [file.stat().st_size for file in sorted(LIST.parent.glob("out*.bin"))] == [
        program.buffer(output).size for output in program.outputs
    ]
