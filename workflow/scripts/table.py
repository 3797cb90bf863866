"""Rule table: run records and statistics to one tidy table."""

from analysis.tables import tables
from apuflow.campaign.campaign import Campaign
from apuflow.campaign.script import logged

with logged(snakemake.log[0]):  # noqa: F821
    smk = snakemake  # noqa: F821
    campaign = Campaign()
    sweep = campaign.sweep(smk.wildcards.under)
    axes = {
        (point.engine, point.id): point.axes for point in campaign.points(sweep.name, smk.wildcards.workload)
    }
    frame = tables.build(smk.input.records, axes=axes)
    rows = zip(frame["engine"], frame["point"], strict=True)
    campaign.check_rows(sweep, smk.wildcards.workload, rows)
    if sweep.on_failure == "strict":
        tables.require_completed(frame)
    tables.write(frame, smk.output.csv, smk.output.parquet, smk.output.columns)
