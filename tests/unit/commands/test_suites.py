"""``apuflow list suites`` and ``apuflow network import``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from apuflow.cli import build_app
from apuflow.suites.models import Graph, Node
from apuflow.workloads import network as own_network


@pytest.fixture(autouse=True)
def _project(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    monkeypatch.setenv("COLUMNS", "200")


def output(*arguments: str) -> str:
    done = CliRunner().invoke(build_app(), [*arguments])
    assert done.exit_code == 0, done.exception
    return done.output


def test_a_suite_says_what_its_steps_run_as_and_which_do_not_run() -> None:
    """ResNet-50: 53 convolutions, and 16 sums whose gradients are the one that comes in."""
    text = output("list", "suites", "resnet50")
    assert "25,557,032 learnt values, 4.089 G multiply-adds per image" in text
    assert "53 conv backward: Convolution" in text
    steps = json.loads(output("list", "suites", "resnet50", "--json"))
    wide = [each for each in steps if each["op"] == "conv" and "kernel_size=7" in each["operation"]]
    assert [each["phase"] for each in wide] == ["forward", "backward"] and len(steps) == 455
    assert "c=3 h=224 w=224" in wide[0]["operation"]
    assert sum(each["not_run"] != "" for each in steps) == 16
    assert "16 add backward: both gradients are the one that comes in" in text


def test_a_network_of_ones_own_says_how_a_sweep_names_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Brackets are no markup of the terminal's."""
    shapes = dict.fromkeys("xy", (1, 3, 8, 8))
    graph = Graph("m.onnx", [Node("Relu", "", ("x",), ("y",))], shapes, frozenset(), frozenset("x"))
    monkeypatch.setattr(own_network, "read_onnx", lambda _: graph)
    text = output("network", "import", "m.onnx", "mine")
    assert "name it in a sweep: suites: [mine]" in text
    assert (root / "configs/suites/mine.yaml").is_file()
    assert "1 relu forward: Activation" in output("list", "suites", "mine")
