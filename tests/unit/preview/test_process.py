"""What launches leave for later ones of their process, beside runs of whole layers on gem5 v23.0.1.0."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from launcher_layers import convolution, layer
from one_launch import traffic_of
from places import ROOT

from apuflow import preview
from apuflow.configure import load_release, option_rules
from apuflow.core.record import ReleaseFacts
from apuflow.dnnmark import Direction, parse
from apuflow.miopen import Launch, launches
from apuflow.preview.counters import counter_columns
from apuflow.preview.kept import kept
from apuflow.preview.machine import machine
from apuflow.preview.process import steps
from apuflow.preview.step import Step
from apuflow.preview.timing import times
from apuflow.score.errors import modelled, read_tables

DEFAULTS = option_rules.defaults("v23.0")
NETWORKS = ROOT / "data/gem5_runs/networks.csv"


@dataclass
class Point:
    id: str
    made: tuple[Launch, ...]
    options: dict[str, Any] = field(default_factory=dict)
    release_facts: ReleaseFacts = load_release("v23.0", ROOT).facts
    release: str = "v23.0"
    in_memory: bool = False

    def launches(self, compute_units: int) -> tuple[Launch, ...]:
        return self.made

    def previewed(self, compute_units: int) -> tuple[tuple[Launch, ...], None]:
        return self.launches(compute_units), None


def of(text: str, direction: Direction = "fwd") -> tuple[Launch, ...]:
    return launches(parse(text), direction, 4)


def frame_of(made: tuple[Launch, ...], **options: Any) -> pd.DataFrame:
    return preview.kernels_frame([Point("p", made, options)], DEFAULTS)


def step_list(made: tuple[Launch, ...], **options: Any) -> list[Step]:
    return steps(made, kept(machine(options, DEFAULTS)))


def swapped(launch: Launch) -> Launch:
    """The launch with its two buffers exchanged."""
    x, y = (arg.value for arg in launch.args if arg.kind == "buffer")
    other = {x: y, y: x}
    return replace(
        launch, args=tuple(arg._replace(value=other.get(arg.value, arg.value)) for arg in launch.args)
    )


def test_pages_are_walked_once() -> None:
    """A ReLU of 147,456 elements reads and writes 144 pages each; twice, the second time it walks none."""
    relu = of(layer("Activation", (1, 16, 96, 96), activation_mode="relu"))
    once, again = frame_of(relu * 2)["page_walks"]
    assert once == 288 and again == 0


def test_a_tlb_that_is_too_small_forgets() -> None:
    relu = of(layer("Activation", (1, 16, 96, 96), activation_mode="relu"))
    walks = frame_of(relu * 2, L3TLBentries=256)["page_walks"]
    assert list(walks) == [288, 288]


def test_what_a_kernel_wrote_is_in_no_cache_of_the_cpu() -> None:
    """Each line that is loaded from memory is written back to it, but for those that the CPU's L2 holds.

    It holds the 9,216 lines of the input. What a kernel has written is not there.
    """
    relu = of(layer("Activation", (1, 16, 96, 96), activation_mode="relu"))
    first, second = frame_of((relu[0], swapped(relu[0])))["dram_bytes_written"] / 64
    assert (first, second) == (9216, 2 * 9216)


def test_inputs_in_memory_are_in_no_cache_of_the_cpu() -> None:
    """As what a kernel has written: each line that is loaded is written back to memory."""
    relu = of(layer("Activation", (1, 16, 96, 96), activation_mode="relu"))
    written, loaded = (
        preview.kernels_frame([Point("p", relu, in_memory=state)], DEFAULTS)["dram_bytes_written"].iloc[0]
        / 64
        for state in (False, True)
    )
    assert (written, loaded) == (9216, 2 * 9216)


def test_lines_that_were_read_stay_in_the_tcc_and_lines_that_were_written_are_not_brought_there() -> None:
    """``GPU_VIPER-TCC.sm``: (V, RdBlk) hits; (I, WrVicBlk) writes through and brings nothing."""
    relu = of(layer("Activation", (1, 4, 32, 32), activation_mode="relu"))
    lines = 4 * 32 * 32 * 4 // 64
    misses = list(frame_of((relu[0], relu[0], swapped(relu[0]), relu[0]))["tcc_read_misses"])
    code, scalars = 4, 2  # 208 bytes of code, which stays; arguments and what comes before them
    assert misses == [lines + code + scalars, scalars, lines + scalars, scalars]


def test_a_tcc_that_is_too_small_forgets() -> None:
    relu = of(layer("Activation", (1, 16, 96, 96), activation_mode="relu"))
    first, again = frame_of(relu * 2)["tcc_read_misses"]
    assert first == 9216 + 4 + 2 and again > 0.9 * first


def test_on_vega_a_wait_for_the_lds_does_not_wait_for_stores() -> None:
    """Im2col stores what it reads from the LDS. A small one takes 15,700 cycles on gem5's gfx902."""
    text = convolution((8, 8, 7, 7), 73, 7, 3, 1)
    flat, vega = (
        frame_of(of(text), **{"gfx-version": gfx})["gpu_cycles"].iloc[0] for gfx in ("gfx801", "gfx902")
    )
    assert vega < 0.8 * flat and vega == pytest.approx(15_700, rel=0.3)


def test_later_passes_of_a_loop_find_the_weights_and_walk_their_own_image() -> None:
    """Four images of 64 kB: im2col loads 16 pages of each, and writes one workspace."""
    made = of(convolution((4, 16, 32, 32), 16, kernel=3, pad=1, stride=1))
    found = step_list(made)
    assert [(step.number, step.times) for step in found] == [(0, 1), (1, 1), (0, 3), (1, 3)]
    cold = [traffic_of(step, machine({}, DEFAULTS)).cold_pages for step in found]
    columns = 16 * 9 * 1024 * 4 // 4096
    assert cold[0] == 16 + columns and cold[2] == 16
    assert (
        cold[1] > cold[3] == 16
    )  # the product's weights and columns, and its part of the output; then that alone
    whole, parts = preview.run([Point("p", made)], DEFAULTS), frame_of(made)
    assert list(parts["count"]) == [4, 4]
    for counter in ("gpu_cycles", "page_walks", "dram_bytes_read"):
        assert whole.loc[0, counter] == pytest.approx(float((parts[counter] * parts["count"]).sum()))


def test_code_that_ran_is_in_the_instruction_cache() -> None:
    relu = of(layer("Activation", (1, 16, 8, 8), activation_mode="relu"))
    first, again = frame_of(relu * 2)["stall_ibempty"]
    assert again < 0.2 * first
    small = frame_of(relu * 2, **{"sqc-size": "128B"})["stall_ibempty"]
    assert 3 * again < small[1] < 0.5 * small[0]  # from the TCC


def test_page_walks_of_layers_are_those_of_gem5() -> None:
    """Of 60 kernels after others. gem5 walks the pages of their code as well, and of a buffer's end."""
    rows = read_tables([NETWORKS])
    single = (pd.to_numeric(rows["launch"]) > 0) & ~rows["point"].str.contains("fwd_n2")
    later = rows[single].reset_index(drop=True)
    known = modelled(later)
    last = [steps[-1] for steps in known.steps]
    found = counter_columns(times(last, known.machines))["page_walks"]
    apart = pd.to_numeric(known.frame["page_walks"]).to_numpy(float) - found
    assert len(apart) > 60
    assert apart.min() >= -24 and np.percentile(apart, 95) <= 6 and np.median(np.abs(apart)) <= 3
