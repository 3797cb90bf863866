"""Rule simulate: one point on gem5."""

from apuflow.campaign.campaign import Campaign
from apuflow.campaign.script import rule
from apuflow.engines.run_point import run_point
from apuflow.prepare.tools import Toolset
from apuflow.run.bundle import bundled

with (
    rule(snakemake) as (record, log),
    bundled(record.parent, snakemake.output.get("bundle"), snakemake.log.get("bundle")),
):
    campaign, wildcards, order = Campaign(), snakemake.wildcards, snakemake.params.order
    point = campaign.replan_point(
        order["sweep"], wildcards.engine, wildcards.workload, wildcards.point, order["axes"]
    )
    record = run_point(
        Toolset(point.release),
        campaign.load(order["sweep"]),
        point,
        dict(snakemake.input.items()),
        memory_mb=order["memory_mb"],
    )
    print(f"{record.status}: {record.evidence}")
