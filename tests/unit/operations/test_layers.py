"""A DNNMark file, an item of a suite and the text in a point's identity are one kind of value."""

from __future__ import annotations

from dnnmark_texts import standalone

from apuflow import operations
from apuflow.miopen.launch import defines, definitions
from apuflow.operations import Layers
from apuflow.suites import spec


def test_a_layer_is_the_same_operation_wherever_it_is_read() -> None:
    file = "# a comment\n" + standalone("Softmax", shape=(100, 1000, 1, 1)).replace("name=l", "name=softmax")
    item = spec.parse("Softmax fwd n=100 c=1000 h=1 w=1").operation()
    assert item == Layers.of_text(file) == operations.parse(item.text)
    assert operations.parse("[gemm]\nm=4\nn=5\nk=6\n") == spec.parse("gemm fwd m=4 n=5 k=6").operation()


def test_a_fully_connected_layer_has_the_multiply_adds_of_its_products() -> None:
    """16 samples, 200 inputs, 30 outputs; backward one product for the data, one for the weights."""
    layer = Layers.single("FullyConnected", {"n": 16, "c": 200, "h": 1, "w": 1, "num_output": 30})
    assert layer.macs("fwd") == 16 * 200 * 30
    assert layer.macs("bwd") == 2 * 16 * 200 * 30


def test_definitions_are_read_back_from_the_compile_arguments_that_they_make() -> None:
    """clang defines a name without a value as 1."""
    made = defines({"N": 3, "TYPE": "float"}) + " -DLITE"
    assert definitions(made) == {"MLO_N": "3", "MLO_TYPE": "float", "LITE": "1"}
    assert definitions(None) == {}
