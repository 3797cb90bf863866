"""``apuflow chakra``: networks as execution traces for simulators of many devices."""

from __future__ import annotations

from pathlib import Path

import typer

from apuflow.commands import app
from apuflow.core.words import many


@app.command()
def chakra(
    sweep: str = typer.Argument(help="sweep whose table of operations is there"),
    suites: list[str] | None = typer.Argument(None, help="its networks; left out: all"),
    out: Path = typer.Option(Path("traces"), help="directory of the files NAME.RANK.et"),
    overlap: bool = typer.Option(
        False, "--overlap", help="all-reduce each layer's gradients beside the rest of the backward pass"
    ),
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
    for one in found:
        left = ", ".join(f"{count} {op}" for op, count in one.left_out.items())
        told = f"{many(len(one.devices), 'file')} of {many(len(one.devices[0]), 'node')}"
        told += f", {one.microseconds / 1e3:,.3f} ms"
        typer.echo(f"{out / one.name}.*.et: {told}" + (f"; not run and not in it: {left}" if left else ""))
