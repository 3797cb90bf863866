"""Values set in a network, and its canonical text."""

from __future__ import annotations

import pytest
from dnnmark_texts import COMPOSED, SOFTMAX, standalone
from hypothesis import given
from hypothesis import strategies as st

from apuflow.core.errors import ConfigError
from apuflow.dnnmark import (
    LAYER_KEYS,
    Shape,
    parse,
    with_layer_values,
    write,
)


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
