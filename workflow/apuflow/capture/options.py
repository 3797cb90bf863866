"""Command lines as hipcc takes them: inputs, and options for host, GPU and linker."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from apuflow.core.errors import ConfigError

Language: TypeAlias = Literal["hip", "c", "c++", ""]
"""Of a source; "": an object or a library."""
Option: TypeAlias = tuple[str, ...]
"""An option, and its value where that is a word of its own."""
Form: TypeAlias = Literal["program", "objects", "code", "other"]
"""What is made: a program or library, objects (-c), GPU code alone (--genco), something of clang's own."""

_ENDINGS: Final[dict[str, Language]] = {
    **dict.fromkeys((".hip", ".cu", ".cpp", ".cxx", ".cc", ".C", ".c++", ".cp"), "hip"),
    ".c": "c",
}
_LANGUAGES: Final[dict[str, Language]] = {"hip": "hip", "cuda": "hip", "c++": "c++", "c": "c"}
"""By the value of option -x."""
_WITH_VALUE: Final = frozenset(
    {
        *("-o", "-x", "-I", "-D", "-U", "-L", "-l", "-T", "-u", "-z", "-MF", "-MT", "-MQ", "-rpath"),
        *("-include", "-imacros", "-isystem", "-idirafter", "-iquote", "-mllvm", "--param", "--offload-arch"),
        *("-Xclang", "-Xlinker", "-Xassembler", "-Xpreprocessor", "-Xarch_host", "-Xarch_device"),
    }
)
_GPUS: Final = re.compile(r"--?(?:offload-arch|amdgpu-target)(?:=|$)")
_LINKER: Final = re.compile(r"-[lLTuz]|-Wl,|-Xlinker|-shared|-static|-rdynamic|-rpath|-s$|-(?:no-)?pie$")
_DEPENDENCIES: Final = re.compile(r"-M")
_HOST: Final = re.compile(
    r"-M|-Xarch_host|-m(?:arch|tune)=|-m(?:no-)?(?:sse|avx|fma|aes|bmi|popcnt|f16c)|-m(?:32|64)$|-pg$"
)
"""Options that GPU code has no use for."""
_CLANGS_OWN: Final = frozenset(
    ["-E", "-M", "-MM", "-S", "-fsyntax-only", "-###", "--version", "-dumpversion"]
)
_DROPPED: Final = frozenset(["-c", "--genco", "--hip-link", "-hc", "-fno-gpu-rdc"])


class Input(NamedTuple):
    """A file that a command line names."""

    path: Path
    language: Language


@dataclass(frozen=True)
class Line:
    """What a command line asks for.

    Attributes:
        words: inputs and options, in order.
        out: the file to write; None: as the compiler chooses.
        gpus: that are named, in order.
    """

    words: tuple[Option | Input, ...]
    out: Path | None
    gpus: tuple[str, ...]
    form: Form

    @property
    def sources(self) -> tuple[Input, ...]:
        """Inputs that are compiled."""
        return tuple(each for each in self.words if isinstance(each, Input) and each.language)

    @property
    def for_host(self) -> tuple[str, ...]:
        """Options for the host's code."""
        return self._without(_LINKER)

    @property
    def for_gpu(self) -> tuple[str, ...]:
        """Options for the GPU's code."""
        return self._without(_LINKER, _HOST)

    def for_linker(self, objects: Sequence[Path]) -> tuple[str, ...]:
        """Options and inputs for the linker, ``objects`` in the places of the sources."""
        made, found = iter(objects), list[str]()
        for each in self.words:
            if isinstance(each, Input):
                found.append(str(next(made) if each.language else each.path))
            elif not _DEPENDENCIES.match(each[0]):
                found += each
        return tuple(found)

    def _without(self, *kinds: re.Pattern[str]) -> tuple[str, ...]:
        options = (each for each in self.words if not isinstance(each, Input))
        return tuple(w for each in options if not any(kind.match(each[0]) for kind in kinds) for w in each)


def read_line(arguments: Sequence[str]) -> Line:
    """A command line of hipcc, without the program.

    Raises:
        ConfigError: it wants what apuflow does not do, or ends within an option.
    """
    words, gpus, given = list[Option | Input](), list[str](), list(arguments)
    out, language, forms = None, None, set[str]()
    while given:
        word = given.pop(0)
        if not word.startswith("-") or word == "-":
            words.append(Input(Path(word), _language(word) if language is None else language))
            continue
        option: Option = (word,)
        if word in _WITH_VALUE:
            if not given:
                raise ConfigError("an option without its value", key="hipcc", value=word)
            option = (word, given.pop(0))
        if _GPUS.match(word):
            named = option[1] if len(option) > 1 else word.partition("=")[2]
            gpus += [each.partition(":")[0] for each in named.split(",")]
        elif word == "-o":
            out = Path(option[1])
        elif word == "-x":
            language = _LANGUAGES.get(option[1])
        elif word == "-fgpu-rdc":
            raise ConfigError(
                "GPU code of several files is not linked into one",
                key="hipcc",
                value=word,
                remedy="leave it out, and include functions that several files use",
            )
        else:
            forms.add(word)
            if word not in _DROPPED:
                words.append(option)
    inputs = any(isinstance(each, Input) for each in words)
    return Line(tuple(words), out, tuple(dict.fromkeys(gpus)), _form(forms) if inputs else "other")


def _language(name: str) -> Language:
    return _ENDINGS.get(Path(name).suffix, "")


def _form(words: set[str]) -> Form:
    if words & _CLANGS_OWN:
        return "other"
    return "code" if "--genco" in words else "objects" if "-c" in words else "program"
