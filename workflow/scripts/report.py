"""Rule report: one self-contained page for a sweep."""

from analysis import report, tables
from apuflow import paths
from apuflow.campaign import Campaign
from apuflow.preview_error import measured_error
from apuflow.steps import logged

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
            measured_error() if "preview" in sweep.engines else "",
        ),
        {
            paths.table(smk.wildcards.under, name): tables.read(path, whole=True)
            for name, path in zip(workloads, smk.input.tables, strict=True)
        },
        [record for name in workloads for record in campaign.records(sweep, name)],
        smk.input.figures,
        smk.output[0],
    )
