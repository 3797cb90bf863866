"""Rule simulate: one point on gem5."""

from apuflow.campaign.campaign import Campaign
from apuflow.campaign.script import logged
from apuflow.engines.run_point import run_point
from apuflow.prepare.tools import Toolset

with logged(snakemake.log[0]):  # noqa: F821
    smk = snakemake  # noqa: F821
    campaign, named = Campaign(), smk.wildcards
    point = campaign.point_again(smk.params.sweep, named.engine, named.workload, named.point, smk.params.axes)
    tools = Toolset(point.release)
    record = run_point(
        tools,
        campaign.load(smk.params.sweep),
        point,
        dict(smk.input.items()),
        memory_mb=smk.resources.mem_mb,
    )
    print(f"{record.status}: {record.evidence}")
