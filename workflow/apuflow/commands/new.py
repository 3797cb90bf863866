"""``apuflow new study|machine|workload NAME``: a file to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

STUDY = """\
# yaml-language-server: $schema=../../workflow/schemas/sweep.schema.json
# {name}: what this study asks, in a sentence or two.
#
#   apuflow plan {name}                                         # its points, and what they cost
#   snakemake --cores all results/{name}/softmax_fwd.csv        # one workload's table
#   snakemake --cores all results/{name}/report.html            # everything on one page
description: What {name} asks

# Who computes it: preview (a timing model: seconds, anywhere), gem5-kernels (the layers' kernels on gem5:
# minutes per point), gem5 (the whole DNNMark program on gem5: hours per point). Several make rows to compare.
engines: [preview]

release: v23.0         # gem5 release: a file of configs/gem5; the preview was measured on this one
machine: apu-gfx801    # a file of configs/machines

# Names or patterns of configs/workloads (apuflow workloads lists them); all: every one that the engines can
# run; - before a name leaves it out.
workloads: [softmax_fwd, pool_*]

# apu_se.py options at a fixed value, without their dashes. docs/configuration.md lists them all.
options:
  wfs-per-simd: 10

# What varies: every combination of these lists is a point. Layer keys of the networks stand under layer.
axes:
  num-compute-units: [4, 8, 16]
  layer: {{n: [10, 100]}}

# Lists that advance together instead of being combined: row 1 with row 1, row 2 with row 2.
# zip:
#   - num-tccs: [1, 2, 4]
#     tcc-size: [256kB, 512kB, 1MB]

# Layers that are not combinations, one line each; or layers: shapes.csv, a file beside this one.
# layers:
#   - {{c: 64, h: 56, w: 56}}
#   - {{c: 512, h: 7, w: 7}}

# Combinations to leave out: all conditions of an entry hold.
# exclude:
#   - {{num-compute-units: 4, layer: {{n: 100}}}}

# Additions for some workloads.
# per_workload:
#   pool_*: {{layer: {{h: 64, w: 64}}}}

limits:
  max_points: 100000   # per workload
  wall_time: 7d        # per run: 90s, 30m, 12h, 7d
on_failure: strict     # strict: a failed point stops the table; record: its row says how it failed
"""


MACHINE = """\
# yaml-language-server: $schema=../../workflow/schemas/machine.schema.json
# {name}: what sets this machine apart, in a sentence. A sweep takes it with machine: {name}, or as an axis:
# machine: [apu-gfx801, {name}].
description: GCN3 APU, {name}
options:               # apu_se.py options without their dashes; the rest keep gem5's defaults
  gfx-version: gfx801
  num-compute-units: 16
  num-tccs: 4          # TCC banks: a power of two
  tcc-size: 1MB        # of all banks together
  # num-dirs: 4        # directories, each with its DRAM channel
  # mem-type: DDR3_2133_8x8
  # bw-scalor: 1       # links of 16*CUs bytes per cycle instead of 8; the TCC is then 128 kB * CUs
  # gpu-clock: 1.5GHz
  # wfs-per-simd: 8
  # docs/configuration.md lists them all, with defaults and units.
"""


def register(app: typer.Typer) -> None:
    """Add ``apuflow new``."""
    new = typer.Typer(help="Write a file to start from.", no_args_is_help=True)

    @new.command()
    def study(
        name: str = typer.Argument(help="name of the sweep: letters, digits, dot, dash, underscore"),
        force: bool = typer.Option(False, help="overwrite an existing file"),
    ) -> None:
        """Write configs/sweeps/NAME.yaml, commented, ready to run on the preview engine."""
        path = write_study(name, Path(), force)
        typer.echo(f"{path}\nnext: apuflow plan {name}")

    @new.command()
    def machine(
        name: str = typer.Argument(help="name of the machine"),
        force: bool = typer.Option(False, help="overwrite an existing file"),
    ) -> None:
        """Write configs/machines/NAME.yaml, commented."""
        path = write_machine(name, Path(), force)
        typer.echo(f"{path}\nnext: apuflow ask softmax_fwd machine=apu-gfx801,{name}")

    @new.command()
    def workload(
        name: str = typer.Argument(help="name of the workload"),
        like: str = typer.Option("softmax_fwd", help="the workload to copy"),
        from_: Annotated[
            Path | None, typer.Option("--from", help="a dispatch list of another program, to import instead")
        ] = None,
        force: bool = typer.Option(False, help="overwrite existing files"),
    ) -> None:
        """Write configs/workloads/NAME.yaml and its network, copies of another workload's.

        With --from it is a workload of kind kernels: the launches of a dispatch list, its code objects and
        its data, all of it checked before anything is written.
        """
        if from_ is not None:
            from apuflow.workloads.dispatch_list import import_list

            files, gfx = import_list(from_, name, Path(), force=force)
            for path in files:
                typer.echo(str(path))
            typer.echo(f"next: apuflow check-kernels {name} --gfx {gfx}")
            return
        for path in write_workload(name, like, Path(), force):
            typer.echo(str(path))
        typer.echo(f"next: edit them, then apuflow workloads {name}")

    app.add_typer(new, name="new")


def write_study(name: str, root: Path, force: bool = False) -> Path:
    """Write a new sweep file and return its path; ConfigError when the name cannot be used."""
    from apuflow.core import paths

    return _write(name, "sweep", root / paths.sweep_file(name), STUDY.format(name=name), force)


def write_machine(name: str, root: Path, force: bool = False) -> Path:
    """Write a new machine file and return its path; ConfigError when the name cannot be used."""
    from apuflow.core import paths

    return _write(name, "machine", root / paths.machine_file(name), MACHINE.format(name=name), force)


def write_workload(name: str, like: str, root: Path, force: bool = False) -> tuple[Path, ...]:
    """Write a workload like another, its network (if it has one) as a file of its own.

    Raises:
        ConfigError: the name cannot be used, or there is no workload to copy.
    """
    import re

    from apuflow.configure import load_workload
    from apuflow.configure.loading import check_new_name
    from apuflow.core import paths

    model = load_workload(like, root)
    text = (root / paths.workload_file(like)).read_text(encoding="utf-8")
    path = root / paths.workload_file(name)
    networks = [(path.with_suffix(file.suffix), file.read_text(encoding="utf-8")) for file in model.files]
    for file, _ in networks:
        check_new_name(name, "network", file, force=force)
        text = re.sub(r"(?m)^config:.*$", f"config: {file.name}", text)
    _write(name, "workload", path, text, force)
    for file, content in networks:
        _write(name, "network", file, content, force)
    return path, *(file for file, _ in networks)


def _write(name: str, what: str, path: Path, text: str, force: bool) -> Path:
    from apuflow.configure.loading import check_new_name
    from apuflow.core.files import write_text

    check_new_name(name, what, path, force=force)
    write_text(path, text)
    return path
