"""Program: what Tensile writes. A process of its own, for Tensile keeps globals; it knows nothing of apuflow.

``python tensile_program.py TENSILE assembly LOGIC NUMBER KERNEL FORM OUT``: one kernel's text. Tensile's
checkout, rocBLAS' logic file, the kernel's number in it and name, ``buffer`` or ``flat`` (how C is written),
and where the text goes.

``python tensile_program.py TENSILE table ORDER OUT``: the table in which rocBLAS looks up its kernels, of
some kernels and sizes. ORDER is a JSON file: by logic file the ``kernels`` (number: name and form) and the
``sizes`` (m, n, k) to keep.

Tensile asks the assembler what an architecture can do by starting it 34 times. Its answers for gfx803 are
facts of that GPU and stand here: nothing but Tensile and PyYAML is needed.
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


def prepare(tensile: Path) -> None:
    """Make Tensile's checkout importable, and have it write for gfx803."""
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
    """rocBLAS' ``TensileLibrary.dat`` of some kernels and sizes, for whatever GPU there is.

    Args:
        order: see above.

    rocBLAS asks a table of its own for the GPU first, and knows no gfx801.
    """
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
    """A solution as Tensile's LibraryIO reads one of another version: what is derived is derived anew."""
    state |= {"ISA": ISA, "AssignedProblemIndependentDerivedParameters": False}
    return state | {"AssignedDerivedParameters": False} | ({"BufferStore": False} if form == "flat" else {})


def main(arguments: list[str]) -> None:
    """Write what is asked for; it appears only when it is whole."""
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
