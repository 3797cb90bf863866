"""A directory like ROCm's for makefiles: ``bin/hipcc`` and ``bin/hipconfig``, headers, the library."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from apuflow.capture.build import DEBIAN, Build
from apuflow.capture.hip import hip_library
from apuflow.capture.options import read_line
from apuflow.configure import load_release
from apuflow.core.errors import ConfigError, DescribedError
from apuflow.kernels.sources import HEADERS

_HIPCC: Final = """\
#!{python}
from sys import argv
from apuflow.capture.toolchain import main
main({root!r}, {gpus!r}, {release!r}, argv[1:])
"""
_HIPCONFIG: Final = """\
#!/bin/sh
case "$1" in
--platform | -P) printf amd ;;
--compiler | -c) printf clang ;;
--runtime | -r) printf rocclr ;;
--version | -v) printf 5.2.0 ;;
--path | -p | --rocmpath | -R) printf '%s' '{place}' ;;
--cpp_config | -C) printf '%s' '-D__HIP_PLATFORM_AMD__ -I{place}/include' ;;
*) echo 'HIP of apuflow in {place}' ;;
esac
"""


def build_for(gpus: Sequence[str], release: str | None, root: Path) -> Build:
    """How sources are compiled.

    Args:
        gpus: as of :class:`Build`.
        release: of gem5, whose defects change the code for GPUs; None: no change.

    Raises:
        ConfigError: there is no such release, or it does not run such a GPU.
    """
    if release is None:
        return Build(tuple(gpus), root=root)
    found = load_release(release, root)
    defects = {each: found.instruction_defects(each) for each in (*gpus, *found.gfx)}
    return Build(tuple(gpus), defects, found.gfx, root)


def write_toolchain(place: Path, gpus: Sequence[str], release: str | None, root: Path) -> None:
    """Write the directory ``place``, which makefiles take as HIP_PATH.

    Raises:
        ConfigError: there is something else.
        EngineError: the library cannot be built.
    """
    if place.exists() and not (place / "bin/hipconfig").is_file():
        raise ConfigError(
            "there is something else", key="NAME", value=str(place), remedy="name a new directory"
        )
    library = hip_library(root)
    place = place.resolve()
    (place / "bin").mkdir(parents=True, exist_ok=True)
    root = root.resolve()
    texts = {
        "hipcc": _HIPCC.format(python=sys.executable, root=str(root), gpus=tuple(gpus), release=release),
        "hipconfig": _HIPCONFIG.format(place=place),
    }
    for name, text in texts.items():
        (place / "bin" / name).write_text(text, encoding="utf-8")
        (place / "bin" / name).chmod(0o755)
    headers = DEBIAN.parent.parent if DEBIAN.is_file() else HEADERS
    for name, to in (("include", headers), ("lib", library.parent.resolve())):
        (place / name).unlink(missing_ok=True)
        (place / name).symlink_to(to)


def main(root: str, gpus: Sequence[str], release: str | None, arguments: Sequence[str]) -> None:
    """What ``bin/hipcc`` does with its command line."""
    try:
        build_for(gpus, release, Path(root)).run(read_line(arguments))
    except DescribedError as error:
        print(f"hipcc of apuflow: {error}", file=sys.stderr)
        raise SystemExit(1) from None
