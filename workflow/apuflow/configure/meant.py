"""What a wrong name of an option or layer key means: the nearest names, and what people call them."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Final

from apuflow.configure.catalogue import catalogue, short_names

_NEAR: Final = 0.6
_LAYER_KEYS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("batch", "batch-size", "images", "minibatch"), "n"),
    **dict.fromkeys(("channels", "in-channels", "input-channels"), "c"),
    **dict.fromkeys(("out-channels", "output-channels", "filters", "k"), "num_output"),
    **{"height": "h", "width": "w", "kernel": "kernel_size", "filter": "kernel_size"},
}
"""Layer keys by what other tools call them, in small letters with dashes."""


def meant_option(name: str) -> str:
    """The remedy for a name that no option of ``apu_se.py`` has."""
    if name in short_names():
        return f"write the long name: {short_names()[name]}"
    if found := _options(name):
        return f"did you mean {' or '.join(found)}?"
    return "`apuflow list options` prints the options; names are those of the command line, without dashes"


def meant_key(name: str, known: Collection[str]) -> str:
    """``did you mean x? `` (with the space) for a name that is no layer key among ``known``, or nothing."""
    usual = _LAYER_KEYS.get(_plain(name))
    keys = [usual] if usual in known else difflib.get_close_matches(name, known, n=2, cutoff=_NEAR)
    options = [] if keys else [f"the option {each}" for each in _options(name, near=False)]
    found = [str(key) for key in keys] or options
    return f"did you mean {' or '.join(found)}? " if found else ""


def _options(name: str, *, near: bool = True) -> list[str]:
    """Options that a name may mean, each with its meaning.

    Args:
        near: also those that are merely spelt alike.
    """
    same = [_squeezed()[_squeeze(name)]] if _squeeze(name) in _squeezed() else []
    found = list(dict.fromkeys([*_said().get(_plain(name), ()), *same]))
    if near and not found:
        found = difflib.get_close_matches(name, catalogue(), n=3, cutoff=_NEAR)
    return [f"{each} ({catalogue()[each].meaning})" if catalogue()[each].meaning else each for each in found]


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


def _squeeze(name: str) -> str:
    return _plain(name).replace("-", "")


@lru_cache(maxsize=1)
def _squeezed() -> Mapping[str, str]:
    return {_squeeze(name): name for name in catalogue()}


@lru_cache(maxsize=1)
def _said() -> Mapping[str, list[str]]:
    """Options by their other names."""
    found: dict[str, list[str]] = {}
    for name, option in catalogue().items():
        for other in option.also:
            found.setdefault(other, []).append(name)
    return found
