"""The recorded runs as a data set: whole, described, citable."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import tomllib

import pandas as pd
import pytest
import yaml
from places import ROOT

from apuflow import __version__
from apuflow.core.project import recorded_runs
from apuflow.score.errors import (
    held_out,
    point_errors,
    random_layers,
    read_runs,
    read_tables,
    recorded,
    score,
)

PLACE = ROOT / "data/gem5_runs"

TABLES = (
    "runs",
    "campaign",
    "products",
    "networks",
    "networks_2",
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


def test_products_are_scored_and_near_gem5() -> None:
    """Cycles of all kernels of a product together. The goal: 8 % in the median, 20 % at the 90th percentile.

    It is of a third that nobody looked at: the runs of the second draw that no hash picks (docs/preview.md).
    """
    found = score(read_tables([PLACE / "products.csv"]))
    assert not found.refused
    errors = point_errors(found.frame).abs()
    assert len(errors) == 158
    assert errors.median() < 0.08 and errors.quantile(0.9) < 0.20
    second = set(found.frame.loc[found.frame["sweep"] == "random_products_2", "point"])
    unseen = errors[[point in second and not held_out(str(point)) for point in errors.index]]
    assert len(unseen) == 51
    assert unseen.median() < 0.08 and unseen.quantile(0.9) < 0.20


def test_a_network_of_large_layers_adds_up_on_gfx902() -> None:
    """SqueezeNet forward on 16 units: version 30, which had not seen it, took it for 27 % longer than gem5.

    Convolutions were up to 2.5 times too slow: their units do not ask for the same lines at once.
    """
    found = score(read_tables([PLACE / "networks_2.csv"])).frame
    assert found["point"].nunique() == 36
    cycles = pd.to_numeric(found["gpu_cycles"])
    assert found["predicted"].sum() / cycles.sum() == pytest.approx(1.0, abs=0.05)
    products = found[(found["kernel"] == "sgemm") & (cycles > 250_000)]
    assert len(products) == 8
    assert (products["predicted"] / cycles[products.index] - 1.0).abs().max() < 0.4


def test_a_network_adds_up_as_on_gem5() -> None:
    """AlexNet's passes at 64x64 images; the forward pass is what the preview has too fast."""
    found = score(read_tables([PLACE / "networks.csv"]))
    assert not found.refused and found.frame["point"].nunique() == 50
    sums = found.frame[found.frame["sweep"] == "whole_network"]
    sums = sums.assign(gpu_cycles=pd.to_numeric(sums["gpu_cycles"]))
    sums = sums.groupby("direction")[["predicted", "gpu_cycles"]].sum()
    error = sums["predicted"] / sums["gpu_cycles"] - 1
    assert abs(error["bwd"]) < 0.1 and abs(error["fwd"]) < 0.25


BOUNDS = {
    1: (160, 0.06, 0.15),
    2: (64, 0.055, 0.15),
    3: (40, 0.05, 0.14),
    4: (47, 0.045, 0.16),
    5: (48, 0.05, 0.165),
    6: (47, 0.05, 0.135),
    7: (48, 0.035, 0.145),
    8: (48, 0.055, 0.145),
    9: (48, 0.045, 0.18),
    10: (48, 0.03, 0.145),
    11: (48, 0.045, 0.15),
    12: (48, 0.055, 0.155),
    13: (48, 0.045, 0.125),
    14: (48, 0.055, 0.14),
    15: (102, 0.05, 0.15),
    16: (102, 0.05, 0.135),
    17: (72, 0.06, 0.17),
    18: (72, 0.045, 0.14),
    19: (72, 0.055, 0.145),
    20: (72, 0.06, 0.15),
    21: (72, 0.055, 0.15),
    22: (72, 0.04, 0.145),
    23: (72, 0.055, 0.15),
    24: (72, 0.045, 0.13),
    25: (72, 0.05, 0.165),
    26: (72, 0.055, 0.15),
    27: (72, 0.05, 0.16),
    28: (72, 0.04, 0.14),
}
"""By sample of random layers: how many, and bounds of the median and the 90th percentile of their errors."""


def test_errors_of_random_layers_are_within_bounds() -> None:
    """docs/preview.md states the errors. No rule of the model was chosen by samples 24 to 28."""
    found = score(read_runs(random_layers()))
    assert not found.refused
    errors = point_errors(found.frame).abs()
    draw = found.frame.groupby("point")["draw"].first().astype(int)
    assert set(draw) == set(BOUNDS)
    for number, (points, median, most) in BOUNDS.items():
        sample = errors[draw == number]
        assert len(sample) == points, number
        assert sample.median() < median and sample.quantile(0.9) < most, number
    unseen = errors[draw >= 24]
    assert unseen.median() < 0.05 and unseen.mean() < 0.07 and unseen.quantile(0.9) < 0.15


def test_kernels_a_hundred_times_as_long_are_told_as_well() -> None:
    """Four of more than ten million cycles, which ran when version 34 was finished."""
    found = score(read_tables([PLACE / "large.csv"]))
    assert not found.refused and len(found.frame) == 4
    assert (pd.to_numeric(found.frame["gpu_cycles"]) > 1e7).all()
    assert found.frame["error"].abs().max() < 0.12 and found.frame["error"].abs().mean() < 0.07


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
