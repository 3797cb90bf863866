"""How gem5 is compiled: keys of a release's file or of the site, as arguments of scons.

Each build for which a key is set is another gem5 with points of its own, though it should compute the same.
Source: ``SConstruct``, ``src/SConscript``, ``site_scons/gem5_scons/defaults.py`` of gem5 v21.1 to v24.0.
"""

from __future__ import annotations

import hashlib
import re
from typing import Literal, Self

from pydantic import Field, model_validator

from apuflow.configure.base import ListOf, Model, Text, ValueProblem

_ALLOCATORS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "tcmalloc": ((), ()),
    "system": (("--without-tcmalloc",), ()),
    "mimalloc": (("--without-tcmalloc",), ("-Wl,--no-as-needed", "-lmimalloc", "-Wl,--as-needed")),
}
"""Options of gem5's SConstruct and flags of the linker, by allocator."""
_USE = ("-Wno-missing-profile", "-Wno-coverage-mismatch")
"""Files that no training has reached, and functions that changed since, are no errors."""


class Build(Model):
    """How gem5 is compiled. As it stands: as upstream's own `scons build/TARGET/gem5.opt`, or quicker."""

    variant: Literal["opt", "fast", "debug"] = Field(
        "opt", description="gem5.opt, gem5.fast (no assertions, no traces: kernels stay unlisted), gem5.debug"
    )
    lto: bool = Field(False, description="link-time optimisation (`--with-lto`); takes much memory to link")
    pgo: Literal["generate", "use"] | None = Field(
        None,
        description="profile-guided optimisation: build with generate, run some points, then build with use; "
        "needs `container: host`",
    )
    allocator: Literal["tcmalloc", "system", "mimalloc"] = Field(
        "tcmalloc", description="tcmalloc: as upstream, where it is installed; mimalloc must be installed"
    )
    quick_pipeline: bool | None = Field(
        None,
        description="quicker functions in the place of some of gem5's own, same statistics; left out: where "
        "they were compared with the sources; true: stop where not",
    )
    flags: ListOf[Text] = Field((), description="more flags for the compiler (`CCFLAGS_EXTRA`), such as -O3")

    @model_validator(mode="after")
    def _can_be_built(self) -> Self:
        for flag in self.flags:
            if not re.fullmatch(r"-\S+", flag):
                remedy = "one flag an entry: [-O3, -g0]"
                raise ValueProblem("not a flag of a compiler", key="flags", value=flag, remedy=remedy)
        if self.quick_pipeline and self.lto:
            message = "link-time optimisation inlines the calls that the quick pipeline replaces"
            remedy = "leave out either lto or quick_pipeline"
            raise ValueProblem(message, key="quick_pipeline", value=True, remedy=remedy)
        return self

    @property
    def default(self) -> bool:
        """Whether no key is set."""
        return self == Build()

    @property
    def tree(self) -> str:
        """Directory of gem5's sources that it is built below; "" for upstream's own.

        Both steps of a profile-guided build share one, for a profile belongs to the paths of its objects.
        """
        quick = self.quick_pipeline or None
        shared = self.model_copy(update={"pgo": "use" if self.pgo else None, "quick_pipeline": quick})
        if shared.default:
            return ""
        keys = shared.model_dump_json(exclude=set() if quick else {"quick_pipeline"})
        return f"builds/{hashlib.sha256(keys.encode()).hexdigest()[:8]}"

    def arguments(self, linker_flags: str, profile: str) -> tuple[str, ...]:
        """What scons is given; ``linker_flags``: the release's variable, ``profile``: its directory."""
        options, linking = _ALLOCATORS[self.allocator]
        compiling = list(self.flags)
        if self.pgo is not None:
            stage = f"-fprofile-{self.pgo}={profile}"
            compiling += [stage, *(_USE if self.pgo == "use" else ("-fprofile-update=prefer-atomic",))]
            linking = (*linking, stage)
        return (
            *(("--with-lto",) if self.lto else ()),
            *options,
            *((f"CCFLAGS_EXTRA={' '.join(compiling)}",) if compiling else ()),
            *((f"{linker_flags}={' '.join(linking)}",) if linking else ()),
        )
