"""Inputs of the rules that make the tools of a release: sources, image, gem5, DNNMark."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.prepare.tools import Toolset

Wildcards = Mapping[str, str]


class Toolchain:
    """What the tools of releases are made from.

    Args:
        tools: of a release.
    """

    def __init__(self, tools: Callable[[str], Toolset]) -> None:
        self.tools = tools

    def source_inputs(self, wildcards: Wildcards) -> list[str]:
        """No file: sources are made from nothing."""
        self._requested(f"source-{wildcards['repository']}", wildcards)
        return []

    def image_inputs(self, wildcards: Wildcards) -> list[str]:
        """gem5's checkout, where the image may be built from its Dockerfile."""
        tools = self._requested("image", wildcards)
        return [tools.record("source-gem5")] if tools.image_sources_in_gem5 else []

    def gem5_inputs(self, wildcards: Wildcards) -> list[str]:
        """gem5's checkout and the image that it is compiled in; of the site's own gem5, its checkout."""
        target = wildcards.get("target")
        tools = self._requested(f"gem5-{target}" if target else "gem5", wildcards)
        return [tools.record("source-gem5"), *([tools.record("image")] if target else [])]

    def dnnmark_inputs(self, wildcards: Wildcards) -> list[str]:
        """The checkout of DNNMark (not of the site's own build) and the image that it is compiled in."""
        tools = self._requested("dnnmark", wildcards)
        own = tools.site.dnnmark.build is not None
        return [*([] if own else [tools.record("source-resources")]), tools.record("image")]

    def _requested(self, tool: str, wildcards: Wildcards) -> Toolset:
        """The release's tools, if the record to be made is of what the configuration asks for."""
        tools = self.tools(wildcards["release"])
        if tools.request(tool) != wildcards["request"]:
            raise ConfigError(
                "the configuration asks for another version of this tool than the target names",
                value=paths.tool_record(tools.release.name, tool, wildcards["request"]),
                remedy=f"name {tools.record(tool)} instead, or a file of results/ that needs it",
            )
        return tools
