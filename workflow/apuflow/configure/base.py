"""What every configuration model shares: strict, closed, immutable; errors name file, line and key."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    StringConstraints,
    ValidationError,
)
from pydantic_core import ErrorDetails

from apuflow.configure import yaml_source
from apuflow.configure.yaml_source import dotted
from apuflow.core.errors import ConfigError
from apuflow.core.scalar import Scalar
from apuflow.core.units import DURATION, size_bytes

NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
NAME_LETTERS = "letters, digits, dot, dash and underscore"
"""Names become file names."""
COMMIT = r"^[0-9a-f]{40}$"
WORD = r"^[^\s\x00]+$"
"""apu_se.py splits the program's arguments at white space: an argument cannot hold any."""
IMAGE_NAME = r"^[a-zA-Z0-9][a-zA-Z0-9._/:@-]*$"
DIGEST = r"^sha256:[0-9a-f]{64}$"
IDENTIFIER = r"^[A-Za-z_][A-Za-z0-9_]*$"
"""A name that can stand in an expression."""
BYTES = r"^([0-9a-fA-F]{2})+$"
Text: TypeAlias = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Name: TypeAlias = Annotated[str, StringConstraints(pattern=NAME.pattern, max_length=80)]
Commit: TypeAlias = Annotated[str, StringConstraints(pattern=COMMIT)]


class ValueProblem(ValueError):
    """What is wrong with a value, which ``value=...`` may give; ``read`` adds file and line."""

    def __init__(self, message: str, *, key: str | None = None, remedy: str, **value: object) -> None:
        super().__init__(message)
        self.message = message
        self.key = key
        self.value = value
        self.remedy = remedy


Item = TypeVar("Item")
Names = TypeVar("Names", list[str], tuple[str, ...])
ListOf: TypeAlias = Annotated[
    tuple[Item, ...], BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value)
]
"""A YAML list, kept as a tuple."""


def _size(value: str) -> str:
    if not size_bytes(value):
        remedy = "a whole number and B, kB, MB, GB or TB: 512MB, 16GB"
        raise ValueProblem("a size is expected", value=value, remedy=remedy)
    return value


Size: TypeAlias = Annotated[str, AfterValidator(_size)]
"""A size as gem5 writes it."""


def _scalar(value: object) -> object:
    if isinstance(value, (bool, int, float, str)):
        return value
    remedy = "a number, text, true or false (a list of values belongs under axes)"
    shown = value if value is None else f"{value}"[:80]
    raise ValueProblem("a single value is expected", value=shown, remedy=remedy)


SingleValue: TypeAlias = Annotated[Scalar, BeforeValidator(_scalar)]
"""One option value of a file, checked: number, text, true or false."""


