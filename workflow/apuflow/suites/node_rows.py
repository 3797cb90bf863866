"""A node of a model's graph as a row of a table of layers; every attribute is read, or refused by name.

Attributes that change results but not work are dropped: epsilon, momentum, factors of response normalisation.
Source of operators and attributes: ONNX' ``docs/Operators.md`` and ``docs/Changelog.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from apuflow.dnnmark.shape import windows
from apuflow.suites.models import Cells, Dims, Graph, Node, NoRowError

ToRow: TypeAlias = Callable[[Node, Graph, str], Cells]
"""Makes the row of a node, as a layer of this kind."""
AXES: Final = ("h", "w")


def _dims(graph: Graph, name: str) -> Dims:
    dims = graph.shapes.get(name)
    if not dims or any(size < 1 for size in dims[1:]):
        raise NoRowError("the shape of a tensor is not known" + (f": {dims}" if dims else ""))
    return dims


def _sizes(graph: Graph, name: str) -> tuple[int, int, int]:
    """Channels, height and width of one image."""
    dims = _dims(graph, name)
    if len(dims) > 4:
        raise NoRowError(f"a tensor of {len(dims)} dimensions")
    channels, height, width = (*dims[1:], 1, 1, 1)[:3]
    return channels, height, width


def _data(node: Node, graph: Graph) -> str:
    """The first tensor that is not a weight."""
    return next(name for name in node.inputs if name and name not in graph.weights)


def _cells(
    op: str, n: int, image: Sequence[int], out: Sequence[int], params: int = 0, macs: int = 0
) -> Cells:
    """Columns of every row; ``image`` and ``out`` are channels, height and width."""
    names = ("in_c", "in_h", "in_w", "out_c", "out_h", "out_w")
    sizes = dict(zip(names, (*image, *out), strict=True))
    return {"op": op, "in_n": n, **sizes, "params": params, "macs": macs}


def _plain(node: Node, graph: Graph, op: str) -> Cells:
    return _cells(op, 1, _sizes(graph, _data(node, graph)), _sizes(graph, node.outputs[0]))


def _window_cells(kernel: Sequence[int], stride: Sequence[int], pads: Sequence[int] = (0, 0)) -> Cells:
    names = ("kernel_h", "kernel_w", "stride_h", "stride_w", "pad_h", "pad_w")
    return dict(zip(names, (*kernel, *stride, *pads), strict=True))


def _refuse(node: Node, **usual: int) -> None:
    """Refuse attributes with other values than a row implies."""
    for name, value in usual.items():
        given = node.attributes.get(name, value)
        if given != value:
            raise NoRowError(f"{name} {given}")


def _refuse_other_padding(node: Node) -> None:
    mode = node.attributes.get("padding_mode", "zeros")
    if mode != "zeros":
        raise NoRowError(f"{mode} padding: a row has zeros there")


def _refuse_dilation(node: Node) -> None:
    if _pair(node, "dilations") != (1, 1):
        raise NoRowError(f"dilations {_pair(node, 'dilations')}")


def _pair(node: Node, name: str) -> tuple[int, int]:
    given = tuple(node.attributes.get(name, (1, 1)))
    if len(given) != 2:
        raise NoRowError(f"a window of {_in_dimensions(len(given))}")
    return int(given[0]), int(given[1])


def _padding(node: Node, size: Sequence[int], span: Sequence[int], stride: Sequence[int]) -> tuple[int, ...]:
    """Top, left, bottom, right. ``SAME`` gives an output per stride and puts odd padding at one end."""
    automatic = node.attributes.get("auto_pad", "NOTSET")
    if automatic not in ("SAME_UPPER", "SAME_LOWER"):
        pads = node.attributes.get("pads", (0,) * 4) if automatic == "NOTSET" else (0,) * 4
        return tuple(int(pad) for pad in pads)
    wanted = [(-(-size[axis] // stride[axis]) - 1) * stride[axis] + span[axis] for axis in range(2)]
    whole = [max(wanted[axis] - size[axis], 0) for axis in range(2)]
    less, more = [pad // 2 for pad in whole], [pad - pad // 2 for pad in whole]
    return (*less, *more) if automatic == "SAME_UPPER" else (*more, *less)


def _window(node: Node, graph: Graph, kernel: Sequence[int], cells: Cells) -> Cells:
    """Kernel, stride and padding that give the known output.

    Raises NoRowError: not two dimensions, unequal padding, or another output.
    """
    if len(kernel) != 2 or len(_dims(graph, _data(node, graph))) != 4:
        raise NoRowError(f"a window of {_in_dimensions(len(kernel))}")
    _refuse_other_padding(node)
    stride, dilation = _pair(node, "strides"), _pair(node, "dilations")
    span = [dilation[axis] * (kernel[axis] - 1) + 1 for axis in range(2)]
    size = [int(cells[f"in_{side}"]) for side in AXES]
    out = [int(cells[f"out_{side}"]) for side in AXES]
    top, left, bottom, right = _padding(node, size, span, stride)
    ceil = int(node.attributes.get("ceil_mode", 0))
    pooled = node.op in ("MaxPool", "AveragePool")
    pads = (top, left)
    further = (bottom - top, right - left)
    if min(pads) < 0 or further != (0, 0):
        # Extra padding on the far side for one more window means that started windows count.
        if not pooled or ceil or min(*pads, *further) < 0:
            raise NoRowError(f"its padding differs between sides: {top},{left} and {bottom},{right}")
        ceil = 1
    if out != [windows(size[a], span[a], pads[a], stride[a], started=bool(ceil)) for a in range(2)]:
        raise NoRowError(f"its output {out[0]}x{out[1]} does not follow from its window, stride and padding")
    return _window_cells(kernel, stride, pads) | ({"ceil_mode": ceil} if pooled else {})


def _in_dimensions(count: int) -> str:
    return "1 dimension" if count == 1 else f"{count} dimensions"


def _filters(node: Node, graph: Graph) -> Dims:
    """The shape of a layer's weights, which must be learnt."""
    if len(node.inputs) < 2 or node.inputs[1] not in graph.weights:
        raise NoRowError("its weights are computed by other layers")
    return graph.shapes[node.inputs[1]]


