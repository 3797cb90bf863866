"""Rule report: one self-contained page for a sweep."""

from analysis import report
from analysis.tables import tables
from apuflow.campaign.campaign import Campaign
from apuflow.campaign.script import logged
from apuflow.core import paths
from apuflow.core.engines import is_batch
from apuflow.study.score import measured_error

with logged(snakemake.log[0]):  # noqa: F821
    smk = snakemake  # noqa: F821
    campaign = Campaign()
    sweep = campaign.sweep(smk.wildcards.under)
    workloads = campaign.workloads(sweep)
    report.render(
        report.SweepDescription.of(
            sweep.model_dump(),
            workloads,
            campaign.sources(sweep),
            measured_error() if any(map(is_batch, sweep.engines)) else "",
        ),
        {
            paths.table(smk.wildcards.under, name): tables.read(path, whole=True)
            for name, path in zip(workloads, smk.input.tables, strict=True)
        },
        [record for name in workloads for record in campaign.records(sweep, name)],
        smk.input.figures,
        smk.output[0],
    )