class Model(BaseModel):
    """A configuration model: unknown keys and wrong types are errors, values never change."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, populate_by_name=True, defer_build=True
    )


def distinct(names: Names, message: str = "the name stands twice", remedy: str = "keep one of them") -> Names:
    """Refuse a list that has a name twice."""
    for name in names:
        if names.count(name) > 1:
            raise ValueProblem(message, value=name, remedy=remedy)
    return names


def one_of(known: Collection[str], unknown: str, remedy: str = "") -> AfterValidator:
    """Refuses a text, or a list with a text, that is not known; ``unknown``: the message."""

    def check(given: str | tuple[str, ...]) -> str | tuple[str, ...]:
        for name in given if isinstance(given, tuple) else (given,):
            if name not in known:
                others = remedy or f"one of {', '.join(known)}"
                raise ValueProblem(unknown, value=name, remedy=f"{did_you_mean(name, known)}{others}")
        return given

    return AfterValidator(check)


M = TypeVar("M", bound=Model)


def read(source: Path | yaml_source.Document, model: type[M], **known: Any) -> M:
    """One YAML file as ``model``, with ``known`` fields beside it; ConfigError names every mistake."""
    document = source if isinstance(source, yaml_source.Document) else yaml_source.load(source)
    for key in known:
        if key in document.data:
            remedy = "leave it out: the file's own name counts"
            raise ConfigError("unknown key", file=document.where((key,)), key=key, remedy=remedy)
    return validate(yaml_source.Document(document.path, {**document.data, **known}, document.lines), model)


def validate(document: yaml_source.Document, model: type[M]) -> M:
    """A document as ``model``; ConfigError names every mistake in it."""
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        raise together([_problem(document, model, item) for item in error.errors()]) from None


def together(problems: Sequence[ConfigError]) -> ConfigError:
    """One error that lists all of them; a single one stays as it is."""
    if len(problems) == 1:
        return problems[0]
    listed = "\n".join(f"{number}. {problem}" for number, problem in enumerate(problems, 1))
    return ConfigError(f"{len(problems)} mistakes:\n{listed}")


def alike_together(problems: Iterable[ConfigError]) -> list[ConfigError]:
    """The same mistake, made with several values of one key, as one mistake with all of them."""
    groups: dict[tuple[object, ...], list[ConfigError]] = {}
    for problem in problems:
        words = re.sub(r"[0-9][0-9.,]*", "#", problem.message)
        groups.setdefault((words, problem.key, problem.file), []).append(problem)
    return [_several(group) for group in groups.values()]


SHOWN_VALUES = 8
"""Values of one mistake that a message lists."""


def _several(alike: Sequence[ConfigError]) -> ConfigError:
    first = alike[0]
    if len(alike) == 1:
        return first
    values = list(dict.fromkeys(_plain(problem.value) for problem in alike))
    more = f" and {len(values) - SHOWN_VALUES} more" if len(values) > SHOWN_VALUES else ""
    same = len({problem.remedy for problem in alike}) == 1
    return ConfigError(
        first.message,
        file=first.file,
        key=first.key,
        value=Written(", ".join(values[:SHOWN_VALUES]) + more),
        remedy=first.remedy if same else f"for {values[0]}: {first.remedy}",
    )


class Written(str):
    """Text that a message shows without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {item}" for key, item in value.items()) + "}"
    return str(value)


def check_name(name: str, what: str, known: Iterable[str]) -> None:
    """Refuse a name that no file can have, and one that is not there, with the known ones."""
    names = sorted(known)
    if not names:
        remedy = "run it in the project's directory, beside configs/"
        raise ConfigError(f"there is no {what} here", value=name, remedy=remedy)
    if not NAME.match(name) or ".." in name:
        remedy = f"{NAME_LETTERS}; known: {listing(names)}"
        raise ConfigError(f"not the name of a {what}", value=name, remedy=remedy)
    if name not in names:
        raise ConfigError(f"unknown {what}", value=name, remedy=known_names(name, names))


def known_names(name: str, names: Sequence[str]) -> str:
    """The remedy for an unknown name."""
    return f"{did_you_mean(name, names)}known: {listing(names)}"


