"""Rule simulate: one point on gem5."""

from apuflow.engines.run_point import run_point
from apuflow.plan.campaign import Campaign
from apuflow.plan.script import rule
from apuflow.prepare.tools import Toolset

with rule(snakemake):
    campaign, wildcards, order = Campaign(), snakemake.wildcards, snakemake.params.order
    point = campaign.replan_point(
        order["sweep"], wildcards.engine, wildcards.workload, wildcards.point, order["axes"]
    )
    record = run_point(
        Toolset(point.release),
        campaign.load(order["sweep"]),
        point,
        order["inputs"] or dict(snakemake.input.items()),
        memory_mb=order["memory_mb"],
    )
    print(f"{record.status}: {record.evidence}")
