"""What a measured GPU has and a machine of gem5's options has not, with the options that come nearest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import Field

from apuflow import preview
from apuflow.configure import option_rules
from apuflow.configure.base import Model, read
from apuflow.configure.point import Point
from apuflow.core.errors import NotModelled
from apuflow.core.units import clock_hertz, format_size, size_bytes
from apuflow.preview.machine import machine


class Gpu(Model):
    """Facts of a measured GPU: a YAML file beside its measured times, of the same name."""

    gpu: str = Field(description="its name")
    compute_units: int | None = None
    clock: str | None = None
    l2: str | None = None
    last_level_cache: str | None = None
    memory_bandwidth: float | None = Field(None, description="GB/s")
    dies: int | None = None


class Difference(NamedTuple):
    """One thing: what the GPU has, what the machine has, options that come nearest."""

    what: str
    gpu: str
    machine: str
    options: str


_ANY: Final = (
    Difference("launches", "queues, driver, events", "none: see the overhead", "none"),
    Difference(
        "page tables", "large pages, several walkers", "4 KiB pages, one walk at a time",
        "L3TLBentries, L3MissLatency",
    ),
    Difference("stores", "the L2 keeps them", "go through to memory", "WB_L2 (not in the preview)"),
)  # fmt: skip


def read_gpu(times: Path) -> Gpu | None:
    """Facts of the GPU that times were measured on; None: nobody wrote them down.

    Raises:
        ConfigError: the file has a mistake.
    """
    file = times.with_suffix(".yaml")
    return read(file, Gpu) if file.is_file() else None


def differences(point: Point, gpu: Gpu | None) -> Iterator[Difference]:
    """What differs between a GPU and a point's machine; what is alike is left out."""
    if gpu is not None:
        for each in _of_facts(point, gpu):
            if each.gpu != each.machine:
                yield each
    yield from _ANY


def _of_facts(point: Point, gpu: Gpu) -> Iterator[Difference]:
    options = point.options
    units, clock = str(options["num-compute-units"]), str(options["gpu-clock"])
    if gpu.compute_units:
        yield Difference("compute units", str(gpu.compute_units), units, "num-compute-units")
    if gpu.clock and clock_hertz(gpu.clock) != clock_hertz(clock):
        yield Difference("clock", gpu.clock, clock, "gpu-clock")
    if gpu.dies:
        yield Difference("dies", str(gpu.dies), "1", "none: one TCC for all compute units")
    try:
        built = machine(options, option_rules.defaults(preview.RELEASE))
    except NotModelled:
        return
    if gpu.l2:
        options_l2 = "tcc-size; with bw-scalor num-compute-units"
        yield Difference("L2", _size(gpu.l2), format_size(int(built.tcc_bytes)), options_l2)
    if gpu.last_level_cache:
        size = format_size(built.l3_bytes)
        yield Difference("last level cache", _size(gpu.last_level_cache), size, "l3_size")
    if gpu.memory_bandwidth:
        bandwidth = built.directories * built.dram.peak_bytes_per_ns
        options_dram = "num-dirs (powers of two), mem-type"
        yield Difference(
            "memory", f"{gpu.memory_bandwidth:,.0f} GB/s", f"{bandwidth:,.0f} GB/s", options_dram
        )


def _size(text: str) -> str:
    return format_size(size_bytes(text) or 0)
