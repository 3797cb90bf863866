"""Compile a model's kernels ahead of time, in a process of its own (``-m apuflow.kernels.iree_process``).

For a gem5 with defects IREE's assembly is changed and assembled anew by clang.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import yaml

from apuflow.core.errors import ApuflowError
from apuflow.kernels.iree_compiler import Compiled, compiled_model, iree_assembler
from apuflow.launcher.corrections import corrected
from apuflow.launcher.object_changes import MOST_REGISTERS, mark

_TARGET: Final = re.compile(r'(\.amdgcn_target ")[^"]*?-(gfx\w+)"')
"""Later LLVMs begin it with ``amdgpu9.42``, which clang does not know."""
_METADATA: Final = re.compile(r"\.amdgpu_metadata\n(.*?)\n\s*\.end_amdgpu_metadata", re.DOTALL)
_REGISTERS: Final = re.compile(
    r"(\.amdhsa_kernel (\S+)\n(?:(?!\.end_amdhsa_kernel).)*?\.amdhsa_next_free_vgpr )(\d+)", re.DOTALL
)


def main(words: list[str] | None = None) -> int:
    """Exit status 1, with a message as a compiler's, where the model cannot be compiled."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("source", type=Path)
    parser.add_argument("-o", dest="out", type=Path, required=True)
    parser.add_argument("--gfx", required=True)
    parser.add_argument("--object", required=True)
    parser.add_argument("--defects")
    given, flags = parser.parse_known_args(words)
    try:
        with compiled_model(given.source, given.gfx, flags) as made:
            status = _written(made, given)
    except ApuflowError as error:
        print(f"{given.source}: error: {error.message}; {error.remedy or ''}", file=sys.stderr)
        return 1
    return status


def _written(made: Compiled, given: Any) -> int:
    found = made.directory / f"{given.object}.hsaco"
    if not found.is_file():
        names = ", ".join(sorted(path.stem for path in made.directory.glob("*.hsaco")))
        print(f"{given.source}: error: IREE made {names or 'no object'}, not {given.object}", file=sys.stderr)
        return 1
    if given.defects is None:
        shutil.copyfile(found, given.out)
        return 0
    text = _TARGET.sub(r'\1amdgcn-amd-amdhsa--\2"', found.with_suffix(".rocmasm").read_text(encoding="utf-8"))
    changed = given.out.with_suffix(".s")
    changed.write_text(corrected(used_registers(text), given.defects.split(",")), encoding="utf-8")
    return subprocess.run(iree_assembler().command_line((), given.gfx, changed, given.out)).returncode


def used_registers(text: str) -> str:
    """Kernels ask for the vector registers that they use, where they ask for more than gem5 counts.

    LLVM asks for more where LDS lets fewer wavefronts run than the registers would: they limit nothing.
    """
    described = _METADATA.search(text)
    kernels = yaml.safe_load(described[1])["amdhsa.kernels"] if described else ()
    used = {each[".name"]: int(each[".vgpr_count"]) for each in kernels}
    lowered = False

    def lower(found: re.Match[str]) -> str:
        nonlocal lowered
        wanted, count = int(found[3]), used.get(found[2], MOST_REGISTERS + 1)
        if not count <= MOST_REGISTERS < wanted:
            return found[0]
        lowered = True
        return f"{found[1]}{count}"

    text = _REGISTERS.sub(lower, text)
    marked = mark(["reserved_registers"]).decode().strip()
    return f'{text}\t.section .apuflow,"",@progbits\n\t.ascii "{marked}\\n"\n' if lowered else text


if __name__ == "__main__":
    sys.exit(main())
