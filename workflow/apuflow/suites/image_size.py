"""A network of layers on images of another size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from apuflow.core.errors import ConfigError
from apuflow.dnnmark.shape import windows
from apuflow.suites.network import IMAGES, Layer, Network

Size = tuple[int, int]


def on_images(network: Network, side: int) -> Network:
    """The network on square images of ``side`` pixels.

    Outputs of a window follow PyTorch's formula, rounded as in the table. A pooling over the whole plane
    stays one (torchvision's adaptive pooling to one pixel).

    Raises ConfigError: images too small for a window, a fully connected layer that would get other weights,
    or a size that does not follow from the inputs.
    """
    sizes: dict[str, Size] = {IMAGES: (side, side)}
    before: dict[str, Size] = {IMAGES: (network.layers[0].h, network.layers[0].w)}
    layers = []
    for layer in network.layers:
        h, w = _of_inputs(layer, sizes, before, side)
        out_h, out_w = _outputs(layer, (h, w), side)
        kernel = (h, w) if _is_global(layer) else layer.kernel
        stride = (h, w) if _is_global(layer) and layer.stride == layer.kernel else layer.stride
        changed = replace(layer, h=h, w=w, out_h=out_h, out_w=out_w, kernel=kernel, stride=stride)
        layers.append(replace(changed, macs=changed.multiply_adds))
        sizes[layer.name], before[layer.name] = (out_h, out_w), (layer.out_h, layer.out_w)
    return Network(tuple(layers))


def _of_inputs(layer: Layer, sizes: Mapping[str, Size], before: Mapping[str, Size], side: int) -> Size:
    known = [name for name in layer.inputs if name in sizes]
    found = {sizes[name] for name in known}
    if len(known) == 1 and (layer.h, layer.w) == (1, 1):  # pixels as features of a fully connected layer
        (size,), table = found, before[known[0]]
        if size != table:
            pixels = f"{table[0]}x{table[1]} pixels, and {size[0]}x{size[1]}"
            raise _refused(layer, side, f"it reads {pixels} would change the weights")
        return 1, 1
    if not known or len(known) < len(layer.inputs) or any(before[n] != (layer.h, layer.w) for n in known):
        raise _refused(layer, side, "its size in the table does not follow from that of its inputs")
    if len(found) > 1:
        raise _refused(layer, side, "its inputs would have different sizes")
    return found.pop()


def _outputs(layer: Layer, size: Size, side: int) -> Size:
    if layer.op == "fc":
        return layer.out_h, layer.out_w
    if _is_global(layer):
        return 1, 1
    if layer.op in ("conv", "maxpool", "avgpool"):
        return _windows(layer, 0, size[0], side), _windows(layer, 1, size[1], side)
    if layer.op in ("deconv", "upsample_nearest"):
        return _scaled(layer, 0, size[0], side), _scaled(layer, 1, size[1], side)
    return size


def _windows(layer: Layer, axis: int, size: int, side: int) -> int:
    """Outputs along an axis, rounded down or up as in the table."""
    table, outputs = _along(layer, axis)
    span = layer.dilation * (layer.kernel[axis] - 1) + 1
    for started in (False, True):
        if windows(table, span, layer.pad[axis], layer.stride[axis], started=started) == outputs:
            found = windows(size, span, layer.pad[axis], layer.stride[axis], started=started)
            if found is None:
                raise _refused(layer, side, f"its window does not fit into {size} pixels")
            return found
    raise _refused(layer, side, "its outputs in the table do not follow from its window")


def _scaled(layer: Layer, axis: int, size: int, side: int) -> int:
    table, outputs = _along(layer, axis)
    if outputs % table:
        raise _refused(layer, side, "its outputs are no multiple of its inputs")
    return size * (outputs // table)


def _along(layer: Layer, axis: int) -> Size:
    """Inputs and outputs along an axis from the table."""
    return ((layer.h, layer.out_h), (layer.w, layer.out_w))[axis]


def _is_global(layer: Layer) -> bool:
    covers = layer.kernel == (layer.h, layer.w) and (layer.out_h, layer.out_w) == (1, 1)
    return layer.op == "avgpool" and covers


def _refused(layer: Layer, side: int, why: str) -> ConfigError:
    what, remedy = (
        f"layer {layer.name} has no size on these images: {why}",
        "another size, or leave image out",
    )
    return ConfigError(what, key="layer.image", value=side, remedy=remedy)
