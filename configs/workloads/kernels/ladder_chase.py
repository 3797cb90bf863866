"""Reference of ladder_chase.cl."""

import numpy as np

PAGE_LINES = 64
LEAP = 27


def words(k, stride):
    """Where element ``k`` of the walk is."""
    if stride == 64:
        return (k // PAGE_LINES * PAGE_LINES + k % PAGE_LINES * LEAP % PAGE_LINES) * 16
    return k * (stride // 4) + k // 4 % PAGE_LINES * 16


def walk(parameters):
    """Places of all elements in their order."""
    return words(np.arange(parameters["count"]), parameters["stride"])


def contents(parameters):
    """Of `ladder_inputs`, whose elements the CPU writes: the place of each element's successor."""
    place = walk(parameters)
    elements = np.zeros(-(-parameters["count"] * parameters["stride"] // 4096) * 1024, np.uint32)
    elements[place] = np.roll(place, -1)
    return {"next": elements}


def expected(buffers, parameters):
    """Every element's successor, and where the walks end: after whole laps where they began."""
    place, hops = walk(parameters), parameters["hops"]
    start = np.zeros(1, np.uint32)
    return {
        "seen": np.roll(place, -1).astype(np.uint32),
        "after_short": start,
        "after_long": start,
        "after_once": np.array([place[hops % place.size]], np.uint32),
    }
