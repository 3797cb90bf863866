"""Nodes of a model's graph as rows of a table of operators (``kind: operators``).

Sizes are expressions of the model's open sizes. What passes tensors on as they are has no row: views, dropout
in inference, computations on whole numbers and on learnt values alone.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from apuflow.suites.models import HANDED_ON, Cells, Graph, Node, NoRowError
from apuflow.suites.node_rows import row

Sized: TypeAlias = tuple[str, Mapping[str, str | int]]
"""An operator and its sizes."""
ToOperators: TypeAlias = Callable[[Node, Graph], Iterator[Sized]]
VIEWS: Final = HANDED_ON | {"Transpose", "Slice", "Split", "Expand"}
"""Operators that compute nothing in inference; all but those of ``HANDED_ON`` order values anew."""
POINTWISE: Final = {
    **{name.capitalize(): name for name in ("add", "sub", "mul", "div", "relu", "sigmoid", "tanh", "gelu")},
    **{name.capitalize(): name for name in ("silu", "exp", "neg", "abs", "sqrt", "erf", "log", "swiglu")},
    **{"Max": "maximum", "Min": "minimum", "Swish": "silu", "Reciprocal": "reciprocal", "Where": "where"},
    **{"Copy": "copy", "Concat": "copy", "Resize": "upsample", "Prelu": "leaky_relu", "clamp_min": "clip"},
    **{name.capitalize(): name for name in ("hardswish", "hardsigmoid", "elu", "mish")},
}
"""Operators of each element by their name in a graph."""
SIDES: Final = ("d", "h", "w")
CELLS: Final = {"LSTM": "lstm", "GRU": "gru", "RNN": "vanilla"}


def times(*sizes: str | int) -> str:
    """The product of sizes, as an expression."""
    whole = math.prod(int(size) for size in sizes if str(size).isdigit())
    open_sizes = [
        size if str(size).isidentifier() else f"({size})" for size in sizes if not str(size).isdigit()
    ]
    return "*".join([*([str(whole)] if whole != 1 or not open_sizes else []), *map(str, open_sizes)])


def _data(node: Node, graph: Graph) -> str:
    return next(name for name in node.inputs if name and name not in graph.weights)


def _elements(node: Node, graph: Graph) -> dict[str, str | int]:
    """Of the output, as the size of an operator of each element."""
    return {"elements": times(*graph.sizes(node.outputs[0]))}


def _pointwise(node: Node, graph: Graph) -> Iterator[Sized]:
    op = POINTWISE.get(node.op, node.op.lower().replace(".", "_"))
    if node.op == "Pow":
        given = node.inputs[1] if len(node.inputs) > 1 else ""
        power = node.attributes.get("exponent", next(iter(graph.constants.get(given, ())), None))
        op = {2: "square", 0.5: "sqrt", -0.5: "rsqrt"}.get(power, "pow")
    yield str(op), _elements(node, graph)


def _product(node: Node, graph: Graph) -> Iterator[Sized]:
    left, right = (list(graph.sizes(name)) for name in node.inputs[:2])
    if node.attributes.get("transA"):
        left[-2:] = left[:-3:-1]
    turned = bool(node.attributes.get("transposed", node.attributes.get("transB", 0)))
    columns = right[-2 if turned else -1] if len(right) > 1 else "1"
    sizes: dict[str, str | int] = {"m": times(*left[:-1]), "n": columns, "k": left[-1]}
    if any(size != "1" for size in right[:-2]):
        sizes |= {"m": times(*left[-2:-1]), "batch": times(*graph.sizes(node.outputs[0])[:-2])}
    yield "product", sizes | ({"transposed": 1} if turned or node.attributes.get("stored_turned") else {})


def _convolution(node: Node, graph: Graph) -> Iterator[Sized]:
    """Filters of one to three dimensions; windows are padded alike on both sides."""
    filters = graph.shapes.get(node.inputs[1], ())
    image, out = graph.sizes(_data(node, graph)), graph.sizes(node.outputs[0])
    dims = len(filters) - 2
    if dims not in (1, 2, 3) or len(image) != dims + 2:
        raise NoRowError(f"a window of {dims} dimensions on a tensor of {len(image)}")
    group = int(node.attributes.get("group", 1))
    window = _window(node, graph, filters[2:])
    sides = SIDES[-dims:]
    found: dict[str, str | int] = {"n": image[0], "c": image[1], "h": 1, "w": 1}
    found |= dict(zip(sides, image[2:], strict=True)) | {"num_output": out[1], "kernel_h": 1, "kernel_w": 1}
    for name, values in window.items():
        found |= {f"{name}_{side}": value for side, value in zip(sides, values, strict=True)}
    yield "conv3d" if dims == 3 else "conv", found | ({"groups": group} if group > 1 else {})


def _window(node: Node, graph: Graph, kernel: Sequence[int]) -> dict[str, Sequence[int]]:
    """Kernel, padding, stride and dilation of a convolution, where they are not the usual ones."""
    ones = (1,) * len(kernel)
    stride, dilation = node.attributes.get("strides", ones), node.attributes.get("dilations", ones)
    span = [dilation[axis] * (kernel[axis] - 1) for axis in range(len(kernel))]
    pads = node.attributes.get("pads", (0,) * 2 * len(kernel))
    automatic = node.attributes.get("auto_pad", "NOTSET")
    if automatic in ("SAME_UPPER", "SAME_LOWER"):
        size = graph.shapes[_data(node, graph)][2:]
        outputs = [-(-size[axis] // stride[axis]) for axis in range(len(kernel))]
        whole = [
            max((outputs[axis] - 1) * stride[axis] + span[axis] + 1 - size[axis], 0)
            for axis in range(len(kernel))
        ]
        pads = (*(pad // 2 for pad in whole), *(pad - pad // 2 for pad in whole))
    first, last = tuple(pads[: len(kernel)]), tuple(pads[len(kernel) :])
    if first != last or min(first) < 0:
        raise NoRowError(f"its padding differs between sides: {first} and {last}")
    found = {"kernel": tuple(kernel), "pad": first, "stride": tuple(stride), "dilation": tuple(dilation)}
    usual = {"pad": 0, "stride": 1, "dilation": 1}
    return {name: values for name, values in found.items() if set(values) != {usual.get(name)}}


def _of_images(node: Node, graph: Graph) -> Iterator[Sized]:
    """What a row of a table of layers holds, for one image."""
    image = graph.sizes(_data(node, graph))
    if node.op == "BatchNormalization":
        yield "batchnorm", {"n": image[0], "c": image[1], "h": times(*image[2:]), "w": 1}
        return
    if not all(size.isdigit() for size in image[1:]):
        raise NoRowError("its images have an open size: give it a number in --shape")
    cells = row(node, graph)
    names = {"c": "in_c", "h": "in_h", "w": "in_w"}
    if "kernel_h" in cells:
        names |= {name: name for name in ("kernel_h", "kernel_w", "pad_h", "pad_w", "stride_h", "stride_w")}
        names |= {name: name for name in ("num_output", "out_h", "out_w")}
        cells = {**cells, "num_output": cells["out_c"]}
    if cells["op"] != "deconv":
        names.pop("num_output", None)
    yield str(cells["op"]), {"n": image[0], **{name: cells[of] for name, of in names.items()}}


def _pooled(node: Node, graph: Graph) -> Iterator[Sized]:
    """Pooling of images, as in a table of layers; of sequences and volumes, from its window."""
    image, out = graph.sizes(_data(node, graph)), graph.sizes(node.outputs[0])
    sides = SIDES[-(len(image) - 2) :]
    if len(image) not in (3, 5) or not all(size.isdigit() for size in image[1:]):
        yield from _of_images(node, graph)
        return
    inputs, outputs = ([int(size) for size in sizes[2:]] for sizes in (image, out))
    if node.op.startswith("Global"):
        if any(size % outs for size, outs in zip(inputs, outputs, strict=True)):
            raise NoRowError(f"{inputs} to {outputs} elements: its windows differ in size")
        kernel = [size // outs for size, outs in zip(inputs, outputs, strict=True)]
        window: Mapping[str, Sequence[int]] = {"kernel": kernel, "stride": kernel}
    else:
        window = _window(node, graph, node.attributes["kernel_shape"])
    if "dilation" in window:
        raise NoRowError("it has dilation")
    found: dict[str, str | int] = {"n": image[0], "c": image[1], "h": 1, "w": 1, "out_h": 1, "out_w": 1}
    found |= {"kernel_h": 1, "kernel_w": 1}
    found |= dict(zip(sides, inputs, strict=True))
    for name, values in {**window, "out": outputs}.items():
        found |= {f"{name}_{side}": value for side, value in zip(sides, values, strict=True)}
    yield "maxpool" if "Max" in node.op else "avgpool", found


def _kept_shape(node: Node, graph: Graph) -> Iterator[Sized]:
    """An activation or response normalisation, of which a table of layers knows several."""
    op = node.op.lower()
    with contextlib.suppress(NoRowError):
        op = str(row(node, graph)["op"])
    yield op, _elements(node, graph)


def _upsampled(node: Node, graph: Graph) -> Iterator[Sized]:
    image, out = graph.sizes(_data(node, graph)), graph.sizes(node.outputs[0])
    names = ("n", "c", "h", "w")
    if node.attributes.get("align_corners"):
        raise NoRowError("align_corners: leave it false")
    op = "upsample_nearest" if node.op == "UpsampleNearest" else "upsample_bilinear"
    yield op, {**dict(zip(names, image, strict=True)), "out_h": out[2], "out_w": out[3]}


def _attention(node: Node, graph: Graph) -> Iterator[Sized]:
    query, key, value = (graph.sizes(name) for name in node.inputs[:3])
    if len(query) < 3 or value[-1] != query[-1]:
        raise NoRowError("its heads of queries and values differ in width")
    heads, groups = query[-3], key[-3]
    found: dict[str, str | int] = {"batch": times(*query[:-3]), "heads": heads, "queries": query[-2]}
    found |= {"keys": key[-2], "head": query[-1]}
    if heads != groups:
        found |= {"group": f"({heads})//({groups})"}
    yield "attention", found | ({"causal": 1} if node.attributes.get("is_causal") else {})


def _rows(op: str) -> ToOperators:
    """Rows of the last dimensions, as many as a normalisation names or from an axis on."""

    def made(node: Node, graph: Graph) -> Iterator[Sized]:
        sizes = graph.sizes(_data(node, graph))
        axis = int(node.attributes.get("axis", -1)) % len(sizes)
        last = len(node.attributes.get("normalized_shape", ())) or len(sizes) - axis
        yield op, {"rows": times(*sizes[:-last]), "width": times(*sizes[-last:])}

    return made


def _softmax(node: Node, graph: Graph) -> Iterator[Sized]:
    sizes = graph.sizes(_data(node, graph))
    axis = int(node.attributes.get("axis", -1)) % len(sizes)
    yield "softmax", {"rows": times(*sizes[:axis], *sizes[axis + 1 :]), "width": sizes[axis]}


def _grouped(node: Node, graph: Graph) -> Iterator[Sized]:
    sizes = graph.sizes(_data(node, graph))
    groups = node.attributes.get("num_groups", sizes[1])
    found: dict[str, str | int] = {"rows": times(sizes[0], groups)}
    found |= {"width": f"({times(*sizes[1:])})//({groups})", "groups": groups, "pixels": times(*sizes[2:])}
    yield "groupnorm", found


def _embedding(node: Node, graph: Graph) -> Iterator[Sized]:
    table = graph.sizes(node.inputs[0])
    if node.inputs[0] not in graph.weights or int(node.attributes.get("axis", 0)):
        yield "copy", _elements(node, graph)
    elif len(table) == 2:
        yield (
            "embedding",
            {"rows": table[0], "width": table[1], "tokens": times(*graph.sizes(node.inputs[1]))},
        )
    else:
        raise NoRowError("its table has another number of dimensions than 2")


REDUCTIONS: Final = {"sum": 0, "mean": 1, "amax": 2, "max": 2, "amin": 2, "min": 2, "argmax": 2}
"""Triton's reduction by the operator's name, as ATen or ONNX has it; others are sums."""
EXACT: Final = ("sum", "mean", "amax", "max")
"""Operators that Triton's reduction computes."""


