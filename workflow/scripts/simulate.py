"""Rule simulate: one point on gem5."""

from apuflow import stages
from apuflow.campaign import Campaign
from apuflow.steps import logged
from apuflow.toolset import Toolset

with logged(snakemake.log[0]):  # noqa: F821
    smk = snakemake  # noqa: F821
    campaign = Campaign()
    point = campaign.point(
        smk.wildcards.engine, smk.wildcards.workload, smk.wildcards.point, smk.params.sweep
    )
    tools = Toolset(point.release)
    record = stages.run_point(
        tools, campaign.load(smk.params.sweep), point, tools.needs(point), memory_mb=smk.resources.mem_mb
    )
    print(f"{record.status}: {record.evidence}")
