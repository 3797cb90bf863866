"""Code that a wavefront walks through, against what gem5's instruction cache missed.

``sqc_misses`` of gem5 v23.0.1.0 (gfx801) on one compute unit, where each line is missed once.
What the model leaves out on purpose, since it comes while loads are on their way, is not compared here.
"""

from __future__ import annotations

from typing import Any

import pytest
from launcher_layers import LRN, SOFTMAX, SPATIAL, layer

from apuflow.dnnmark import parse
from apuflow.miopen import launches
from apuflow.preview.kernels.facts import facts_of
from apuflow.preview.kernels.registry import profile
from apuflow.preview.lines import LINE


def window(size: int, stride: int, pad: int) -> dict[str, Any]:
    return {"pool_mode": "max", "kernel_size": size, "stride": stride, "pad": pad}


POOLING = [
    (6, window(2, 2, 0), 13),
    (6, window(3, 1, 1), 29),
    (6, window(5, 1, 2), 39),
    (14, window(2, 2, 0), 27),
    (14, window(3, 2, 1), 52),
    (14, window(3, 1, 1), 75),
    (14, window(5, 1, 2), 111),
    (14, window(7, 1, 3), 45),
    (14, window(7, 2, 0), 87),
    (28, window(2, 2, 0), 45),
    (28, window(3, 2, 1), 95),
    (28, window(3, 1, 1), 144),
    (28, window(5, 1, 2), 50),
    (28, window(7, 1, 3), 78),
    (28, window(7, 2, 0), 176),
]


@pytest.mark.parametrize(
    ("kind", "shape", "keys", "direction", "lines"),
    [
        *(("Pooling", (1, 2, size, size), keys, "bwd", lines) for size, keys, lines in POOLING),
        *(
            ("LRN", (1, c, 9, 9), LRN, "fwd", lines)
            for c, lines in ((9, 39), (13, 55), (19, 79), (20, 35), (36, 35))
        ),
        *(("LRN", (1, c, 6, 6), LRN, "fwd", lines) for c, lines in ((8, 57), (9, 64), (13, 49))),
        *(
            ("Softmax", (4, c, 1, 1), SOFTMAX, direction, lines)
            for direction, found in (
                ("fwd", ((1, 12), (2, 17), (12, 22), (16, 22), (48, 26), (67, 28), (150, 29), (300, 23))),
                ("bwd", ((1, 9), (2, 12), (12, 15), (16, 14), (48, 17), (67, 18), (150, 19), (300, 16))),
            )
            for c, lines in found
        ),
        *(
            ("BatchNorm", (n, 2, size, size), SPATIAL, "bwd", lines)
            for n, size, lines in (
                (4, 8, 13),
                (28, 8, 15),
                (10, 10, 14),
                (28, 14, 25),
                (28, 19, 42),
                (16, 25, 43),
            )
        ),
    ],
)
def test_lines_of_code(
    kind: str, shape: tuple[int, int, int, int], keys: dict[str, Any], direction: Any, lines: int
) -> None:
    (launch,) = launches(parse(layer(kind, shape, **keys)), direction, 1)
    walked = profile(facts_of(launch, vega=False)).code_bytes / LINE
    assert walked == pytest.approx(lines, abs=max(2.5, 0.1 * lines))
