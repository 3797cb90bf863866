"""Configuration files as typed, checked values: sweeps, workloads, machines, gem5 releases, the site."""

from apuflow.config.loading import (
    Workload,
    load_machine,
    load_release,
    load_sweep,
    load_workload,
    machine_names,
    release_names,
    sweep_names,
    sweep_workloads,
    workload_names,
)
from apuflow.config.machine import Machine
from apuflow.config.release import Release
from apuflow.config.site import Site, load_site
from apuflow.config.sweep import Limits, Sweep, Variation
from apuflow.config.workload import ENGINES, CommandFile, DnnmarkFile, EngineName, Runs

__all__ = [
    "ENGINES",
    "CommandFile",
    "DnnmarkFile",
    "EngineName",
    "Limits",
    "Machine",
    "Release",
    "Runs",
    "Site",
    "Sweep",
    "Variation",
    "Workload",
    "load_machine",
    "load_release",
    "load_site",
    "load_sweep",
    "load_workload",
    "machine_names",
    "release_names",
    "sweep_names",
    "sweep_workloads",
    "workload_names",
]
