"""Every GPU that some gem5 release models, its instruction set, and all that this project knows of each.

The option catalogue repeats the names that a release takes (``configure/apu_se.yaml``). A test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from apuflow.core.errors import ConfigError

BuildTarget: TypeAlias = Literal["GCN3_X86", "VEGA_X86"]
"""A build of gem5, with one decoder of GPU instructions (``TARGET_GPU_ISA`` in ``build_opts``)."""


@dataclass(frozen=True)
class Isa:
    """One instruction set, or the generation of GPUs that has it.

    Attributes:
        name: as AMD calls it.
        build_target: gem5's build whose decoder knows its opcodes; ``launcher/unimplemented.yaml`` has those
            that this build lacks.
        wave_size: work-items of a wavefront.
        vector_registers: that a wavefront can name.
        scalar_registers: most of a wavefront, a multiple of ``scalar_granule``, in which they are allocated.
    """

    name: str
    build_target: BuildTarget
    wave_size: int = 64
    vector_registers: int = 256
    scalar_registers: int = 112
    scalar_granule: int = 16


GCN3: Final = Isa("GCN3", "GCN3_X86")
"""GFX8."""
VEGA: Final = Isa("Vega", "VEGA_X86")
"""GFX9 as of gfx900 and gfx902."""


@dataclass(frozen=True)
class Gpu:
    """One GPU architecture.

    Attributes:
        name: as ``--gfx-version`` of ``apu_se.py`` and ``-mcpu`` of clang take it.
        isa: its instruction set.
        elf_machine: ``EF_AMDGPU_MACH``, the low byte of ``e_flags`` of its code objects (LLVM's User Guide
            for the AMDGPU backend).
        miopen_name: MIOpen's own name of it (MIOpen rocm-4.0.1 ``GetDeviceNameFromMap``): in every key of a
            kernel database, and in the database's name.
        kfd_id: the driver's number of it (``gpu_id`` in ``configs/example/hsaTopology.py``).
        discrete: it needs ``--dgpu``; the others are APUs (``apu_se.py``).
        told_compute_units: what gem5 tells ROCm, whatever ``num-compute-units`` says; None: the truth
            (``configs/example/hsaTopology.py``, v21.1 to v24.0).
        winograd_workspace: MIOpen sizes the workspace of a 3x3 convolution for Winograd (MIOpen rocm-4.0.1
            ``ConvBinWinograd3x3U::IsApplicable``).
        wide_doorbell: its doorbells are 8 bytes with the index of the last packet; else 4 bytes with that of
            the next.
        doubled_ring: a ring is said to be twice as large as the packets it holds
            (``src/dev/hsa/hsa_packet_processor.hh``).
    """

    name: str
    isa: Isa
    elf_machine: int
    miopen_name: str
    kfd_id: int
    discrete: bool = False
    told_compute_units: int | None = None
    winograd_workspace: bool = False
    wide_doorbell: bool = False
    doubled_ring: bool = False


GPUS: Final[Mapping[str, Gpu]] = {
    gpu.name: gpu
    for gpu in (
        Gpu("gfx801", GCN3, 0x28, "gfx801", 2765, doubled_ring=True),
        Gpu("gfx803", GCN3, 0x2A, "gfx803", 50156, discrete=True, winograd_workspace=True, doubled_ring=True),
        Gpu("gfx900", VEGA, 0x2C, "gfx900", 22124, discrete=True, told_compute_units=64, wide_doorbell=True),
        Gpu("gfx902", VEGA, 0x2D, "gfx902", 2765),
    )
}
"""By name."""


def gpu(name: str, key: str = "gfx-version") -> Gpu:
    """The GPU of that name; ConfigError, with the ``key`` where it was given, if no release models it."""
    if name not in GPUS:
        remedy = f"one of {', '.join(GPUS)}"
        raise ConfigError("not a GPU that gem5 models", key=key, value=name, remedy=remedy)
    return GPUS[name]
