"""Rule launcher: the guest program of engine gem5-kernels."""

from apuflow.campaign.script import rule
from apuflow.launcher import build_launcher

with rule(snakemake) as (output, log):
    build_launcher("cc", output)
