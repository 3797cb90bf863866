"""Activation and bypass: ``MIOpenNeuron.cl``. Source: MIOpen ``src/ocl/activ_ocl.cpp``."""

from __future__ import annotations

from apuflow.dnnmark import Activation
from apuflow.miopen.launch import Arg, Launch, LayerPass
from apuflow.miopen.rocm_4_0_1.common import FP32, floats, read_type, read_unit

OPERATIONS = {"bypass": 0, "sigmoid": 1, "tanh": 2, "relu": 3, "soft_relu": 4}
"""``miopenActivationMode_t`` of DNNMark's modes; bypass is PASTHRU."""


def arguments(elements: int, mode: str) -> str:
    """Compile arguments, the same forward and backward."""
    unit = read_unit(elements)
    return (
        f" -DLITE -DMIOPEN_READ_UNIT={unit} -DMIOPEN_READ_TYPE={read_type(unit)}"
        f" -DMIOPEN_NRN_OP_ID={OPERATIONS[mode]}{FP32}"
    )


def launches(work: LayerPass) -> tuple[Launch, ...]:
    """One launch: a work-item per read unit."""
    params, elements = work.layer.params, work.layer.input.elements
    compiled = arguments(elements, params.activation_mode if isinstance(params, Activation) else "bypass")
    memory: tuple[Arg, ...] = (work.x, work.y)
    constants = floats(gamma=0.0, beta=0.0, alpha=0.0)
    if not work.forward:
        memory, constants = (work.dx, work.dy, *memory), floats(diff_scale=0.0) + constants
    args = (*memory, *constants, *[Arg("long", 0, name="offset")] * len(memory))
    kernel = "MIOpenActiveFwdLite" if work.forward else "MIOpenActiveBwdLite"
    grid = (elements // read_unit(elements), 1, 1)
    return (work.launch("MIOpenNeuron.cl", compiled, kernel, grid, (256, 1, 1), args),)
