"""Totals of networks and suites against published ones, and against what the tables state."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from apuflow.configure.loading import suite_names
from apuflow.configure.suite import load_suite
from apuflow.core.errors import ConfigError
from apuflow.suites.network import Network, read_network
from apuflow.suites.sequence import read_sequence
from apuflow.suites.spec import Spec, spec_of
from apuflow.suites.step import Choice
from apuflow.suites.suite import details

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


def test_mask_rcnn_has_one_head_of_proposals_for_all_levels() -> None:
    assert network("maskrcnn_resnet50_fpn").params == 44_401_393  # torchvision's table of weights


def test_mask_rcnn_of_ai_matrix_is_matterports() -> None:
    """Keras' own sum of its COCO model is 64,158,584, four values for each normalised channel among them."""
    found = network("maskrcnn_resnet101_matterport")
    channels = 52_672 + 2 * 1024 + 4 * 256  # of ResNet-101, of the head of classes, of the head of masks
    assert found.params == 64_158_584 - 4 * channels
    assert (found.layers[0].h, found.layers[0].w) == (1024, 1024)
    proposals = [layer for layer in found.layers if layer.name.startswith("rpn_")]
    pixels = sum((1024 // stride) ** 2 for stride in (4, 8, 16, 32, 64))
    by_hand = pixels * (256 * 9 * 512 + 512 * (6 + 12))  # 3x3 to 512 channels, then 3 anchors of 2 + 4 values
    assert sum(layer.macs for layer in proposals) == by_hand
    assert f"{by_hand / 1e9:.1f}" == "103.8"


def test_ssd_of_ai_matrix_has_21_classes() -> None:
    """The paper's model for VOC has 26,285,486 values, 512 of them of the L2 rescaling."""
    assert network("ssd300_vgg16_voc").params == 26_285_486 - 512
    heads = [
        layer.out_c for layer in network("ssd300_vgg16_voc").layers if layer.name.startswith("head_class")
    ]
    assert heads == [21 * boxes for boxes in (4, 6, 6, 6, 4, 4)]


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
    sequences = [suite for name in suite_names(ROOT) if (suite := load_suite(name, ROOT)).kind == "sequence"]
    files = [suite.table for suite in sequences]
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
    """Each row of its params/*.params by each operator of test_cnn_ops.sh; all of them forward alone."""
    counts = {
        name.removeprefix("ai_matrix_"): len(load_suite(name, ROOT).steps(Choice()))
        for name in suite_names(ROOT)
        if name.startswith("ai_matrix_")
    }
    assert counts == {
        "convolution": 109,
        "pooling": 2 * 24,
        "fully_connected": 9,
        "activation": 4 * 96,
        "batchnorm": 77,
        "recurrent": 3 * 2 * 2 * 10,
        "gemm": 4 + 6 * 5,
    }


def test_operations_of_ai_matrix_are_those_of_its_programs() -> None:
    """allgemm.cu: OP_N, OP_T, beta 0. cnn_ops.py: given statistics. rnn_ops.py: inputs of 64."""
    first = {
        name: spec_of(load_suite(f"ai_matrix_{name}", ROOT).steps(Choice())[0])
        for name in ("gemm", "batchnorm", "recurrent")
    }
    assert {name: spec.text for name, spec in first.items() if isinstance(spec, Spec)} == {
        "gemm": "gemm fwd m=512 n=512 k=512 transpose_b=true",
        "batchnorm": "scale_shift fwd n=10 c=64 h=112 w=112",
        "recurrent": "recurrent fwd cell=lstm hidden=256 batch=16 steps=32 input=64",
    }
    lstm = load_suite("ai_matrix_recurrent", ROOT).steps(Choice())[0]
    assert lstm.flop == 2 * 16 * 32 * 4 * 256 * (256 + 64)
    cells = {step.op for step in load_suite("ai_matrix_recurrent", ROOT).steps(Choice())}
    assert cells == {"lstm", "gru", "vanilla_tanh"}  # BasicRNNCell: tanh


@pytest.mark.parametrize("suite", ["deepbench_convolution", "deepbench_recurrent"])
def test_deepbench_measures_no_backward_pass_of_its_inference_sets(suite: str) -> None:
    """Its programs measure it ``if (!inference)``."""
    backward = [step for step in load_suite(suite, ROOT).steps(Choice()) if step.phase == "backward"]
    assert {step.group for step in backward} == {"training"}
    with pytest.raises(ConfigError, match="nothing to run in this direction"):
        load_suite(suite, ROOT).steps(Choice(direction="bwd", group="inference_server"))


def test_a_recurrent_layer_of_deepbench_goes_back_through_time() -> None:
    """README: "All the recurrent work is done to calculate the weight updates"."""
    step = load_suite("deepbench_recurrent", ROOT).steps(Choice(direction="bwd"))[0]
    spec = spec_of(step)
    assert isinstance(spec, Spec)
    products = sum(launch.count for launch in spec.operation().launches("bwd", 4) if launch.kernel == "sgemm")
    assert (
        products == 50 + 2
    )  # of each step's state with the one before; of the weights with the first and the others


def test_networks_with_embeddings_look_them_up() -> None:
    """NMT: two tables of 36,549 words of 1,024; DIN: 63,001 items and 801 categories of 64, read twice."""
    read = {name: read_sequence(NETWORKS / f"{name}.csv").parts for name in ("nmt_gnmt4", "din")}
    tables = {name: [part for part in parts if part.op == "gather"] for name, parts in read.items()}
    assert [part.params for part in tables["nmt_gnmt4"]] == 2 * [36_549 * 1024]
    assert [part.params for part in tables["din"]] == [63_001 * 64, 801 * 64, 0, 0]
    assert [part.elements for part in tables["din"]] == [32 * 64, 32 * 64, 32 * 50 * 64, 32 * 50 * 64]
    steps = load_suite("din", ROOT).steps(Choice(direction="fwd", op="embedding"))
    assert [spec.text for step in steps if isinstance(spec := spec_of(step), Spec)][2] == (
        "embedding fwd rows=63001 width=64 tokens=1600"
    )


def test_what_a_suite_leaves_out_stands_beside_its_numbers() -> None:
    """DLRM's tables of MLPerf do not fit: its description says so, and ``apuflow list suites``."""
    suite = load_suite("dlrm_terabyte", ROOT)
    assert "without its embedding tables" in suite.description
    assert "26 embedding tables" in suite.left_out
    assert f"left out: {suite.left_out}" in details(suite)


def test_every_suite_has_steps_in_each_direction_that_it_has() -> None:
    names = suite_names(ROOT)
    assert len(names) == 51
    for name in names:
        suite = load_suite(name, ROOT)
        assert suite.steps(Choice(direction="fwd")), name
        assert suite.is_network <= bool(suite.steps(Choice(direction="both")))
