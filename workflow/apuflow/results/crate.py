"""A study as a Provenance Run Crate: which run of which gem5 made which file, in a form that programs read.

Sources: RO-Crate 1.1 (https://w3id.org/ro/crate/1.1) and version 0.5 of the profiles of Workflow Run RO-Crate
(https://w3id.org/ro/wfrun/provenance/0.5).
"""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from rocrate.model.contextentity import ContextEntity
from rocrate.model.entity import Entity
from rocrate.rocrate import ROCrate

from apuflow import __version__
from apuflow.configure import Sweep
from apuflow.core import paths
from apuflow.core.record import BatchRecord, RunRecord, Status
from apuflow.results.authorship import CITATION, Authorship, title

METADATA: Final = "ro-crate-metadata.json"
WORKFLOW: Final = "workflow/Snakefile"
_PROFILES: Final = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/ro/wfrun/provenance/0.5": "Provenance Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
_TERMS: Final = "https://w3id.org/ro/terms/workflow-run"
_ONE_BY_ONE: Final = (f"{paths.RUNS}/", f"{paths.RESULTS}/", "provenance/")
"""Where each file is named; of other directories the directory is."""
_TYPES: Final = {
    ".parquet": "application/vnd.apache.parquet",
    ".md": "text/markdown",
    ".yaml": "application/yaml",
}
_ABOUT: Final = {
    "analysis": "apuflow's analysis: from statistics to tables, figures and the report",
    "configs": "configuration: sweeps, workloads, machines, gem5 releases",
    "data": "recorded runs of gem5 that come with apuflow",
    "docs": "apuflow's documentation",
    "profiles": "Snakemake's settings for computers and clusters",
    "workflow": "the workflow: rules, scripts and the package apuflow",
}


def metadata(
    sweep: Sweep, records: Mapping[str, RunRecord | BatchRecord], files: Collection[str], given: Authorship
) -> bytes:
    """``ro-crate-metadata.json`` of a study.

    Args:
        sweep: what was studied.
        records: the records of its runs by their paths in the archive, at least one.
        files: every path in the archive.
        given: authors, title and licence.
    """
    return _Crate(sweep, records, files, given).text()


