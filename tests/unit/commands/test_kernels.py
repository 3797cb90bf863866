"""``apuflow kernels``."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.core.errors import ConfigError
from apuflow.miopen import Row
from apuflow.miopen.database import (
    build_database,
    key,
)
from apuflow.miopen.row_file import project_rows, read_rows
from apuflow.run.guest_errors import missing_kernel

LOG = (
    "MIOpen Error: /src/tmp_dir.cpp:47: Can't execute cd /tmp/miopen-MIOpenLRNFwd.cl-1-2;"
    " /opt/rocm/bin/clang-ocl  -DA=1 -DB=2 -mcpu=gfx801 -Wno-everything -Xclang -target-feature"
    " -Xclang +code-object-v3 MIOpenLRNFwd.cl"
    " -o /tmp/x/MIOpenLRNFwd.cl.o\n"
)


def test_the_command_that_a_failed_run_names_adds_the_kernel_to_every_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert project_rows() == []
    missed = missing_kernel(LOG)
    assert missed is not None
    program, *arguments = shlex.split(missed.remedy.partition("run again: ")[2])
    assert program == "apuflow"
    result = CliRunner().invoke(build_app(), arguments)
    assert result.exit_code == 0, result.output
    assert project_rows() == [Row("MIOpenLRNFwd.cl", " -DA=1 -DB=2")]


CONFIG = "[DNNMark]\nrun_mode=standalone\n[Softmax]\nname=s\nn=1\nc=600\nh=1\nw=1\n"


def test_the_command_lists_rows_and_what_a_database_lacks(tmp_path: Path) -> None:
    config, db = tmp_path / "net.dnnmark", tmp_path / "a.ukdb"
    config.write_text(CONFIG)
    run = CliRunner()
    listed = run.invoke(build_app(), ["kernels", str(config), "--direction", "fwd"])
    assert listed.exit_code == 0 and listed.output.count("MIOpenSoftmax.cl") == 1
    as_csv = run.invoke(build_app(), ["kernels", str(config), "--kernel-list"]).stdout
    (tmp_path / "rows.csv").write_text(as_csv)
    rows = read_rows(tmp_path / "rows.csv")
    assert len(rows) == 2
    (tmp_path / "x.o").write_bytes(b"x")
    build_database(db, {key(rows[0], "gfx801"): tmp_path / "x.o"})
    compared = run.invoke(build_app(), ["kernels", str(config), "--db", str(db)])
    assert compared.exit_code == 1
    assert [line.split()[0] for line in compared.stdout.splitlines()[::2]] == ["present", "missing"]
    complete = run.invoke(build_app(), ["kernels", str(config), "--db", str(db), "--direction", "fwd"])
    assert complete.exit_code == 0
    shown = run.invoke(build_app(), ["kernels", "--db", str(db)])
    assert shown.exit_code == 0 and "RUN_FORWARD=1" in shown.stdout and "1 for gfx801" in shown.output


@pytest.mark.parametrize(
    "arguments", [[], ["absent.dnnmark"], ["--db", "absent.ukdb"], ["--add", "nonsense"]]
)
def test_the_command_refuses_nonsense_with_a_remedy(arguments: list[str]) -> None:
    result = CliRunner().invoke(build_app(), ["kernels", *arguments])
    assert isinstance(result.exception, ConfigError)
