"""YAML as people write it: aliases, merge keys, any text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sweep_texts import HEAD, expand

from apuflow.configure import (
    yaml_source,
)
from apuflow.core.errors import ConfigError


def test_an_alias_bomb_is_refused_at_once(root: Path) -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(ConfigError, match="more than 1000000 values"):
        expand(root, "\n".join(lines))


def test_anchors_and_merge_keys_work(root: Path) -> None:
    text = HEAD + "options: &o {num-tccs: 2}\nper_workload: {softmax_*: {options: {<<: *o, num-dirs: 2}}}\n"
    assert len(expand(root, text)) == 1


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=60))
def test_no_text_ends_in_a_traceback(text: str) -> None:
    try:
        document = yaml_source.parse(text)
    except ConfigError as error:
        assert error.remedy
    else:
        assert isinstance(document.data, dict)


@pytest.mark.parametrize("text", ["a: " + "[" * 100_000, "- " * 100_000 + "1", "a: " + "{b: " * 100_000])
def test_levels_without_end_are_refused_before_they_end_the_process(text: str) -> None:
    with pytest.raises(ConfigError, match="nested too deeply") as caught:
        yaml_source.parse(text)
    assert "64 levels" in str(caught.value.remedy)


@pytest.mark.parametrize(
    ("numbers", "between", "message"),
    [
        (range(1, 300_001), ", ", "larger than 1,048,576 bytes"),
        ([7] * 300_000, ",", "more than 250,000 commas and lines"),
        ([7] * 300_000, "\n,", "more than 250,000 commas and lines"),
    ],
)
def test_an_axis_of_300_000_values_is_refused_before_it_is_read(
    tmp_path: Path, numbers: Sequence[int], between: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(f"{HEAD}axes: {{num-compute-units: [{between.join(map(str, numbers))}]}}\n")
    monkeypatch.setattr(yaml_source, "Loader", None)
    with pytest.raises(ConfigError, match=message) as caught:
        yaml_source.load(file)
    assert "limits.max_points" in str(caught.value.remedy)


def test_an_axis_of_120_000_values_is_more_than_a_sweep_may_have(root: Path) -> None:
    values = ", ".join(map(str, range(1, 120_001)))
    with pytest.raises(ConfigError, match="120,000 points for softmax_fwd, more than its limit"):
        expand(root, f"{HEAD}axes: {{num-compute-units: [{values}]}}\n")


@pytest.mark.parametrize("wall", ["366d", "1000000000h", "99999999999999999999d"])
def test_no_run_may_take_longer_than_a_year(root: Path, wall: str) -> None:
    expand(root, f"{HEAD}limits: {{wall_time: 365d}}\n")
    with pytest.raises(ConfigError, match="longer than a year") as caught:
        expand(root, f"{HEAD}limits: {{wall_time: {wall}}}\n")
    assert (caught.value.key, caught.value.value) == ("limits.wall_time", wall)
