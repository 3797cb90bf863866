"""Write a sweep of random layers, to measure the preview's error.

    python benchmarks/random_layers.py > configs/sweeps/random_layers.yaml   # the shipped sweep

``--products --points 90 --most 60`` made ``random_products.yaml`` with rocBLAS' own kernels. Products of
layers are the stand-in's, which runs on every GPU. Shapes, 1 to 64 compute units and options are independent,
sizes log-uniform, with a fixed seed. All kernels of a layer run in one gem5 process, with caches and TLBs of
the previous kernel. A layer is dropped if it cannot run, or if the preview expects gem5 to take less than
``--least`` or more than ``--most`` seconds. A hash of the points' names selects the held-out third
(``apuflow.score.errors.held_out``).
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measuring import ROOT, parser

sys.path[:0] = [str(ROOT / "workflow"), str(ROOT / "analysis")]

import yaml  # noqa: E402

from apuflow.configure.loading import sweep_of  # noqa: E402
from apuflow.configure.point import Point  # noqa: E402
from apuflow.configure.yaml_source import Document  # noqa: E402
from apuflow.core.errors import ApuflowError  # noqa: E402
from apuflow.engines import estimate  # noqa: E402
from apuflow.plan.points import points  # noqa: E402

Layer = dict[str, Any]
Draw = random.Random


def size(rng: Draw, low: int, high: int) -> int:
    """A log-uniform whole number."""
    return round(low * math.exp(rng.random() * math.log(high / low)))


def image(rng: Draw, *, most: int = 64) -> Layer:
    """Batch, channels and a square image."""
    side = size(rng, 4, most)
    return {"n": size(rng, 1, 32), "c": size(rng, 1, 128), "h": side, "w": side}


def window(rng: Draw) -> Layer:
    """A window with its stride and padding."""
    kernel = rng.choice([2, 3, 3, 5, 7])
    return {"kernel_size": kernel, "stride": rng.choice([1, 1, 2]), "pad": rng.choice([0, kernel // 2])}


def flat(rng: Draw) -> Layer:
    """Rows of features."""
    return {"n": size(rng, 1, 512), "c": size(rng, 8, 4096), "h": 1, "w": 1}


def product(rng: Draw) -> Layer:
    """A matrix product: any sizes and transposes, one in four with beta, one in eight a batch."""
    return {
        **{key: size(rng, 1 if key == "n" else 8, 2048) for key in "mnk"},
        "transpose_a": rng.random() < 0.5,
        "transpose_b": rng.random() < 0.4,
        "beta": rng.choice([0, 0, 0, 1]),
        "batch": rng.choice([1] * 7 + [4]),
    }


Layers = dict[str, Callable[[Draw], Layer]]
ACTIVATIONS = ["relu", "tanh", "sigmoid", "soft_relu"]
LAYERS: Layers = {
    "softmax": lambda rng: rng.choice([flat, image])(rng),
    "activation": lambda rng: {**image(rng), "activation_mode": rng.choice(ACTIVATIONS)},
    "bypass": image,
    "pool": lambda rng: {**image(rng), **window(rng), "pool_mode": rng.choice(["max", "avg"])},
    "lrn": lambda rng: {**image(rng, most=32), "c": size(rng, 8, 128)},
    "bn": lambda rng: {**image(rng, most=32), "batchnorm_mode": rng.choice(["per_activation", "spatial"])},
    "conv": lambda rng: {**image(rng, most=48), **window(rng), "num_output": size(rng, 1, 128)},
    "fc": lambda rng: {**flat(rng), "num_output": size(rng, 8, 2048)},
}
WORKLOADS: Layers = {f"{kind}_{pass_}": layer for kind, layer in LAYERS.items() for pass_ in ("fwd", "bwd")}
PRODUCTS: Layers = {"gemm": product}
OPTIONS: dict[str, list[Any]] = {
    "num-tccs": [1, 1, 2, 4, 8],
    "tcc-size": ["256kB", "256kB", "128kB", "512kB", "1MB", "2MB"],
    "tcp-size": ["16kB", "16kB", "8kB", "32kB"],
    "num-dirs": [1, 1, 2, 4],
    "mem-type": ["DDR3_1600_8x8", "DDR3_1600_8x8", "DDR3_2133_8x8"],
    "bw-scalor": [0, 0, 0, 1],
    "gpu-clock": ["1GHz", "1GHz", "800MHz", "1.5GHz"],
    "wfs-per-simd": [10, 10, 8, 16],
    "max-cu-tokens": [4, 4, 8],
}
"""Values of each option; half of all points keep gem5's defaults."""