class _Crate:
    """Builds the entities; each has an ``@id`` of its own, so that equal studies give equal bytes."""

    def __init__(
        self,
        sweep: Sweep,
        records: Mapping[str, RunRecord | BatchRecord],
        files: Collection[str],
        given: Authorship,
    ) -> None:
        self._crate = ROCrate(version="1.1")
        self._crate.metadata.extra_contexts.append(f"{_TERMS}/context")
        self._sweep, self._records, self._files = sweep, records, sorted(files)
        self._authors = self._people(given)
        self._root(given)
        self._add_files()
        self._workflow = self._add_workflow()
        whole = self._run_of_all()
        self._steps: dict[str, tuple[Entity, Entity]] = {}
        controls = [self._run(path, record) for path, record in sorted(records.items())]
        steps, tools = zip(*self._steps.values(), strict=True)
        _set(self._workflow, {"step": list(steps), "hasPart": list(dict.fromkeys(tools))})
        self._context(
            "#snakemake",
            "OrganizeAction",
            name=f"Snakemake makes {paths.report(paths.under(sweep.name))}",
            instrument=self._snakemake(),
            object=controls,
            result=whole,
        )

    def _snakemake(self) -> Entity:
        address = "https://snakemake.github.io"
        return self._context(address, "SoftwareApplication", name="Snakemake", url=address)

    def text(self) -> bytes:
        """The file."""
        content = self._crate.metadata.generate()
        return (json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()

    def _context(self, entity_id: str, kind: str | list[str], **properties: Any) -> Entity:
        """A contextual entity with those properties that have a value; one for each identifier."""
        found = self._crate.get(entity_id)
        if found is not None:
            return found
        entity = ContextEntity(self._crate, entity_id, properties={"@type": kind})
        self._crate.add(entity)
        _set(entity, properties)
        return entity

    def _people(self, given: Authorship) -> list[Entity]:
        people = []
        for number, author in enumerate(given.authors, 1):
            kind = "Organization" if author.name else "Person"
            entity = self._context(author.orcid or f"#author-{number}", kind, name=author.shown)
            if author.affiliation:
                place = self._context(f"#affiliation-{number}", "Organization", name=author.affiliation)
                _set(entity, {"affiliation": place})
            people.append(entity)
        return people

    def _root(self, given: Authorship) -> None:
        root = self._crate.root_dataset
        profiles = []
        for identifier, name in _PROFILES.items():
            version = identifier.rpartition("/")[2]
            profiles.append(self._context(identifier, "CreativeWork", name=name, version=version))
        if given.spdx:
            address = f"https://spdx.org/licenses/{given.spdx}"
            license_ = self._context(address, "CreativeWork", name=given.spdx, identifier=address)
        else:
            said = f"The authors gave no licence ({CITATION}); LICENSE is that of the workflow's sources"
            license_ = self._context("#license", "CreativeWork", name="No licence", description=said)
        _set(
            root,
            {
                "name": title(self._sweep, given),
                "description": self._sweep.description,
                "datePublished": max(record.ended for record in self._records.values()),
                "license": license_,
                "author": self._authors,
                "conformsTo": profiles,
                "keywords": ", ".join(given.keywords),
                "identifier": f"https://doi.org/{given.doi}" if given.doi else "",
            },
        )

    def _add_files(self) -> None:
        for path in self._files:
            directory = path.partition("/")[0]
            if (
                path.startswith(_ONE_BY_ONE)
                or directory == path
                or path == paths.sweep_file(self._sweep.name)
            ):
                file = self._crate.add_file(dest_path=path, properties=_about_file(path))
                if path == "README.md":
                    file["about"] = self._crate.root_dataset
            elif self._crate.get(f"{directory}/") is None:
                said = {"name": directory, "description": _ABOUT.get(directory, "files of the project")}
                self._crate.add_dataset(dest_path=directory, properties=said)

    def _add_workflow(self) -> Entity:
        kinds = ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"]
        known = {"@type": kinds, "name": f"apuflow {__version__}", "encodingFormat": "text/plain"}
        workflow = self._crate.add_workflow(dest_path=WORKFLOW, main=True, lang="snakemake", properties=known)
        report, sweep = paths.report(paths.under(self._sweep.name)), paths.sweep_file(self._sweep.name)
        _set(
            workflow,
            {
                "version": __version__,
                "conformsTo": _bioschemas("ComputationalWorkflow"),
                "input": self._parameter("sweep", sweep),
                "output": self._parameter("report", report),
            },
        )
        return workflow

    def _parameter(self, name: str, file: str) -> Entity:
        conforms = _bioschemas("FormalParameter")
        example = self._crate.get(file)
        properties = {"name": name, "additionalType": "File", "conformsTo": conforms, "workExample": example}
        entity = self._context(f"{WORKFLOW}#{name}", "FormalParameter", **properties)
        if example is not None:
            _set(example, {"exampleOfWork": entity})
        return entity

    def _run_of_all(self) -> Entity:
        """The action of the whole workflow, from the first start of a run to the last end."""
        records, under = self._records.values(), f"{paths.RESULTS}/{paths.under(self._sweep.name)}"
        results = self._entities(path for path in self._files if path.startswith(under))
        action = self._context(
            "#study",
            "CreateAction",
            name=f"Study {self._sweep.name}",
            description=self._sweep.description,
            instrument=self._workflow,
            object=self._entities([paths.sweep_file(self._sweep.name)]),
            result=results,
            agent=self._authors,
            startTime=min(record.started for record in records),
            endTime=max(record.ended for record in records),
        )
        self._crate.root_dataset.append_to("mentions", action)
        return action

    def _run(self, path: str, record: RunRecord | BatchRecord) -> Entity:
        """The action of one run of gem5, or of one preview batch, and that of Snakemake's step."""
        here = path.removesuffix("run.json")
        name = here.removeprefix(f"{paths.RUNS}/").rstrip("/")
        completed = record.status is Status.COMPLETED
        tool = self._tool(record)
        action = self._context(
            f"#{name}",
            "CreateAction",
            name=f"{record.engine}: {name}",
            description=f"engine {record.engine} runs workload {record.workload}: {record.evidence}",
            agent=self._authors,
            instrument=tool,
            object=self._values(name, record),
            result=self._entities(file for file in self._files if file.startswith(here)),
            startTime=record.started,
            endTime=record.ended,
            actionStatus=f"http://schema.org/{'Completed' if completed else 'Failed'}ActionStatus",
            error="" if completed else f"{record.status}: {record.evidence}",
            containerImage=self._image(record),
        )
        self._crate.root_dataset.append_to("mentions", action)
        step = self._context(
            f"{WORKFLOW}#run-{tool.id.lstrip('#')}",
            "HowToStep",
            name=f"run {tool['name']}",
            workExample=tool,
        )
        self._steps[step.id] = (step, tool)
        return self._context(
            f"#control-{name}", "ControlAction", name=f"start {name}", instrument=step, object=action
        )

    def _tool(self, record: RunRecord | BatchRecord) -> Entity:
        kind = "SoftwareApplication"
        if isinstance(record, BatchRecord):
            version = record.engine_version
            return self._context(
                f"#preview-{version}", kind, name="apuflow's timing model", softwareVersion=version
            )
        commit = record.provenance.gem5_commit or ""
        return self._context(
            f"#gem5-{record.release}-{commit[:12]}",
            kind,
            name=f"gem5 {record.release}",
            softwareVersion=record.provenance.gem5_version or record.release,
            identifier=commit,
            url="https://www.gem5.org",
        )

    def _values(self, name: str, record: RunRecord | BatchRecord) -> list[Entity]:
        """The axes of one run."""
        if isinstance(record, BatchRecord):
            return self._entities([paths.sweep_file(self._sweep.name)])
        return [
            self._context(f"#{name}/{axis}", "PropertyValue", name=axis, value=str(value))
            for axis, value in record.axes.items()
            if value is not None
        ]

    def _image(self, record: RunRecord | BatchRecord) -> Entity | None:
        if isinstance(record, BatchRecord) or not record.provenance.image_digest:
            return None
        digest, image = record.provenance.image_digest, record.provenance.image or ""
        return self._context(
            f"#image-{digest}",
            "ContainerImage",
            additionalType={"@id": f"{_TERMS}#DockerImage"},
            name=image or digest,
            sha256=digest.removeprefix("sha256:"),
        )

    def _entities(self, files: Iterable[str]) -> list[Entity]:
        return [found for path in files if (found := self._crate.get(path)) is not None]


def _bioschemas(profile: str) -> dict[str, str]:
    return {"@id": f"https://bioschemas.org/profiles/{profile}/1.0-RELEASE"}


def _set(entity: Entity, properties: Mapping[str, Any]) -> None:
    """Properties that have a value; a list of one is that one."""
    for key, value in properties.items():
        if value not in ("", None, []):
            entity[key] = value[0] if isinstance(value, list) and len(value) == 1 else value


def _about_file(path: str) -> dict[str, str]:
    suffix = f".{path.rpartition('.')[2]}"
    known = _TYPES.get(suffix) or mimetypes.guess_type(path)[0] or "text/plain"
    return {"name": path.rpartition("/")[2], "encodingFormat": known}
