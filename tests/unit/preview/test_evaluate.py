"""Points in, counters out."""

from __future__ import annotations

import gc
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from launcher_layers import LAYERS, convolution, layer
from places import ROOT
from recorded_runs import is_default, runs

from apuflow import preview
from apuflow.configure import load_release, option_rules
from apuflow.core.record import ReleaseFacts
from apuflow.dnnmark import Direction, parse
from apuflow.miopen import Launch, launches

DEFAULTS = option_rules.defaults("v23.0")


@dataclass
class Point:
    id: str
    text: str
    direction: Direction = "fwd"
    options: dict[str, Any] = field(default_factory=dict)
    release_facts: ReleaseFacts = load_release("v23.0", ROOT).facts
    release: str = "v23.0"
    in_memory: bool = False

    def launches(self, compute_units: int) -> tuple[Launch, ...]:
        return launches(parse(self.text), self.direction, compute_units)

    def previewed(self, compute_units: int) -> tuple[tuple[Launch, ...], None]:
        return self.launches(compute_units), None


BATCH_NORM = layer("BatchNorm", (8, 4, 8, 8), batchnorm_mode="spatial", epsilon=1e-5, exp_avg_factor=0.5)


def test_every_layer_is_modelled_both_ways() -> None:
    texts = {name: text for name, text in LAYERS.items() if name != "lrn_within"}  # a window of 3: refused
    points = [Point(f"{name}-{way}", text, way) for name, text in texts.items() for way in ("fwd", "bwd")]
    frame = preview.run(points, DEFAULTS)
    assert list(frame["point"]) == [point.id for point in points]
    assert (frame["gpu_cycles"] > 0).all()
    assert (frame["instructions"] > 0).all()


RECORDED = {
    "softmax_fwd-100x1000x1x1": layer("Softmax", (100, 1000, 1, 1)),
    "softmax_small_bwd-24x40x3x3": layer("Softmax", (24, 40, 3, 3)),
    "relu_fwd-4x16x24x16": layer("Activation", (4, 16, 24, 16), activation_mode="relu"),
    "tanh_bwd-2x8x16x16": layer("Activation", (2, 8, 16, 16), activation_mode="tanh"),
    "bypass_fwd-40x250x1x1": layer("Bypass", (40, 250, 1, 1)),
    "pool_max_fwd-3x8x24x24k3": layer(
        "Pooling", (3, 8, 24, 24), pool_mode="max", kernel_size=3, pad=0, stride=2
    ),
    "pool_avg_bwd-3x8x24x24k3": layer(
        "Pooling", (3, 8, 24, 24), pool_mode="avg", kernel_size=3, pad=1, stride=2
    ),
    "lrn_fwd-2x16x16x16": layer("LRN", (2, 16, 16, 16), lrn_mode="cross_channel_dim1", local_size=5),
    "lrn_within_fwd-2x8x16x16": layer("LRN", (2, 8, 16, 16), lrn_mode="within_channel", local_size=5),
    "bn_fwd-16x96x1x1": layer("BatchNorm", (16, 96, 1, 1), batchnorm_mode="per_activation"),
    "bn_spatial_bwd-4x16x12x12": layer("BatchNorm", (4, 16, 12, 12), batchnorm_mode="spatial"),
    "fc_fwd-10x192x1x1": layer("FullyConnected", (10, 192, 1, 1), num_output=80),
    "fc_bwd-10x192x1x1": layer("FullyConnected", (10, 192, 1, 1), num_output=80),
    "conv_fwd-2x4x16x16k5": convolution((2, 4, 16, 16), 12, kernel=5, pad=2, stride=1),
    "conv_bwd-2x4x16x16k5": convolution((2, 4, 16, 16), 12, kernel=5, pad=2, stride=1),
}
"""Layers whose launches were all recorded on 4 units (campaign.csv, begin of their ids)."""


@dataclass
class Alone(Point):
    """One launch of a layer in a process of its own."""

    number: int = 0

    def launches(self, compute_units: int) -> tuple[Launch, ...]:
        return (replace(super().launches(compute_units)[self.number], count=1),)

    def previewed(self, compute_units: int) -> tuple[tuple[Launch, ...], None]:
        return self.launches(compute_units), None


