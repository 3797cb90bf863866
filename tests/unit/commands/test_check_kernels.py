"""``apuflow check-kernels``."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.miopen.compiler import Compiler


def test_the_examples_fit(root: Path, monkeypatch: pytest.MonkeyPatch, clang: Compiler) -> None:
    """Registers and LDS as llvm-readobj shows them: 16 x 17 floats of LDS make 1088 bytes."""
    monkeypatch.chdir(root)
    done = CliRunner().invoke(build_app(), ["check-kernels", "--num-cus", "8"])
    assert done.exit_code == 0, done.output
    assert done.output.count("launches, arguments and reference fit") == 6
    assert "1088 bytes of LDS" in done.output
    padded = CliRunner().invoke(build_app(), ["check-kernels", "own_transpose", "--set", "pad=0"])
    assert "1024 bytes of LDS" in padded.output


def test_what_does_not_fit(root: Path, monkeypatch: pytest.MonkeyPatch, clang: Compiler) -> None:
    monkeypatch.chdir(root)
    file = root / "configs/workloads/own_vector_add.yaml"
    file.write_text(file.read_text().replace("arguments: [a, b, c, n]", "arguments: [a, b, n, n]"))
    done = CliRunner().invoke(build_app(), ["check-kernels", "own_vector_add", "--gfx", "gfx902"])
    assert done.exit_code == 1
    assert "vector_add: argument 3 (c) is a buffer, the launch gives 65536" in done.output
