"""Kernels that are written down by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apuflow.core.errors import ConfigError
from apuflow.miopen import Row
from apuflow.miopen.compiler import split_arguments
from apuflow.miopen.row_file import add_rows, make_row, read_rows


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
