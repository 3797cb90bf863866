"""Keys of the sections of a ``.dnnmark`` file, which the attributes of a layer's class state.

``text``, ``whole``, ``real``, ``flag`` and ``window`` make an attribute with its key, default and meaning.
Source: DNNMark ``core/include/dnn_config_keywords.h`` and the ``Setup*Param`` functions of ``dnn_param.h``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Literal

from apuflow.core.scalar import Scalar
from apuflow.dnnmark.shape import Plane

INT_MAX: Final = 2**31 - 1
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,20}")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_KEYS: Final = "keys"


@dataclass(frozen=True)
class Key:
    """One key of a section.

    Attributes:
        default: DNNMark's value where the key is absent; None where it has none.
        choices: the only values that DNNMark knows (empty: any).
        name: as written in the file.
        attribute: of the layer's class, which the key sets; "" for a key of every section.
        axes: those that the key sets of an attribute with two (``Plane``); empty where it has one value.
    """

    type: type[int] | type[float] | type[bool] | type[str]
    default: Scalar | None
    meaning: str
    minimum: float | None = None
    choices: tuple[str, ...] = ()
    name: str = ""
    attribute: str = ""
    axes: tuple[Literal["h", "w"], ...] = ()

    def read(self, text: str) -> Scalar:
        """The value that ``text`` stands for.

        Raises ValueError: with the reason, when DNNMark would abort or silently read something else.
        """
        if self.type is int:
            if not _INTEGER.fullmatch(text):
                raise ValueError("a whole number; DNNMark reads only leading digits (atoi), else 0")
            return self.bounded(int(text))
        if self.type is float:
            if not _NUMBER.fullmatch(text):
                raise ValueError("a number; DNNMark reads only its leading part (atof), else 0")
            if not math.isfinite(float(text)):
                raise ValueError("a finite number")
            return self.bounded(float(text))
        if self.type is bool:
            if text not in ("true", "false"):
                raise ValueError("write true or false; DNNMark keeps its default for anything else")
            return text == "true"
        if self.choices and text not in self.choices:
            raise ValueError(f"one of {', '.join(self.choices)}")
        return text

    def bounded(self, value: float) -> float:
        """The value; raises ValueError if it is too small, or too large for a C int."""
        if self.minimum is not None and value < self.minimum:
            raise ValueError(f"at least {self.minimum:g}")
        if self.type is int and abs(value) > INT_MAX:
            raise ValueError(f"at most {INT_MAX} (a C int)")
        return value

    def put(self, value: Scalar, attributes: dict[str, Any]) -> None:
        """Set the key's attribute among those that the layer's class will be made with."""
        if self.axes == ("h", "w"):
            attributes[self.attribute] = Plane(int(value), int(value))
        elif self.axes:
            default = int(self.default or 0)
            plane = attributes.get(self.attribute, Plane(default, default))
            attributes[self.attribute] = plane._replace(**dict.fromkeys(self.axes, int(value)))
        else:
            attributes[self.attribute] = value

    def stated(self, layer: object) -> Scalar | None:
        """The value to write for a layer; None where there is none, or where another key states it.

        Two equal axes are stated by their common key (``stride``), two different ones by a key each. Keys of
        every section are none of the layer's class.
        """
        if not self.attribute:
            return None
        value: Scalar | Plane = getattr(layer, self.attribute)
        if isinstance(value, Plane):
            common = len(self.axes) == len(value)
            return getattr(value, self.axes[0]) if common == (value.h == value.w) else None
        return None if value == "" else value

    def covers(self, other: Key) -> bool:
        """Whether nothing stays of what ``other`` set when this key is set behind it."""
        return self.name == other.name or (
            self.attribute == other.attribute and set(other.axes) < set(self.axes)
        )


def format_value(value: Scalar) -> str:
    """A value as DNNMark reads it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


def text(default: str, meaning: str, choices: tuple[str, ...] = ()) -> str:
    """An attribute of text."""
    return field(default=default, metadata=_stating(Key(str, default, meaning, choices=choices)))


def whole(default: int, minimum: int, meaning: str) -> int:
    """An attribute that is a whole number."""
    return field(default=default, metadata=_stating(Key(int, default, meaning, minimum)))


def real(default: float, meaning: str, minimum: float | None = None) -> float:
    """An attribute that is a number."""
    return field(default=default, metadata=_stating(Key(float, default, meaning, minimum)))


def flag(default: bool, meaning: str) -> bool:
    """An attribute that is true or false."""
    return field(default=default, metadata=_stating(Key(bool, default, meaning)))


def window(name: str, default: int, minimum: int, meaning: str) -> Plane:
    """An attribute along both axes: key ``name`` sets both, a later ``name_h`` or ``name_w`` one of them."""
    both = Key(int, default, meaning, minimum, name=name, axes=("h", "w"))
    along_h = replace(both, name=f"{name}_h", axes=("h",))
    along_w = replace(both, name=f"{name}_w", axes=("w",))
    return field(default=Plane(default, default), metadata=_stating(both, along_h, along_w))


def keys_of(kind: type[Any]) -> Iterator[Key]:
    """The keys that the class of a layer states, in order."""
    for attribute in fields(kind):
        for key in attribute.metadata[_KEYS]:
            yield replace(key, name=key.name or attribute.name, attribute=attribute.name)


def _stating(*keys: Key) -> dict[str, tuple[Key, ...]]:
    return {_KEYS: keys}
