"""The points of known answers, and a proof of the preview."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from places import ROOT
from typer.testing import CliRunner, Result

from apuflow.answers import prove
from apuflow.answers.answer import Answer, write
from apuflow.cli import build_app
from apuflow.core import paths
from apuflow.core.errors import ConfigError, EngineError


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the configuration that comes along, and no site of its own."""
    (tmp_path / "configs").mkdir()
    for place in (ROOT / "configs").iterdir():
        if place.is_dir():
            (tmp_path / "configs" / place.name).symlink_to(place)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def doctor(*arguments: str) -> Result:
    return CliRunner().invoke(build_app(), ["doctor", *arguments])


def test_the_smallest_point_is_softmax_on_four_units(root: Path) -> None:
    ten = prove.points("gem5-kernels", "v24.1", root)
    assert (ten[0].workload, ten[0].compute_units, len(ten)) == ("softmax_fwd", 4, 10)
    assert {point.release for point in ten} == {"v24.1"}
    assert len({point.compute_units for point in ten}) >= 3


def test_a_release_that_the_sweep_lacks_is_told_with_the_edit(root: Path) -> None:
    with pytest.raises(ConfigError, match="does not have this release") as caught:
        prove.points("gem5-kernels", "v22.1", root)
    assert "append v22.1 to its list release" in str(caught.value)


def test_the_preview_gives_its_recorded_answers(root: Path) -> None:
    """Fails where its numbers changed without another version, or the version without another record."""
    for release in ("v23.0", "v24.0", "v24.1"):
        result = doctor("--prove", "preview", "--all", "--release", release)
        assert result.exit_code == 0, result.output
        assert result.output.count("equal    ") == 10
        assert "though" not in result.output


def test_a_changed_answer_is_named_and_ends_with_1(root: Path) -> None:
    (root / "configs/known_answers").unlink()
    file = root / "configs/known_answers/preview/v23.0.csv"
    file.parent.mkdir(parents=True)
    text = (ROOT / "configs/known_answers/preview/v23.0.csv").read_text()
    row = next(line for line in text.splitlines() if line.startswith("counter,instructions,"))
    kind, name, first, *rest = row.split(",")
    file.write_text(text.replace(row, ",".join((kind, name, str(int(first) * 2), *rest))))
    result = doctor("--prove", "preview")
    assert result.exit_code == 1
    assert "DIFFERS  softmax_fwd on preview, 4 compute units, release v23.0" in result.output
    assert f"{int(first) * 2} recorded,{first:>16} here (-50.00 %)" in result.output


def test_a_release_without_answers_is_told_before_anything_runs(root: Path) -> None:
    for engine, release in (("gem5", "v24.1"), ("gem5-kernels", "v22.1")):
        result = doctor("--prove", engine, "--release", release)
        assert result.exit_code != 0
        said = str(result.exception) + result.output
        assert f"no recorded answer for engine {engine} with release {release}" in said
        assert not (root / "runs").exists()


def test_an_answer_that_two_runs_do_not_share_is_not_recorded(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = iter("12")

    def answers(*_: object) -> tuple[Answer, ...]:
        return (Answer("softmax_fwd", {("counter", "gpu_cycles"): next(counts)}),)

    monkeypatch.setattr(prove, "answers", answers)
    with pytest.raises(EngineError, match="not deterministic") as caught:
        prove.record("gem5-kernels", "v24.1", root)
    assert "counter gpu_cycles" in str(caught.value)


def test_a_run_that_was_there_comes_back_where_a_proof_fails(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = prove.points("gem5-kernels", "v24.1", root)[0]
    record = root / paths.run_record(point.engine, point.workload, point.id)
    record.parent.mkdir(parents=True)
    record.write_text("mine")

    def fail(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        assert command[-1] == str(record.relative_to(root)) and not record.exists()
        record.parent.mkdir()
        (record.parent / "stats.txt").write_text("half")
        return subprocess.CompletedProcess(command, 1)

    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(EngineError, match="the runs failed"):
        prove.answers("gem5-kernels", [point], root)
    assert record.read_text() == "mine"
    assert not (record.parent / "stats.txt").exists()


def test_a_table_without_the_point_is_no_answer(root: Path) -> None:
    (root / "configs/known_answers").unlink()
    write(root / "configs/known_answers/preview/v23.0.csv", [Answer("other", {("counter", "x"): "1"})])
    assert "no recorded answer" in str(doctor("--prove", "preview").exception)


def test_an_unknown_engine_is_told_with_those_that_exist(root: Path) -> None:
    result = doctor("--prove", "gem6")
    assert result.exit_code == 2
    words = " ".join(result.output.replace("│", " ").split())
    assert "there is no engine 'gem6'" in words and "gem5, gem5-kernels, preview" in words


def test_options_that_do_not_go_together_are_refused(root: Path) -> None:
    for arguments in (("preview",), ("--all",), ("--prove", "--record", "preview")):
        assert doctor(*arguments).exit_code == 2, arguments
