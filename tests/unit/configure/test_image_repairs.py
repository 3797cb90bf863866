"""Repairs and commit of a Dockerfile among an image's sources: mistakes name file, key and fix."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from apuflow.configure import load_release, load_site
from apuflow.configure.image_source import Repair
from apuflow.core.errors import ConfigError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
GOOD = {"name": "one", "why": "gem5 issue 1", "replace": "a", "with": "b"}


def write(root: Path, repairs: list[Mapping[str, object]]) -> None:
    path = root / "configs/gem5/v24.0.yaml"
    release = yaml.safe_load(path.read_text())
    release["image"] = {"sources": [{"local": "mine"}, {"dockerfile": "d", "repairs": repairs}]}
    path.write_text(yaml.safe_dump(release, sort_keys=False))


def without(key: str) -> Mapping[str, object]:
    return {name: value for name, value in GOOD.items() if name != key}


@pytest.mark.parametrize(
    ("repair", "key", "said"),
    [
        ({**GOOD, "time": 2}, ".time", "did you mean times?"),
        (without("name"), ".name", "add name"),
        (without("why"), ".why", "add why"),
        ({**GOOD, "name": "a b"}, ".name", "letters, digits"),
        (without("replace"), "", "give one of replace"),
        ({**GOOD, "after": "a"}, ".after", "give one of replace"),
        (without("with"), ".replace", "add with"),
        ({**without("replace"), "after": "a"}, ".after", "add insert"),
        ({**GOOD, "insert": "c"}, ".insert", "no meaning beside replace"),
        ({**GOOD, "with": "a"}, ".with", "the new text is the old one"),
        ({**GOOD, "replace": ""}, ".replace", "at least 1"),
        ({**without("replace"), "pattern": "a("}, ".pattern", "not a regular expression"),
        ({**without("replace"), "pattern": "a*"}, ".pattern", "at least one character"),
        ({**without("replace"), "pattern": "a", "with": "\\1"}, ".with", "groups of the pattern"),
        ({**GOOD, "times": 0}, ".times", "at least 1"),
        ({**GOOD, "times": "once"}, ".times", "a whole number"),
        ({**GOOD, "file": "../Dockerfile"}, ".file", "relative to that directory"),
        ({**GOOD, "file": "/etc/passwd"}, ".file", "relative to that directory"),
    ],
)
def test_a_wrong_repair_is_refused_with_its_place(
    root: Path, repair: Mapping[str, object], key: str, said: str
) -> None:
    write(root, [repair])
    with pytest.raises(ConfigError) as caught:
        load_release("v24.0", root)
    assert caught.value.key == f"image.sources[1].repairs[0]{key}" and said in str(caught.value)
    assert str(caught.value.file).startswith(f"{root}/configs/gem5/v24.0.yaml:")


def test_two_repairs_have_two_names(root: Path) -> None:
    write(root, [GOOD, {**GOOD, "replace": "c"}])
    with pytest.raises(ConfigError, match="two repairs of one name") as caught:
        load_release("v24.0", root)
    assert (caught.value.key, caught.value.value) == ("image.sources[1].repairs", "one")


@pytest.mark.parametrize(
    ("source", "key", "said"),
    [
        (f"registry: 'a/b:c', commit: {COMMIT}", "commit", "not for a registry"),
        (f"recipe: r, commit: {COMMIT}", "commit", "not for a recipe"),
        ("dockerfile: d, commit: v24.0", "commit", "40 hex digits"),
        (
            "registry: 'a/b:c', repairs: [{name: a, why: b, replace: c, with: d}]",
            "repairs",
            "not for a registry",
        ),
        ("local: a, repairs: [{name: a, why: b, replace: c, with: d}]", "repairs", "to a dockerfile source"),
        ("recipe: a, repairs: [{name: a, why: b, replace: c, with: d}]", "repairs", "to a dockerfile source"),
    ],
)
def test_only_a_dockerfile_has_repairs_and_a_commit(root: Path, source: str, key: str, said: str) -> None:
    (root / "configs/site.yaml").write_text(f"image: {{sources: [{{{source}}}]}}\n")
    with pytest.raises(ConfigError) as caught:
        load_site(root)
    assert caught.value.key == f"image.sources[0].{key}" and said in str(caught.value)
    assert str(caught.value.file).endswith("configs/site.yaml:1")


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"replace": "b\na", "with": "B\nA"}, ("a\nB\nA b\n", 1)),
        ({"replace": "a", "with": ""}, ("\nb\n b\n", 2)),
        ({"pattern": r"^(\w) (\w)$", "with": r"\2 \1"}, ("a\nb\nb a\n", 1)),
        ({"after": "a ", "insert": "\\1 x "}, ("a\nb\na \\1 x b\n", 1)),
        ({"replace": "z", "with": "y"}, ("a\nb\na b\n", 0)),
    ],
)
def test_a_repair_says_what_it_makes_of_a_text_and_how_often(
    keys: dict[str, str], expected: tuple[str, int]
) -> None:
    repair = Repair.model_validate({"name": "one", "why": "gem5 issue 1", **keys})
    assert repair.apply("a\nb\na b\n") == expected
