"""What the preview made carries its version, and an older version is refused or named where it is used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from places import ROOT

from apuflow.ask.api import evaluate
from apuflow.configure.loading import suite_names
from apuflow.configure.suite import load_suite
from apuflow.core.engines import PREVIEW_VERSION
from apuflow.core.errors import ConfigError

STATSNET = "configs/suites/statsnet_convnets.yaml"


def test_suites_that_the_preview_chose_are_of_its_version() -> None:
    made = [
        name
        for name in suite_names(ROOT)
        if load_suite(name, ROOT).source.startswith("apuflow network represent")
    ]
    assert made == ["statsnet_convnets"]
    assert yaml.safe_load((ROOT / STATSNET).read_text())["preview"] == PREVIEW_VERSION


def test_the_preview_s_intervals_are_of_its_version() -> None:
    file = ROOT / "workflow/apuflow/preview/measured.json"
    assert json.loads(file.read_text())["preview"] == PREVIEW_VERSION


def test_the_notebook_shows_what_this_preview_says() -> None:
    """Run it again after a change of the preview: jupyter nbconvert --execute --inplace, small outputs."""
    cells = json.loads((ROOT / "docs/examples/ask.ipynb").read_text())["cells"]
    [[output], *others] = [cell["outputs"] for cell in cells if cell["cell_type"] == "code"]
    shown = "".join(output["data"]["text/plain"])
    layer = {"n": [10, 100], "c": 1000}
    table = evaluate("softmax_fwd", {"num-compute-units": [4, 8, 16, 32, 64]}, layer, root=ROOT)
    assert [f"{cycles}" in shown for cycles in table["gpu_cycles"]] == [True] * 10
    assert len(others) == 3 and all(others)
    assert "</svg>" in "".join(others[0][0]["data"]["image/svg+xml"])


@pytest.mark.parametrize(("made", "value"), [('preview: "10"\n', "10"), ("", "no version")])
def test_a_suite_of_another_version_is_refused_with_the_command_that_makes_it(
    root: Path, made: str, value: str
) -> None:
    file = root / STATSNET
    file.write_text(file.read_text().replace(f'preview: "{PREVIEW_VERSION}"\n', made))
    with pytest.raises(ConfigError) as refused:
        load_suite("statsnet_convnets", root)
    error = refused.value
    assert (error.file, error.key, error.value) == (str(file), "preview", value)
    assert error.remedy == "make it again: " + yaml.safe_load(file.read_text())["source"] + " --force"