def _has_bias(node: Node, graph: Graph, outputs: int) -> bool:
    """Whether it has a learnt bias with a value per output."""
    if len(node.inputs) < 3 or not node.inputs[2]:
        return False
    bias = node.inputs[2]
    if bias not in graph.weights or math.prod(graph.shapes[bias]) != outputs:
        raise NoRowError("its bias is not one learnt value for each output")
    return True


def _learnt(node: Node, graph: Graph, weights: int, cells: Cells, plane: str) -> Cells:
    """Bias, learnt values and multiply-adds: of each weight one per pixel of a plane, ``in`` or ``out``."""
    out = int(cells["out_c"])
    bias = _has_bias(node, graph, out)
    macs = weights * int(cells[f"{plane}_h"]) * int(cells[f"{plane}_w"])
    return {"bias": int(bias), "params": weights + out * bias, "macs": macs}


def _convolution(node: Node, graph: Graph, op: str) -> Cells:
    filters = _filters(node, graph)
    if len(filters) != 4:
        raise NoRowError(f"a window of {_in_dimensions(len(filters) - 2)}")
    dilations = _pair(node, "dilations")
    if dilations[0] != dilations[1]:
        raise NoRowError(f"dilations {dilations}")
    cells = _plain(node, graph, op)
    out, groups = int(cells["out_c"]), int(node.attributes.get("group", 1))
    products = math.prod(filters)
    if products != out * (int(cells["in_c"]) // groups) * filters[2] * filters[3]:
        raise NoRowError(f"its weights {filters} are not those of {groups} groups of its channels")
    learnt = _learnt(node, graph, products, cells, "out")
    window = _window(node, graph, filters[2:], cells)
    return cells | window | {"dilation": dilations[0], "groups": groups} | learnt


def _transposed(node: Node, graph: Graph, op: str) -> Cells:
    """A transposed convolution, whose output may be larger by a part of a stride."""
    filters = _filters(node, graph)
    if len(filters) != 4 or len(_dims(graph, _data(node, graph))) != 4:
        raise NoRowError(f"a window of {_in_dimensions(len(filters) - 2)}")
    _refuse_other_padding(node)
    _refuse(node, group=1)
    _refuse_dilation(node)
    if node.attributes.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        raise NoRowError("auto_pad: export it with explicit pads")
    cells = _plain(node, graph, op)
    top, left, bottom, right = (int(pad) for pad in node.attributes.get("pads", (0, 0, 0, 0)))
    if (top, left) != (bottom, right):
        raise NoRowError(f"its padding differs between sides: {top},{left} and {bottom},{right}")
    stride = _pair(node, "strides")
    for axis, pad in ((0, top), (1, left)):
        rest = int(cells[f"out_{AXES[axis]}"]) - (int(cells[f"in_{AXES[axis]}"]) - 1) * stride[axis]
        rest += 2 * pad - filters[2 + axis]
        if not 0 <= rest < stride[axis]:  # it is output_padding, which no engine runs: the suite reports it
            raise NoRowError("its output does not follow from its window, stride and padding")
    learnt = _learnt(node, graph, math.prod(filters), cells, "in")
    return cells | _window_cells(filters[2:], stride, (top, left)) | {"groups": 1} | learnt


def _pool(node: Node, graph: Graph, op: str) -> Cells:
    _refuse_dilation(node)
    _refuse(node, storage_order=0, divisor_override=0, return_indices=0)
    if len([name for name in node.outputs if name]) > 1:
        raise NoRowError("it gives the places of its maxima, too")
    kernel = node.attributes["kernel_shape"]
    if len(kernel) != 2:
        raise NoRowError(f"a window of {_in_dimensions(len(kernel))}")
    cells = _plain(node, graph, op)
    return cells | _window(node, graph, kernel, cells)


def _global_pool(node: Node, graph: Graph, op: str) -> Cells:
    """Adjacent windows that cover the image: one per output."""
    cells = _plain(node, graph, op)
    if len(_dims(graph, _data(node, graph))) != 4:
        raise NoRowError("it takes the mean or maximum of something else than images")
    kernel = []
    for side in AXES:
        size, out = int(cells[f"in_{side}"]), int(cells[f"out_{side}"])
        if size % out:
            raise NoRowError(f"{size} pixels to {out}: its windows differ in size")
        kernel.append(size // out)
    return cells | _window_cells(kernel, kernel)


def _mean(node: Node, graph: Graph, op: str) -> Cells:
    """A mean of each channel of an image; its axes are an attribute before opset 18, then an input."""
    given = node.inputs[1] if len(node.inputs) > 1 else ""
    axes = graph.constants.get(given, ()) if given else node.attributes.get("axes", ())
    if sorted(int(axis) % 4 for axis in axes) != [2, 3]:
        raise NoRowError("a mean over something else than the pixels of each channel")
    return _global_pool(node, graph, op)


def _product(node: Node, graph: Graph, op: str) -> Cells:
    """A fully connected layer, whose second factor is learnt."""
    if node.inputs[1] not in graph.weights:
        raise NoRowError("a product of two tensors that are not learnt is no layer of a table")
    if node.inputs[0] in graph.weights:
        raise NoRowError("its weights stand on the left")
    dims = _dims(graph, node.inputs[0])
    if len(dims) != 2:
        raise NoRowError(f"a product with a tensor of {_in_dimensions(len(dims))}")
    _refuse(node, transA=0, alpha=1, beta=1)
    features, outputs = dims[1], _dims(graph, node.outputs[0])[1]
    bias = _has_bias(node, graph, outputs)
    params, macs = outputs * (features + bias), outputs * features
    return _cells(op, 1, (features, 1, 1), (outputs, 1, 1), params, macs) | {"bias": int(bias)}


def _normalised(node: Node, graph: Graph, op: str) -> Cells:
    """Batch normalisation; it may have scale and shift or not."""
    _refuse(node, spatial=1)
    cells = _plain(node, graph, op)
    return {**cells, "params": sum(math.prod(graph.shapes[name]) for name in node.inputs[1:3] if name)}


def _response(node: Node, graph: Graph, op: str) -> Cells:
    return {**_plain(node, graph, op), "kernel_h": int(node.attributes["size"])}


def _sum(node: Node, graph: Graph, op: str) -> Cells:
    read = [name for name in node.inputs if name not in graph.weights]
    if not (len(read) == len(node.inputs) == 2 and _dims(graph, read[0]) == _dims(graph, read[1])):
        raise NoRowError("not a sum of two tensors of one shape")
    _refuse(node, alpha=1)
    return _plain(node, graph, op)


def _joined(node: Node, graph: Graph, op: str) -> Cells:
    if int(node.attributes.get("axis", 1)) not in (1, 1 - len(_dims(graph, node.outputs[0]))):
        raise NoRowError("joined along another axis than channels")
    if any(name in graph.weights for name in node.inputs):
        raise NoRowError("it joins a tensor that no layer makes")
    return _plain(node, graph, op)


def _softmax(node: Node, graph: Graph, op: str) -> Cells:
    """Softmax over channels, the last axis, or (``flattened``, before opset 13) all from ``axis`` on."""
    dims = _dims(graph, _data(node, graph))
    if node.attributes.get("axis") is None:
        raise NoRowError("it does not say over which dimension")
    axis = int(node.attributes["axis"]) % len(dims)
    flattened = bool(node.attributes.get("flattened", 0))
    last = axis == len(dims) - 1
    if axis == 0:
        raise NoRowError("over the images")
    if axis == 1 and (last or not flattened):
        return _plain(node, graph, op)
    if not last and not flattened:
        raise NoRowError(f"over dimension {axis} of {len(dims)}")
    rows, width = math.prod(dims[1:axis]), math.prod(dims[axis:])
    return _cells(op, rows, (width, 1, 1), (width, 1, 1))


def _clipped(node: Node, graph: Graph, op: str) -> Cells:
    """From 0 up, or from 0 to 6; ONNX has the ends as attributes before opset 11, then as inputs."""
    ends: list[float | None] = []
    for place, name in ((1, "min"), (2, "max")):
        given = node.inputs[place] if len(node.inputs) > place else ""
        if given and len(graph.constants.get(given, ())) != 1:
            raise NoRowError(f"its {name} is not known")
        value = graph.constants[given][0] if given else node.attributes.get(name)
        ends.append(None if value is None or abs(value) > 1e38 else float(value))
    if ends[0] != 0 or (ends[1] is not None and ends[1] <= 0):
        raise NoRowError(f"it clips to {ends[0]} and {ends[1]}: a row has 0 and 6, or 0 alone")
    return _plain(node, graph, {None: op, 6.0: "relu6"}.get(ends[1], "clipped_relu"))


ROWS: Final[Mapping[str, tuple[str, ToRow]]] = {
    "Conv": ("conv", _convolution),
    "ConvTranspose": ("deconv", _transposed),
    "BatchNormalization": ("batchnorm", _normalised),
    "Relu": ("relu", _plain),
    "Clip": ("relu", _clipped),
    "Sigmoid": ("sigmoid", _plain),
    "Tanh": ("tanh", _plain),
    "Softmax": ("softmax", _softmax),
    "LogSoftmax": ("softmax", _softmax),
    "MaxPool": ("maxpool", _pool),
    "AveragePool": ("avgpool", _pool),
    "GlobalAveragePool": ("avgpool", _global_pool),
    "GlobalMaxPool": ("maxpool", _global_pool),
    "ReduceMean": ("avgpool", _mean),
    "Gemm": ("fc", _product),
    "MatMul": ("fc", _product),
    "LRN": ("lrn", _response),
    "Add": ("add", _sum),
    "Concat": ("concat", _joined),
}
"""Kind of layer and maker of the row, by operator name."""


def row(node: Node, graph: Graph) -> Cells:
    """The columns of a node's row without name and inputs. Raises NoRowError: why it has none."""
    op, make = ROWS[node.op]
    return make(node, graph, op)


def notes(node: Node) -> list[str]:
    """Sentences about what the row of a node lacks."""
    if node.op == "LogSoftmax":
        return ["The logarithm behind a softmax."]
    counts = any(node.attributes.get("pads", (0,))) and int(node.attributes.get("count_include_pad", 0))
    said = "The padding of average pooling counts in the model's means (count_include_pad) and not here."
    return [said] if node.op == "AveragePool" and counts else []