@pytest.mark.parametrize("name", RECORDED)
def test_a_launch_takes_the_cycles_that_gem5_took(name: str) -> None:
    """All launches of a layer, each alone. Within 37 %."""
    way: Direction = "bwd" if "_bwd" in name else "fwd"
    measured = [row for row in runs(name) if row["num_compute_units"] == "4" and is_default(row)]
    points = [Alone(str(number), RECORDED[name], way, number=number) for number in range(len(measured))]
    frame = preview.kernels_frame(points, DEFAULTS)
    assert list(frame["kernel"]) == [row["kernel"] for row in measured]
    for found, row in zip(frame["gpu_cycles"], measured, strict=True):
        assert found == pytest.approx(float(row["gpu_cycles"]), rel=0.37), row["id"]


def test_dropout_launches_no_kernel() -> None:
    frame = preview.run([Point("dropout", layer("Dropout", (2, 3, 4, 4), dropout_probability=0.5))], DEFAULTS)
    assert frame[["gpu_cycles", "kernels_launched", "bound"]].iloc[0].tolist() == [0.0, 0.0, "no kernel"]


def test_a_point_is_the_sum_of_its_launches() -> None:
    point = Point("conv", LAYERS["conv"], "bwd")
    whole, parts = preview.run([point], DEFAULTS), preview.kernels_frame([point], DEFAULTS)
    for counter in ("gpu_cycles", "instructions", "tcc_writes"):
        assert whole.loc[0, counter] == pytest.approx(float((parts[counter] * parts["count"]).sum()))
    assert whole.loc[0, "kernels_launched"] == parts["count"].sum()


def test_equal_points_get_equal_numbers_in_any_company() -> None:
    one = Point("a", BATCH_NORM, "bwd", {"num-compute-units": 2})
    others = [Point(str(cus), BATCH_NORM, "bwd", {"num-compute-units": cus}) for cus in (1, 2, 64)]
    alone, among = preview.run([one], DEFAULTS), preview.run([*others, one], DEFAULTS)
    assert alone["gpu_cycles"][0] == among["gpu_cycles"][3] == among["gpu_cycles"][1]
    assert among["gpu_cycles"][0] != among["gpu_cycles"][2]


def test_options_made_anew_for_each_point_are_not_mixed_up() -> None:
    class Fresh(Point):
        @property
        def options(self) -> dict[str, Any]:
            return {"num-compute-units": int(self.id)}

        @options.setter
        def options(self, value: dict[str, Any]) -> None:
            pass

    text = layer("Softmax", (64, 300, 1, 1), softmax_algo="accurate", softmax_mode="channel")
    sizes = (1, 2, 4, 8, 16)
    fresh = preview.run([Fresh(str(cus), text) for cus in sizes], DEFAULTS)
    kept = preview.run([Point(str(cus), text, options={"num-compute-units": cus}) for cus in sizes], DEFAULTS)
    assert fresh["gpu_cycles"].tolist() == kept["gpu_cycles"].tolist()


def cycles_by_barrier_slots(text: str, *slots: int) -> list[float]:
    facts = load_release("v23.0", ROOT).facts
    points = [Point(str(n), text, release_facts=replace(facts, barrier_slots=n)) for n in slots]
    return [float(cycles) for cycles in preview.run(points, DEFAULTS)["gpu_cycles"]]


def test_more_barrier_slots_of_a_release_hold_more_workgroups() -> None:
    """400 workgroups of 4 wavefronts on 4 units, whose rows fit the TCC: more of them hide more of the waits.

    40 wavefront slots a unit hold 10 of them, so the slots beyond 10 are empty, and 10 instead of 4 at once
    cannot be more than 10 / 4 times as fast.
    """
    text = layer("Softmax", (400, 500, 1, 1), softmax_algo="accurate", softmax_mode="channel")
    few, ten, many = cycles_by_barrier_slots(text, 4, 10, 16)
    assert few > ten == many
    assert ten > few * 4 / 10


def test_barrier_slots_of_units_that_never_fill_them_change_nothing() -> None:
    """16 workgroups on 4 units: none waits for the fifth slot."""
    text = layer("Softmax", (16, 1000, 1, 1), softmax_algo="accurate", softmax_mode="channel")
    few, many = cycles_by_barrier_slots(text, 4, 16)
    assert few == many


def test_the_garbage_collector_is_left_as_it_was() -> None:
    gc.disable()
    try:
        preview.run([Point("a", BATCH_NORM)], DEFAULTS)
        assert not gc.isenabled()
    finally:
        gc.enable()
    preview.run([Point("a", BATCH_NORM)], DEFAULTS)
    assert gc.isenabled()
