"""The recorded runs as a data set: whole, described, citable."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import tomllib

import pandas as pd
import yaml
from places import ROOT

from apuflow import __version__
from apuflow.core.project import recorded_runs
from apuflow.score.errors import random_layers, read_tables, recorded

PLACE = ROOT / "data/gem5_runs"

TABLES = (
    "runs",
    "campaign",
    "products",
    "networks",
    "networks_2",
    "networks_3",
    "layers",
    "wide",
    "scaling",
    "large",
)


def file_of(table: str) -> str:
    return random_layers().name if table == "layers" else f"{table}.csv"


def test_there_is_one_copy_and_score_reads_it() -> None:
    assert recorded_runs() == PLACE
    assert len(read_tables(recorded())) == 608
    names = {path.name for path in recorded()}
    assert not [path for path in (ROOT / "workflow").rglob("*.csv") if path.name in names]


def test_checksums_hold() -> None:
    lines = (PLACE / "SHA256SUMS").read_text().splitlines()
    sums = {name: digest for digest, name in (line.split("  ") for line in lines)}
    assert set(sums) == {"columns.csv", *map(file_of, TABLES)}
    for name, digest in sums.items():
        assert hashlib.sha256((PLACE / name).read_bytes()).hexdigest() == digest, name


def test_every_column_is_described_and_every_primitive_has_its_figure() -> None:
    tables = {name: pd.read_csv(PLACE / file_of(name)) for name in TABLES}
    with (PLACE / "columns.csv").open() as file:
        described = {row["name"]: row for row in csv.DictReader(file)}
    assert all(row["meaning"] for row in described.values())
    for name, table in tables.items():
        listed = {column for column, row in described.items() if name in row["tables"].split()}
        assert listed == set(table.columns)
        for primitive in table["primitive"].unique() if name in ("runs", "campaign") else ():
            text = (PLACE / f"figures/{primitive}.svg").read_text()
            assert primitive in text and "gem5 v23.0.1.0" in text


def test_the_release_and_its_commit_are_those_of_the_configuration() -> None:
    text = (ROOT / "data/README.md").read_text()
    release = yaml.safe_load((ROOT / "configs/gem5/v23.0.yaml").read_text())
    assert release["gem5"]["commit"] in text and release["miopen"]["source"]["commit"] in text


def test_who_deposits_or_cites_it_finds_what_is_needed() -> None:
    metadata = json.loads((ROOT / "data/metadata.json").read_text())
    assert metadata["creators"] == [], "authors are for the user to fill in"
    assert metadata["title"] and re.fullmatch(r"\d+\.\d+\.\d+", metadata["version"])
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    licence = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["license"]
    assert citation["cff-version"] == "1.2.0" and citation["version"] == __version__
    assert licence == citation["license"] == metadata["license"]
    assert (ROOT / "data/LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_catalogue_finds_its_files() -> None:
    catalogue = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert set(catalogue) == {"mandatory-flags", "software-stack-deployment", "report"}
    assert (ROOT / "workflow/Snakefile").is_file() and (ROOT / "config/README.md").is_file()
    for form in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"):
        assert {"name", "description", "body"} <= set(yaml.safe_load(form.read_text()))
