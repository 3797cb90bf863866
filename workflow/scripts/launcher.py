"""Rule launcher: the guest program of engine gem5-kernels."""

from apuflow.launcher.program import build_launcher
from apuflow.plan.script import rule

with rule(snakemake) as (output, log):
    build_launcher("cc", output)
