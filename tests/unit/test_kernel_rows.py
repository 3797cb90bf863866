"""Kernels that are written down by hand, and the command that lists and adds them."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.core.errors import ConfigError
from apuflow.miopen import Row
from apuflow.miopen.database import (
    build_database,
    key,
)
from apuflow.miopen.objects import (
    split_arguments,
)
from apuflow.miopen.row_file import add_rows, make_row, project_rows, read_rows
from apuflow.run.guest_errors import missing_kernel


# rows that are written down --------------------------------------------------------------------------------
def test_upstreams_format_is_read_with_its_oddities(tmp_path: Path) -> None:
    path = tmp_path / "cachefiles.csv"
    path.write_text(
        "MIOpenNeuron.cl, -DLITE -DX=3 -mcpu=gfx906\n"
        "MIOpenSoftmax.cl,-DNUM_BATCH=1 -mcpu=gfx803 -Wno-everything\n"
        "\n# a comment\n"
        "MIOpenNeuron.cl,-DLITE -DX=3\n"
        'MIOpenA.cl,"-DP(a,b)=""a,b"" -DQ=1"\n'
        "MIOpenB.cl, -DP(a,b)=a,b -mcpu=gfx801\n"
        "MIOpenC.cl,\n"
    )
    assert read_rows(path) == [
        Row("MIOpenNeuron.cl", " -DLITE -DX=3"),
        Row("MIOpenSoftmax.cl", " -DNUM_BATCH=1"),
        Row("MIOpenA.cl", ' -DP(a,b)="a,b" -DQ=1'),
        Row("MIOpenB.cl", " -DP(a,b)=a,b"),
        Row("MIOpenC.cl", ""),
    ]


@pytest.mark.parametrize(
    "line", ["MIOpenNeuron.cl", "gcnAsm.s, -Wa,-defsym,X=1", "../a.cl, -DX", "a.cl, -DX='", ", -DX=1"]
)
def test_lines_that_are_no_row_are_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"MIOpenNeuron.cl, -DLITE\n{line}\n")
    with pytest.raises(ConfigError) as caught:
        read_rows(path)
    assert (caught.value.file, caught.value.key) == (str(path), "line 2")


@given(st.lists(st.text(st.characters(exclude_categories=("C", "Z")), max_size=20), max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_rows_that_are_added_read_back(tmp_path_factory: pytest.TempPathFactory, parts: list[str]) -> None:
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    row = make_row("MIOpenA.cl", " ".join(parts))
    path.write_text("MIOpenB.cl, -DX=1")
    try:
        split_arguments(row.arguments)
    except ConfigError:
        with pytest.raises(ConfigError):
            add_rows(path, [row])
        assert read_rows(path) == [Row("MIOpenB.cl", " -DX=1")]
    else:
        assert add_rows(path, [row, Row("MIOpenB.cl", " -DX=1")]) == 1
        assert read_rows(path) == [Row("MIOpenB.cl", " -DX=1"), row]
        assert add_rows(path, [row]) == 0


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


# the command -----------------------------------------------------------------------------------------------
CONFIG = "[DNNMark]\nrun_mode=standalone\n[Softmax]\nname=s\nn=1\nc=600\nh=1\nw=1\n"


def test_the_command_lists_rows_and_what_a_database_lacks(tmp_path: Path) -> None:
    config, db = tmp_path / "net.dnnmark", tmp_path / "a.ukdb"
    config.write_text(CONFIG)
    run = CliRunner()
    listed = run.invoke(build_app(), ["kernels", str(config), "--direction", "fwd"])
    assert listed.exit_code == 0 and listed.output.count("MIOpenSoftmax.cl") == 1
    as_csv = run.invoke(build_app(), ["kernels", str(config), "--csv"]).stdout
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
