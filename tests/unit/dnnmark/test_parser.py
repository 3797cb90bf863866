"""The grammar of .dnnmark files: what DNNMark reads, refuses, and silently passes over."""

from __future__ import annotations

import pytest
from dnnmark_texts import COMPOSED, SOFTMAX, standalone
from hypothesis import given
from hypothesis import strategies as st

from apuflow.core.errors import ApuflowError, ConfigError
from apuflow.dnnmark import (
    Shape,
    mmap_bytes,
    parse,
    write,
)


def test_shapes_flow_through_a_composed_network() -> None:
    conv, pool, fc = parse(COMPOSED).layers
    assert (conv.input, conv.output) == (Shape(1, 3, 32, 32), Shape(1, 32, 32, 32))
    assert (pool.input, pool.output) == (conv.output, Shape(1, 32, 16, 16))
    assert (fc.input, fc.output) == (pool.output, Shape(1, 32, 1, 1))


@pytest.mark.parametrize(
    ("size", "kernel", "pad", "stride", "out"),
    [
        (256, 3, 0, 2, 128),  # a part of a window counts
        (227, 3, 0, 2, 113),
        (7, 3, 1, 2, 4),
        (6, 3, 1, 2, 4),
        (5, 2, 1, 3, 2),  # 2*3 >= 5+1: the third window would begin in the padding and is dropped
        (2, 3, 0, 2, 1),  # a window larger than its input still counts once
    ],
)
def test_pooling_rounds_up_as_caffe_does(size: int, kernel: int, pad: int, stride: int, out: int) -> None:
    keys = (f"kernel_size={kernel}", f"pad={pad}", f"stride={stride}")
    network = parse(standalone("Pooling", *keys, shape=(1, 1, size, size)))
    assert network.layers[0].output.h == out


def test_text_is_read_as_dnnmark_reads_it() -> None:
    text = (
        "  # a comment\n\t[DNNMark]\r\n run_mode = standalone \n\n[Convolution]\n name = a=b \nn=1\nc=4\n"
        "h=9\nw=8\nkernel_size=3\nkernel_size_w=1\npad=0\nstride_h=2\npropagation=false\n"
    )
    layer = parse(text).layers[0]
    assert layer.name == "a=b"
    assert layer.output == Shape(1, 32, 4, 8)
    assert layer.params.propagation is False  # type: ignore[attr-defined]


def test_a_later_plain_key_overrides_an_earlier_one_of_an_axis() -> None:
    layer = parse(standalone("Pooling", "stride_h=4", "stride=2")).layers[0]
    assert layer.params.stride.h == 2  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "key", "value", "remedy"),
    [
        ("", None, None, "add a section"),
        ("[DNNMark]\nrun_mode=standalone\n", None, None, "add a section"),
        ("name=x\n[Softmax]", "line 1", "name=x", "begin the file"),
        ("[DNNMark]\nrun_mode=fast\n", "run_mode (line 2)", "fast", "none, standalone, composed"),
        ("[DNNMark]\nmode=standalone\n", "mode (line 2)", "standalone", "run_mode"),
        ("[Softmax]\nn=1\n[DNNMark]\nrun_mode=standalone", "line 3", "[DNNMark]", "top of the file"),
        (standalone("Softmax").replace("[Softmax]", "[softmax]"), "line 3", "[softmax]", "[Softmax]"),
        (standalone("Softmax", "no equals sign"), "line 9", "no equals sign", "[Convolution]"),
        (standalone("Softmax", "kernel_size=3"), "kernel_size (line 9)", "3", "softmax_algo"),
        (standalone("Pooling", "kernel_size=3x"), "kernel_size (line 9)", "3x", "whole number"),
        (standalone("Pooling", "stride=0"), "stride (line 9)", "0", "at least 1"),
        (standalone("Pooling", "pad=-1"), "pad (line 9)", "-1", "at least 0"),
        (standalone("Pooling", "pool_mode=avg_include_padding"), "pool_mode (line 9)", None, "max, avg"),
        (standalone("LRN", "alpha=nan"), "alpha (line 9)", "nan", "a number"),
        (standalone("LRN", "alpha=1e999"), "alpha (line 9)", "1e999", "finite"),
        (standalone("BatchNorm", "epsilon=1e-6"), "epsilon (line 9)", "1e-6", "at least 1e-05"),
        (
            standalone("BatchNorm", "save_intermediates=no"),
            "save_intermediates (line 9)",
            "no",
            "true or false",
        ),
        (
            standalone("Activation", "activation_mode=clipped_relu"),
            "activation_mode (line 9)",
            None,
            "soft_relu",
        ),
        (standalone("Softmax", shape=(0, 1, 1, 1)), "n (line 5)", "0", "at least 1"),
        (standalone("Softmax", shape=(2**31, 1, 1, 1)), "n (line 5)", None, "C int"),
        (SOFTMAX.replace("w=1\n", ""), "[Softmax] (line 4)", None, "run_mode=composed"),
        (standalone("Convolution", "kernel_size=9", "pad=0"), "[Convolution] (line 3)", "2x4x8x8", "smaller"),
        (standalone("Pooling", "kernel_size=20"), "[Pooling] (line 3)", "2x4x8x8", "smaller"),
        (COMPOSED.replace("previous_layer=pool1", "previous_layer=pool2"), None, "pool2", "conv1, pool1"),
        (COMPOSED.replace("previous_layer=conv1", "previous_layer=fc1"), None, "fc1", "conv1"),
        (COMPOSED.replace("name=pool1", "name=conv1"), "name (section at line 18)", "conv1", "of its own"),
        (COMPOSED.replace("previous_layer=null", "previous_layer=x"), None, "x", "previous_layer=null"),
    ],
)
def test_bad_text_is_refused_with_file_key_value_and_remedy(
    text: str, key: str | None, value: str | None, remedy: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, "net.dnnmark")
    error = caught.value
    assert error.file == "net.dnnmark"
    assert error.remedy is not None and remedy in error.remedy
    if key is not None:
        assert error.key == key
    if value is not None:
        assert error.value == value


def test_run_mode_none_fills_only_layers_that_name_null() -> None:
    text = SOFTMAX.replace("run_mode=standalone", "run_mode=none")
    assert mmap_bytes(parse(text), "fwd") == 0
    assert mmap_bytes(parse(text + "previous_layer=null\n"), "fwd") == 400_000


FRAGMENTS = st.sampled_from(
    [
        "[DNNMark]",
        "[Softmax]",
        "[Convolution]",
        "run_mode=composed",
        "name=a",
        "previous_layer=a",
        "n=1",
        "c=2",
        "h=3",
        "w=4",
        "previous_layer=null",
        "=",
        "[",
        "]",
        "n=-1",
        "pad=99999999999",
        "#",
        "\0",
        "\x85n=1",
        "n = ٣",
    ]
)


@given(st.one_of(st.text(), st.lists(st.one_of(FRAGMENTS, st.text(max_size=9))).map("\n".join)))
def test_any_text_parses_or_is_refused_cleanly(text: str) -> None:
    try:
        network = parse(text, "fuzz.dnnmark")
    except ApuflowError as error:
        assert error.file == "fuzz.dnnmark" and error.remedy
    else:
        assert network.layers and parse(write(network)).layers == network.layers
