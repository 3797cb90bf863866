"""Rule figure: one figure of a sweep, from its tables."""

from pathlib import Path

from analysis import figures, tables
from apuflow.steps import logged

with logged(snakemake.log[0]):  # noqa: F821
    smk = snakemake  # noqa: F821
    frame = figures.combine([tables.read(path) for path in smk.input.tables])
    name = smk.wildcards.figure
    refused = figures.refusal(name, frame)
    if refused is None:
        plot = figures.make(name, frame)
    else:
        plot = figures.notice(name, figures.FIGURES[name].title, refused.message)
    figures.save(plot.figure, plot.data, Path(smk.output.svg).with_suffix(""))
