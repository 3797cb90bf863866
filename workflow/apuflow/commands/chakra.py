"""``apuflow results chakra``: networks as execution traces for simulators of many devices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from apuflow.commands import complete, results_group
from apuflow.commands.output import Csv, Json, give
from apuflow.core.words import many

if TYPE_CHECKING:
    from apuflow.results.chakra import Trace


@results_group.command()
def chakra(
    sweep: str = typer.Argument(
        help="sweep whose table of operations is there", autocompletion=complete.sweep
    ),
    suites: list[str] | None = typer.Argument(
        None, help="its networks; left out: all", autocompletion=complete.suite
    ),
    out: Path = typer.Option(Path("traces"), help="directory of the files NAME.RANK.et"),
    overlap: bool = typer.Option(
        False, "--overlap", help="all-reduce each layer's gradients beside the rest of the backward pass"
    ),
    as_json: Json = False,
    csv: Csv = None,
) -> None:
    """Write the networks of a sweep as Chakra execution traces, one file a device, which ASTRA-sim reads.

    Times, floating-point operations and DRAM bytes are those of the sweep's engines. The sweep's devices and
    tensor_parallel decide the ranks and the all-reduces.
    """
    from apuflow.core.files import write_files
    from apuflow.plan.campaign import Campaign
    from apuflow.results.chakra import network_names, traces

    campaign = Campaign()
    loaded = campaign.load(sweep)
    names = suites or network_names(campaign, loaded)
    found = [one for name in names for one in traces(campaign, loaded, name, overlap=overlap)]
    out.mkdir(parents=True, exist_ok=True)
    write_files({out / name: content for one in found for name, content in one.files.items()})
    rows = [_row(one, out) for one in found]
    give(rows, as_json, csv, lambda: typer.echo("\n".join(map(_told, rows))))


def _row(one: Trace, out: Path) -> dict[str, Any]:
    left = ", ".join(f"{count} {op}" for op, count in one.left_out.items())
    sizes = {"devices": len(one.devices), "nodes": len(one.devices[0]), "ms": one.microseconds / 1e3}
    return {"files": f"{out / one.name}.*.et", **sizes, "not_run": left}


def _told(row: dict[str, Any]) -> str:
    told = (
        f"{row['files']}: {many(row['devices'], 'file')} of {many(row['nodes'], 'node')}, {row['ms']:,.3f} ms"
    )
    return told + (f"; not run and not in it: {row['not_run']}" if row["not_run"] else "")
