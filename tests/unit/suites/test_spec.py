"""What engines run of a step of a suite."""

from __future__ import annotations

from pathlib import Path

import pytest
from places import ROOT

from apuflow import operations
from apuflow.configure.loading import suite_names
from apuflow.configure.suite import load_suite
from apuflow.configure.workloads import load_workload
from apuflow.core.errors import ConfigError
from apuflow.operations import Layers
from apuflow.suites.network import read_network
from apuflow.suites.sequence import read_sequence
from apuflow.suites.spec import Spec, parse, spec_of
from apuflow.suites.step import Choice


def specs(name: str, direction: str = "both") -> list[Spec]:
    choice = Choice(direction="fwd" if direction == "fwd" else "both")
    found = [spec_of(step) for step in load_suite(name, ROOT).steps(choice)]
    return [spec for spec in found if isinstance(spec, Spec)]


@pytest.mark.parametrize("name", [name for name in suite_names(ROOT) if "152" not in name])
def test_every_operation_of_every_suite_can_be_made_and_read_back(name: str) -> None:
    for spec in set(specs(name)):
        if spec.of_workload:
            wrong: list[ConfigError] = []
            assert load_workload(spec.kind, ROOT).work(dict(spec.keys), wrong.append) and not wrong
            continue
        again = parse(spec.text)
        assert again.text == spec.text
        assert again.operation() == spec.operation() == operations.parse(spec.operation().text)
        errors = [trap for trap in spec.operation().traps(spec.direction) if trap.level == "error"]
        assert not errors, spec.text


def test_layers_have_the_output_sizes_of_the_table() -> None:
    for file in sorted((ROOT / "configs/networks").glob("*.csv")):
        if file.stem == "index" or "op,inputs" not in file.read_text().partition("\n")[0]:
            continue
        for layer, step in zip(
            read_network(file).layers, read_network(file).steps(Choice(direction="fwd"), 1), strict=True
        ):
            spec = spec_of(step)
            if isinstance(spec, Spec) and spec.is_layer:
                operation = spec.operation()
                assert isinstance(operation, Layers)
                [made] = operation.network.layers
                assert made.output[1:] == (layer.out_c, layer.out_h, layer.out_w), (file.stem, layer.name)


def test_gradients_of_a_product_are_products() -> None:
    # C (m x n) = A B: dA = dC B' is m x k over n, dB = A' dC is k x n over m
    texts = [spec.text for spec in specs("dlrm_terabyte") if spec.kind == "gemm"]
    assert "gemm fwd m=512 n=2048 k=13" in texts
    assert "gemm fwd m=512 n=13 k=2048 transpose_b=true" in texts
    assert "gemm fwd m=13 n=2048 k=512 transpose_a=true" in texts


def test_deepbench_reads_what_c_held() -> None:
    assert specs("deepbench_gemm")[0].text == "gemm fwd m=1760 n=16 k=1760 beta=1"


@pytest.mark.parametrize("text", ["", "Softmax", "Softmax up n=1", "Softmax fwd n"])
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="not an operation"):
        parse(text)


def test_a_table_names_file_line_and_column_of_a_mistake(tmp_path: Path) -> None:
    text = (ROOT / "configs/networks/alexnet_owt.csv").read_text()
    table = tmp_path / "mine.csv"
    table.write_text(text.replace("1,features_0,conv,input,1,3", "1,features_0,conv,input,1,three"))
    with pytest.raises(ConfigError, match=r"mine.csv:2(.|\n)*in_c"):
        read_network(table)
    table.write_text(text.replace("name,op", "name,kind"))
    with pytest.raises(ConfigError, match="op"):
        read_network(table)


def test_the_masks_of_mask_rcnn_are_enlarged_by_a_transposed_convolution() -> None:
    """100 detections of 256 channels, from 14x14 to 28x28."""
    [text] = {spec.text for spec in specs("maskrcnn_resnet50_fpn", "fwd") if spec.kind == "deconvolution"}
    assert text.startswith("deconvolution fwd n=100 c=256 h=14 w=14 num_output=256 kernel_h=2 kernel_w=2")


def test_maps_of_mask_rcnn_are_enlarged_twice() -> None:
    """The pyramid's, of 256 channels: from 25x42 to 50x84, 100x168 and 200x336."""
    texts = [spec.text for spec in specs("maskrcnn_resnet50_fpn") if spec.kind == "upsample"]
    sizes = [(25, 42), (50, 84), (100, 168)]
    assert texts[:3] == [f"upsample fwd n=1 c=256 h={h} w={w} factor=2" for h, w in sizes]
    assert texts[3:] == [f"upsample bwd n=1 c=256 h={h} w={w} factor=2" for h, w in reversed(sizes)]


def test_attention_networks_gather_their_words() -> None:
    """BERT-base: 30,522 words, 512 positions, 2 sentences of 768 values; the Transformer: 37,000 of 512."""
    bert, transformer = (
        [spec.text for spec in specs(name)] for name in ("bert_base_seq128", "transformer_base_seq64")
    )
    assert bert[:3] == [
        "embedding fwd rows=31036 width=768 tokens=128",
        "elementwise fwd n=1 c=1 h=1 w=98304 operator=add",
        "layernorm fwd rows=128 width=768",
    ]
    assert "embedding bwd rows=31036 width=768 tokens=128" in bert
    assert transformer[0] == "embedding fwd rows=37000 width=512 tokens=128"


