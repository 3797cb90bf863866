"""Keeps Snakemake's scheduler idle while local runs go on."""

from __future__ import annotations

from typing import Any


def without_rate_limit(scheduler: Any) -> None:
    """Take the limit on jobs per second off a scheduler whose jobs run on this machine.

    With it (its default, 100 per second) each look at the waiting jobs orders another look a second later,
    and each job that ends adds one more such chain: after some dozens of jobs one core does nothing but look
    as long as jobs wait (snakemake 9.27, ``JobScheduler.schedule``). The number of cores limits local jobs
    anyway; on a cluster, where the limit protects the queue, it stays.
    """
    scheduler.job_rate_limiter = None
