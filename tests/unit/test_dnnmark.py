"""The grammar of .dnnmark files: what DNNMark reads, refuses, and silently passes over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apuflow.core.errors import ApuflowError, ConfigError
from apuflow.dnnmark import (
    LAYER_KEYS,
    Shape,
    check,
    device_bytes,
    mmap_bytes,
    parse,
    with_layer_values,
    write,
)

DATA = Path(__file__).parents[1] / "data"

COMPOSED = """\
[DNNMark]
run_mode=composed

[Convolution]
name=conv1
n=1
c=3
h=32
w=32
previous_layer=null
conv_mode=cross_correlation
num_output=32
kernel_size=5
pad=2
stride=1
conv_fwd_pref=fastest

[Pooling]
name=pool1
previous_layer=conv1
pool_mode=max
kernel_size=3
pad=0
stride=2

[FullyConnected]
name=fc1
previous_layer=pool1
num_output=32
"""

SOFTMAX = "[DNNMark]\nrun_mode=standalone\n\n[Softmax]\nname=softmax\nn=100\nc=1000\nh=1\nw=1\n"


def standalone(section: str, *keys: str, shape: tuple[int, int, int, int] = (2, 4, 8, 8)) -> str:
    dims = [f"{axis}={size}" for axis, size in zip("nchw", shape, strict=True)]
    return "\n".join(["[DNNMark]", "run_mode=standalone", f"[{section}]", "name=l", *dims, *keys])


def test_shapes_flow_through_a_composed_network() -> None:
    conv, pool, fc = parse(COMPOSED).layers
    assert (conv.input, conv.output) == (Shape(1, 3, 32, 32), Shape(1, 32, 32, 32))
    assert (pool.input, pool.output) == (conv.output, Shape(1, 32, 16, 16))
    assert (fc.input, fc.output) == (pool.output, Shape(1, 32, 1, 1))


def test_reference_configurations_need_the_mmap_bytes_that_dnnmark_asks_for() -> None:
    cases = [json.loads(line) for line in (DATA / "miopen_rows.jsonl").read_text().splitlines()]
    assert len(cases) == 300
    for case in cases:
        assert mmap_bytes(parse(case["config"]), case["direction"]) == case["mmap_bytes"], case["config"]


@pytest.mark.parametrize(
    ("text", "fwd", "bwd", "device"),
    [
        (standalone("Activation", shape=(100, 32, 256, 256)), 838_860_800, 838_860_800, 3_355_443_200),
        (standalone("LRN", shape=(100, 32, 256, 256)), 838_860_800, 838_860_800, 6_710_886_400),
        (standalone("Pooling", shape=(100, 3, 256, 256)), 78_643_200, 78_643_200, 216_268_800),
        (standalone("FullyConnected", shape=(100, 9162, 1, 1)), 150_110_208, 150_110_208, 310_826_816),
        (standalone("BatchNorm", shape=(100, 1000, 1, 1)), 400_000, 400_000, 1_632_000),
        (standalone("Convolution", shape=(126, 3, 256, 256)), 99_090_432, 1_056_964_608, 2_548_058_880),
        (COMPOSED, 1_048_576, 1_048_576, 6_188_032),
    ],
)
def test_bytes_of_the_default_shapes(text: str, fwd: int, bwd: int, device: int) -> None:
    network = parse(text)
    assert (mmap_bytes(network, "fwd"), mmap_bytes(network, "bwd")) == (fwd, bwd)
    assert mmap_bytes(network, "both") == max(fwd, bwd)
    assert device_bytes(network) == device


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


def problems(text: str, direction: str = "both", handles: int | None = None) -> list[tuple[str, str]]:
    return [
        (problem.level, problem.message)
        for problem in check(parse(text), direction, handles)  # type: ignore[arg-type]
    ]


@pytest.mark.parametrize(
    ("text", "direction", "handles", "level", "part"),
    [
        (standalone("Convolution", "conv_mode=convolution"), "fwd", 1, "error", "aborts before any kernel"),
        (standalone("Convolution", "conv_mode=transpose", "num_output=4"), "fwd", 1, "warning", "transposed"),
        (standalone("BatchNorm", "save_intermediates=false"), "fwd", 1, "error", "null pointer"),
        (standalone("Dropout"), "fwd", 1, "error", "not implemented"),
        (standalone("Softmax", "softmax_algo=fast"), "fwd", 1, "warning", "no effect"),
        (standalone("LRN", "k=0"), "fwd", 1, "error", "k=0"),
        (standalone("Pooling", "kernel_size=16", "pad=8"), "bwd", 1, "error", "255"),
        (standalone("Pooling"), "bwd", 1, "warning", "index"),
        (standalone("Convolution"), "bwd", 1, "warning", "instead of its gradient"),
        (standalone("Convolution", shape=(1, 64, 1080, 1080)), "fwd", 1, "error", "column matrix"),
        (standalone("Softmax", shape=(65536, 32768, 1, 1)), "fwd", 1, "error", "C int"),
        (standalone("Softmax", "n=3"), "fwd", 1, "warning", "given twice"),
        (COMPOSED, "fwd", 2, "error", "3 layers, but the program makes 2 handles"),
        (COMPOSED.replace("name=pool1", "name=pool1\nn=9"), "fwd", 3, "warning", "ignored"),
        (SOFTMAX.replace("run_mode=standalone", ""), "fwd", 1, "warning", "run_mode is not set"),
    ],
)
def test_traps_are_named_with_their_remedy(
    text: str, direction: str, handles: int, level: str, part: str
) -> None:
    assert any(found == level and part in message for found, message in problems(text, direction, handles))


def test_the_workspace_trap_of_gfx803_is_named_there_only() -> None:
    network = parse(standalone("Convolution", "kernel_size=3", "pad=1", shape=(1, 16, 8, 8)))
    (problem,) = check(network, "fwd", 1, "gfx803")
    assert (problem.level, "Winograd" in problem.message) == ("warning", True)
    assert check(network, "fwd", 1, "gfx801") == check(network, "fwd", 1) == ()


def test_a_sound_configuration_has_no_problem() -> None:
    assert problems(SOFTMAX, "both", 1) == []
    assert problems(COMPOSED, "fwd", 3) == []


def test_run_mode_none_fills_only_layers_that_name_null() -> None:
    text = SOFTMAX.replace("run_mode=standalone", "run_mode=none")
    assert mmap_bytes(parse(text), "fwd") == 0
    assert mmap_bytes(parse(text + "previous_layer=null\n"), "fwd") == 400_000


def test_values_are_set_where_they_belong() -> None:
    text = with_layer_values(
        COMPOSED, {"n": 10, "conv1.num_output": 64, "kernel_size": 3, "fc1.num_output": 7}
    )
    conv, pool, fc = parse(text).layers
    assert conv.output == Shape(10, 64, 34, 34)
    assert pool.params.kernel.h == 3  # type: ignore[attr-defined]
    assert fc.output == Shape(10, 7, 1, 1)
    assert "conv_fwd_pref=fastest" in text  # the rest stays


def test_a_bare_key_goes_to_the_first_layer_that_states_it() -> None:
    text = with_layer_values(COMPOSED.replace("num_output=32\nkernel", "kernel", 1), {"num_output": 5})
    assert [layer.output.c for layer in parse(text).layers] == [32, 32, 5]


def test_in_a_standalone_file_a_bare_key_goes_to_every_layer_that_takes_it() -> None:
    text = SOFTMAX + standalone("LRN").partition("standalone")[2]
    shapes = [layer.input.n for layer in parse(with_layer_values(text, {"n": 7, "local_size": 3})).layers]
    assert shapes == [7, 7]


def test_a_plain_window_key_replaces_those_of_its_axes() -> None:
    text = with_layer_values(standalone("Pooling", "stride_h=4", "stride_w=3"), {"stride": 1})
    params = parse(text).layers[0].params
    assert (params.stride.h, params.stride.w) == (1, 1)  # type: ignore[attr-defined]
    text = with_layer_values(text + "\nkernel_size=2", {"kernel_size_h": 5})
    params = parse(text).layers[0].params
    assert (params.kernel.h, params.kernel.w) == (5, 2)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("values", "remedy"),
    [
        ({"kernel": 3}, "kernel_size"),
        ({"name": "x"}, "keys that can be set"),
        ({"relu9.n": 3}, "conv1 [Convolution]"),
        ({"fc1.stride": 3}, "layers"),
        ({"n": 0}, "at least 1"),
        ({"n": 1.5}, "whole number"),
        ({"pad": True}, "whole number"),
    ],
)
def test_values_that_no_layer_takes_are_refused(values: dict[str, int], remedy: str) -> None:
    with pytest.raises(ConfigError) as caught:
        with_layer_values(COMPOSED, values, "net.dnnmark")
    assert remedy in str(caught.value.remedy)
    assert caught.value.file == "net.dnnmark"


@st.composite
def networks(draw: st.DrawFn) -> str:
    """Text of a standalone network with some keys of each layer."""
    lines = ["[DNNMark]", "run_mode=standalone"]
    for number, kind in enumerate(
        draw(st.lists(st.sampled_from(sorted(LAYER_KEYS)), min_size=1, max_size=4))
    ):
        lines += [f"[{kind}]", f"name=l{number}", *(f"{axis}={draw(st.integers(9, 99))}" for axis in "nchw")]
        for key in LAYER_KEYS[kind].values():
            if key.name in "nchw" or key.name in ("name", "previous_layer") or not draw(st.booleans()):
                continue
            if key.choices:
                lines.append(f"{key.name}={draw(st.sampled_from(key.choices))}")
            elif key.type is int:
                lines.append(f"{key.name}={draw(st.integers(1, 9))}")
            elif key.type is float:
                lines.append(f"{key.name}={draw(st.floats(0.001, 10))!r}")
            elif key.type is bool:
                lines.append(f"{key.name}={draw(st.sampled_from(['true', 'false']))}")
            else:
                lines.append(f"{key.name}={draw(st.sampled_from(['fastest', 'auto']))}")
    return "\n".join(lines)


@given(networks())
def test_canonical_text_means_the_same_network(text: str) -> None:
    network = parse(text)
    assert parse(write(network)) == network
    assert write(parse(write(network))) == write(network)


def test_canonical_text_states_defaults_and_one_key_for_equal_axes() -> None:
    """Defaults as in DNNMark's ``dnn_param.h``; the text is part of the identity of every run."""
    network = parse(
        standalone("Convolution", "stride_w=2", "pad=2", "pad_h=1") + "\n[LRN]\nn=1\nc=1\nh=1\nw=1"
    )
    assert write(network) == (
        "[DNNMark]\nrun_mode=standalone\n\n[Convolution]\nname=l\nn=2\nc=4\nh=8\nw=8\n"
        "conv_mode=cross_correlation\nnum_output=32\nkernel_size=5\npad_h=1\npad_w=2\n"
        "stride_h=1\nstride_w=2\npropagation=true\n\n[LRN]\nn=1\nc=1\nh=1\nw=1\n"
        "lrn_mode=cross_channel_dim1\nlocal_size=5\nalpha=0.0001\nbeta=0.75\nk=2.0\n"
    )


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
