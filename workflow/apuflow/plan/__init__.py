"""A project's sweeps and points as Snakemake asks for them."""
