"""Activation and bypass: ``MIOpenNeuron.cl``. Source: MIOpen ``src/ocl/activ_ocl.cpp``."""

from __future__ import annotations

from typing import Literal

from apuflow.dnnmark import Activation, Layer
from apuflow.miopen.launch import Arg, Buffers, Launch
from apuflow.miopen.rocm_4_0_1.common import FP32, floats, read_type, read_unit

GROUP = 256
OPERATIONS = {"bypass": 0, "sigmoid": 1, "tanh": 2, "relu": 3, "soft_relu": 4}
"""``miopenActivationMode_t`` of DNNMark's modes; bypass is PASTHRU."""


def arguments(elements: int, mode: str) -> str:
    """Compile arguments, the same forward and backward."""
    unit = read_unit(elements)
    return (
        f" -DLITE -DMIOPEN_READ_UNIT={unit} -DMIOPEN_READ_TYPE={read_type(unit)}"
        f" -DMIOPEN_NRN_OP_ID={OPERATIONS[mode]}{FP32}"
    )


def launches(
    layer: Layer, buffers: Buffers, direction: Literal["fwd", "bwd"], compute_units: int
) -> tuple[Launch, ...]:
    """One launch: a work-item per read unit."""
    mode = layer.params.activation_mode if isinstance(layer.params, Activation) else "bypass"
    elements = layer.input.elements
    constants = floats(gamma=0.0, beta=0.0, alpha=0.0)
    args: tuple[Arg, ...]
    if direction == "fwd":
        args = (
            Arg("buffer", buffers.bottom, elements, "in", "x"),
            Arg("buffer", buffers.top, elements, "out", "y"),
            *constants,
        )
    else:
        args = (
            Arg("buffer", buffers.bottom_diff, elements, "out", "dx"),
            Arg("buffer", buffers.top_diff, elements, "in", "dy"),
            Arg("buffer", buffers.bottom, elements, "in", "x"),
            Arg("buffer", buffers.top, elements, "in", "y"),
            *floats(diff_scale=0.0),
            *constants,
        )
    offsets = (Arg("long", 0, name="offset"),) * (2 if direction == "fwd" else 4)
    return (
        Launch(
            layer.label,
            layer.kind,
            direction,
            "MIOpenNeuron.cl",
            arguments(elements, mode),
            "MIOpenActiveFwdLite" if direction == "fwd" else "MIOpenActiveBwdLite",
            (elements // read_unit(elements), 1, 1),
            (GROUP, 1, 1),
            args + offsets,
        ),
    )
