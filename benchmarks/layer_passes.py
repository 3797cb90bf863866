"""Layer passes to trace kernels of: recorded ones, those of the suites, and random ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from random_layers import LAYERS, image, size

from apuflow import operations
from apuflow.configure.loading import suite_names
from apuflow.configure.suite import load_suite
from apuflow.core import project
from apuflow.core.errors import ApuflowError, ConfigError, NotModelled
from apuflow.core.scalar import Scalar
from apuflow.dnnmark.layers import KINDS as SECTIONS
from apuflow.miopen import Launch
from apuflow.operations import Layers
from apuflow.operations.operation import Operation, Pass
from apuflow.score.errors import RECORDED, UNSEEN, read_runs
from apuflow.score.runs import row_launch, text
from apuflow.suites.spec import Refused
from apuflow.suites.step import Choice
from apuflow.suites.suite import NETWORK, Suite

Draw = random.Random
Shape = dict[str, Any]
IMAGES = (64, 96, 128)
"""Sides of smaller images, of which a network takes the first that it can run on."""
SECTION_OF = {
    "softmax": "Softmax", "activation": "Activation", "bypass": "Bypass", "pool": "Pooling", "lrn": "LRN",
    "bn": "BatchNorm", "conv": "Convolution", "fc": "FullyConnected",
}  # fmt: skip
FIXED: dict[str, Shape] = {"conv": {"conv_mode": "cross_correlation"}}


class Found(NamedTuple):
    """A launch, and the GPU that ran it ("": any)."""

    launch: Launch
    gfx: str = ""


def recorded(held_out: bool = False) -> Iterator[Found]:
    """Launches of the recorded runs, without those that judge the preview, or (``held_out``) those alone."""
    for name in RECORDED:
        for row in read_runs(project.recorded_runs() / name).to_dict("records"):
            cells = {str(key): value for key, value in row.items()}
            if (text(cells, "draw") in UNSEEN) != held_out:
                continue
            try:
                yield Found(row_launch(cells), text(cells, "gfx_version") or "gfx801")
            except NotModelled:
                continue


def of_suites() -> Iterator[Found]:
    """Launches of the shipped suites: networks for one and four images, small ones and their own."""
    for name in suite_names():
        suite = load_suite(name)
        for algorithm in ("gemm", "direct"):
            for choice in choices(suite):
                yield from _of_suite(suite, choice._replace(algorithm=algorithm))


class Chosen(NamedTuple):
    """What is chosen of a suite; as :class:`apuflow.suites.step.Choice` has it."""

    n: int | None = None
    image: int | None = None
    algorithm: Any = "gemm"
    direction: Any = "both"


def choices(suite: Suite) -> list[Chosen]:
    """What a suite is run with."""
    if not suite.is_network:
        return [Chosen()]
    if suite.kind != NETWORK:
        return [Chosen(n) for n in (1, 4)]
    small = next((side for side in IMAGES if _runs(suite, Choice(n=1, image=side))), None)
    return [Chosen(n, side) for n in (1, 4) for side in dict.fromkeys((small, None))]


def _runs(suite: Suite, choice: Choice) -> bool:
    try:
        return bool(suite.steps(choice))
    except ConfigError:
        return False


def _of_suite(suite: Suite, chosen: Chosen) -> Iterator[Found]:
    for direction in ("fwd", "bwd"):
        try:
            every = suite.specified(Choice(**chosen._replace(direction=direction)._asdict()))
        except ConfigError:
            continue
        for spec in dict.fromkeys(spec for _, spec in every if not isinstance(spec, Refused)):
            if not spec.of_workload:
                yield from launches_of(spec.operation, spec.direction, 16)


def launches_of(made: Callable[[], Operation], direction: Pass, units: int) -> Iterator[Found]:
    """Launches of an operation; none where it cannot run."""
    try:
        yield from (Found(launch) for launch in made().launches(direction, units))
    except ApuflowError:
        return


def drawn(count: int, seed: int) -> Iterator[Found]:
    """Launches of random layers and operations, ``count`` of each kind in both directions."""
    rng = random.Random(seed)
    for _ in range(count):
        units = size(rng, 1, 64)
        for direction in ("fwd", "bwd"):
            for kind in LAYERS:
                keys = {**LAYERS[kind](rng), **FIXED.get(kind, {}), "previous_layer": "null"}
                yield from launches_of(partial(_layer, kind, keys), direction, units)
            for draw in OPERATIONS:
                name, shape = draw(rng)
                yield from launches_of(partial(operations.make, name, shape), direction, units)


def _layer(kind: str, keys: dict[str, Scalar]) -> Operation:
    section = SECTION_OF[kind]
    assert section in SECTIONS
    return Layers.single(section, keys, kind)


def _window(rng: Draw, sizes: tuple[int, ...] = (1, 1, 2, 3, 3, 5, 7, 11)) -> Shape:
    kernel, stride, pad = rng.choice(sizes), rng.choice((1, 1, 2)), rng.random() < 0.5
    sides = {f"kernel_{side}": kernel for side in "hw"} | {f"stride_{side}": stride for side in "hw"}
    return sides | {f"pad_{side}": kernel // 2 * pad for side in "hw"}


def _convolution(rng: Draw) -> tuple[str, Shape]:
    shape = {**image(rng, most=56), **_window(rng), "num_output": size(rng, 1, 256)}
    shape["n"] = size(rng, 1, 8)
    if rng.random() < 0.3:
        shape["groups"] = shape["c"] if rng.random() < 0.5 else 2
        shape["c"] = max(2, shape["c"] // 2 * 2)
        shape["groups"] = min(shape["groups"], shape["c"]) if shape["groups"] == 2 else shape["c"]
        shape["num_output"] = shape["groups"] * max(1, shape["num_output"] // shape["groups"])
    return "convolution", shape


def _direct(rng: Draw) -> tuple[str, Shape]:
    name, shape = _convolution(rng)
    if rng.random() < 0.4:
        shape |= {f"kernel_{side}": 1 for side in "hw"} | {f"pad_{side}": 0 for side in "hw"}
        shape["c"], shape["num_output"] = (16 * size(rng, 1, 24) for _ in range(2))
        shape.pop("groups", None)
    return name, {**shape, "algorithm": "direct"}


def _deconvolution(rng: Draw) -> tuple[str, Shape]:
    return "deconvolution", {**image(rng, most=28), **_window(rng), "num_output": size(rng, 1, 64)}


def _columns(rng: Draw) -> tuple[str, Shape]:
    return rng.choice(("im2col", "col2im")), {**image(rng, most=64), **_window(rng), "n": 1}


def _tensor(rng: Draw) -> tuple[str, Shape]:
    kind = rng.choice(("bias", "elementwise", "scale_shift", "transpose"))
    shape = {**image(rng), "h": size(rng, 1, 56)}
    return kind, {**shape, "operator": rng.choice(("add", "mul"))} if kind == "elementwise" else shape


def _packed(rng: Draw) -> tuple[str, Shape]:
    return rng.choice(("copy", "fill", "gelu", "sgd")), {"elements": size(rng, 1, 1_000_000)}


def _concat(rng: Draw) -> tuple[str, Shape]:
    channels = ",".join(str(size(rng, 1, 256)) for _ in range(rng.choice((2, 3, 4))))
    sides = {side: size(rng, 1, 56) for side in "hw"}
    return "concat", {"n": size(rng, 1, 8), "channels": channels, **sides}


def _recurrent(rng: Draw) -> tuple[str, Shape]:
    cell, hidden = rng.choice(("lstm", "lstm", "gru", "tanh", "relu")), size(rng, 8, 1024)
    shape = {"cell": cell, "hidden": hidden, "batch": size(rng, 1, 64), "steps": size(rng, 1, 8)}
    return "recurrent", {**shape, "input": rng.choice((0, size(rng, 4, 512)))}


def _rows(rng: Draw) -> tuple[str, Shape]:
    width, rows = size(rng, 4, 2048), size(rng, 1, 1024)
    if rng.random() < 0.5:
        return "layernorm", {"rows": rows, "width": width}
    return "embedding", {"rows": size(rng, 10, 5000), "width": width, "tokens": rows}


def _upsample(rng: Draw) -> tuple[str, Shape]:
    return "upsample", {**image(rng, most=48), "n": size(rng, 1, 4), "factor": rng.choice((2, 4))}


OPERATIONS: tuple[Callable[[Draw], tuple[str, Shape]], ...] = (
    *(_convolution, _convolution, _direct, _direct, _direct, _deconvolution, _columns, _tensor, _tensor),
    *(_packed, _concat, _recurrent, _rows, _upsample),
)
"""Draw an operation of the suites' kinds."""
