"""JSON schemas for editors."""

from __future__ import annotations

import json

import jsonschema
import pytest
import yaml
from places import ROOT

from apuflow.configure.schemas import schema_texts


def test_schemas_in_the_repository_are_those_of_the_models() -> None:
    for name, text in schema_texts(ROOT).items():
        assert (ROOT / "workflow/schemas" / name).read_text() == text, "run: apuflow schemas"


@pytest.mark.parametrize(
    ("schema", "folder"),
    [
        ("sweep", "sweeps"),
        ("machine", "machines"),
        ("gem5", "gem5"),
        ("workload", "workloads"),
        ("suite", "suites"),
    ],
)
def test_shipped_files_satisfy_the_schemas(schema: str, folder: str) -> None:
    checker = jsonschema.Draft202012Validator(json.loads(schema_texts(ROOT)[f"{schema}.schema.json"]))
    for path in sorted((ROOT / "configs" / folder).glob("*.yaml")):
        checker.validate(yaml.safe_load(path.read_text()))


@pytest.mark.parametrize(
    "text",
    [
        "axes: {num-tccs: 4}",
        "options: {num-tcc: 1}",
        "foo: 1",
        "engines: [previw]",
        "axes: {layer: {foo: 1}}",
    ],
)
def test_schemas_refuse_what_the_models_refuse(text: str) -> None:
    checker = jsonschema.Draft202012Validator(json.loads(schema_texts(ROOT)["sweep.schema.json"]))
    content = {"description": "x", "engines": ["preview"], **yaml.safe_load(text)}
    assert not checker.is_valid(content)


def test_an_editor_is_offered_names_and_layer_keys() -> None:
    """Names of this project, and others too: a pattern is no name."""
    properties = json.loads(schema_texts(ROOT)["sweep.schema.json"])["properties"]
    workloads = properties["workloads"]["anyOf"][1]["items"]
    assert "softmax_fwd" in workloads["anyOf"][0]["enum"]
    assert "r9-nano" in properties["machine"]["anyOf"][0]["enum"]
    assert "resnet50" in properties["suites"]["anyOf"][0]["anyOf"][0]["enum"]
    layer = properties["layer"]["properties"]
    assert layer["pool_mode"]["description"] == "largest or mean value of a window (max, avg)"
    assert "Convolution: size of the filter" in layer["kernel_size"]["description"]
    jsonschema.Draft202012Validator(workloads).validate("pool_*")
