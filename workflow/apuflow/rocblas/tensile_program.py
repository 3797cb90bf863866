"""Program that runs Tensile in its own process, because Tensile keeps globals; independent of apuflow.

``python tensile_program.py TENSILE assembly LOGIC NUMBER KERNEL FORM OUT``: one kernel's text, from Tensile's
checkout, rocBLAS' logic file, the kernel's number in it and name, and ``buffer`` or ``flat`` (how C is
written).

``python tensile_program.py TENSILE table ORDER OUT``: rocBLAS' table of some kernels and sizes. ORDER is a
JSON file: by logic file the ``kernels`` (number: name and form) and the ``sizes`` (m, n, k) to keep.

Tensile starts the assembler 34 times to find an architecture's capabilities. Those of gfx803 are constants
here, so that only Tensile and PyYAML are needed.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from sys import argv, path
from typing import Any

ISA = (8, 0, 3)
CAPABILITIES: dict[str, bool | int] = {
    **dict.fromkeys(("SupportedISA", "SupportedSource", "v_mac_f16"), True),
    **dict.fromkeys(("HasExplicitCO", "HasExplicitNC", "HasDirectToLds", "HasAddLshl", "HasSMulHi"), False),
    **dict.fromkeys(("HasCodeObjectV3", "HasMFMA", "HasAtomicAdd", "v_fma_f16", "v_pk_fma_f16"), False),
    **dict.fromkeys(("v_mad_mix_f32", "v_fma_mix_f32", "v_dot2_f32_f16", "v_dot2c_f32_f16"), False),
    "MaxVmcnt": 15,
}
"""Capabilities of gfx803, as Tensile's ``GetAsmCaps`` finds them with clang-15."""


def prepare(tensile: Path) -> None:
    """Make Tensile's checkout importable and set it up for gfx803."""
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


def assembly(logic: Path, number: int, kernel: str, form: str) -> str:
    """The text of one kernel; with ``form`` "flat" it writes C through flat addresses."""
    solution_type: Any = importlib.import_module("Tensile.SolutionStructs").Solution
    writer_type: Any = importlib.import_module("Tensile.KernelWriterAssembly").KernelWriterAssembly
    described = solution_type(_derived_anew(_read(logic)[5][number], form)).getKernels()[0]
    writer = writer_type(solution_type.getMinNaming([described]), solution_type.getSerialNaming([described]))
    writer.getKernelName = lambda _kernel: kernel
    return str(writer.getKernelSource(described))


def table(order: Mapping[str, Mapping[str, Any]]) -> bytes:
    """rocBLAS' ``TensileLibrary.dat`` of some kernels and sizes, for any GPU: rocBLAS knows no gfx801."""
    import msgpack

    solution_type: Any = importlib.import_module("Tensile.SolutionStructs").Solution
    library_type: Any = importlib.import_module("Tensile.SolutionLibrary").MasterSolutionLibrary
    whole: Any = None
    for logic, wanted in order.items():
        data = _read(Path(logic))
        data[2] = "fallback"
        kernels = {int(number): kernel for number, kernel in wanted["kernels"].items()}
        data[5] = [_derived_anew(data[5][number], form) for number, (_, form) in kernels.items()]
        place = {number: index for index, number in enumerate(kernels)}
        sizes = {tuple(size) for size in wanted["sizes"]}
        data[7] = [
            [[m, n, batch, k], [place[number], speed]]
            for (m, n, batch, k), (number, speed) in data[7]
            if (m, n, k) in sizes and number in place
        ]
        for index, state in enumerate(data[5]):
            state["SolutionIndex"] = index
        part = library_type.FromOriginalState(data, [solution_type(state) for state in data[5]])
        for solution, (name, _) in zip(part.solutions.values(), kernels.values(), strict=True):
            solution.name = name
        if whole is None:
            whole = part
        else:
            whole.merge(part)
    return bytes(msgpack.packb(whole.state()))


def _read(logic: Path) -> Any:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # C's is ten times as fast
    return loader(logic.read_bytes()).get_single_data()


def _derived_anew(state: dict[str, Any], form: str) -> dict[str, Any]:
    """A solution with derived values computed anew, as Tensile's LibraryIO does for other versions."""
    state |= {"ISA": ISA, "AssignedProblemIndependentDerivedParameters": False}
    return state | {"AssignedDerivedParameters": False} | ({"BufferStore": False} if form == "flat" else {})


def main(arguments: list[str]) -> None:
    """Write the requested file, which appears only when whole."""
    tensile, kind, *rest, out = arguments
    prepare(Path(tensile))
    part = Path(f"{out}.part")
    if kind == "table":
        part.write_bytes(table(json.loads(Path(rest[0]).read_text(encoding="utf-8"))))
    else:
        logic, number, kernel, form = rest
        part.write_text(assembly(Path(logic), int(number), kernel, form), encoding="utf-8")
    part.replace(out)


if __name__ == "__main__":
    main(argv[1:])
