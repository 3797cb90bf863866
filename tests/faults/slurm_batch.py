"""What a cluster's job does, without the two starts of Snakemake around it: plan batches, or run one.

``plan SWEEP`` writes the orders and prints the batches' names; ``run NAME`` runs a batch. In the project's
directory.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

from apuflow.core import paths
from apuflow.core.errors import DescribedError
from apuflow.plan.campaign import Campaign
from apuflow.plan.rule_inputs import RuleInputs
from apuflow.plan.run_batch import run_batch

what, name = sys.argv[1:]
if what == "plan":
    checkpoints = SimpleNamespace(image=SimpleNamespace(get=lambda **wildcards: None))
    inputs = RuleInputs(Campaign(), lambda: True)
    wildcards = {"under": paths.under(name), "workload": "softmax_fwd"}
    print(*(Path(mark).stem for mark in inputs.table_inputs(wildcards, checkpoints)["batches"]))
else:
    try:
        run_batch(name, Path(paths.batch(name)))
    except DescribedError as error:
        sys.exit(str(error))
