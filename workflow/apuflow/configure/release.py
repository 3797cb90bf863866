"""A gem5 release: sources, image, build target, and how its runs behave (``configs/gem5/<name>.yaml``)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, ValidationInfo, field_validator

from apuflow.configure.base import Commit, ListOf, Model, Name, Text, ValueProblem, one_of
from apuflow.configure.catalogue import RELEASES, position
from apuflow.configure.gem5_build import Build
from apuflow.configure.image_source import ImageSources
from apuflow.configure.structure_rules import UPSTREAM_BITS
from apuflow.core.errors import ConfigError
from apuflow.core.gpus import GPUS, BuildTarget, gpu
from apuflow.core.record import ReleaseFacts
from apuflow.forms.table import measured, read
from apuflow.launcher.defects import DefectName
from apuflow.launcher.known import Known
from apuflow_analysis.counters.table import NAMES as COUNTER_NAMES

Gfx: TypeAlias = Annotated[
    str, one_of(GPUS, "not a GPU that gem5 models"), Field(json_schema_extra={"enum": list(GPUS)})
]
CounterName: TypeAlias = Annotated[
    str, one_of(COUNTER_NAMES, "there is no such counter", "`apuflow list metrics` shows the counters")
]
DescribedRelease: TypeAlias = Annotated[
    Text, one_of(RELEASES, "the option catalogue does not describe this release")
]


class Source(Model):
    """A pinned git repository."""

    url: Text
    commit: Commit
    tag: Text | None = Field(None, description="for people; the commit decides")


class Gem5Source(Source):
    """gem5's sources."""

    patches: ListOf[Text] = Field(
        (), description="patch files (git diff), applied in this order; part of the identity of results"
    )
    build: Build = Field(Build(), description="how it is compiled; left out: as upstream compiles it")


class ReleaseImage(Model):
    """The gcn-gpu image of a release."""

    sources: ImageSources = Field(description="places that it may come from, in order")


class Miopen(Model):
    """MIOpen in the image: where it looks for its kernel database, and which formulas its keys follow."""

    version: Text = Field(description="MIOpen tag, rocm-4.0.1")
    version_directory: Text = Field(description="subdirectory of the cache that holds the database")
    cache_directory: Text = Field(".cache/miopen", description="cache, below the guest's HOME")
    formulas: Literal["rocm-4.0.1"] = Field(description="which derivation of kernel arguments applies")
    source: Source = Field(description="MIOpen's sources, for compiling the kernels")


class Capabilities(Model):
    """What this release does differently from others.

    Source: gem5 at the commits of ``configs/gem5``: ``src/base/version.cc``, ``configs/example/apu_se.py``,
    ``src/gpu-compute/GPU.py``, ``build_opts`` or ``src/mem/ruby/Kconfig``, and
    ``AbstractController::resetStats``, which called no parent before v23.1.
    """

    gem5_version: Text | None = Field(
        None, description="what it prints after `gem5 version`; tables flag runs of another one"
    )
    per_kernel_statistics: bool = Field(description="apu_se.py dumps and resets statistics after each kernel")
    stdout_file: Text = Field(description="name of redirected standard output: simout or simout.txt")
    stderr_file: Text = Field(description="name of redirected standard error: simerr or simerr.txt")
    barrier_slots: int = Field(
        ge=1, description="workgroups of several wavefronts that a CU holds (`num_barrier_slots` in `GPU.py`)"
    )
    set_bits: int = Field(
        UPSTREAM_BITS,
        ge=1,
        description="controllers of one kind that Ruby's sets hold (`NUMBER_BITS_PER_SET`)",
    )
    linker_flags: Text = Field(
        "LINKFLAGS_EXTRA", description="variable of its SConstruct for more flags of the linker"
    )
    keeps_cache_statistics: bool = Field(
        description="a reset leaves the statistics of the GPU caches and the L3 as they are"
    )
    never_counted: ListOf[CounterName] = Field(
        description="counters (`apuflow list metrics`) that gem5 prints and never counts: empty in tables"
    )
    matrix_cycles: Literal["none", "table"] = Field(
        "none",
        description="time of matrix instructions: none (each takes a SIMD unit as long as one vector "
        "instruction), or the cycles of AMD's manuals (`mfma_cycles`); the preview follows it",
    )
    instruction_defects: dict[BuildTarget, ListOf[DefectName]] = Field(
        description="by gem5 build: instructions that it executes wrongly "
        "(docs/explanation/what-gem5-gets-wrong.md)"
    )
    later_defects: ListOf[DefectName] = Field(
        (), description="those of the GPUs that run as another (gfx906 and later), beside them"
    )


FACTS: Final = ("options", "build_targets", *Capabilities.model_fields)
"""What a release's file says of a gem5 that ``origins`` can say the origin of."""
FactName: TypeAlias = Annotated[str, one_of(FACTS, "there is no such fact of a release")]


