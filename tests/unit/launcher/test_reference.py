"""Expected outputs of a launch, and how far others are from them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from launcher_layers import LAYERS
from launcher_tools import source_rows

from apuflow.core.errors import NotModelled
from apuflow.dnnmark import parse
from apuflow.launcher.plan import guest_run
from apuflow.launcher.reference import TOLERANCE, difference, expected_outputs
from apuflow.launcher.reference_kernels import execute
from apuflow.miopen import Launch, launches


@pytest.mark.parametrize("direction", ["fwd", "bwd"])
@pytest.mark.parametrize("name", LAYERS)
def test_every_primitive_has_a_reference(name: str, direction: Literal["fwd", "bwd"], tmp_path: Path) -> None:
    found = launches(parse(LAYERS[name]), direction, 4)
    run = guest_run(found, device="gfx801", objects=dict.fromkeys(source_rows(found), tmp_path / "o"))
    memory = expected_outputs(run)
    assert run.outputs
    for output in run.outputs:
        assert np.isfinite(memory[output.buffer]).all()
        assert memory[output.buffer].size == output.elements
        assert np.ptp(memory[output.buffer]) > 0


def test_unknown_kernel() -> None:
    launch = launches(parse(LAYERS["relu"]), "fwd", 4)[0]
    changed = Launch(**{**{name: getattr(launch, name) for name in launch.__slots__}, "kernel": "other"})
    with pytest.raises(NotModelled, match="no reference"):
        execute(changed, {})


def test_difference_is_relative_to_the_largest_element() -> None:
    want = np.array([0.0, 1.0, -200.0], np.float32)
    assert difference("y", want, want).error == 0
    off = difference("y", want + np.float32(0.5), want)
    assert off.error == pytest.approx(0.0025)
    assert not off.agrees and TOLERANCE < 0.0025
    assert not difference("y", np.array([0, 1, np.nan], np.float32), want).agrees
    assert not difference("y", want[:2], want).agrees
