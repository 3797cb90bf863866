"""A gem5 release: sources, image, build target, and how its runs behave (``configs/gem5/<name>.yaml``)."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field, field_validator

from apuflow.config.base import Commit, ListOf, Model, Name, Text, Wrong
from apuflow.config.site import ImageMode
from apuflow.core.errors import ConfigError
from apuflow.options import RELEASES

Gfx: TypeAlias = Literal["gfx801", "gfx803", "gfx900", "gfx902"]


class Source(Model):
    """A pinned git repository."""

    url: Text
    commit: Commit
    tag: Text | None = Field(None, description="for people; the commit decides")


class ReleaseImage(Model):
    """The gcn-gpu image of a release, by mode."""

    mode: ImageMode = Field("pull", description="what is used when neither sweep nor site says")
    pull: Text = Field(description="name in the upstream registry")
    build: Text = Field(description="directory of gem5's Dockerfile, in the gem5 checkout")
    debian: Text = Field("docker/gcn-gpu-debian", description="directory of this project's Dockerfile")


class Miopen(Model):
    """MIOpen in the image: where it looks for its kernel database, and which formulas its keys follow."""

    version: Text = Field(description="MIOpen tag, rocm-4.0.1")
    version_directory: Text = Field(description="subdirectory of the cache that holds the database")
    cache_directory: Text = Field(".cache/miopen", description="cache, below the guest's HOME")
    formulas: Literal["rocm-4.0.1"] = Field(description="which derivation of kernel arguments applies")
    source: Source = Field(description="MIOpen's sources, for compiling the kernels")


class Capabilities(Model):
    """What this release does differently when it runs."""

    per_kernel_statistics: bool = Field(description="apu_se.py dumps and resets statistics after each kernel")
    stdout_file: Text = Field(description="name of redirected standard output: simout or simout.txt")
    stderr_file: Text = Field(description="name of redirected standard error: simerr or simerr.txt")
    abort_exits_zero: bool = Field(description="a guest abort() ends gem5 with exit status 0")
    caches_at_gpu_clock: bool = Field(description="TCP, SQC and TCC run at gpu-clock; else at ruby-clock")
    barrier_slots: int = Field(ge=1, description="workgroups of several wavefronts per CU (barriers)")
    dram_bytes_statistics: Text = Field(description="prefix of the DRAM byte statistics")


class Release(Model):
    """One ``configs/gem5/<name>.yaml``."""

    name: Name = Field(description="the file's name; not written in the file")
    description: Text
    options_of: Text = Field(description="release whose apu_se.py options hold, v21.1 to v24.0")
    gem5: Source
    resources: Source = Field(description="gem5-resources, for DNNMark")
    build_targets: dict[Literal["GCN3_X86", "VEGA_X86"], ListOf[Gfx]] = Field(
        min_length=1, description="by gem5 build: the GPU architectures that it runs"
    )
    image: ReleaseImage
    miopen: Miopen
    capabilities: Capabilities

    @field_validator("options_of")
    @classmethod
    def _described(cls, value: str) -> str:
        if value not in RELEASES:
            raise Wrong(
                "the option catalogue does not describe this release",
                value=value,
                remedy=f"one of {', '.join(RELEASES)}",
            )
        return value

    @property
    def gfx(self) -> tuple[Gfx, ...]:
        """Every GPU architecture that some build of this release runs."""
        return tuple(gfx for supported in self.build_targets.values() for gfx in supported)

    def build_target(self, gfx: str) -> str:
        """The gem5 build for a GPU architecture; ConfigError when the release has none."""
        for target, supported in self.build_targets.items():
            if gfx in supported:
                return target
        raise ConfigError(
            f"gem5 {self.name} cannot run this GPU architecture",
            key="gfx-version",
            value=gfx,
            remedy=f"one of {', '.join(self.gfx)}, or another release",
        )
