"""What a point runs: a network, or a program."""

from __future__ import annotations

import pytest
from dnnmark_texts import standalone

from apuflow.configure.command_workload import CommandFile, CommandWork
from apuflow.configure.work import OperationWork
from apuflow.core.errors import NotModelled
from apuflow.operations import Layers


def network(text: str) -> OperationWork:
    return OperationWork(Layers.of_text(text), "fwd", 1)


def test_a_network_needs_its_tensors_the_file_that_fills_them_and_the_runtime() -> None:
    """ReLU of 100x32x256x256: four tensors of floats, one of which is the largest chunk that is filled."""
    work = network(standalone("Activation", shape=(100, 32, 256, 256)))
    tensor = 100 * 32 * 256 * 256 * 4
    assert (work.device_bytes, work.data_bytes) == (4 * tensor, tensor)
    assert work.simulated_bytes == 5 * tensor + 512 * 2**20
    assert work.touched_bytes(1 << 40) == 5 * tensor


def test_a_networks_launches_are_those_of_its_pass() -> None:
    work = network(standalone("Softmax", shape=(100, 1000, 1, 1)))
    assert [launch.kernel for launch in work.launches(4)] == ["SoftmaxForward"]


def test_a_network_is_the_one_that_its_text_says() -> None:
    plain, commented = standalone("Softmax"), "# a comment\n\n" + standalone("Softmax")
    assert network(plain) == network(commented)
    assert network(plain) != network(standalone("Softmax", shape=(3, 4, 8, 8)))


def test_warnings_are_those_of_the_gpu() -> None:
    """MIOpen sizes the workspace of a 3x3 convolution for Winograd on gfx803 alone."""
    work = network(standalone("Convolution", "kernel_size=3", "pad=1", shape=(1, 16, 8, 8)))
    assert not list(work.warnings("gfx801"))
    [warning] = work.warnings("gfx803")
    assert "Winograd" in warning.message


def test_of_a_program_nothing_is_known_but_its_memory() -> None:
    file = {
        "kind": "command",
        "description": "x",
        "binary": "programs/x",
        "memory": "1GB",
        "end_marker": "PASSED",
    }
    work = CommandWork(CommandFile.model_validate(file))
    assert work.text is None
    assert (work.device_bytes, work.simulated_bytes, work.touched_bytes(2 << 30)) == (
        1 << 30,
        1 << 30,
        2 << 30,
    )
    assert not list(work.warnings("gfx801"))
    with pytest.raises(NotModelled) as caught:
        work.launches(4)
    assert caught.value.remedy == "use engine gem5"
