"""The manifest of docs/howto/kubernetes.md, as far as it can be checked without a cluster."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml
from places import ROOT

from apuflow.configure.base import read
from apuflow.configure.site import Site
from apuflow.configure.yaml_source import parse

PAGE = (ROOT / "docs/howto/kubernetes.md").read_text()
BLOCKS = [textwrap.dedent(text) for text in re.findall(r"^ *```yaml\n(.*?)^ *```", PAGE, re.M | re.S)]


@pytest.fixture(scope="module")
def manifest() -> tuple[dict[str, Any], dict[str, Any]]:
    claim, job = yaml.safe_load_all(BLOCKS[1])
    return claim, job


def test_the_site_is_one_that_apuflow_reads() -> None:
    site = read(parse(BLOCKS[0], "site.yaml"), Site)
    assert site.container == "host"


def test_kinds_and_names_agree(manifest: tuple[dict[str, Any], dict[str, Any]]) -> None:
    claim, job = manifest
    assert (claim["apiVersion"], claim["kind"]) == ("v1", "PersistentVolumeClaim")
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    pod = job["spec"]["template"]["spec"]
    [volume], [container] = pod["volumes"], pod["containers"]
    assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    assert [mount["name"] for mount in container["volumeMounts"]] == [volume["name"]]
    assert container["workingDir"] == container["volumeMounts"][0]["mountPath"]
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    assert pod["restartPolicy"] in ("Never", "OnFailure")  # what a Job may have
    for name in (claim["metadata"]["name"], job["metadata"]["name"], container["name"], volume["name"]):
        assert re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", name)


def test_the_arguments_are_snakemakes_own_and_fit_the_pod(
    manifest: tuple[dict[str, Any], dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where no profile is found
    [container] = manifest[1]["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["snakemake"] and all(isinstance(word, str) for word in container["args"])
    from snakemake.cli import parse_args  # loading takes two seconds of each worker

    _, given = parse_args(container["args"])
    asked = container["resources"]["requests"]
    assert str(given.cores) == asked["cpu"]
    assert 0 < int(given.resources["mem_mb"].value) * 10**6 < int(asked["memory"].removesuffix("Gi")) * 2**30
    assert container["resources"]["limits"]["memory"] == asked["memory"]
    assert given.targets == ["results/NAME/report.html"]
