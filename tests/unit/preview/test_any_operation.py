"""The preview of any operation on any machine: a finite row that fits together, or a plain refusal."""

from __future__ import annotations

import random
from typing import Any

from operation_shapes import CASES
from preview_rows import DEFAULTS, FACTS, Point, any_machine, broken, size, strict_numbers

from apuflow import operations, preview
from apuflow.core.errors import ConfigError, NotModelled
from apuflow.miopen import Launch
from apuflow.preview.kernels.facts import facts_of
from apuflow.preview.kernels.registry import profile

LARGEST = {
    "kernel": 11,
    "stride": 4,
    "pad": 6,
    "dilation": 3,
    "groups": 8,
    "factor": 4,
    "layers": 3,
    "steps": 8,
}
"""Of keys that begin so; others are sizes."""


class OperationPoint(Point):
    """The text of an operation instead of DNNMark's."""

    def launches(self, compute_units: int) -> tuple[Launch, ...]:
        return operations.parse(self.text).launches(self.direction, compute_units)

    def previewed(self, compute_units: int) -> tuple[tuple[Launch, ...], None]:
        return self.launches(compute_units), None


def any_shape(draw: random.Random, name: str) -> dict[str, Any]:
    """A shape that is known to run, some of whose sizes are others."""
    shape = dict(CASES[name])
    sizes = [key for key, value in shape.items() if type(value) is int]
    most = draw.choice((4, 20, 300))
    for key in draw.sample(sizes, draw.randrange(1, min(5, len(sizes)) + 1)):
        shape[key] = size(draw, LARGEST.get(key.partition("_")[0], most))
    return shape


def test_thousands_of_operations_have_finite_rows_or_are_refused_by_name() -> None:
    draw, points = random.Random(20261124), []
    for number in range(1500):
        name = draw.choice(list(CASES))
        try:
            made = operations.make(name.partition(" ")[0], any_shape(draw, name))
            machine = any_machine(draw)
            point = OperationPoint(
                str(number), made.text, draw.choice(("fwd", "bwd")), machine, draw.choice(FACTS)
            )
            for launch in point.launches(machine["num-compute-units"]):
                profile(facts_of(launch, vega=False))
        except (ConfigError, NotModelled) as error:
            assert error.remedy, error
            continue
        points.append(point)
    assert len(points) > 700
    with strict_numbers():
        frame = preview.run(points, DEFAULTS)
    found = broken(frame)
    assert not found, {name: points[int(rows[0])] for name, rows in found.items()}


def test_images_smaller_than_what_a_work_item_reads() -> None:
    """All pixels of an image are left over: no work-item reads two at once, as the kernel wants to."""
    sizes = {"n": 1, "c": 64, "h": 1, "w": 1, "num_output": 64, "kernel_h": 1, "kernel_w": 1}
    made = operations.make("convolution", {**sizes, "algorithm": "direct"})
    point = OperationPoint("one", made.text, "bwd", {"num-compute-units": 4})
    with strict_numbers():
        frame = preview.run([point], DEFAULTS)
    assert not broken(frame)
