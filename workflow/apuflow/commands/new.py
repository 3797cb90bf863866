"""``apuflow init``, ``new`` and ``schemas``: files that apuflow writes to start from."""

from __future__ import annotations

import re
from pathlib import Path

import typer

from apuflow.commands import START, app, complete, group
from apuflow.core import paths
from apuflow.core.files import write_text
from apuflow.core.words import many

TEMPLATES = Path(__file__).with_name("templates")
"""Files to start from, with ``{name}`` for the new name."""


@app.command(rich_help_panel=START)
def init(
    directory: Path = typer.Argument(help="the project's directory; made if it does not exist"),
) -> None:
    """Write a project: Snakefile, profiles, configuration to start from. What is there already stays."""
    from apuflow.core import project

    written = project.new_project(directory)
    typer.echo(f"{directory}: {many(len(written), 'file')} written")
    typer.echo(f"next: cd {directory} && snakemake --cores all results/quickstart/report.html")


new = group("new", START, "Write a file to start from: a study, a machine, a workload.")
_FORCE = typer.Option(False, help="overwrite an existing file")


@new.command()
def study(
    name: str = typer.Argument(help="name of the sweep: letters, digits, dot, dash, underscore"),
    force: bool = _FORCE,
) -> None:
    """Write configs/sweeps/NAME.yaml, commented, ready to run on the preview engine."""
    path = write_study(name, Path(), force)
    typer.echo(f"{path}\nnext: apuflow plan {name}")


@new.command()
def machine(name: str = typer.Argument(help="name of the machine"), force: bool = _FORCE) -> None:
    """Write configs/machines/NAME.yaml, commented."""
    path = Path(paths.machine_file(name))
    _write(name, "machine", path, _template("machine", name), force)
    typer.echo(f"{path}\nnext: apuflow ask softmax_fwd machine=apu-gfx801,{name}")


@new.command()
def workload(
    name: str = typer.Argument(help="name of the workload"),
    like: str = typer.Option("softmax_fwd", help="the workload to copy", autocompletion=complete.workload),
    from_: Path | None = typer.Option(
        None,
        "--from",
        help="kernels in OpenCL (.cl), HIP (.hip, .cpp, .cu) or Triton (.py), a model (.mlir, .onnx), or a "
        "dispatch list of another program",
    ),
    entry: str = typer.Option("", help="of a model with several functions: the one to run"),
    force: bool = typer.Option(False, help="overwrite existing files"),
) -> None:
    """Write configs/workloads/NAME.yaml and its network, copies of another workload's.

    With --from it is a workload of kind kernels: a file to fill in for kernels in OpenCL, HIP or Triton,
    with a copy of their source and of what that includes or imports; or what IREE makes of a model, with a
    copy of it and a sweep; or the launches of a dispatch list, its code objects and its data, all of it
    checked before anything is written.
    """
    if from_ is not None and from_.suffix == ".py":
        from apuflow.workloads.triton_kernels import import_kernels

        files = import_kernels(from_, name, Path(), force=force)
        following = f"fill them in, then apuflow check-kernels {name} --gfx gfx90a --run"
    elif from_ is not None and from_.suffix in (".mlir", ".onnx"):
        from apuflow.workloads.iree_models import import_model

        files = import_model(from_, name, Path(), entry=entry, force=force)
        following = f"snakemake --cores 2 results/{name}/{name}.csv"
    elif from_ is not None and from_.suffix in (".cl", ".hip", ".cpp", ".cu"):
        from apuflow.workloads.source_kernels import import_source

        files, gfx = import_source(from_, name, Path(), force=force)
        following = f"fill them in, then apuflow check-kernels {name} --gfx {gfx} --run"
    elif from_ is not None:
        from apuflow.workloads.dispatch_list import import_list

        files, gfx = import_list(from_, name, Path(), force=force)
        following = f"apuflow check-kernels {name} --gfx {gfx}"
    else:
        files = _write_workload(name, like, force)
        following = f"edit them, then apuflow list workloads {name}"
    for path in files:
        typer.echo(str(path))
    typer.echo(f"next: {following}")


def _template(kind: str, name: str) -> str:
    return (TEMPLATES / f"{kind}.yaml").read_text(encoding="utf-8").replace("{name}", name)


def write_study(name: str, root: Path, force: bool = False) -> Path:
    """Write a new sweep file and return its path; ConfigError when the name cannot be used."""
    path = root / paths.sweep_file(name)
    _write(name, "sweep", path, _template("study", name), force)
    return path


def _write_workload(name: str, like: str, force: bool) -> tuple[Path, ...]:
    """Write a workload like another, its network (if it has one) as a file of its own."""
    from apuflow.configure import load_workload
    from apuflow.configure.loading import check_new_name

    model = load_workload(like)
    text = Path(paths.workload_file(like)).read_text(encoding="utf-8")
    path = Path(paths.workload_file(name))
    files = model.files if re.search(r"(?m)^config:", text) else ()  # kernels stay where they are
    networks = [(path.with_suffix(file.suffix), file.read_text(encoding="utf-8")) for file in files]
    for file, _ in networks:
        check_new_name(name, "network", file, force=force)
        text = re.sub(r"(?m)^config:.*$", f"config: {file.name}", text)
    _write(name, "workload", path, text, force)
    for file, content in networks:
        _write(name, "network", file, content, force)
    return path, *(file for file, _ in networks)


def _write(name: str, what: str, path: Path, text: str, force: bool) -> None:
    from apuflow.configure.loading import check_new_name

    check_new_name(name, what, path, force=force)
    write_text(path, text)


@app.command(rich_help_panel=START)
def schemas(directory: str = typer.Option("workflow/schemas", help="where to write them")) -> None:
    """Write the JSON schemas of all configuration files, and the tables of the documents."""
    from apuflow.configure.reference import refresh
    from apuflow.configure.schemas import schema_texts

    for name in (
        "configuration",
        "operations",
        "networks",
        "howto/conformance",
        "explanation/what-gem5-gets-wrong",
    ):
        document = Path(f"docs/{name}.md")
        if document.exists():
            write_text(document, refresh(document.read_text(encoding="utf-8")))
            typer.echo(document)
    for name, text in schema_texts().items():
        write_text(Path(directory) / name, text)
        typer.echo(Path(directory) / name)
