"""Every GPU that some gem5 release models, and all that this project knows of each.

The guest program, which is C, repeats name, machine number and kind (``launcher/guest/list.c``); the option
catalogue repeats the names that a release takes (``configure/apu_se.yaml``). A test compares both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from apuflow.core.errors import ConfigError

BuildTarget: TypeAlias = Literal["GCN3_X86", "VEGA_X86"]
"""A build of gem5, for one generation of GPUs."""


@dataclass(frozen=True)
class Gpu:
    """One GPU architecture.

    Attributes:
        name: as ``--gfx-version`` of ``apu_se.py`` and ``-mcpu`` of clang take it.
        build_target: gem5's build that runs it; it names the generation, too.
        elf_machine: ``EF_AMDGPU_MACH``, the low byte of ``e_flags`` of its code objects (LLVM's User Guide
            for the AMDGPU backend).
        miopen_name: MIOpen's own name of it (MIOpen rocm-4.0.1 ``GetDeviceNameFromMap``): in every key of a
            kernel database, and in the database's name.
        discrete: it needs ``--dgpu``; the others are APUs (``apu_se.py``).
        told_compute_units: what gem5 tells ROCm, whatever ``num-compute-units`` says; None: the truth
            (``configs/example/hsaTopology.py``, v21.1 to v24.0).
        winograd_workspace: MIOpen sizes the workspace of a 3x3 convolution for Winograd (MIOpen rocm-4.0.1
            ``ConvBinWinograd3x3U::IsApplicable``).
    """

    name: str
    build_target: BuildTarget
    elf_machine: int
    miopen_name: str
    discrete: bool = False
    told_compute_units: int | None = None
    winograd_workspace: bool = False


GPUS: Final[Mapping[str, Gpu]] = {
    gpu.name: gpu
    for gpu in (
        Gpu("gfx801", "GCN3_X86", 0x28, "gfx801"),
        Gpu("gfx803", "GCN3_X86", 0x2A, "gfx803", discrete=True, winograd_workspace=True),
        Gpu("gfx900", "VEGA_X86", 0x2C, "gfx900", discrete=True, told_compute_units=64),
        Gpu("gfx902", "VEGA_X86", 0x2D, "gfx902"),
    )
}
"""By name."""


def gpu(name: str, key: str = "gfx-version") -> Gpu:
    """The GPU of that name.

    Args:
        key: where the name was given, for the error.

    Raises:
        ConfigError: no gem5 release models it.
    """
    if name not in GPUS:
        raise ConfigError(
            "not a GPU that gem5 models", key=key, value=name, remedy=f"one of {', '.join(GPUS)}"
        )
    return GPUS[name]
