"""``apuflow check-kernels``."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.configure.loading import workload_names
from apuflow.miopen.compiler import Compiler


def test_the_examples_fit_and_give_their_references_results_without_gem5(
    root: Path, monkeypatch: pytest.MonkeyPatch, clang: Compiler
) -> None:
    """Registers and LDS as llvm-readobj shows them: 16 x 17 floats of LDS make 1088 bytes.

    gem5 executes all their instructions: they ran right on v23.0.1.0 (gfx801) and v24.0.0.1 (gfx902).
    """
    monkeypatch.chdir(root)
    examples = [name for name in workload_names(root) if name.startswith("own_")]
    for gfx, release in (("gfx801", "v23.0"), ("gfx902", "v24.0")):
        arguments = ["check-kernels", *examples, "--num-cus", "8", "--gfx", gfx, "--run", "--as", release]
        done = CliRunner().invoke(build_app(), arguments)
        assert done.exit_code == 0, done.output
        assert done.output.count("launches, arguments and reference fit") == 6
        assert done.output.count("equals its reference") == 6
        assert done.output.count(f"executed as gem5 {release}") == 6
        assert "1088 bytes of LDS" in done.output
        ended = [line for line in done.output.splitlines() if "does not execute" in line]
        assert not [line for line in ended if release in line]
    padded = CliRunner().invoke(build_app(), ["check-kernels", "own_transpose", "--set", "pad=0"])
    assert "1024 bytes of LDS" in padded.output


def test_a_parameter_in_the_place_of_a_workload(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    done = CliRunner().invoke(build_app(), ["check-kernels", "own_vector_add", "n=64"])
    assert "fix:   --set n=64" in str(done.exception)


def test_what_does_not_fit(root: Path, monkeypatch: pytest.MonkeyPatch, clang: Compiler) -> None:
    monkeypatch.chdir(root)
    file = root / "configs/workloads/own_vector_add.yaml"
    file.write_text(file.read_text().replace("arguments: [a, b, c, n]", "arguments: [a, b, n, n]"))
    done = CliRunner().invoke(build_app(), ["check-kernels", "own_vector_add", "--gfx", "gfx902"])
    assert done.exit_code == 1
    assert "vector_add: argument 3 (c) is a buffer, the launch gives 65536" in done.output


def test_a_wrong_result_and_an_index_outside_of_a_buffer_are_named(
    root: Path, monkeypatch: pytest.MonkeyPatch, clang: Compiler
) -> None:
    monkeypatch.chdir(root)
    source = root / "configs/workloads/kernels/vector_add.cl"
    text = source.read_text()
    assert "a[i] + b[i]" in text
    source.write_text(text.replace("a[i] + b[i]", "a[i] - b[i]"))
    done = CliRunner().invoke(build_app(), ["check-kernels", "own_vector_add", "--run"])
    assert done.exit_code == 1
    assert "wrong: c differs from its reference by" in done.output
    source.write_text(text.replace("a[i] + b[i]", "a[i] + b[i] * 1.00001f"))
    done = CliRunner().invoke(build_app(), ["check-kernels", "own_vector_add", "--run"])
    assert done.exit_code == 0 and "c is right: it differs from its reference by" in done.output
    source.write_text(text.replace("a[i] + b[i]", "a[i + 64] + b[i]"))
    done = CliRunner().invoke(build_app(), ["check-kernels", "own_vector_add", "--run"])
    assert done.exit_code == 1
    assert "vector_add: 4 bytes at byte 262,144 of a, which has 262,144 bytes" in done.output
