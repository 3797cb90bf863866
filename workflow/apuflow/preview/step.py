"""A launch of a process: what it does, and what it finds of what earlier ones and the CPU have left."""

from __future__ import annotations

from typing import NamedTuple

from apuflow.preview.profile import Profile


class Left(NamedTuple):
    """What a stream finds of its buffer.

    Attributes:
        new_pages: at most so many of its pages are new.
        walked: earlier launches have translated its pages.
        loaded: earlier launches have used the lines, which the L3 gives away.
        cached: part of the lines that the TCC still has.
        in_l2, in_l3: parts of the buffer that the CPU's L2 and the L3 hold, as long as no launch has used it.
    """

    new_pages: float = float("inf")
    walked: bool = False
    loaded: bool = False
    cached: float = 0.0
    in_l2: float = 0.0
    in_l3: float = 0.0


class Found(NamedTuple):
    """What a launch finds.

    Attributes:
        streams: of each of its streams (``Profile.streams``).
        arguments_walked, code_walked: earlier launches have translated the page of the kernel arguments, and
            those of the code.
        code_cached, code_kept: the instruction cache has the code, or the TCC has.
    """

    streams: tuple[Left, ...]
    arguments_walked: bool = False
    code_walked: bool = False
    code_cached: bool = False
    code_kept: bool = False


class Step(NamedTuple):
    """A launch, or those of its passes that find the same.

    Attributes:
        number: of the launch, in the order in which a process makes them.
        times: how often.
        profile, found: what one of them does, and what it finds.
    """

    number: int
    times: int
    profile: Profile
    found: Found


def alone(profile: Profile) -> Step:
    """The only launch of a process whose inputs no cache holds: it finds nothing."""
    return Step(0, 1, profile, Found((Left(),) * len(profile.streams)))
