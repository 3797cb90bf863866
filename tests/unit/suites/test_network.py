"""What an iteration of a network takes."""

from __future__ import annotations

from places import ROOT

from apuflow.configure.suite import load_suite
from apuflow.suites.network import Memory
from apuflow.suites.step import Choice


def memory(name: str, choice: Choice) -> Memory:
    found = load_suite(name, ROOT).memory(choice)
    assert isinstance(found, Memory)
    return found


def test_memory_of_alexnet_by_hand() -> None:
    """Images, five convolutions, three poolings, three products; what works in place needs nothing."""
    held = 3 * 224**2 + 64 * 55**2 + 192 * 27**2 + (384 + 256 + 256) * 13**2
    held += 64 * 27**2 + 192 * 13**2 + 256 * 6**2 + 4096 + 4096 + 1000
    trained, seen = (
        memory("alexnet_owt", Choice(n=128, direction="both" if both else "fwd")) for both in (True, False)
    )
    assert trained.activations == seen.activations == 4 * 128 * held
    assert trained.weights == trained.momentum == seen.weights == 4 * 61_100_840
    assert trained.gradients == trained.weights + trained.activations
    assert (seen.gradients, seen.momentum) == (0, 0)
    assert trained.workspace == 4 * 64 * 5**2 * 27**2  # the second convolution's columns, one image


def test_strided_pointwise_convolutions_keep_what_they_see_of_all_images() -> None:
    """The first downsampling of ResNet-50, 256 to 512 channels at 28x28: MIOpen transposes there and back."""
    assert memory("resnet50", Choice(n=64)).workspace == 4 * 64 * (256 + 512) * 28**2


def test_workspace_of_direct_kernels_is_the_sums_of_each_image() -> None:
    """VGG-16: the second convolution's columns by GEMM; directly each image's 3x3 gradient of 512x512."""
    assert memory("vgg16", Choice(n=8)).workspace == 4 * 64 * 9 * 224**2
    assert memory("vgg16", Choice(n=8, algorithm="direct")).workspace == 4 * 8 * 512 * 512 * 9
    assert memory("vgg16", Choice(n=8, algorithm="direct", direction="fwd")).workspace == 0