def machine(rng: Draw) -> dict[str, Any]:
    """Compute units and options of a point."""
    units = size(rng, 1, 64)
    chosen = {name: rng.choice(values) for name, values in OPTIONS.items()}
    if rng.random() < 0.5:
        chosen = {name: values[0] for name, values in OPTIONS.items()}
    if chosen["bw-scalor"]:
        chosen["tcc-size"] = "256kB"  # gem5 gives the TCC 128 kB per unit
    return {"num-compute-units": units, **chosen}


def resolved(workload: str, row: dict[str, Any], layer: Layer, products: str) -> Point | None:
    """The point of a sample; None if it cannot run."""
    content = {
        "description": "x", "engines": ["preview"], "release": "v23.0", "workloads": [workload],
        "options": row, "layer": layer, "products": products,
    }  # fmt: skip
    try:
        return points(sweep_of(Document(Path("draw"), content, {}), "draw", ROOT), workload, ROOT)[0]
    except ApuflowError:
        return None


def draw(
    layers: Layers, products: str, count: int, seed: int, least: float, most: float
) -> dict[str, list[dict[str, Any]]]:
    """Random rows of each workload: compute units, options and layer keys (as ``layer``)."""
    rng = random.Random(seed)
    workloads = list(layers)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in workloads}
    seen: set[str] = set()
    total = 0.0
    while len(seen) < count:
        workload = workloads[len(seen) % len(workloads)]
        box, layer = machine(rng), layers[workload](rng)
        point = resolved(workload, box, layer, products)
        if point is None or point.id in seen:
            continue
        seconds = estimate.from_preview([point])[0]
        if least <= seconds <= most:
            seen.add(point.id)
            total += seconds
            rows[workload].append({**box, "layer": layer})
    print(f"{count} points, about {total / 3600:.1f} hours of gem5 in all", file=sys.stderr)
    return rows


def sweep(rows: dict[str, list[dict[str, Any]]], name: str, command: str, products: str) -> str:
    """The sweep file ``name``: one zip of each workload's rows."""
    per_workload: dict[str, Any] = {}
    for workload, drawn in rows.items():
        group: dict[str, Any] = {name: [row[name] for row in drawn] for name in drawn[0] if name != "layer"}
        group["layer"] = {key: [row["layer"][key] for row in drawn] for key in drawn[0]["layer"]}
        per_workload[workload] = {"zip": [group]}
    what = name.partition("_")[2].capitalize()
    content = {
        "description": f"{what}, machines and options drawn at random, to judge the preview by",
        "engines": ["gem5-kernels", "preview"],
        "release": "v23.0",
        "products": products,
        "workloads": list(rows),
        "per_workload": per_workload,
        "limits": {"wall_time": "1h"},
        "on_failure": "record",
    }
    head = (
        "# yaml-language-server: $schema=../../workflow/schemas/sweep.schema.json\n"
        f"# Drawn by {command}\n# before any of its points ran. Do not edit: runs that somebody "
        "chose are\n# no judges. A third is held out by the hash of its name: apuflow score --held-out.\n#\n"
        f"#   snakemake --cores 2 results/{name}/report.html\n"
        f"#   apuflow score results/{name}/*.csv --held-out\n"
    )
    body = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=116)
    return head + body


def main() -> None:
    """Print the sweep file."""
    options = parser(__doc__, points=160, seed=20261122, least=4.0, most=180.0)
    options.add_argument("--products", action="store_true", help="matrix products in place of layers")
    given = options.parse_args()
    layers, name = (PRODUCTS, "random_products") if given.products else (WORKLOADS, "random_layers")
    products = "rocblas" if given.products else "stand-in"
    rows = draw(layers, products, given.points, given.seed, given.least, given.most)
    command = " ".join(["benchmarks/random_layers.py", *sys.argv[1:]])
    print(sweep(rows, name, command, products), end="")


if __name__ == "__main__":
    main()
