"""Expected outputs of a launch, and how far others are from them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from launcher_layers import LAYERS, PER_ACTIVATION, layer
from launcher_tools import source_rows

from apuflow.core.errors import NotModelled
from apuflow.dnnmark import parse
from apuflow.launcher.plan import guest_run
from apuflow.launcher.reference import (
    TOLERANCE,
    compare,
    difference,
    expected_outputs,
    partly_written,
    tolerances,
)
from apuflow.launcher.reference_kernels import execute
from apuflow.miopen import Launch, launches


@pytest.mark.parametrize(("images", "loose"), [(1, 1.0), (2, TOLERANCE)])
def test_the_variance_of_one_image_is_a_rounding_error(images: int, loose: float, tmp_path: Path) -> None:
    """gem5 v23.0 on 1x416x28x28: 0.0015 in the saved inverse deviation, all else right."""
    found = launches(parse(layer("BatchNorm", (images, 3, 4, 4), **PER_ACTIVATION)), "fwd", 4)
    run = guest_run(found, device="gfx801", objects=dict.fromkeys(source_rows(found), tmp_path / "o"))
    allowed = {name.partition(".")[2]: value for name, value in tolerances(run).items()}
    assert allowed.pop("saved_inverse_variance") == loose
    assert set(allowed.values()) == {TOLERANCE}


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
    assert difference(want, want) == 0
    assert difference(want + np.float32(0.5), want) == pytest.approx(0.0025)
    assert TOLERANCE < 0.0025
    assert difference(np.array([0, 1, np.nan], np.float32), want) == np.inf
    assert difference(want[:2], want) == np.inf


def test_outputs_of_which_a_part_was_written(tmp_path: Path) -> None:
    """Half of a copy's workgroups: what they wrote is compared, what they should have written is missed."""
    found = launches(parse(LAYERS["bypass"]), "fwd", 4)
    run = guest_run(found, device="gfx801", objects=dict.fromkeys(source_rows(found), tmp_path / "o"))
    [output] = run.outputs
    want = expected_outputs(run)[output.buffer].copy()
    (tmp_path / output.path).parent.mkdir()

    def error(*written: float) -> float:
        np.array(written, np.float32).tofile(tmp_path / output.path)
        return compare(run, directory=tmp_path, shares=(0.5,))[output.buffer]

    half = [*want[:15], *np.zeros(15)]
    assert error(*half) == 0
    assert error(half[0] + 1, *half[1:]) == pytest.approx(1 / want.max(), rel=1e-4)
    assert error(*want[:5], *np.zeros(25)) == np.inf
    assert compare(run, directory=tmp_path)[output.buffer] > TOLERANCE


def test_what_is_made_of_parts_is_not_compared(tmp_path: Path) -> None:
    """The product of a convolution reads the columns that im2col's other workgroups would have written."""
    found = launches(parse(LAYERS["conv"]), "fwd", 4)
    run = guest_run(found, device="gfx801", objects=dict.fromkeys(source_rows(found), tmp_path / "o"))
    kernels = [launch.kernel for launch in run.launches]
    assert kernels == ["Im2d2Col", "sgemm"] * 2
    columns, product = (run.launches[number].args for number in (0, 1))
    written = {str(arg.value) for arg in columns if arg.role == "out"}
    made = {str(arg.value) for arg in product if arg.role in ("out", "inout")}
    shares = partly_written(run, (0.25, 1.0, 0.25, 1.0))
    assert {name: shares[name] for name in written} == dict.fromkeys(written, 0.25)
    assert {name: shares[name] for name in made} == dict.fromkeys(made, 0.0)
    assert partly_written(run, (1.0, 0.5, 1.0, 0.5)) == dict.fromkeys(made, 0.5)
    assert partly_written(run, ()) == {}
