"""What a question leaves open, and what is taken for it: one image, a layer's shape, machine, release."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from apuflow.ask.question import question
from apuflow.configure.combinations import Plan, plan
from apuflow.configure.kernel_workload import KernelsWorkload
from apuflow.configure.operation_workload import DnnmarkWorkload, OperationWorkload
from apuflow.configure.suite import load_suite, sweep_suites
from apuflow.configure.sweep import Sweep
from apuflow.configure.workload import Workload
from apuflow.configure.workloads import load_workload
from apuflow.core import paths
from apuflow.dnnmark.parser import GENERAL, sections
from apuflow.plan.points import sweep_workloads
from apuflow.suites.suite import NETWORK, OPERATORS, Suite

IMAGES: Final = "n"
_MOST_SHOWN = 3
"""Workloads and suites whose shapes are printed."""
_TRAINING = "an iteration of training (direction=fwd: the forward pass alone)"
_SIZES: Final = ("sequence", "cached", "layers")


def one_image(content: Mapping[str, Any], root: Path = Path()) -> dict[str, Any]:
    """The content of a question's sweep with one image a batch, wherever it chooses no number of images.

    Layers of DNNMark and networks have such a number; lists of operations and kernels of the user's own
    do not.

    Raises:
        ConfigError: a mistake in the question.
    """
    every = _parts(question(content, root), root)
    batched = [name for name, (what, _, open_) in every.items() if _has_images(what) and IMAGES not in open_]
    if len(batched) == len(every):
        return {**content, "layer": {**content.get("layer", {}), IMAGES: 1}}
    own = {name: {"layer": {IMAGES: 1}} for name in batched}
    return {**content, "per_workload": {**content.get("per_workload", {}), **own}} if own else dict(content)


def assumed(
    sweep: Sweep, given: Collection[str] = (), root: Path = Path(), *, units: int | None = None
) -> str:
    """What is taken for that which a question leaves open, in one line.

    Args:
        sweep: the question's, with ``one_image``.
        given: the question's own keys: options, places, keys of layers without ``layer.``.
        units: compute units of its machines, where all have as many.
    """
    every = _parts(sweep, root)
    single = [name for name, (what, planned, _) in every.items() if _has_images(what) and _is_one(planned)]
    told = []
    if single and IMAGES not in given:
        told.append("one image (n=1)" + ("" if len(single) == len(every) else f" for {', '.join(single)}"))
    if len(every) <= _MOST_SHOWN:
        shapes = {name: _open(what, chosen) for name, (what, _, chosen) in every.items()}
        told += [f"{name} {shape}" for name, shape in shapes.items() if shape]
    else:
        told.append("shapes as their files have them (apuflow list workloads, apuflow list suites)")
    rest = "the rest of " if "gfx-version" in given else ""
    told += [] if "machine" in given else [f"{rest}machine {sweep.machine}"]
    told += [] if units is None or "num-compute-units" in given else [f"{units} compute units"]
    told += [] if "release" in given else [f"gem5 {sweep.release}"]
    return "; ".join([*told, "engine preview"])


def compared(sweep: Sweep, root: Path = Path()) -> list[str]:
    """The sweep's workloads of kernels that have a reference."""
    every = {name: what for name, (what, _, _) in _parts(sweep, root).items()}
    return [name for name, what in every.items() if isinstance(what, KernelsWorkload) and what.spec.reference]


_Part = tuple[Workload | Suite, Plan, set[str]]


def _parts(sweep: Sweep, root: Path) -> dict[str, _Part]:
    """Each workload and suite of a sweep, with its values, and the keys of its layer that the sweep sets."""
    workloads = [name for name in sweep_workloads(sweep, root) if name != paths.OPERATIONS]
    found: dict[str, Workload | Suite] = {name: load_workload(name, root) for name in workloads}
    found |= {name: load_suite(name, root) for name in sweep_suites(sweep, root)}
    every: dict[str, _Part] = {}
    for name, what in found.items():
        planned = plan(sweep, name, root)
        axes = {axis.removeprefix("layer.") for axis in planned.axes if axis.startswith("layer.")}
        every[name] = what, planned, axes | set(planned.layer)
    return every


def _has_images(what: Workload | Suite) -> bool:
    if isinstance(what, Suite):
        return what.kind in (NETWORK, OPERATORS)
    return isinstance(what, DnnmarkWorkload)


def _is_one(planned: Plan) -> bool:
    return planned.layer.get(IMAGES) == 1


def _open(what: Workload | Suite, chosen: Collection[str]) -> str:
    """Keys and sizes that the question leaves as the files have them."""
    if isinstance(what, Suite):
        return ", ".join(_of_suite(what, chosen))
    keys: Mapping[str, Any] = {}
    if isinstance(what, KernelsWorkload):
        keys = what.spec.parameters
    elif isinstance(what, OperationWorkload):
        keys = what.shape
    elif isinstance(what, DnnmarkWorkload):
        keys = _of_layers(what)
    return " ".join(f"{key}={value}" for key, value in keys.items() if key not in chosen)


def _of_layers(workload: DnnmarkWorkload) -> dict[str, str]:
    """Keys of a network of one layer as its file has them; of more layers, those of the images."""
    layers = [part for part in sections(workload.text, workload.file) if part.name != GENERAL]
    keys = {entry.key: entry.value for entry in layers[0].entries}
    shown = ("c", "h", "w") if len(layers) > 1 else tuple(keys)
    return {key: keys[key] for key in shown if key in keys and key not in ("name", "previous_layer")}


def _of_suite(suite: Suite, chosen: Collection[str]) -> Iterator[str]:
    network = suite.network
    if _has_images(suite) and IMAGES not in chosen:
        yield f"n={suite.n or 1}"
    if network is not None and "image" not in chosen:
        first = network.layers[0]
        yield f"images of {first.c}x{first.h}x{first.w}"
    if suite.operators is not None:
        yield from (f"{key}={value}" for key, value in suite.sizes if key in _SIZES and key not in chosen)
        yield from () if "type" in chosen else (f"type={suite.type}",)
        yield "the forward pass"
        return
    if suite.is_network and "direction" not in chosen:
        yield _TRAINING
    if not suite.network:
        yield "batches as in its table"
