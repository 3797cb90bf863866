"""Read out of gem5's sources which instructions it does not execute: ``launcher/unimplemented.yaml``.

``python tests/unit/unimplemented_sources.py GEM5_REPOSITORY`` prints that file (the repository is a clone
with its tags). An instruction is not executed where the decoder has no class for it
(``decode_OP_...`` ends gem5) or where that class' ``execute`` is ``panicUnimplemented``. Images, exports and
interpolation are left out: they are of graphics.
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator

from apu_se_sources import TAGS

BUILDS = {"GCN3_X86": "gcn3", "VEGA_X86": "vega"}
GRAPHICS = {"MIMG", "EXP", "VINTRP", "MTBUF"}
_DECODE = re.compile(r"Decoder::decode_OP_(\w+?)__(\w+)\(MachInst iFmt\)\s*\{(.*?)\n    \}", re.DOTALL)
_CLASS = re.compile(r"new Inst_(\w+?__\w+)\(")
_EXECUTE = re.compile(
    r"^    Inst_(\w+?__\w+)::execute\(GPUDynInstPtr gpuDynInst\)\n    \{(.*?)^    \}",
    re.DOTALL | re.MULTILINE,
)
HEAD = """\
# Instructions that gem5 ends at, since it does not execute them: by build, and by the last release that does
# not. Written by tests/unit/unimplemented_sources.py from src/arch/amdgpu/gcn3 and vega (gpu_decoder.cc,
# insts) of each release whose sources were read, v21.1 to v24.1. Do not edit.
"""


def missing(repository: str, tag: str, folder: str) -> set[str]:
    """Instructions that a build of one release does not execute; none: there is no such build."""
    where = f"src/arch/amdgpu/{folder}"
    empty = {
        name
        for file in _files(repository, tag, f"{where}/insts/")
        for name, body in _EXECUTE.findall(_show(repository, tag, file))
        if "panicUnimplemented" in body
    }
    decoder = next(
        (file for file in _files(repository, tag, f"{where}/") if file.endswith("decoder.cc")), None
    )
    if decoder is None:
        return set()
    lacking, there = set[str](), set[str]()
    for form, name, body in _DECODE.findall(_show(repository, tag, decoder)):
        made = _CLASS.search(body)
        if form not in GRAPHICS:
            (lacking if made is None or made[1] in empty else there).add(name.lower())
    return lacking - there


def by_last_release(repository: str, folder: str) -> dict[str, list[str]]:
    """By release: the instructions that it and those before it do not execute, and the next one does."""
    sets = {release: missing(repository, tag, folder) for release, tag in TAGS.items()}
    built = [release for release, names in sets.items() if names]
    last = {name: release for release in built for name in sets[release]}
    return {release: sorted(name for name in last if last[name] == release) for release in built}


def _files(repository: str, tag: str, where: str) -> Iterator[str]:
    listed = subprocess.run(
        ["git", "-C", repository, "ls-tree", "--name-only", tag, where], capture_output=True, text=True
    )
    return (file for file in listed.stdout.split() if file.endswith(".cc"))


def _show(repository: str, tag: str, path: str) -> str:
    command = ["git", "-C", repository, "show", f"{tag}:{path}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    print(HEAD, end="")
    for build, folder in BUILDS.items():
        print(f"{build}:")
        for release, names in by_last_release(sys.argv[1], folder).items():
            if names:
                print(f"  {release}: >-")
                print(textwrap.fill(" ".join(names), 108, initial_indent="    ", subsequent_indent="    "))
