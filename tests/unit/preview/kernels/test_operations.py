"""Instructions of the kernels of operations beside those counted by hand in what clang-15 makes."""

from __future__ import annotations

from typing import Any

import pytest
from one_launch import traffic_of
from operation_shapes import CASES

from apuflow import operations, preview
from apuflow.configure import option_rules
from apuflow.operations.operation import Pass
from apuflow.preview.kernels.facts import facts_of
from apuflow.preview.kernels.registry import formula, profile
from apuflow.preview.machine import machine
from apuflow.preview.step import alone

COUNTED: list[tuple[str, dict[str, Any], Pass, list[float]]] = [
    # 28 waves reach the test (13), 25 have work (22), each for one trip (62)
    ("elementwise", {"n": 2, "c": 64, "h": 7, "w": 7}, "fwd", [28 * 13 + 25 * 22 + 25 * 62]),
    # two rows of 2,048 and of 1,024 elements, a wave for 64: 12, 22, 2, 4, the loop (19), 1, 8, 1
    ("concat", {"n": 2, "channels": "32,16", "h": 8, "w": 8}, "fwd", [64 * 69, 32 * 69]),
    # 16 waves: 11 and 12 before the loop (19), the end
    ("copy", {"elements": 1024}, "fwd", [16 * (11 + 12 + 19 + 1)]),
    # 4 waves of a channel's 256 work-items have 49 pixels: one of them works, for two images
    # 2,304 floats are 9 waves of 4 each
    ("gelu", {"elements": 2304}, "fwd", [9 * 122]),
    ("gelu", {"elements": 2304}, "bwd", [9 * 151]),
    ("sgd", {"elements": 2304}, "fwd", [9 * 44]),
    # a row of 100 in 2 trips of a wave: 13, 12, 1, 72, 12, 1, 66, 21, 4, 11, 1 around loops of 10, 11 and 23
    ("layernorm", {"rows": 3, "width": 100}, "fwd", [3 * (214 + 2 * 44)]),
    # 21, 20, 1, 99, 46 and 1 around loops of 21 and 24; then 2 waves of columns, 3 rows
    ("layernorm", {"rows": 3, "width": 100}, "bwd", [3 * (188 + 2 * 45), 2 * (35 + 3 * 27)]),
    # 24 rows of 80, two waves each; backward 12 rows of 40
    ("upsample", {"n": 1, "c": 3, "h": 4, "w": 40}, "fwd", [48 * 37]),
    ("upsample", {"n": 1, "c": 3, "h": 4, "w": 40}, "bwd", [12 * 51]),
    ("upsample", {"n": 1, "c": 3, "h": 4, "w": 40, "factor": 4}, "bwd", [12 * 79]),
    # a wave for each of 5 rows of 40
    ("embedding", {"rows": 9, "width": 40, "tokens": 5}, "fwd", [5 * 38]),
    # a workgroup for 3 channels of 98 pixels: 56 in every wave, 22 and a trip of 146 in the two with pixels
    ("bias", {"n": 2, "c": 3, "h": 7, "w": 7}, "fwd", [3 * (4 * 56 + 2 * 22 + 2 * 146)]),
    # one for each image: 16 more, a trip of 57
    ("bias", {"n": 2, "c": 3, "h": 16, "w": 16}, "fwd", [6 * 4 * (72 + 22 + 57)]),
    # of runs on gem5 v23.0.1.0
    ("bias", {"n": 2, "c": 8, "h": 28, "w": 28}, "bwd", [4824]),
    ("bias", {"n": 1, "c": 64, "h": 56, "w": 56}, "bwd", [56640]),
    ("bias", {"n": 4, "c": 96, "h": 5, "w": 5}, "bwd", [26112]),
    ("scale_shift", {"n": 2, "c": 3, "h": 7, "w": 7}, "fwd", [12 * 12 + 3 * 65 + 6 * 17]),
    # 54 tiles of 4 waves: 61, 24 and 58 for the one step, 7. Of 16 rows of k there are 4: three waves test in
    # vain (2 loads and a branch less). Of 16 columns there are 8: two waves write (19).
    (
        "gemm",
        {"m": 144, "n": 8, "k": 4, "transpose_b": True, "batch": 6},
        "fwd",
        [54 * (4 * (61 + 24 + 58 + 7) - 3 * 3 + 2 * 19)],
    ),
]