class Release(Model):
    """One ``configs/gem5/<name>.yaml``."""

    name: Name = Field(description="the file's name; not written in the file")
    description: Text
    options_of: DescribedRelease = Field(
        description=f"release whose apu_se.py options hold, {RELEASES[0]} to {RELEASES[-1]}"
    )
    known_by: Literal["sources", "nearest"] = Field(
        "sources",
        description="nearest: options and capabilities are those of the nearest known release, and every "
        "row has a flag",
    )
    nearest: DescribedRelease | None = Field(
        None, description="the release whose facts those are; left out: options_of"
    )
    origins: dict[FactName, Literal["sources", "notes"]] = Field(
        {},
        description="with `known_by: nearest`, what is known: from `sources` (single files) or `notes` "
        "(release notes, pull requests)",
    )
    gem5: Gem5Source
    resources: Source = Field(description="gem5-resources, for DNNMark")
    build_targets: dict[BuildTarget, ListOf[Gfx]] = Field(
        min_length=1, description="by gem5 build: the GPU architectures that it runs"
    )
    ran: ListOf[BuildTarget] = Field(
        (), description="builds that ran in apuflow's tests; rows of the others have a flag"
    )
    image: ReleaseImage
    miopen: Miopen
    capabilities: Capabilities

    @field_validator("nearest", "origins")
    @classmethod
    def _of_a_release_that_is_not_known(cls, value: object, info: ValidationInfo) -> object:
        if value and info.data.get("known_by") == "sources":
            message = "belongs to a release that is not known"
            remedy = "leave it out: everything was read; or say `known_by: nearest`"
            raise ValueProblem(message, value="known_by: sources", remedy=remedy)
        return value

    @field_validator("build_targets")
    @classmethod
    def _each_gpu_at_its_build(cls, value: dict[BuildTarget, tuple[str, ...]]) -> object:
        for target, names in value.items():
            for name in names:
                needed = GPUS[name].isa.build_target
                if needed != target:
                    message, remedy = f"{target} does not run this GPU", f"list it at {needed}"
                    raise ValueProblem(message, key=target, value=name, remedy=remedy)
        return value

    @field_validator("capabilities")
    @classmethod
    def _defects_of_every_build(cls, value: Capabilities, info: ValidationInfo) -> Capabilities:
        built = set(info.data.get("build_targets", value.instruction_defects))
        if set(value.instruction_defects) == built:
            return value
        raise ValueProblem(
            "must name the builds of build_targets",
            key="instruction_defects",
            value=", ".join(value.instruction_defects) or "none",
            remedy=f"a list, maybe empty, for {' and '.join(sorted(built))}",
        )

    def facts_on(self, gfx: str) -> ReleaseFacts:
        """What the record of a run on this release and GPU architecture says of it."""
        target = self.build_target(gfx)
        cores = gpu(gfx).isa.accumulation != "none"
        matrix = gfx if cores and self.capabilities.matrix_cycles == "none" else None
        never = None if target in self.ran else target
        return replace(self.facts, never_ran=never, without_matrix_time=matrix)

    @property
    def facts(self) -> ReleaseFacts:
        """What is known of this release, whatever its build."""
        known = self.capabilities
        assumed = self.known_by == "nearest"
        return ReleaseFacts(
            known.barrier_slots,
            known.keeps_cache_statistics,
            known.never_counted,
            known.gem5_version,
            (self.nearest or self.options_of) if assumed else None,
            tuple(name for name in FACTS if name not in self.origins) if assumed and self.origins else (),
        )

    def instruction_defects(self, gfx: str) -> tuple[DefectName, ...]:
        """Instructions that the build for a GPU architecture executes wrongly."""
        known = self.capabilities
        later = known.later_defects if gpu(gfx).runs_as else ()
        return (*known.instruction_defects.get(self.build_target(gfx), ()), *later)

    def known(self, gfx: str, root: Path = Path()) -> Known:
        """What is known of the instructions of the build for a GPU architecture.

        There is a table of it, or there are tables of the nearest releases before and after.
        """
        target = self.build_target(gfx)
        files = measured(root)
        if (self.name, target) in files:
            return Known((read(files[self.name, target]),))
        place = position(self.nearest or self.options_of)
        others = [
            (position(name), build == target, f"{name}'s {build}", file)
            for (name, build), file in files.items()
            if name in RELEASES
        ]
        before = sorted(each for each in others if each[0] <= place)
        after = sorted((each for each in others if each[0] > place), key=lambda each: (each[0], not each[1]))
        chosen = (*before[-1:], *after[:1])
        return Known(tuple(read(file) for *_, file in chosen), tuple(name for _, _, name, _ in chosen))

    @property
    def gfx(self) -> tuple[Gfx, ...]:
        """Every GPU architecture that some build of this release runs."""
        return tuple(gfx for supported in self.build_targets.values() for gfx in supported)

    def build_target(self, gfx: str) -> BuildTarget:
        """The gem5 build for a GPU architecture; ConfigError when the release has none."""
        for target, supported in self.build_targets.items():
            if gfx in supported:
                return target
        message = f"gem5 {self.name} cannot run this GPU architecture"
        remedy = f"one of {', '.join(self.gfx)}, or another release"
        raise ConfigError(message, key="gfx-version", value=gfx, remedy=remedy)
