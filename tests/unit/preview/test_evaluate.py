"""Points in, counters out."""

from __future__ import annotations

import gc
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from launcher_layers import LAYERS, layer
from places import ROOT

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

    def launches(self, compute_units: int) -> tuple[Launch, ...]:
        return launches(parse(self.text), self.direction, compute_units)


BATCH_NORM = layer("BatchNorm", (8, 4, 8, 8), batchnorm_mode="spatial", epsilon=1e-5, exp_avg_factor=0.5)


def test_every_layer_is_modelled_both_ways() -> None:
    texts = {name: text for name, text in LAYERS.items() if name != "lrn_within"}  # a window of 3: refused
    points = [Point(f"{name}-{way}", text, way) for name, text in texts.items() for way in ("fwd", "bwd")]
    frame = preview.run(points, DEFAULTS)
    assert list(frame["point"]) == [point.id for point in points]
    assert (frame["gpu_cycles"] > 4000).all()
    assert (frame["instructions"] > 0).all()


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


def test_more_barrier_slots_of_a_release_hold_more_workgroups() -> None:
    text = layer("Softmax", (400, 1000, 1, 1), softmax_algo="accurate", softmax_mode="channel")
    more = replace(load_release("v23.0", ROOT).facts, barrier_slots=16)
    frame = preview.run([Point("a", text), Point("b", text, release_facts=more)], DEFAULTS)
    assert frame["gpu_cycles"][0] != frame["gpu_cycles"][1]


def test_the_garbage_collector_is_left_as_it_was() -> None:
    gc.disable()
    try:
        preview.run([Point("a", BATCH_NORM)], DEFAULTS)
        assert not gc.isenabled()
    finally:
        gc.enable()
    preview.run([Point("a", BATCH_NORM)], DEFAULTS)
    assert gc.isenabled()