def listing(names: Iterable[str]) -> str:
    """Names for a message."""
    return ", ".join(names) or "none"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``did you mean x? `` (with the space), or nothing."""
    close = difflib.get_close_matches(name, list(known), n=2, cutoff=0.6)
    return f"did you mean {' or '.join(close)}? " if close else ""


def _problem(document: yaml_source.Document, model: type[Model], item: ErrorDetails) -> ConfigError:
    location = tuple(part for part in item["loc"] if not _internal(part))
    file = document.where(tuple(itertools.chain.from_iterable(map(_written, location))))
    key = dotted(location) or None
    kind = item["type"]
    context = item.get("ctx") or {}
    inner = context.get("error")
    if isinstance(inner, ValueProblem):
        if inner.key:
            file = document.where((*location, *inner.key.split(".")))
        key = ".".join(part for part in (key, inner.key) if part) or None
        return ConfigError(inner.message, file=file, key=key, remedy=inner.remedy, **inner.value)
    if kind == "extra_forbidden":
        names = _fields_at(model, location[:-1])
        hint = did_you_mean(str(location[-1]), names)
        return ConfigError("unknown key", file=file, key=key, remedy=f"{hint}known keys: {listing(names)}")
    if kind == "missing":
        return ConfigError("a key is missing", file=file, key=key, remedy=f"add {location[-1]}")
    value = item["input"]
    if kind == "string_pattern_mismatch":
        message, remedy = _PATTERNS[context["pattern"]]
    else:
        message, remedy = _described(kind, item["msg"], context)
        value = value if len(repr(value)) <= 120 else f"{value!r:.117}..."
    return ConfigError(message, file=file, key=key, value=value, remedy=remedy)


def _written(part: str | int) -> tuple[str | int, ...]:
    """The keys that a part of a location has in the file: ``layer.n`` is ``layer: {n: ...}``."""
    return ("layer", part[6:]) if isinstance(part, str) and part.startswith("layer.") else (part,)


def _internal(part: str | int) -> bool:
    """Whether pydantic added this part itself (the member of a union)."""
    return isinstance(part, str) and (
        part == "[key]"
        or part in ("str", "int", "bool", "float")
        or part.startswith(("list[", "dict[", "function-", "constrained-", "tagged-"))
    )


def _fields_at(model: type[Model], location: Sequence[str | int]) -> list[str]:
    """Keys that the model takes at a location, followed through nested models where that is possible."""
    current: Any = model
    for part in location:
        field = current.model_fields.get(str(part)) if hasattr(current, "model_fields") else None
        if field is None:
            continue
        current = next((kind for kind in _models_in(field.annotation)), current)
    names = [field.alias or name for name, field in cast(type[Model], current).model_fields.items()]
    return sorted(name for name in names if name != "name")


def _models_in(annotation: Any) -> Iterable[type[Model]]:
    if isinstance(annotation, type) and issubclass(annotation, Model):
        yield annotation
    for argument in getattr(annotation, "__args__", ()):
        yield from _models_in(argument)


def _described(kind: str, text: str, context: dict[str, Any]) -> tuple[str, str]:
    """Message and remedy of one of pydantic's own errors."""
    message = text.removeprefix("Value error, ").removeprefix("Input ")
    message = message[:1].lower() + message[1:]
    if kind in _TYPES:
        expected, wanted = _TYPES[kind]
        return expected or message, f"write {wanted}"
    if kind in ("literal_error", "enum"):
        unknown = "not one of the values that are known here"
        return unknown if kind == "literal_error" else message, f"one of {context['expected']}"
    if kind in _LIMITS:
        word, limit = _LIMITS[kind]
        return message, f"{word} {context[limit]:g}"
    if kind.endswith(("_type", "_parsing")):
        return message, "write what the message says"
    return message, "see docs/configuration.md"


_PATTERNS = {
    NAME.pattern: ("not a usable name", "letters, digits, dot, dash and underscore"),
    COMMIT: ("a full commit hash is expected", "40 hex digits"),
    DURATION: ("a duration is expected", "a number and s, m, h or d: 90s, 30m, 12h, 7d"),
    WORD: ("an argument cannot hold white space", "apu_se.py splits arguments there: write two arguments"),
    IMAGE_NAME: ("not an image name", "such as registry/name:tag"),
    DIGEST: ("a digest is expected", "sha256: and 64 hexadecimal digits"),
    IDENTIFIER: ("not a name that can stand in an expression", "a letter, then letters, digits, underscores"),
    BYTES: ("bytes are expected", "two hexadecimal digits each, in quotes: '0a00ff10'"),
}

_LIST = "a list: [1, 2]"
_MAPPING = "a mapping: key: value"
_TYPES = {
    "int_type": ("a whole number is expected", "a whole number, without quotes"),
    "float_type": (None, "a number, without quotes"),
    "bool_type": ("true or false is expected", "true or false"),
    "string_type": ("text is expected", "text (in quotes where it looks like a number)"),
    "list_type": (None, _LIST),
    "tuple_type": ("a list is expected", _LIST),
    "dict_type": ("a mapping is expected", _MAPPING),
    "model_type": ("a mapping is expected", _MAPPING),
}
"""By pydantic's type of error: the message, where its own is not plain, and what to write."""
_LIMITS = {
    "greater_than": ("above", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("below", "lt"),
    "less_than_equal": ("at most", "le"),
    "too_short": ("at least", "min_length"),
}
