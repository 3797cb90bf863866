"""Operators of networks: one table of their sizes, their work, and the operators that each consists of.

An operator without an entry is element by element: its size is ``elements``. Matrices are stored by rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from apuflow.core.errors import ConfigError
from apuflow.core.expression import evaluate

Sizes: TypeAlias = Mapping[str, int]
Part: TypeAlias = tuple[str, str, Sizes, int]
"""A part of an operator: what is added to its name, operator, sizes, how often it runs."""


@dataclass(frozen=True)
class Kind:
    """What is known of an operator.

    Attributes:
        sizes: its sizes, with a default for those that may be left out: ``m n k batch=1``.
        macs: multiply-adds, an expression of the sizes.
        values: values that it writes.
        parts: the operators that compute it where no kernel does; None: there are none.
        within: names of these operators.
    """

    sizes: str
    macs: str = "0"
    values: str = "elements"
    parts: Callable[[Sizes], Iterator[Part]] | None = None
    within: str = ""
    defaults: Mapping[str, int | None] = field(init=False)

    def __post_init__(self) -> None:
        pairs = (size.partition("=") for size in self.sizes.split())
        defaults = {name: int(value) if value else None for name, _, value in pairs}
        object.__setattr__(self, "defaults", defaults)


def _attention(s: Sizes) -> Iterator[Part]:
    """Heads of queries that share keys and values are rows of one product."""
    rows, products = s["group"] * s["queries"], s["batch"] * s["heads"] // s["group"]
    scores = s["batch"] * s["heads"] * s["queries"]
    first = {"m": rows, "n": s["keys"], "k": s["head"], "transposed": 1, "batch": products}
    yield ".scores", "product", first, 1
    if s["causal"]:
        yield ".mask", "add", {"elements": scores * s["keys"]}, 1
    yield ".softmax", "softmax", {"rows": scores, "width": s["keys"]}, 1
    yield ".values", "product", {"m": rows, "n": s["head"], "k": s["keys"], "batch": products}, 1


def _rotary(s: Sizes) -> Iterator[Part]:
    elements = {"elements": 2 * s["tokens"] * s["heads"] * s["half"]}
    yield from ((f".{name}", name, elements, times) for name, times in (("mul", 2), ("add", 1)))


def _gated(*names: str) -> Callable[[Sizes], Iterator[Part]]:
    return lambda s: ((f".{name}", name, s, 1) for name in names)


def _recurrent(gates: int, mode: int) -> Callable[[Sizes], Iterator[Part]]:
    """A layer of cells: the product of all inputs, then a product of the state and the cell in each step."""

    def parts(s: Sizes) -> Iterator[Part]:
        batch, hidden, steps = s["batch"], s["hidden"], s["steps"]
        rows = {"n": gates * hidden, "transposed": 1}
        yield ".input", "product", {**rows, "m": steps * batch, "k": s["input"]}, 1
        yield ".state", "product", {**rows, "m": batch, "k": hidden}, steps
        yield ".cell", "cell", {"batch": batch, "hidden": hidden, "gates": gates, "mode": mode}, steps

    return parts


def side(of: str) -> str:
    """Outputs of a convolution along a side, as an expression of its sizes."""
    span = f"dilation_{of}*(kernel_{of}-1)+1"
    return f"(({of}+2*pad_{of}-({span}))//stride_{of}+1)"


_WINDOW: Final = "pad_h=0 pad_w=0 stride_h=1 stride_w=1"
_IMAGES: Final = "n c h w"
_PIXELS: Final = f"n*num_output*{side('h')}*{side('w')}"
_VOLUME: Final = f"{_PIXELS}*{side('d')}"
_ROWS: Final = Kind("rows width", values="rows*width")
_POOL: Final = Kind(
    f"{_IMAGES} kernel_h kernel_w {_WINDOW} out_h out_w inputs=1 d=1 kernel_d=1 stride_d=1 pad_d=0 out_d=1",
    values="n*c*out_d*out_h*out_w",
)
_RESIZED: Final = Kind(f"{_IMAGES} out_h out_w inputs=1", values="n*c*out_h*out_w")
_CELLS: Final = {"lstm": (4, 4), "gru": (3, 3), "vanilla": (1, 1), "vanilla_tanh": (1, 0)}
"""Gates of a cell, and its number in Triton's kernel."""
ELEMENTWISE: Final = Kind("elements")
KINDS: Final[Mapping[str, Kind]] = {
    "product": Kind("m n k batch=1 transposed=0", "batch*m*n*k", "batch*m*n"),
    "attention": Kind(
        "batch heads queries keys head group=1 causal=0",
        "2*batch*heads*queries*keys*head",
        "batch*heads*queries*head",
        _attention,
        "product add softmax",
    ),
    "conv": Kind(
        f"{_IMAGES} num_output kernel_h kernel_w {_WINDOW} dilation_h=1 dilation_w=1 groups=1",
        f"{_PIXELS}*(c//groups)*kernel_h*kernel_w",
        _PIXELS,
    ),
    "conv3d": Kind(
        f"n c d h w num_output kernel_d kernel_h kernel_w pad_d=0 stride_d=1 {_WINDOW} "
        "dilation_d=1 dilation_h=1 dilation_w=1 groups=1",
        f"{_VOLUME}*(c//groups)*kernel_d*kernel_h*kernel_w",
        _VOLUME,
    ),
    "deconv": Kind(
        f"{_IMAGES} num_output kernel_h kernel_w {_WINDOW} out_h out_w groups=1",
        "n*c*h*w*(num_output//groups)*kernel_h*kernel_w",
        "n*num_output*out_h*out_w",
    ),
    "maxpool": _POOL,
    "avgpool": _POOL,
    "batchnorm": Kind(_IMAGES, values="n*c*h*w"),
    **dict.fromkeys(("upsample_nearest", "upsample_bilinear"), _RESIZED),
    **{
        cell: Kind(
            "hidden batch steps input",
            f"{gates}*steps*batch*hidden*(hidden+input)",
            "steps*batch*hidden",
            _recurrent(gates, mode),
            "product cell",
        )
        for cell, (gates, mode) in _CELLS.items()
    },
    "cell": Kind("batch hidden gates mode", values="batch*hidden"),
    **dict.fromkeys(("layernorm", "rmsnorm", "softmax"), _ROWS),
    "groupnorm": Kind("rows width groups=1 pixels=1", values="rows*width"),
    "reduce": Kind("rows width inner=1 mode=1", values="rows"),
    "embedding": Kind("rows width tokens", values="tokens*width"),
    "rotary": Kind("tokens heads half", values="2*tokens*heads*half", parts=_rotary, within="mul add"),
    "swiglu": Kind("elements", parts=_gated("silu", "mul"), within="silu sigmoid mul"),
    "silu": Kind("elements", parts=_gated("sigmoid", "mul"), within="sigmoid mul"),
}
"""By name."""


