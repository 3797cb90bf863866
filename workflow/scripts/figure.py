"""Rule figure: one figure of a sweep, from its tables."""

from pathlib import Path

from analysis import figures
from analysis.tables import tables
from apuflow.campaign.campaign import Campaign
from apuflow.campaign.script import logged
from apuflow.study.kernel_rows import kernel_rows

with logged(snakemake.log[0]):  # noqa: F821
    smk = snakemake  # noqa: F821
    name = smk.wildcards.figure
    if figures.FIGURES[name].per_kernel:
        campaign = Campaign()
        frame = kernel_rows(campaign, campaign.sweep(smk.wildcards.under))
    else:
        frame = figures.combine([tables.read(path, whole=True) for path in smk.input.tables])
    plot = figures.make_or_say(name, frame)
    figures.save(plot.figure, plot.data, Path(smk.output.svg).with_suffix(""))
