"""Rule kernel_database: a database from its objects."""

from pathlib import Path

from apuflow.miopen.database import build_database
from apuflow.steps import logged

with logged(snakemake.log[0]):  # noqa: F821
    smk = snakemake  # noqa: F821
    keys = [tuple(key) for key in smk.params.plan]
    build_database(Path(smk.output[0]), dict(zip(keys, map(Path, smk.input), strict=True)))
