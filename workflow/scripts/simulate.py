"""Rule simulate: one point on gem5."""

from apuflow.campaign.campaign import Campaign
from apuflow.campaign.script import rule
from apuflow.engines.run_point import run_point
from apuflow.prepare.tools import Toolset

with rule(snakemake):
    campaign, wildcards, params = Campaign(), snakemake.wildcards, snakemake.params
    point = campaign.replan_point(
        params.sweep, wildcards.engine, wildcards.workload, wildcards.point, params.axes
    )
    tools = Toolset(point.release)
    record = run_point(
        tools,
        campaign.load(params.sweep),
        point,
        dict(snakemake.input.items()),
        memory_mb=snakemake.resources.mem_mb,
    )
    print(f"{record.status}: {record.evidence}")
