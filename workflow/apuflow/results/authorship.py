"""Who made a study, what it is called and who may use it: ``CITATION.cff`` of the project, for archives."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field

from apuflow.configure import Sweep, yaml_source
from apuflow.configure.base import ListOf, Model, Text, validate

CITATION = "CITATION.cff"
"""Citation File Format 1.2, https://citation-file-format.github.io."""


class Author(Model):
    """A person, or an entity with a name."""

    model_config = ConfigDict(extra="ignore")

    name: str = ""
    family_names: str = Field("", alias="family-names")
    given_names: str = Field("", alias="given-names")
    affiliation: str = ""
    orcid: str = Field("", pattern=r"^$|^https://orcid\.org/\d{4}-\d{4}-\d{4}-\d{3}[\dX]$")

    @property
    def shown(self) -> str:
        """``Family, Given`` of a person, as Zenodo sorts them."""
        return self.name or ", ".join(filter(None, (self.family_names, self.given_names)))


class Authorship(Model):
    """The keys of ``CITATION.cff`` that archives repeat."""

    model_config = ConfigDict(extra="ignore")

    title: str = ""
    authors: ListOf[Author] = ()
    license: str | ListOf[Text] = ""
    keywords: ListOf[Text] = ()
    doi: str = ""

    @property
    def spdx(self) -> str:
        """The first licence, an identifier of SPDX; empty if none is given."""
        return self.license if isinstance(self.license, str) else self.license[0]


def authorship(root: Path) -> Authorship:
    """What the project's ``CITATION.cff`` says; nothing without the file.

    Raises:
        ConfigError: the file is not YAML, or a key has a wrong value.
    """
    file = root / CITATION
    return validate(yaml_source.load(file), Authorship) if file.is_file() else Authorship()


def title(sweep: Sweep, given: Authorship) -> str:
    """A study's title: the project's, and the sweep's name."""
    return f"{given.title} (study {sweep.name})" if given.title else f"Study {sweep.name}"


def zenodo(sweep: Sweep, given: Authorship, version: str) -> bytes:
    """``.zenodo.json``, with which Zenodo fills its form for an upload.

    Keys: https://developers.zenodo.org/#representation. Zenodo asks for what ``given`` lacks.
    """
    creators = []
    for author in given.authors:
        orcid = author.orcid.removeprefix("https://orcid.org/")
        known = {"name": author.shown, "affiliation": author.affiliation, "orcid": orcid}
        creators.append({key: value for key, value in known.items() if value})
    content: dict[str, Any] = {
        "title": title(sweep, given),
        "upload_type": "dataset",
        "description": f"<p>{escape(sweep.description)}</p><p>Runs, tables, figures and workflow of a study "
        f"made with apuflow {version}. ARCHIVE.md says how to make them again.</p>",
        "creators": creators,
        "access_right": "open",
        "license": given.spdx.lower(),
        "keywords": list(given.keywords or ("gem5", "GPU simulation")),
    }
    content = {key: value for key, value in content.items() if value}
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()
