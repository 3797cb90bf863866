"""A checkpoint ends while a job has written what others wait for, and goes on: nothing is forgotten."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SNAKEFILE = """\
from apuflow.plan import workarounds


onstart:
    workarounds.keep_followers(workflow.dag)


def runs(wildcards):
    checkpoints.image.get()
    return "run.json"


rule table:
    input: runs
    output: "table.csv"
    shell: "cat {input} > {output}"


rule run:
    input: ancient("gem5.json")
    output: "run.json"
    shell: "cp {input} {output}"


rule gem5:
    output: "gem5.json"
    shell: "echo written > {output}; until [ -e after.txt ]; do sleep 0.05; done"


checkpoint image:
    output: "image.json"
    shell: "until [ -e gem5.json ]; do sleep 0.05; done; touch {output}"


rule after:
    input: "image.json"
    output: "after.txt"
    shell: "echo later > {output}"
"""
"""``after`` starts when the jobs were chosen anew; ``gem5``, whose output has long been there, ends then."""


def test_what_follows_a_running_job_is_made(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    command = [sys.executable, "-m", "snakemake", "--cores", "3", "table.csv", "run.json", "after.txt"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "table.csv").read_text() == "written\n", done.stderr