def reduction(node: Node) -> str:
    """ATen's name of a reduction."""
    return str(node.attributes.get("of", node.op.removeprefix("Reduce").lower()))


def _reduced(node: Node, graph: Graph) -> Iterator[Sized]:
    sizes = graph.sizes(_data(node, graph))
    every, rows = times(*sizes), times(*graph.sizes(node.outputs[0]))
    found: dict[str, str | int] = {"rows": rows, "width": f"({every})//({rows})"}
    given = node.attributes.get("dim")
    axes = sorted(axis % len(sizes) for axis in ([given] if isinstance(given, int) else given or ()))
    if axes and axes == [*range(axes[0], axes[-1] + 1)] and axes[-1] + 1 < len(sizes):
        found["inner"] = times(*sizes[axes[-1] + 1 :])
    yield "reduce", found | {"mode": REDUCTIONS.get(reduction(node), 0)}


def _recurrent(node: Node, graph: Graph) -> Iterator[Sized]:
    """A layer in one direction for each pair of weights, of the input and of the state."""
    sizes = graph.sizes(_data(node, graph))
    if len(sizes) != 3:
        raise NoRowError("its input has another number of dimensions than 3")
    pairs = [
        graph.shapes[name] for name in node.inputs if name in graph.learnt and len(graph.shapes[name]) > 1
    ]
    steps, batch = (sizes[1], sizes[0]) if node.attributes.get("batch_first") else sizes[:2]
    for of_input, of_state in zip(pairs[::2], pairs[1::2], strict=True):
        for _ in range(of_input[0] if len(of_input) == 3 else 1):
            found: dict[str, str | int] = {"hidden": of_state[-1], "batch": batch, "steps": steps}
            yield CELLS[node.op], found | {"input": of_input[-1]}


