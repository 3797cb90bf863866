"""Rule simulate: one point on gem5."""

from apuflow.campaign.campaign import Campaign
from apuflow.campaign.script import logged
from apuflow.engines.run_point import Inputs, run_point
from apuflow.prepare.tools import Toolset

with logged(snakemake.log[0]):  # noqa: F821
    smk = snakemake  # noqa: F821
    campaign, asked = Campaign(), smk.wildcards
    point = campaign.point_again(smk.params.sweep, asked.engine, asked.workload, asked.point, smk.params.axes)
    tools = Toolset(point.release)
    record = run_point(
        tools,
        campaign.load(smk.params.sweep),
        point,
        Inputs.of(tools, point, dict(smk.input.items())),
        memory_mb=smk.resources.mem_mb,
    )
    print(f"{record.status}: {record.evidence}")
