"""The library in the place of HIP's runtime: what it does not have ends the program by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from apuflow.capture.library import HOST, build_library
from apuflow.kernels.sources import HEADERS

NAME: Final = "libamdhip64.so"
VERSIONS: Final = (5, 6, 7)
"""Releases of HIP under whose names programs look for it."""
_REMEDIES: Final = (
    (("Graph", "StreamBeginCapture", "StreamEndCapture"), "launch the kernels one by one, without a graph"),
    (("Tex", "Surface", "Array", "Mipmap"), "read the memory by a pointer, there are no textures"),
    (("Peer", "P2P", "MultiDevice", "Ipc"), "there is one GPU: leave it out"),
    (("hiprtc",), "compile the kernels beforehand, and load them by hipModuleLoad"),
    (("R0600",), "build the program with the headers of ROCm 5, or by apuflow build --hip"),
    (("MemPool", "FromPool"), "use hipMalloc"),
)


def names() -> tuple[str, ...]:
    """Every function of HIP's interface."""
    return tuple((HOST / "hip_names.txt").read_text(encoding="utf-8").split())


def remedy(name: str) -> str:
    """What to do in the place of a function that is not there."""
    found = (text for words, text in _REMEDIES if any(word in name for word in words))
    return next(found, "leave it out of the program")


def hip_library(root: Path, cc: str = "cc") -> Path:
    """The library, built below the project's directory; raises as ``build_library``."""
    lines = ['#include "device.h"']
    lines += [
        f'__attribute__((weak, visibility("default"))) void {name}(void);\n'
        f'void {name}(void) {{ refuse("{name}", "{remedy(name)}"); }}'
        for name in names()
    ]
    sources = ("hip_program.c", "hip_memory.c", "hip_device.c")
    made = {"hip_refused.c": "\n".join([*lines, ""])}
    library = build_library(NAME, sources, root, cc=cc, made=made, include=HEADERS)
    for version in VERSIONS:
        link = library.with_name(f"{NAME}.{version}")
        if not link.is_symlink():
            link.symlink_to(NAME)
    return library
