"""What describes a study in its archive: an RO-Crate, Zenodo's metadata, the artifact appendix."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import needs
import pytest
import rocrate
import yaml
from places import ROOT
from regress_runs import RUN, recorded_run
from run_records import batch_record

from apuflow.configure import Sweep, load_sweep
from apuflow.core.errors import ConfigError
from apuflow.core.record import BatchRecord, RunRecord, read
from apuflow.results.authorship import authorship, zenodo
from apuflow.results.crate import metadata

PREVIEW = "runs/preview/softmax_fwd/quickstart.v36/run.json"
CITATION = {
    "cff-version": "1.2.0",
    "message": "cite it",
    "title": "Softmax on an APU",
    "license": "CC-BY-4.0",
    "authors": [
        {
            "family-names": "Carberry",
            "given-names": "Josiah",
            "affiliation": "Brown University",
            "orcid": "https://orcid.org/0000-0002-1825-0097",
        }
    ],
}
TERMS = "https://w3id.org/ro/terms/workflow-run#"
CONTEXT = {
    **json.loads((Path(rocrate.__file__).parent / "data/ro-crate.jsonld").read_text())["@context"],
    **{name: f"https://bioschemas.org/{name}" for name in ("ComputationalWorkflow", "FormalParameter")},
    **{name: f"https://bioschemas.org/ComputationalWorkflow#{name}" for name in ("input", "output")},
    **{name: f"{TERMS}{name}" for name in ("ContainerImage", "containerImage", "sha256")},
}
"""RO-Crate's terms as the library has them, with those of version 1.1 and of Workflow Run Crate that differ.

The validator does not load contexts without a network.
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A directory as an archive unpacks: a run of gem5 in a container, a preview, a table, the report."""
    image = {"image": "ghcr.io/gem5/gcn-gpu:v23-0", "image_digest": f"sha256:{'a' * 64}"}
    recorded_run(
        tmp_path / RUN, provenance={"gem5_version": "23.0.1.0", "gem5_commit": "6835f06657", **image}
    )
    files = {
        PREVIEW: json.dumps(batch_record()),
        "CITATION.cff": yaml.safe_dump(CITATION),
        "README.md": "apuflow",
        "workflow/Snakefile": "",
        "configs/sweeps/quickstart.yaml": (ROOT / "configs/sweeps/quickstart.yaml").read_text(),
        "results/quickstart/softmax_fwd.csv": "engine\n",
        "results/quickstart/report.html": "<html></html>",
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "ro-crate-metadata.json").write_bytes(described(tmp_path))
    return tmp_path


def described(study: Path) -> bytes:
    files = [file.relative_to(study).as_posix() for file in study.rglob("*") if file.is_file()]
    records: dict[str, RunRecord | BatchRecord] = {
        name: read(study / name) for name in files if name.endswith("run.json")
    }
    return metadata(
        sweep(), records, [name for name in files if name != "ro-crate-metadata.json"], authorship(study)
    )


def sweep() -> Sweep:
    return load_sweep("quickstart", ROOT)


def entities(study: Path) -> dict[str, dict[str, Any]]:
    content = json.loads((study / "ro-crate-metadata.json").read_text())
    return {entity["@id"]: entity for entity in content["@graph"]}


def test_each_file_of_a_run_is_the_result_of_the_gem5_that_made_it(study: Path) -> None:
    """Provenance Run Crate 0.5: CreateAction, its instrument, ControlAction, HowToStep, OrganizeAction."""
    found = entities(study)
    action = found["#gem5-kernels/softmax_fwd/u4"]
    assert action["@type"] == "CreateAction"
    assert {"@id": f"{RUN}/stats.txt"} in action["result"] and {"@id": f"{RUN}/run.json"} in action["result"]
    gem5 = found[action["instrument"]["@id"]]
    assert (gem5["name"], gem5["softwareVersion"], gem5["identifier"]) == (
        "gem5 v23.0",
        "23.0.1.0",
        "6835f06657",
    )
    assert found[action["containerImage"]["@id"]]["sha256"] == "a" * 64
    assert found[action["object"]["@id"]]["value"] == "4"
    step = found[found["#control-gem5-kernels/softmax_fwd/u4"]["instrument"]["@id"]]
    workflow = found["workflow/Snakefile"]
    assert {"@id": step["@id"]} in workflow["step"] and step["workExample"] == action["instrument"]
    assert found["./"]["mainEntity"] == {"@id": "workflow/Snakefile"}
    assert found["#study"]["instrument"] == {"@id": "workflow/Snakefile"}


def test_equal_studies_give_equal_bytes(study: Path) -> None:
    assert described(study) == (study / "ro-crate-metadata.json").read_bytes()


def test_a_failed_run_says_how_it_failed(study: Path) -> None:
    recorded_run(study / RUN, status="gem5_panic", evidence="panic: fault", statistics=None)
    (study / "ro-crate-metadata.json").write_bytes(described(study))
    action = entities(study)["#gem5-kernels/softmax_fwd/u4"]
    assert action["actionStatus"] == "http://schema.org/FailedActionStatus"
    assert action["error"] == "gem5_panic: panic: fault"


def test_authors_and_licence_are_those_of_the_project(study: Path, tmp_path: Path) -> None:
    found = entities(study)
    assert found["./"]["license"] == {"@id": "https://spdx.org/licenses/CC-BY-4.0"}
    author = found[found["./"]["author"]["@id"]]
    assert (author["@id"], author["name"]) == (CITATION["authors"][0]["orcid"], "Carberry, Josiah")  # type: ignore[index]
    content = json.loads(zenodo(sweep(), authorship(study), "1"))
    known = {"name": "Carberry, Josiah", "affiliation": "Brown University", "orcid": "0000-0002-1825-0097"}
    assert content["creators"] == [known] and content["license"] == "cc-by-4.0"
    assert "creators" not in json.loads(zenodo(sweep(), authorship(tmp_path / "none"), "1"))


def test_a_wrong_citation_is_named(study: Path) -> None:
    (study / "CITATION.cff").write_text("title: [1]\n")
    with pytest.raises(ConfigError) as caught:
        authorship(study)
    assert "CITATION.cff:1" in str(caught.value) and "title" in str(caught.value)


def test_roc_validator_accepts_it(study: Path) -> None:
    """Every rule that the profiles Process, Workflow and Provenance Run Crate and RO-Crate 1.1 require."""
    file = study / "ro-crate-metadata.json"
    content = json.loads(file.read_text())
    file.write_text(json.dumps({**content, "@context": CONTEXT}))
    options = ["--offline", "-p", "provenance-run-crate", "-l", "required", "--no-paging", "-f", "json"]
    program = needs.ROC_VALIDATOR.required_program()
    report = study.parent / "report.json"
    command = [program, "-y", "validate", *options, "-o", str(report), str(study)]
    home = {"HOME": str(study.parent), "XDG_CACHE_HOME": str(study.parent / "cache")}
    subprocess.run(command, env={**os.environ, **home}, capture_output=True, timeout=120, check=False)
    told = json.loads(report.read_text())
    assert told["passed"], [issue["message"] for issue in told["issues"]]
    report.unlink()
