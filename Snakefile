"""The workflow stands where Snakemake's catalogue expects it; this file lets `snakemake` find it from here."""


include: "workflow/Snakefile"