@pytest.mark.parametrize(("kind", "shape", "direction", "counted"), COUNTED)
def test_instructions_are_those_of_the_disassembly(
    kind: str, shape: dict[str, Any], direction: Pass, counted: list[float]
) -> None:
    found = operations.make(kind, shape).launches(direction, 4)
    for launch, instructions in zip(found, counted, strict=True):
        near = 0.0 if formula(launch.kernel) else 0.25
        modelled = profile(facts_of(launch, vega=False)).counts.instructions
        assert modelled == pytest.approx(instructions, rel=near)


def test_rows_of_a_gru_step() -> None:
    """Two rows of 8: one wave of 4 and 64 groups down, 2 with a row; sigmoid over 16, tanh over 8."""
    made = operations.make("recurrent", {"cell": "gru", "hidden": 8, "batch": 2, "steps": 1})
    found: dict[str, list[float]] = {}
    for launch in made.launches("fwd", 4):
        counts = profile(facts_of(launch, vega=False)).counts
        found.setdefault(launch.kernel, []).append(counts.instructions)
    head, before, entry, body = 13, 23, 22, 74
    plain = 256 * head + 64 * before + 2 * (entry + body)
    assert found["Op2dTensorLite"] == pytest.approx([plain] * 5 + [plain + 2 * 2], rel=0.3)
    assert found["MIOpenActiveFwd2DLite"] == pytest.approx([2 * 145, 2 * 213], rel=0.1)


@pytest.mark.parametrize("kind", operations.KINDS)
@pytest.mark.parametrize("units", [1, 64])
def test_every_kind_is_previewed(kind: str, units: int) -> None:
    """On any number of compute units, both ways: instructions, and lines no more than accesses."""
    cases = {name: shape for name, shape in CASES.items() if name.partition(" ")[0] == kind}
    for shape in cases.values():
        made = operations.make(kind, shape)
        for direction in made.directions:
            for launch in made.launches(direction, units):
                found = profile(facts_of(launch, vega=False))
                assert found.counts.instructions > 0
                assert found.counts.lanes <= 64 * found.counts.valu
                assert all(stream.accesses > 0 and stream.pages >= 0 for stream in found.streams)


DIRECT = [
    # shape; of a run on gem5 v23.0.1.0: instructions, LDS instructions, loads, stores
    ((1, 16, 16, 16, 16, 3, 1, 1, 1), 21368, 1606, 176, 64),
    ((1, 4, 16, 16, 16, 11, 0, 1, 1), 50596, 4736, 156, 64),
    ((3, 8, 13, 16, 16, 7, 3, 1, 1), 129186, 11544, 504, 192),
    ((2, 32, 16, 16, 24, 5, 0, 1, 2), 208120, 16168, 960, 192),
    ((3, 8, 40, 40, 4, 3, 1, 2, 1), 47616, 3999, 624, 144),
    ((4, 48, 16, 16, 32, 1, 0, 1, 1), 40176, 0, 768, 512),
]


@pytest.mark.parametrize(("sizes", "instructions", "of_lds", "loads", "stores"), DIRECT)
def test_direct_convolutions_execute_what_gem5_counted(
    sizes: tuple[int, ...], instructions: int, of_lds: int, loads: int, stores: int
) -> None:
    n, c, h, w, outputs, kernel, pad, stride, groups = sizes
    shape: dict[str, Any] = {"n": n, "c": c, "h": h, "w": w, "num_output": outputs, "groups": groups}
    shape["algorithm"] = "direct"
    square = {"kernel": kernel, "pad": pad, "stride": stride}
    shape |= {f"{key}_{side}": value for key, value in square.items() for side in "hw"}
    (one,) = operations.make("convolution", shape).launches("fwd", 4)
    found = profile(facts_of(one, vega=False)).counts
    assert found.instructions == pytest.approx(instructions, rel=0.025)
    assert (found.lds, found.loads, found.stores) == (of_lds, loads, stores)


def test_stacks_of_a_direct_convolution_find_no_image_larger_than_the_tcc() -> None:
    """All tiles of an image come before the next eight outputs: 4 MB lie between, the TCC holds 256 kB."""
    sides = {f"{key}_{side}": value for key, value in (("kernel", 3), ("pad", 1)) for side in "hw"}
    shape: dict[str, Any] = {
        "n": 1,
        "c": 64,
        "h": 128,
        "w": 128,
        "num_output": 64,
        "algorithm": "direct",
        **sides,
    }
    (one,) = operations.make("convolution", shape).launches("fwd", 4)
    defaults = option_rules.defaults(preview.RELEASE)
    found = traffic_of(
        alone(profile(facts_of(one, vega=False))), machine(defaults, defaults, barrier_slots=4)
    )
    image = 64 * 128 * 128 * 4 / 64
    assert found.tcc_reads - found.tcc_hits > 7 * image