def _rotary(node: Node, graph: Graph) -> Iterator[Sized]:
    del graph
    yield "rotary", node.attributes


def _padded(node: Node, graph: Graph) -> Iterator[Sized]:
    mode = node.attributes.get("mode", "constant")
    if mode != "constant":
        raise NoRowError(f"{mode} padding")
    yield "copy", _elements(node, graph)


MAKERS: Final[Mapping[str, ToOperators]] = {
    **dict.fromkeys((*POINTWISE, "Pow"), _pointwise),
    **dict.fromkeys(("Gemm", "MatMul"), _product),
    "Conv": _convolution,
    **dict.fromkeys(("ConvTranspose", "BatchNormalization"), _of_images),
    **dict.fromkeys(("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"), _pooled),
    **dict.fromkeys(("LRN", "Clip"), _kept_shape),
    **dict.fromkeys(("UpsampleNearest", "UpsampleBilinear"), _upsampled),
    "Attention": _attention,
    "LayerNormalization": _rows("layernorm"),
    "RMSNormalization": _rows("rmsnorm"),
    **dict.fromkeys(("Softmax", "LogSoftmax"), _softmax),
    "GroupNormalization": _grouped,
    **dict.fromkeys(("Embedding", "Gather"), _embedding),
    **dict.fromkeys(("Reduce", "ReduceMean", "ReduceSum", "ReduceMax"), _reduced),
    **dict.fromkeys(CELLS, _recurrent),
    "Rotary": _rotary,
    "Pad": _padded,
}
"""By operator of a graph."""


class Made(NamedTuple):
    """Rows of a node without names, and why it has none ("": it has)."""

    rows: tuple[Sized, ...]
    why: str = ""


def operators(node: Node, graph: Graph) -> Made | None:
    """What a node computes; None: nobody here knows its operator."""
    make = MAKERS.get(node.op) or (_pointwise if node.attributes.get("pointwise") else None)
    if make is None:
        return None
    try:
        return Made(tuple(make(node, graph)))
    except NoRowError as error:
        return Made((), str(error))
    except (KeyError, IndexError, ValueError, StopIteration) as error:
        return Made((), f"a size or attribute of it is not known: {error}")


def cells(name: str, sized: Sized, params: int, kind: str) -> Cells:
    """One row of the table."""
    op, sizes = sized
    text = " ".join(f"{key}={value}" for key, value in sizes.items())
    return {"name": name, "op": op, "sizes": text, "params": params or "", "type": kind}
