"""Rule table: run records and statistics to one tidy table."""

from analysis import tables
from apuflow.steps import logged

with logged(snakemake.log[0]):  # noqa: F821
    smk = snakemake  # noqa: F821
    frame = tables.build(smk.input.records)
    if smk.params.on_failure == "strict":
        tables.require_completed(frame)
    tables.write(frame, smk.output.csv, smk.output.parquet, smk.output.columns)
