"""Which kernels run an operator: MIOpen's and rocBLAS' of ROCm 4.0, the Triton kernels here, or the user's.

GPUs of MIOpen and rocBLAS 4.0 run fp32. The others run ``configs/workloads/triton_*.yaml``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from apuflow.core.errors import ConfigError
from apuflow.core.expression import evaluate
from apuflow.core.gpus import GPUS
from apuflow.core.scalar import Scalar
from apuflow.suites.operators import Sizes, complete, kind_of, macs_of, side
from apuflow.suites.step import OPERATION, product


class Run(NamedTuple):
    """What runs for an operator.

    Attributes:
        suffix: of its name, for a part.
        step, shape: kind and shape of the suite's step.
        repeats: how often it runs.
        macs: multiply-adds of all repeats.
        workload: of its kernels, whose parameters are the shape; "": an operation.
        why: why none runs it.
    """

    suffix: str
    step: str
    shape: Mapping[str, Scalar]
    repeats: int
    macs: int
    workload: str = ""
    why: str = ""


TYPES: Final[Mapping[str, int]] = {"float": 4, "half": 2, "bfloat16": 2}
"""Types of numbers that networks compute in, and their bytes."""
DECODE: Final = "decode_attention"
"""Attention of one query for each sequence."""
BY_LIBRARIES: Final = tuple(name for name, gpu in GPUS.items() if not gpu.runs_as)
"""GPUs of MIOpen and rocBLAS."""
POINTWISE: Final = (
    *("copy", "add", "sub", "mul", "div", "maximum", "minimum", "relu", "sigmoid", "tanh", "silu", "exp"),
    *("neg", "abs", "sqrt", "rsqrt", "square", "reciprocal", "log", "sin", "cos", "erf", "floor", "sign"),
    *("relu6", "hardsigmoid", "hardswish", "leaky_relu", "elu", "softplus", "mish", "clip", "log1p", "expm1"),
    "pow",
)
"""Operators of ``triton_pointwise``, in the order of its numbers."""
MASKED: Final = ("where", "masked_fill", "eq", "ne", "lt", "le", "gt", "ge")
"""Operators of ``triton_masked``, in the order of its numbers."""


@dataclass(frozen=True)
class Shipped:
    """Kernels of this project for an operator.

    Attributes:
        workload: that has them.
        parameters: its parameters, expressions of the operator's sizes: ``m=m n=n k=k``.
        powers: sizes that must be powers of two.
        equal: sizes that must be equal.
        times: launches for each run of the operator, an expression.
        tiles: further parameters, which are no sizes.
        uneven: kernels for elements that are no multiple of 16; None: these.
    """

    workload: str
    parameters: str
    powers: str = ""
    equal: str = ""
    times: str = "1"
    tiles: tuple[tuple[str, int], ...] = ()
    uneven: Shipped | None = None

    def refusal(self, sizes: Sizes) -> str:
        """Why they cannot run these sizes; "": they can."""
        for name in self.powers.split():
            if sizes[name] & (sizes[name] - 1):
                return f"{self.workload} takes powers of two as {name}, not {sizes[name]}"
        found = {sizes[name] for name in self.equal.split()}
        return f"{self.workload} takes as many {self.equal.replace(' ', ' as ')}" if len(found) > 1 else ""

    def shape(self, sizes: Sizes, kind: str) -> dict[str, Scalar]:
        """Its parameters for these sizes and numbers of this type."""
        pairs = (pair.partition("=") for pair in self.parameters.split())
        return {**{name: evaluate(text, sizes, "parameters") for name, _, text in pairs}, "type": kind}

    def launches(self, sizes: Sizes) -> int:
        """Launches for each run of the operator."""
        return evaluate(self.times, sizes, "times")


def _same_names(*names: str) -> str:
    """Parameters that have the names of sizes."""
    return " ".join(f"{name}={name}" for group in names for name in group.split())


def _filters(of: str) -> str:
    """Parameters of a convolution along its sides, such as ``hw``."""
    names = ("kernel", "stride", "pad", "dilation")
    window = _same_names(*of, *(f"{name}_{each}" for name in names for each in of))
    outputs = " ".join(f"out_{each}={side(each)}" for each in of)
    return f"n=n c=c k=num_output groups=groups {window} {outputs}"


def _is_whole(sizes: Sizes) -> bool:
    """Whether one window covers the image."""
    return all(sizes[side] == sizes[f"kernel_{side}"] and not sizes[f"pad_{side}"] for side in "dhw")


VARIANTS: Final[Mapping[str, tuple[str, Callable[[Sizes], bool]]]] = {
    DECODE: ("attention", lambda s: s["queries"] == 1),
    "grouped_conv": ("conv", lambda s: s["groups"] > 1 and min(s["c"], s["num_output"]) < 16 * s["groups"]),
    "global_avgpool": ("avgpool", _is_whole),
    "global_maxpool": ("maxpool", _is_whole),
    "column_reduce": ("reduce", lambda s: s["inner"] > 1),
}
"""Operators whose sizes decide that other kernels run: their operator, and when."""
_N: Final = "n=elements"
_IMAGES: Final = _same_names("n c h w kernel_h kernel_w stride_h stride_w pad_h pad_w out_h out_w")
_POOL: Final = f"{_IMAGES} {_same_names('d kernel_d stride_d pad_d out_d')}"
_RESIZE: Final = "planes=n*c h=h w=w out_h=out_h out_w=out_w"
TRITON: Final[Mapping[str, Shipped]] = {
    "product": Shipped("triton_product", "m=m n=n k=k", times="batch"),
    "attention": Shipped(
        "triton_flash_attention",
        "heads=batch*heads group=group sequence=queries head=head causal=causal",
        powers="head",
        equal="queries keys",
    ),
    DECODE: Shipped(
        "triton_decode_attention",
        "batch=1 heads=batch*heads group=group capacity=ceil(keys,16)*16 head=head",
        powers="head",
    ),
    "layernorm": Shipped("triton_layer_norm", "rows=rows columns=width"),
    "rmsnorm": Shipped("triton_rms_norm", "rows=rows columns=width"),
    "softmax": Shipped("triton_softmax", "rows=rows columns=width"),
    "embedding": Shipped("triton_embedding", "tokens=tokens words=rows columns=width"),
    "rotary": Shipped("triton_rotary", "positions=tokens heads=heads half=half", powers="heads half"),
    "gelu": Shipped("triton_gelu", _N),
    "swiglu": Shipped("triton_swiglu", _N),
    "conv": Shipped("triton_convolution", _filters("hw")),
    "grouped_conv": Shipped("triton_convolution_direct", _filters("hw")),
    "conv3d": Shipped("triton_convolution", _filters("dhw")),
    "deconv": Shipped("triton_convolution", f"{_IMAGES} k=num_output groups=groups turned=1"),
    "maxpool": Shipped("triton_pooling", f"{_POOL} average=0"),
    "avgpool": Shipped("triton_pooling", f"{_POOL} average=1"),
    "batchnorm": Shipped("triton_batch_norm", "images=n channels=c pixels=h*w"),
    "groupnorm": Shipped("triton_group_norm", _same_names("rows groups width pixels")),
    "global_avgpool": Shipped("triton_reduction", "rows=n*c width=d*h*w mode=1"),
    "global_maxpool": Shipped("triton_reduction", "rows=n*c width=d*h*w mode=2"),
    "reduce": Shipped("triton_reduction", _same_names("rows width inner mode")),
    "column_reduce": Shipped(
        "triton_reduction", _same_names("rows width inner mode"), tiles=(("tile_rows", 64), ("block", 4))
    ),
    "upsample_nearest": Shipped("triton_resize", f"{_RESIZE} linear=0"),
    "upsample_bilinear": Shipped("triton_resize", f"{_RESIZE} linear=1"),
    "cell": Shipped("triton_cells", _same_names("batch hidden gates mode")),
    **{op: Shipped("triton_masked", f"{_N} operator={number}") for number, op in enumerate(MASKED)},
    **{op: Shipped("triton_pointwise", f"{_N} operator={number}") for number, op in enumerate(POINTWISE)},
    "add": Shipped(  # of uneven sizes v_add_f16 is left, which gem5 does not execute
        "triton_vector_add", _N, uneven=Shipped("triton_pointwise", f"{_N} operator=1")
    ),
}
"""By operator. A step of ``triton_decode_attention`` reads the cache up to a multiple of 16 places."""


_Step: TypeAlias = Callable[[Sizes], tuple[str, Mapping[str, Scalar]]]
"""Kind of step and its shape, from the sizes of an operator."""


def _elementwise(operator: str) -> _Step:
    text = f"elementwise fwd n=1 c=1 h=1 w={{}} operator={operator}"
    return lambda s: (operator, {OPERATION: text.format(s["elements"])})


def _same(op: str) -> _Step:
    return lambda s: (op, s)


def _cell(op: str, cell: str) -> _Step:
    return lambda s: (op, {"cell": cell, **s})


def _rows(s: Sizes) -> dict[str, Scalar]:
    return {"elements": s["rows"] * s["width"], "width": s["width"]}


def _filtered(op: str, **more: Scalar) -> _Step:
    """Without groups and dilation where there are none."""
    return lambda s: (
        op,
        {k: v for k, v in s.items() if v != 1 or k[:8] not in ("groups", "dilation")} | more,
    )


def _gathered(s: Sizes) -> tuple[str, Mapping[str, Scalar]]:
    rows, width = s["rows"], s["width"]
    return "embedding", {"elements": s["tokens"] * width, "params": rows * width, "width": width}


LIBRARIES: Final[Mapping[str, _Step]] = {
    "product": lambda s: (
        "gemm",  # column major: the transpose of the result
        product(s["n"], s["m"], s["k"], transpose_a=bool(s["transposed"]), batch=s["batch"]),
    ),
    "conv": _filtered("conv", algorithm="gemm"),
    "deconv": _filtered("deconv"),
    **{op: _same(op) for op in ("maxpool", "avgpool", "batchnorm", "upsample_nearest")},
    **{op: _same(op) for op in ("gelu", "relu", "relu6", "sigmoid", "tanh", "copy")},
    **{op: _cell(op, op) for op in ("lstm", "gru")},
    "vanilla": _cell("vanilla", "relu"),
    "vanilla_tanh": _cell("vanilla_tanh", "tanh"),
    "softmax": lambda s: ("softmax", _rows(s)),
    "layernorm": lambda s: ("layernorm", {**_rows(s), "params": 0}),
    "embedding": _gathered,
    **{op: _elementwise(op[:3]) for op in ("add", "mul", "maximum", "minimum")},
}
"""By operator: the step of a suite that MIOpen, rocBLAS or this project's OpenCL kernels run in fp32."""


