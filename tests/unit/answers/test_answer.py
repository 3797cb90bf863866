"""Tables of known answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from places import ROOT

from apuflow.answers import answer
from apuflow.answers.answer import Answer, find
from apuflow.configure import Release, load_release
from apuflow.core import paths
from apuflow.core.errors import ConfigError


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    """One point has no launcher, and a compiler's name may hold a comma."""
    first = Answer("a", {("fact", "kernel_compiler"): "clang 15, Debian", ("counter", "gpu_cycles"): "12"})
    second = Answer("b", {("counter", "gpu_cycles"): "13", ("fact", "launcher"): "ff"})
    answer.write(tmp_path / "t.csv", [first, second])
    assert (tmp_path / "t.csv").read_text().splitlines() == [
        "kind,name,a,b",
        'fact,kernel_compiler,"clang 15, Debian",',
        "fact,launcher,,ff",
        "counter,gpu_cycles,12,13",
    ]
    assert answer.read(tmp_path / "t.csv") == (first, second)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", ":1", "not a table of known answers"),
        ("kind,name\n", ":1", "not a table of known answers"),
        ("kind,name,a\nfact,x,1\ncounters,y,2\n", ":3", "one of fact, option, counter, rows"),
        ("kind,name,a\nfact,x\n", ":2", "a name, 1 values"),
    ],
)
def test_a_damaged_table_is_told_with_its_line(tmp_path: Path, text: str, line: str, said: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ConfigError) as caught:
        answer.read(tmp_path / "t.csv")
    assert said in caught.value.message and str(caught.value.file).endswith(line)


def table(root: Path, release: str, commit: str) -> None:
    file = root / paths.known_answers("gem5-kernels", release)
    answer.write(file, [Answer("softmax_fwd", {("fact", "gem5_commit"): commit})])


@pytest.fixture
def release() -> Release:
    return load_release("v24.1", ROOT)


def test_a_fork_is_compared_with_its_commits_answers_then_with_those_of_its_options(
    tmp_path: Path, release: Release
) -> None:
    fork = release.model_copy(update={"name": "mine", "options_of": "v23.0"})
    with pytest.raises(ConfigError, match="no recorded answer for engine gem5-kernels with release mine"):
        find("gem5-kernels", fork, tmp_path)
    for name, commit in (("v23.0", "6835f06"), ("other", release.gem5.commit), ("mine", "fork")):
        table(tmp_path, name, commit)
        assert find("gem5-kernels", fork, tmp_path)[0] == name


def test_what_is_recorded_is_listed_where_nothing_fits(tmp_path: Path, release: Release) -> None:
    """No answer of gem5-kernels is taken for one of gem5, whose name begins the same."""
    table(tmp_path, "v24.1", release.gem5.commit)
    with pytest.raises(ConfigError) as caught:
        find("gem5", release, tmp_path)
    assert "recorded are: gem5-kernels with v24.1." in str(caught.value.remedy)
    assert "apuflow doctor --record gem5 --release v24.1" in str(caught.value.remedy)


def test_the_tables_that_come_along_have_ten_points_and_are_small() -> None:
    """What a download grows by: 200 kB at most."""
    files = sorted(ROOT.glob(paths.known_answers("*", "*")))
    assert sum(file.stat().st_size for file in files) < 200_000
    for file in files:
        assert len(answer.read(file)) == 10, file