def kind_of(op: str) -> Kind:
    """What is known of an operator."""
    return KINDS.get(op, ELEMENTWISE)


def sizes_of(op: str, text: str, names: Sizes) -> dict[str, int]:
    """The sizes of an operator from a text such as ``m=n*sequence n=3*width k=width``.

    Raises ConfigError: a size that it lacks, that is missing or is no expression of ``names``.
    """
    given: dict[str, str] = {}
    for pair in text.split():
        name, _, value = pair.partition("=")
        given[name] = value
    defaults = kind_of(op).defaults
    wrong = [name for name in given if name not in defaults]
    wrong += [name for name, value in defaults.items() if value is None and name not in given]
    if wrong:
        what = f"operator {op} {'has no' if wrong[0] in given else 'lacks the'} size {wrong[0]}"
        raise ConfigError(what, key="sizes", value=text, remedy=f"its sizes: {kind_of(op).sizes}")
    found = {name: evaluate(given.get(name, str(value)), names, "sizes") for name, value in defaults.items()}
    for name, size in found.items():
        if size < (defaults[name] is None):
            raise ConfigError(f"size {name} is {size}", key="sizes", value=text, remedy="1 or more")
    return found


def complete(op: str, sizes: Sizes) -> dict[str, int]:
    """The sizes with the defaults of those that are left out."""
    defaults = kind_of(op).defaults.items()
    return {name: value for name, value in defaults if value is not None} | dict(sizes)


def macs_of(op: str, sizes: Sizes) -> int:
    """Multiply-adds of one run."""
    return evaluate(kind_of(op).macs, sizes, "macs")


def values_of(op: str, sizes: Sizes) -> int:
    """Values that one run writes."""
    return evaluate(kind_of(op).values, sizes, "values")