def by_triton(gfx: str, kind: str) -> bool:
    """Whether Triton's kernels run numbers of a type; without a GPU, those of 16 bits.

    Raises ConfigError: 16 bits on a GPU whose libraries compute in fp32.
    """
    if gfx in BY_LIBRARIES and kind != "float":
        raise ConfigError(
            f"the kernels of {gfx} compute in fp32 (float) alone",
            key="layer.type",
            value=kind,
            remedy="machine: mi300x-like or mi210-like (gfx942, gfx90a), release: v24.1; or type: float",
        )
    return gfx not in BY_LIBRARIES if gfx else kind != "float"


def _variant(op: str, sizes: Sizes) -> str:
    """The name under which an operator of these sizes has its kernels."""
    names = (name for name, (of, fits) in VARIANTS.items() if of == op and fits(sizes))
    return next(names, op)


def runs(
    op: str, sizes: Sizes, kind: str, gfx: str, own: Mapping[str, str], parts: bool = False
) -> Iterator[Run]:
    """What runs for an operator on a GPU.

    Args:
        kind: type of the numbers.
        own: the user's workloads of kernels by operator.
        parts: attention runs as its parts.
    """
    triton, sizes = by_triton(gfx, kind), complete(op, sizes)
    macs = macs_of(op, sizes)
    name = _variant(op, sizes)
    shipped = TRITON.get(name)
    if name in own:
        shape: Mapping[str, Scalar] = shipped.shape(sizes, kind) if shipped else {**sizes, "type": kind}
        yield Run("", op, shape, shipped.launches(sizes) if shipped else 1, macs, own[name])
        return
    why = f"no kernel here computes {op} in {kind}" + (f" on {gfx}" if gfx else "")
    if parts and op == "attention":
        pass
    elif not triton and op in LIBRARIES and sizes.get("d", 1) == 1:
        yield Run("", *LIBRARIES[op](sizes), 1, macs)
        return
    elif triton and shipped is not None:
        if shipped.uneven and sizes["elements"] % 16:
            shipped = shipped.uneven
        why = shipped.refusal(sizes)
        if not why:
            made_of = {**shipped.shape(sizes, kind), **dict(shipped.tiles)}
            yield Run("", op, made_of, shipped.launches(sizes), macs, shipped.workload)
            return
    made = kind_of(op).parts
    found = list(made(sizes)) if made else []
    if not found:
        yield Run("", op, sizes, 1, macs, why=why)
    for suffix, part, of, times in found:
        for one in runs(part, of, kind, gfx, own):
            repeats, macs = times * one.repeats, times * one.macs
            yield one._replace(suffix=suffix + one.suffix, repeats=repeats, macs=macs)
