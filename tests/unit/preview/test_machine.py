"""The machine as the preview sees it."""

from __future__ import annotations

import pytest
from dnnmark_texts import standalone

from apuflow.configure import option_rules
from apuflow.configure.fit import Demand, demand_of
from apuflow.configure.work import OperationWork
from apuflow.core import gpus
from apuflow.core.errors import ConfigError, NotModelled
from apuflow.core.gpus import Isa
from apuflow.engines import get_engine
from apuflow.operations import Layers
from apuflow.preview.machine import machine

SOFTMAX = standalone("Softmax", shape=(100, 1000, 1, 1))
DEFAULTS = option_rules.defaults("v23.0")


def test_clocks_and_sizes() -> None:
    built = machine({"gpu-clock": "500MHz", "tcp-size": "8kB", "tcc-size": "1048576"}, DEFAULTS)
    assert (built.gpu_ns, built.ruby_ns) == (2.0, 0.5)
    assert (built.tcp_bytes, built.tcc_bytes) == (8192, 1 << 20)
    for key, value in (("gpu-clock", "fast"), ("gpu-clock", "0GHz"), ("tcc-size", "big"), ("l2_size", "0")):
        with pytest.raises(ConfigError, match=key):
            machine({key: value}, DEFAULTS)


def test_bw_scalor_widens_links_and_sizes_the_tcc() -> None:
    plain = machine({"num-compute-units": 8, "tcc-size": "256kB"}, DEFAULTS)
    wide = machine({"num-compute-units": 8, "bw-scalor": 1, "tcc-size": "256kB"}, DEFAULTS)
    assert (plain.link_bytes, plain.tcc_bytes) == (8, 256 * 1024)
    assert (wide.link_bytes, wide.tcc_bytes) == (128, 8 * 128 * 1024)


def test_a_tcc_of_128_kb_a_unit_uses_as_many_sets_as_address_bits_can_number() -> None:
    """``CacheMemory::init`` takes ``floorLog2`` of the sets, and the rest is never looked at."""
    for units, used in ((1, 1), (7, 4), (14, 8), (48, 32), (64, 64)):
        built = machine({"num-compute-units": units, "bw-scalor": 1}, DEFAULTS)
        assert built.tcc_bytes == used * 128 * 1024


@pytest.mark.parametrize("name", ["HBM_1000_4H_1x128", "HBM_2000_4H_1x64"])
def test_a_channel_of_hbm_has_16_gb_a_second(name: str) -> None:
    """128 bits at 1 GT/s, and 64 bits at 2 GT/s."""
    assert machine({"mem-type": name}, DEFAULTS).dram.peak_bytes_per_ns == 16.0


@pytest.mark.parametrize(
    ("key", "value"), [("dgpu", True), ("WB_L2", True), ("mem-type", "LPDDR3_1600_1x32")]
)
def test_unknown_mechanisms_are_refused_by_name(key: str, value: object) -> None:
    with pytest.raises(NotModelled, match=key):
        machine({key: value}, DEFAULTS)  # type: ignore[dict-item]


def test_a_gpu_whose_instructions_nobody_counted_is_refused_whatever_gem5_runs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """gfx90a runs on gem5's build for Vega, with registers of its own; LLVM's number of it is 0x3f."""
    cdna2 = Isa("CDNA2", "VEGA_X86", vector_registers=512)
    monkeypatch.setitem(gpus.GPUS, "gfx90a", gpus.Gpu("gfx90a", cdna2, 0x3F, "gfx90a", 29695))
    with pytest.raises(NotModelled, match=r"(?s)gfx-version.*gfx90a.*gfx801, gfx803, gfx900, gfx902"):
        machine({"gfx-version": "gfx90a"}, DEFAULTS)
    work = OperationWork(Layers.of_text(SOFTMAX), "fwd")
    refused = get_engine("preview").layer_objection(work, 4, "gfx90a")
    assert refused is not None and "does not know the instructions" in refused.message
    [launch] = work.launches(4)
    assert demand_of(launch, cdna2) == Demand(launch.kernel, 4, 0, 0, 0)  # 256 work-items, the rest unknown
    assert demand_of(launch, gpus.gpu("gfx902").isa).vector_registers > 0
