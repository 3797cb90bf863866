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
        build_target: gem5's build whose decoder knows its opcodes.
        wave_size: work-items of a wavefront.
        vector_registers: most of a wavefront, accumulation registers included where they share its file.
        vector_granule: unit in which a kernel's descriptor counts them.
        accumulation: where accumulation registers lie: ``none``, ``separate``, or ``shared`` with the others.
        packed_work_items: work-item numbers x, y and z start in v0, 10 bits each; else in v0, v1 and v2.
        scalar_registers: most of a wavefront, a multiple of ``scalar_granule``, in which they are allocated.
        lds_bytes: of a compute unit.
    """

    name: str
    build_target: BuildTarget
    wave_size: int = 64
    vector_registers: int = 256
    vector_granule: int = 4
    accumulation: Literal["none", "separate", "shared"] = "none"
    packed_work_items: bool = False
    scalar_registers: int = 112
    scalar_granule: int = 16
    lds_bytes: int = 65536


GCN3: Final = Isa("GCN3", "GCN3_X86")
"""GFX8."""
VEGA: Final = Isa("Vega", "VEGA_X86")
"""GFX9 as of gfx900 and gfx902."""
VEGA20: Final = Isa("Vega 20", "VEGA_X86")
"""GFX9 of gfx906: with dot products."""
CDNA1: Final = Isa("CDNA 1", "VEGA_X86", accumulation="separate")
"""GFX9 of gfx908: with matrix instructions."""
CDNA2: Final = Isa("CDNA 2", "VEGA_X86", 64, 512, 8, "shared", packed_work_items=True)
"""GFX9 of gfx90a (LLVM's User Guide for the AMDGPU backend; AMD's CDNA 2 instruction set manual)."""
CDNA3: Final = Isa("CDNA 3", "VEGA_X86", 64, 512, 8, "shared", packed_work_items=True)
"""GFX9 of gfx942."""


@dataclass(frozen=True)
class Gpu:
    """One GPU architecture.

    Attributes:
        name: as ``-mcpu`` of clang takes it.
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
        runs_as: the GPU that gem5 is told, for one that its system-call emulation does not start; "": itself.
            Its code objects stay its own.
        least_clang: first release of clang that compiles for it.
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
    runs_as: str = ""
    least_clang: int = 0

    @property
    def told(self) -> str:
        """The name that gem5 gets: ``--gfx-version`` of ``apu_se.py``."""
        return self.runs_as or self.name


GPUS: Final[Mapping[str, Gpu]] = {
    gpu.name: gpu
    for gpu in (
        Gpu("gfx801", GCN3, 0x28, "gfx801", 2765, doubled_ring=True),
        Gpu("gfx803", GCN3, 0x2A, "gfx803", 50156, discrete=True, winograd_workspace=True, doubled_ring=True),
        Gpu("gfx900", VEGA, 0x2C, "gfx900", 22124, discrete=True, told_compute_units=64, wide_doorbell=True),
        Gpu("gfx902", VEGA, 0x2D, "gfx902", 2765),
        Gpu("gfx906", VEGA20, 0x2F, "gfx906", 2765, runs_as="gfx902"),
        Gpu("gfx908", CDNA1, 0x30, "gfx908", 2765, runs_as="gfx902"),
        Gpu("gfx90a", CDNA2, 0x3F, "gfx90a", 2765, runs_as="gfx902"),
        Gpu("gfx942", CDNA3, 0x4C, "gfx942", 2765, runs_as="gfx902", least_clang=17),
    )
}
"""By name."""


def gpu(name: str, key: str = "gfx-version") -> Gpu:
    """The GPU of that name; ConfigError, with the ``key`` where it was given, if no release models it."""
    if name not in GPUS:
        remedy = f"one of {', '.join(GPUS)}"
        raise ConfigError("not a GPU that gem5 models", key=key, value=name, remedy=remedy)
    return GPUS[name]
