"""Recipes of images: their stages, what they cost, what they are part of."""

from __future__ import annotations

from pathlib import Path

import pytest

from apuflow.configure import load_release, load_site
from apuflow.core.errors import ConfigError
from apuflow.preflight.plan import plan_sweep
from apuflow.prepare.doctor import State, examine
from apuflow.prepare.recipes import cost, directory_sha256, read_recipe, write_done
from apuflow.prepare.requests import supplied
from apuflow.prepare.tools import Toolset

DOCKERFILE = """\
ARG BASE=debian:bullseye
ARG SOURCES
FROM ${BASE} AS base
ARG DEBIAN_MIRROR
RUN true
FROM --platform=linux/amd64 base AS rocr
RUN true
from base
COPY --from=rocr /opt /opt
"""
NOTES = "description: a toy\nminutes: {base: 5, rocr: 30, image: 1}\ndisk: 20GB\n"


@pytest.fixture
def recipe(root: Path) -> Path:
    directory = root / "recipes/toy"
    directory.mkdir(parents=True)
    (directory / "Dockerfile").write_text(DOCKERFILE)
    (directory / "recipe.yaml").write_text(NOTES)
    (root / "configs/site.yaml").write_text("image: {mode: sources, recipe: recipes/toy, base: bullseye}\n")
    return directory


def test_stages_arguments_and_cost(recipe: Path) -> None:
    read = read_recipe(recipe)
    assert read.stages == ("base", "rocr", "image")
    assert read.arguments == {"BASE", "SOURCES", "DEBIAN_MIRROR"}
    assert read.seconds({}) == 36 * 60 and read.seconds({"rocr": 1.0}) == 6 * 60
    assert cost(read, {"base": 1.0}).startswith("2 of 3 stages to build (rocr, image): about ")
    assert cost(read, {}).endswith(", 20 GB of disk")
    (recipe / "recipe.yaml").unlink()
    assert read_recipe(recipe).seconds({}) is None
    assert "time not known" in cost(read_recipe(recipe), {})


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("Dockerfile", "RUN true\n", "without FROM"),
        ("Dockerfile", "FROM a\nFROM b\n", "a stage without a name"),
        ("Dockerfile", "FROM a AS x\nFROM b AS X\n", "two stages of one name"),
        ("recipe.yaml", "minutes: {rocm: 5}\n", "no such stage"),
        ("recipe.yaml", "disk: much\n", "a size is expected"),
    ],
)
def test_what_is_wrong_is_said(recipe: Path, file: str, text: str, said: str) -> None:
    (recipe / file).write_text(text)
    with pytest.raises(ConfigError, match=said):
        read_recipe(recipe)


def test_a_changed_recipe_is_another_image_and_a_mirror_is_not(root: Path, recipe: Path) -> None:
    site = root / "configs/site.yaml"
    text = site.read_text()
    first = Toolset("v22.1", root).record("image")
    site.write_text(text + "mirrors: {image_sources: /srv/git, debian: 'http://mirror.invalid/debian'}\n")
    assert Toolset("v22.1", root).record("image") == first
    site.write_text(text.replace("base: bullseye", "base: bullseye, arguments: {GPUS: gfx801}"))
    assert Toolset("v22.1", root).record("image") != first
    before = directory_sha256(recipe)
    assert supplied(load_site(root), [], root)["recipes/toy"] == before
    (recipe / "fix.patch").write_text("x")
    assert directory_sha256(recipe) != before


def test_plan_and_doctor_tell_the_cost_before_it_starts(root: Path, recipe: Path) -> None:
    tools = Toolset("v22.1", root)
    assert plan_sweep("default", "softmax_fwd", root).preparations == (
        "container image from recipes/toy: 3 of 3 stages to build (base, rocr, image): about 36 min on two "
        "cores, 20 GB of disk",
    )
    assert plan_sweep("quickstart", "softmax_fwd", root).preparations == ()
    write_done(tools.image_build("recipes/toy").note, {"base": 300.0, "rocr": 1800.0})
    (line,) = plan_sweep("default", "softmax_fwd", root).preparations
    assert "1 of 3 stages to build (image)" in line
    checks = {
        check.name: check
        for check in examine(load_site(root), load_release("v22.1", root), root, network=False)
    }
    assert checks["image recipe"].state is State.OK and "1 of 3 stages" in checks["image recipe"].detail
    assert "debootstrap" in checks
    (recipe / "Dockerfile").unlink()
    checks = {
        check.name: check
        for check in examine(load_site(root), load_release("v22.1", root), root, network=False)
    }
    assert checks["image recipe"].state is State.MISSING


@pytest.mark.parametrize(
    ("site", "said"),
    [
        ("image: {mode: sources}\n", "needs a recipe"),
        ("image: {recipe: recipes/toy}\n", "mode sources alone"),
        ("image: {mode: pull, base: bullseye}\n", "mode sources alone"),
    ],
)
def test_a_sites_image_is_checked(root: Path, site: str, said: str) -> None:
    (root / "configs/site.yaml").write_text(site)
    with pytest.raises(ConfigError, match=said):
        load_site(root)
