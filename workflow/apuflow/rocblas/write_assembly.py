"""Program: one kernel's assembly, written by Tensile. A process of its own, for Tensile keeps globals.

``python write_assembly.py TENSILE LOGIC NUMBER KERNEL FORM OUT``: Tensile's checkout, rocBLAS' logic file,
the kernel's number in it and name, ``buffer`` or ``flat`` (how C is written), and where the text goes. It
knows nothing of apuflow.

Tensile asks the assembler what an architecture can do by starting it 34 times. Its answers for gfx803 are
facts of that GPU and stand here: nothing but Tensile and PyYAML is needed.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from sys import argv, path
from typing import Any

ISA = (8, 0, 3)
CAPABILITIES: dict[str, bool | int] = {
    "SupportedISA": True,
    "HasExplicitCO": False,
    "HasExplicitNC": False,
    "HasDirectToLds": False,
    "HasAddLshl": False,
    "HasSMulHi": False,
    "HasCodeObjectV3": False,
    "HasMFMA": False,
    "v_mac_f16": True,
    "v_fma_f16": False,
    "v_pk_fma_f16": False,
    "v_mad_mix_f32": False,
    "v_fma_mix_f32": False,
    "v_dot2_f32_f16": False,
    "v_dot2c_f32_f16": False,
    "HasAtomicAdd": False,
    "MaxVmcnt": 15,
    "SupportedSource": True,
}
"""Of gfx803, as Tensile's ``GetAsmCaps`` finds them with clang-15."""


def assembly(tensile: Path, logic: Path, number: int, kernel: str, flat: bool) -> str:
    """The text of one kernel.

    Args:
        tensile: the checkout; it becomes importable.
        flat: write C through flat addresses.
    """
    import yaml

    path.insert(0, str(tensile))
    common = importlib.import_module("Tensile.Common")
    common.globalParameters.update(
        PrintLevel=0,
        CurrentISA=ISA,
        SupportedISA=[ISA],
        AsmCaps={ISA: CAPABILITIES},
        ArchCaps={ISA: common.GetArchCaps(ISA)},
        CodeObjectVersion="V3",
    )
    solution_type: Any = importlib.import_module("Tensile.SolutionStructs").Solution
    writer_type: Any = importlib.import_module("Tensile.KernelWriterAssembly").KernelWriterAssembly
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # C's is ten times as fast
    state = loader(logic.read_bytes()).get_single_data()[5][number]
    # As Tensile's LibraryIO reads a logic file of another version: everything derived is derived anew.
    state |= {"ISA": ISA, "AssignedProblemIndependentDerivedParameters": False}
    state |= {"AssignedDerivedParameters": False} | ({"BufferStore": False} if flat else {})
    described = solution_type(state).getKernels()[0]
    writer = writer_type(solution_type.getMinNaming([described]), solution_type.getSerialNaming([described]))
    writer.getKernelName = lambda _kernel: kernel
    return str(writer.getKernelSource(described))


def main(arguments: list[str]) -> None:
    """Write the text; it appears only when it is whole."""
    tensile, logic, number, kernel, form, out = arguments
    text = assembly(Path(tensile), Path(logic), int(number), kernel, form == "flat")
    part = Path(f"{out}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(out)


if __name__ == "__main__":
    main(argv[1:])
