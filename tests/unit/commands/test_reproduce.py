"""``apuflow reproduce``: what it refuses before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.core.errors import ConfigError


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["taxonmy_2015"], "unknown study"),
        (["register_allocator"], "cannot be repeated: the preview models dynamic allocation alone"),
    ],
)
def test_what_cannot_be_repeated_is_refused_with_a_fix(
    root: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str
) -> None:
    monkeypatch.chdir(root)
    done = CliRunner().invoke(build_app(), ["reproduce", *arguments])
    assert isinstance(done.exception, ConfigError)
    assert told in str(done.exception) and done.exception.remedy


def test_a_tier_is_preview_or_gem5(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    done = CliRunner().invoke(build_app(), ["reproduce", "dnnmark_2017", "--tier", "gem6"])
    assert done.exit_code == 2
    assert "neither preview nor gem5" in done.output
