"""``apuflow new workload --from model.mlir``: a workload and a sweep for a model that IREE compiles."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from apuflow.configure.loading import check_new_name
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.core.files import write_files
from apuflow.kernels.iree_compiler import IREE_GPUS
from apuflow.kernels.iree_model import ReadModel, default_fill, element_type, model_program, read_model
from apuflow.kernels.sources import source_files, source_identity

_HEAD: Final = """\
# Written by apuflow new workload {name} --from {file}. IREE makes buffers and launches of the model, and its
# reference on the CPU. Keys: docs/howto/run-iree-models.md.
description: Kernels that IREE makes of {file}
kind: kernels
source: {name}/{file}
"""
_SWEEP: Final = """\
# Written by apuflow new workload {name} --from {file}: snakemake --cores 2 results/{name}/{name}.csv
description: Kernels that IREE makes of {file}
engines: [gem5-kernels]
release: v24.1
machine: mi300x-like            # or mi210-like, for gfx90a
workloads: [{name}]
axes: {{num-compute-units: [4]}}
"""


def import_model(
    path: Path, name: str, root: Path, *, entry: str = "", force: bool = False
) -> tuple[Path, ...]:
    """Write the workload of a model, a copy of it, and a sweep; returns the files.

    Nothing is written before IREE has compiled it to launches that can be run.

    Raises:
        ConfigError: the name cannot be used, IREE cannot compile the model, or it does what cannot be run.
    """
    target, sweep = Path(paths.workload_file(name)), Path(paths.sweep_file(name))
    check_new_name(name, "workload", root / target, force=force)
    check_new_name(name, "sweep", root / sweep, force=force)
    copies = {target.parent / name / file.name: file.read_bytes() for file in source_files(path)}
    read = read_model(path, source_identity(path), IREE_GPUS[-1], "", entry)
    model_program(read, path, Path(), "", {})
    words = {"name": name, "file": path.name}
    text = _HEAD.format(**words) + (f"entry: {entry}\n" if entry else "") + _inputs(read)
    files = {target: text.encode(), **copies, sweep: _SWEEP.format(**words).encode()}
    for file in files:
        if any(character.isspace() for character in str(file)):
            raise ConfigError(
                "white space in the model's name", key="--from", value=path.name, remedy="rename it"
            )
    write_files({root / file: data for file, data in files.items()})
    return tuple(root / file for file in files)


def _inputs(read: ReadModel) -> str:
    """The lines of ``inputs``, with the shape of each."""
    lines = []
    for number, shape in enumerate(read.function.inputs):
        fill = default_fill(number, element_type(shape))
        contents = f"{{uniform: {number}}}" if fill.kind == "uniform" else fill.kind
        lines.append(f"  input{number}: {contents}".ljust(34) + f"# {shape}\n")
    return "inputs:\n" + "".join(lines) if lines else ""
