"""Shared libraries in the place of a GPU's runtime, built with the machine's C compiler where needed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from apuflow.core import paths
from apuflow.core.errors import EngineError
from apuflow.core.files import atomic_write
from apuflow.miopen.compiler import digest

HOST: Final = Path(__file__).with_name("host")
_FLAGS: Final = (
    *("-std=gnu17", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", "-O2", "-g"),
    *("-fPIC", "-fvisibility=hidden", "-shared", "-pthread", "-Wl,--no-undefined", "-Wl,-z,noexecstack"),
)


def build_library(
    name: str,
    sources: Sequence[str],
    root: Path,
    *,
    cc: str = "cc",
    made: Mapping[str, str] | None = None,
    include: Path = HOST,
) -> Path:
    """A library of C files of ``host``, below the project's directory; it is built once.

    Args:
        name: of the file, its SONAME too.
        sources: names of the C files; ``device.c`` comes with them.
        made: texts of further C files and headers, by name.
        include: a directory of headers.

    Raises:
        EngineError: there is no C compiler, or it fails.
    """
    files = [HOST / "device.c", *(HOST / each for each in sources)]
    made = dict(made or {})
    headers = sorted({*HOST.glob("*.h"), *include.rglob("*.h")})
    texts = [each.read_text(encoding="utf-8") for each in (*files, *headers)]
    directory = root / paths.device_library(digest(cc, *_FLAGS, *texts, *made.values()))
    out = directory / name
    if out.exists():
        return out
    if shutil.which(cc) is None:
        raise EngineError("no C compiler", key="cc", value=cc, remedy="apt install gcc libc6-dev")
    directory.mkdir(parents=True, exist_ok=True)
    for file, text in made.items():
        (directory / file).write_text(text, encoding="utf-8")
    with atomic_write(out) as part:
        inputs = [*map(str, files), *(str(directory / file) for file in made if file.endswith(".c"))]
        command = [
            cc,
            *_FLAGS,
            f"-I{HOST}",
            f"-I{directory}",
            f"-I{include}",
            f"-Wl,-soname,{name}",
            "-o",
            str(part),
            *inputs,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise EngineError(f"{name} does not compile:\n{done.stderr.strip()}", key="cc", value=cc)
        part.chmod(0o755)
    return out
