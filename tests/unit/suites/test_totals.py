"""Totals of networks and suites against published ones, and against what the tables state."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from apuflow.configure.loading import suite_names
from apuflow.configure.suite import load_suite
from apuflow.suites.network import Network, read_network
from apuflow.suites.sequence import read_sequence
from apuflow.suites.step import Choice

ROOT = Path(__file__).parents[3]
NETWORKS = ROOT / "configs/networks"
INDEX = {row["network"]: row for row in csv.DictReader((NETWORKS / "index.csv").read_text().splitlines())}

# learnt values (to the last digit) and multiply-adds in units of 10**9 (to the last digit published)
TORCHVISION = {  # torchvision 0.14's table of weights: num_params, GFLOPS
    "alexnet_owt": (61_100_840, "0.71"),
    "vgg11_a": (132_863_336, "7.61"),
    "vgg16": (138_357_544, "15.47"),
    "googlenet_bn_tv": (6_624_904, "1.50"),
    "resnet18": (11_689_512, "1.81"),
    "resnet50": (25_557_032, "4.09"),
    "resnet101": (44_549_160, "7.80"),
    "resnet152": (60_192_808, "11.51"),
    "densenet121": (7_978_856, "2.83"),
    "mobilenet_v2": (3_504_872, "0.30"),
    "squeezenet1_1": (1_235_496, "0.35"),
    "ssd300_vgg16": (35_641_826 - 512, "34.86"),  # without the 512 factors of the L2 rescaling
}
SHARED_RPN_HEADS = 4 * 593_935
"""Mask R-CNN has one RPN head for five levels of 593,935 values (3x3x256x256+256, 3x257, 12x257)."""


def network(name: str) -> Network:
    return read_network(NETWORKS / f"{name}.csv")


@pytest.mark.parametrize("name", TORCHVISION)
def test_a_network_has_as_many_values_and_multiply_adds_as_published(name: str) -> None:
    params, billions = TORCHVISION[name]
    found = network(name)
    assert found.params == params
    assert f"{found.macs / 1e9:.2f}" == billions


def test_inception_v3_lacks_only_its_auxiliary_head() -> None:
    # torchvision: 27,161,264 with it: two convolutions with normalisation and a fully connected layer
    auxiliary = 768 * 128 + 2 * 128 + 128 * 768 * 25 + 2 * 768 + 768 * 1000 + 1000
    assert network("inception_v3").params == 27_161_264 - auxiliary


def test_mask_rcnn_counts_the_head_of_its_proposals_once_per_level() -> None:
    assert network("maskrcnn_resnet50_fpn").params == 44_401_393 + SHARED_RPN_HEADS


def test_googlenet_of_the_paper_has_berkeleys_number_of_values() -> None:
    assert network("googlenet_bvlc").params == 6_998_552


def test_alexnet_of_caffe_has_the_values_of_its_eight_layers() -> None:
    by_hand = (  # filters x (channels of a group x kernel + bias): groups of two in conv2, conv4 and conv5
        96 * (3 * 11 * 11 + 1)
        + 256 * (48 * 5 * 5 + 1)
        + 384 * (256 * 3 * 3 + 1)
        + 384 * (192 * 3 * 3 + 1)
        + 256 * (192 * 3 * 3 + 1)
        + 4096 * (256 * 6 * 6 + 1)
        + 4096 * (4096 + 1)
        + 1000 * (4096 + 1)
    )
    assert network("alexnet_caffe").params == by_hand == 60_965_224


def test_networks_of_papers_have_their_totals() -> None:
    """ResNets of the paper's table 1 (FLOPs: multiply-adds); OverFeat's fast model."""
    assert [f"{network(name).macs / 1e9:.1f}" for name in ("resnet152_caffe", "overfeat_fast")] == [
        "11.3",
        "2.8",
    ]
    assert int(network("resnet50_caffe").macs / 1e8) == 38  # the paper cuts off: 3.8
    assert int(network("overfeat_fast").params / 1e6) == 145
    assert round(network("ssd300_resnet34").params / 1e6) == 20  # MLPerf


def test_bert_base_has_its_109_million_values_and_11_billion_multiply_adds() -> None:
    bert = read_sequence(NETWORKS / "bert_base_seq128.csv")
    assert bert.params == 109_482_240
    # 12 layers: 4 projections of 768, scores and context of 12 heads of 64, two products with 3072; a pooler
    layer = 128 * (4 * 768 * 768 + 2 * 768 * 3072) + 2 * 12 * 128 * 128 * 64
    assert bert.macs == 12 * layer + 768 * 768


@pytest.mark.parametrize("name", INDEX)
def test_what_a_table_states_of_each_layer_follows_from_its_shape(name: str) -> None:
    found = network(name)
    assert [layer.weights for layer in found.layers] == [layer.params for layer in found.layers]
    assert [layer.multiply_adds for layer in found.layers] == [layer.macs for layer in found.layers]
    row = INDEX[name]
    assert (found.params, found.macs) == (int(row["params"]), int(row["macs_one_image"]))


def test_what_tables_of_products_state_follows_from_their_shapes() -> None:
    files = [file for file in NETWORKS.glob("*.csv") if file.stem not in (*INDEX, "index")]
    assert len(files) == 7
    for file in files:
        found = read_sequence(file)
        assert [part.multiply_adds for part in found.parts] == [part.macs for part in found.parts], file


@pytest.mark.parametrize(
    ("suite", "groups", "flop_column"),
    [
        ("deepbench_gemm", {"training": 160, "inference_server": 75, "inference_device": 13}, "flop"),
        (
            "deepbench_convolution",
            {"training": 94, "inference_server": 107, "inference_device": 16},
            "flop_fwd",
        ),
        (
            "deepbench_recurrent",
            {"training": 53, "inference_server": 69, "inference_device": 3},
            "flop_fwd_recurrent",
        ),
        ("deepbench_sparse", {"": 32}, None),
        ("deepbench_all_reduce", {"": 7}, None),
    ],
)
def test_deepbench_has_its_items_and_its_rule_of_counting(
    suite: str, groups: dict[str, int], flop_column: str | None
) -> None:
    loaded = load_suite(suite, ROOT)
    steps = loaded.steps(Choice(direction="fwd"))
    assert len(steps) == sum(groups.values())
    for group, count in groups.items():
        if group:
            assert len(loaded.steps(Choice(direction="fwd", group=group))) == count
    if flop_column:
        with loaded.table.open() as stream:
            assert [step.flop for step in steps] == [int(row[flop_column]) for row in csv.DictReader(stream)]


def test_deepbench_names_the_throughput_that_amd_measured() -> None:
    # results_amd_mi25: 1760x16x1760 NN in 0.059 ms is 1.680 TFLOPS
    first = load_suite("deepbench_gemm", ROOT).steps(Choice())[0]
    assert first.name == "1760x16x1760 NN"
    assert round(first.flop / 0.059e-3 / 1e12, 3) == 1.680


def test_ai_matrix_has_its_layers() -> None:
    counts = {
        name.removeprefix("ai_matrix_"): len(load_suite(name, ROOT).steps(Choice(direction="fwd")))
        for name in suite_names(ROOT)
        if name.startswith("ai_matrix_")
    }
    assert counts == {
        "convolution": 109,
        "pooling": 24,
        "fully_connected": 9,
        "activation": 4 * 96,
        "batchnorm": 77,
        "recurrent": 3 * 2 * 2 * 10,
        "gemm": 4 + 6 * 5,
        "memory": 34,
    }


def test_every_suite_has_steps_in_each_direction_that_it_has() -> None:
    names = suite_names(ROOT)
    assert len(names) == 43
    for name in names:
        suite = load_suite(name, ROOT)
        assert suite.steps(Choice(direction="fwd")), name
        assert suite.is_network <= bool(suite.steps(Choice(direction="both")))
