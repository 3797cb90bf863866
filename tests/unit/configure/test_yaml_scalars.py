"""Numbers that YAML 1.1 and YAML 1.2 read differently, or that people write in another way than YAML."""

from __future__ import annotations

from pathlib import Path

import pytest
from sweep_texts import HEAD, expand

from apuflow.configure import yaml_source
from apuflow.configure.loading import plain_value
from apuflow.core.errors import ConfigError
from apuflow.dnnmark.parser import parse

MISREAD = {
    "010": "10",
    "-012": "-12",
    "08": "8",
    "0o10": "8",
    "0b101": "5",
    "-0x1f": "-31",
    "1_000": "1000",
    "1e3": "1000",
    "12e-2": "0.12",
    "2.5e6": "2500000",
    "1e-7": "1.0e-07",
    "-.5": "-0.5",
    "1:30": "90",
    "1:00:00": "3600",
    "1:30.5": "90.5",
    "!!int '017'": "17",
}
"""Spellings, and the decimal of each: by hand; base 60 by YAML 1.1, types int and float."""


@pytest.mark.parametrize(("text", "meant"), MISREAD.items())
def test_a_misread_number_is_refused_with_its_line_and_decimal(text: str, meant: str) -> None:
    with pytest.raises(ConfigError) as caught:
        yaml_source.parse(f"name: x\nsizes:\n  - 4\n  - {text}\n", "f.yaml")
    error = caught.value
    assert (error.file, error.key) == ("f.yaml:4", "sizes[1]")
    assert str(error.remedy).startswith(f"write {meant}")
    assert yaml_source.parse(f"a: {meant}").data["a"] == float(meant)


@pytest.mark.parametrize("text", ["2024-01-01", "2024-13-45", "=", "<<", ".inf", "-.INF", ".nan", "1e400"])
def test_a_date_a_sign_of_yaml_1_1_and_an_endless_number_are_refused(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        yaml_source.parse(f"a: {text}")
    assert (caught.value.file, caught.value.key) == ("<text>:1", "a")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(
            ("'010'", "010"),
            ("'yes'", "yes"),
            ("'1:30'", "1:30"),
            ("yes", True),
            ("y", "y"),
            ("256kB", "256kB"),
        ),
        *(("+4", 4), ("0", 0), ("0x10", 16), (".5", 0.5), ("1.", 1.0), ("1.5e-3", 0.0015)),
        *(("~", None), ("true", True), ("v23.0", "v23.0"), ("1.2.3", "1.2.3")),
    ],
)
def test_what_every_version_reads_alike_is_taken(text: str, value: object) -> None:
    found = yaml_source.parse(f"a: {text}").data["a"]
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("axes: {num-compute-units: [010, 012]}", "axes.num-compute-units[0]"),
        ("options: {num-compute-units: 1:30}", "options.num-compute-units"),
        ("layer: {n: 0144}", "layer.n"),
        ("layers: [{n: 1, c: 010}]", "layers[0].c"),
        ("limits: {max_points: 0100}", "limits.max_points"),
        ("zip: [{num-tccs: [1, 02], num-dirs: [1, 2]}]", "zip[0].num-tccs[1]"),
        ("exclude: [{num-tccs: [010]}]", "exclude[0].num-tccs[0]"),
    ],
)
def test_every_key_of_a_sweep_is_read_so(root: Path, text: str, key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        expand(root, f"{HEAD}{text}\n")
    assert caught.value.key == key and str(caught.value.file).endswith(f"t.yaml:{HEAD.count(chr(10)) + 1}")


@pytest.mark.parametrize(
    "axes",
    [
        *("num-compute-units: [4, 4.0]", "layer: {n: [8, 16, 8.0]}", "gpu-clock: [1GHz, 1000MHz]"),
        *("gpu-clock: [1GHz, 1ns]", "tcc-size: [1MB, 1048576B]", "gpu-voltage: [1V, 1000mV]"),
        *("dgpu: [true, 'True']", "num-compute-units: [4, '4']", "tcc-size: [256kB, 262144]"),
    ],
)
def test_an_axis_has_a_value_once_however_it_is_spelt(root: Path, axes: str) -> None:
    with pytest.raises(ConfigError, match=r"this value twice|two spellings|the list mixes"):
        expand(root, f"{HEAD}axes: {{{axes}}}\n")


def test_values_that_advance_together_are_spelt_alike(root: Path) -> None:
    with pytest.raises(ConfigError, match=r"two spellings, 4 and 4\.0"):
        expand(root, f"{HEAD}zip: [{{num-compute-units: [4, 4.0], num-tccs: [1, 2]}}]\n")


@pytest.mark.parametrize("text", ["1e400", "-1" + "0" * 5000, "9" * 400 + ".5"])
def test_no_number_of_the_command_line_is_endless(text: str) -> None:
    with pytest.raises(ConfigError, match="too large"):
        plain_value(text)


def test_a_number_of_the_command_line_and_of_dnnmark_is_decimal() -> None:
    """C's ``atoi`` and Python's ``int``, which read it for DNNMark and ``apu_se.py``, know no other base."""
    assert (plain_value("010"), plain_value("1e3")) == (10, 1000.0)
    [layer] = parse("[DNNMark]\nrun_mode=standalone\n[Softmax]\nn=010\nc=8\nh=1\nw=1\n").layers
    assert layer.input.n == 10