def test_scores_of_additive_attention_run_as_their_four_steps() -> None:
    """NMT: for each of 50 words and 32 sentences, 50 keys of 1,024 units; normed Bahdanau."""
    steps = load_suite("nmt_gnmt4", ROOT).steps(Choice())
    found = [(step, spec_of(step)) for step in steps if step.name.startswith("attention.score")]
    assert {step.repeats for step, _ in found} == {50} and {step.flop for step, _ in found} == {0}
    assert [spec.text for _, spec in found if isinstance(spec, Spec)] == [
        "elementwise fwd n=1 c=1 h=1 w=1638400 operator=add",
        "Activation fwd n=1 c=1638400 h=1 w=1 activation_mode=tanh",
        "gemm fwd m=1 n=1600 k=1024",
        "Softmax fwd n=32 c=50 h=1 w=1",
        "Softmax bwd n=32 c=50 h=1 w=1",
        "gemm fwd m=1024 n=1600 k=1 transpose_a=true",
        "gemm fwd m=1 n=1024 k=1600 transpose_b=true",
        "Activation bwd n=1 c=1638400 h=1 w=1 activation_mode=tanh",
    ]


def test_scores_without_a_product_before_them_name_what_is_missing(tmp_path: Path) -> None:
    lines = (ROOT / "configs/networks/nmt_gnmt4.csv").read_text().splitlines()
    table = tmp_path / "mine.csv"
    table.write_text("\n".join([lines[0], next(line for line in lines if "tanh_dot" in line)]))
    with pytest.raises(ConfigError, match=r"mine.csv(.|\n)*query's product"):
        read_sequence(table)


def test_convolutions_run_direct_where_miopen_has_a_kernel() -> None:
    """AlexNet's first filter steps by 4, which MIOpen's direct kernels do not."""
    steps = load_suite("alexnet_owt", ROOT).steps(Choice(n=1, direction="fwd", algorithm="direct"))
    found = [spec_of(step) for step in steps if step.op == "conv"]
    kinds = [spec.kind for spec in found if isinstance(spec, Spec)]
    assert kinds == ["Convolution", *["convolution"] * 4]
    assert all(("algorithm", "direct") in spec.keys for spec in found[1:] if isinstance(spec, Spec))


def test_gradients_run_direct_where_miopen_has_a_kernel() -> None:
    """Of AlexNet's first filter, too, 11x11 by steps of 4: on the images, so its weights alone have one."""
    steps = load_suite("alexnet_owt", ROOT).steps(Choice(n=2, direction="bwd", algorithm="direct"))
    found = [spec for step in steps if step.op == "conv" and isinstance(spec := spec_of(step), Spec)]
    assert [spec.kind for spec in found] == ["convolution"] * 5
    assert found[-1].text == (
        "convolution bwd n=2 c=3 h=224 w=224 num_output=64 kernel_h=11 kernel_w=11 pad_h=2 pad_w=2 "
        "stride_h=4 stride_w=4 propagation=false algorithm=direct"
    )
    kernels = [[one.kernel for one in spec.operation().launches("bwd", 4)] for spec in found]
    both = ["MIOpenCvBwdWrW", "MIOpenCvBwdWrW_rdc", "MIOpenConvUni"]
    assert kernels == [both, both, both, both, both[:2]]


def test_a_gradient_that_the_preview_refuses_is_left_to_the_gemm() -> None:
    """Of 64x64 images AlexNet's first filter has its sums in private memory (``direct_gradients.csv``)."""
    steps = load_suite("alexnet_64", ROOT).steps(Choice(direction="bwd", algorithm="direct"))
    found = [spec for step in steps if step.op == "conv" and isinstance(spec := spec_of(step), Spec)]
    assert [spec.kind for spec in found] == [*["convolution"] * 4, "Convolution"]


def test_layers_add_their_bias_where_it_is_asked_for() -> None:
    """AlexNet's five convolutions and three fully connected layers have one; DNNMark's have none."""
    suite = load_suite("alexnet_owt", ROOT)
    asked = suite.steps(Choice(n=2, bias=True))
    texts = [spec.text for step in asked if step.op == "bias" and isinstance(spec := spec_of(step), Spec)]
    assert texts[0] == "bias fwd n=2 c=64 h=55 w=55" and texts[-1] == "bias bwd n=2 c=64 h=55 w=55"
    assert [text.split()[1] for text in texts] == ["fwd"] * 8 + ["bwd"] * 8
    around = [(step.op, step.phase) for step in asked]
    assert around[:2] == [("conv", "forward"), ("bias", "forward")]
    last = max(place for place, (_, phase) in enumerate(around) if phase == "backward")
    assert around[last - 1 : last + 1] == [("bias", "backward"), ("conv", "backward")]
    assert [step for step in asked if step.op != "bias"] == list(suite.steps(Choice(n=2)))


def test_the_activations_of_mobilenet_and_deepspeech_run_as_relu() -> None:
    """torchvision's MobileNetV2 has 35 ReLU6; TensorFlow's DeepSpeech2 two behind batch normalisations."""
    steps = load_suite("mobilenet_v2", ROOT).steps(Choice(n=1, direction="fwd"))
    first = next(spec_of(step) for step in steps if step.op == "relu6")
    assert isinstance(first, Spec)
    assert first.text == "Activation fwd n=1 c=32 h=112 w=112 activation_mode=relu"
    assert sum(step.op == "relu6" for step in steps) == 35
    ops = [step.op for step in load_suite("deepspeech2_tf", ROOT).steps(Choice(direction="fwd"))]
    assert (ops.count("relu6"), "batchnorm+relu6" in ops) == (2, False)
