"""Networks on images of another size, against hand calculation."""

from __future__ import annotations

from pathlib import Path

import pytest

from apuflow.configure.suite import load_suite
from apuflow.core.errors import ConfigError
from apuflow.suites.image_size import on_images
from apuflow.suites.network import Memory, Network
from apuflow.suites.spec import Spec, spec_of
from apuflow.suites.step import Choice

ROOT = Path(__file__).parents[3]


def network(name: str) -> Network:
    found = load_suite(name, ROOT).network
    assert found is not None
    return found


@pytest.mark.parametrize(
    "name",
    [
        *("alexnet_64", "alexnet_owt", "densenet121", "googlenet_bn_tv", "googlenet_bvlc", "inception_v3"),
        *("mobilenet_v2", "overfeat_fast", "resnet18", "resnet152_caffe", "squeezenet1_1", "vgg16"),
    ],
)
def test_on_its_own_images_a_network_is_what_its_table_says(name: str) -> None:
    """Every size of the table is found again from the first layer's: floors, ceilings, branches."""
    table = network(name)
    assert on_images(table, table.layers[0].h) == table


def test_a_residual_network_shrinks_with_the_square_of_the_side() -> None:
    """ResNet-18's planes of 112 to 7 pixels become 32 to 2; 512,000 are of the last layer."""
    whole = network("resnet18")
    small = on_images(whole, 64)
    assert small.macs == (whole.macs - 512_000) / 3.5**2 + 512_000 == 148_557_824
    assert small.params == whole.params


def test_squeezenet_pools_by_ceiling() -> None:
    """64 pixels: 31 behind the first convolution, then 15, 7 and 3."""
    small = on_images(network("squeezenet1_1"), 64)
    planes = {layer.name: layer.out_h for layer in small.layers}
    assert [planes[f"features_{n}"] for n in (0, 2, 5, 8)] == [31, 15, 7, 3]
    first = 64 * 27
    fires = [(64, 16, 64), (128, 16, 64), (128, 32, 128), (256, 32, 128)]
    fires += [(256, 48, 192), (384, 48, 192), (384, 64, 256), (512, 64, 256)]
    pixel = [c * squeeze + squeeze * expand * 10 for c, squeeze, expand in fires]
    macs = 31**2 * first + 15**2 * sum(pixel[:2]) + 7**2 * sum(pixel[2:4]) + 3**2 * (sum(pixel[4:]) + 512_000)
    assert small.macs == macs
    last = small.layers[-1]
    assert (last.kernel, last.stride, last.out_h) == ((3, 3), (3, 3), 1)


def test_a_step_and_the_memory_have_the_size() -> None:
    suite = load_suite("resnet18", ROOT)
    steps = suite.steps(Choice(n=1, image=64, direction="fwd"))
    assert steps[0].shape["h"] == 64 and steps[0].flop == 2 * 64 * 147 * 32 * 32
    small, whole = suite.memory(Choice(n=1, image=64)), suite.memory(Choice(n=1))
    assert isinstance(small, Memory) and isinstance(whole, Memory)
    assert small.weights == whole.weights
    # The largest column matrix is the first convolution's: 147 rows of 32x32 instead of 112x112.
    assert (small.workspace, whole.workspace) == (4 * 147 * 32**2, 4 * 147 * 112**2)


@pytest.mark.parametrize(
    ("name", "side", "says"),
    [
        ("vgg16", 64, "classifier_0 .*7x7 pixels, and 2x2 would change the weights"),
        ("inception_v3", 64, "does not fit into"),
        ("maskrcnn_resnet50_fpn", 400, "add_16 .*inputs would have different sizes"),
        ("deepbench_gemm", 64, "no network of layers"),
        ("bert_base_seq128", 64, "no network of layers"),
    ],
)
def test_what_has_no_such_size_is_refused(name: str, side: int, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        load_suite(name, ROOT).steps(Choice(image=side))
    assert caught.value.key == "layer.image"


def test_a_sum_of_single_pixels_is_one_row() -> None:
    """On 32 pixels ResNet-18 ends with 1x512x1x1, which MIOpen would take for a bias."""
    steps = load_suite("resnet18", ROOT).steps(Choice(n=1, image=32, direction="fwd"))
    (found,) = {spec_of(step) for step in steps if step.op == "add" and step.shape["h"] == 1}
    assert isinstance(found, Spec) and "c=1 h=1 w=512" in found.text
