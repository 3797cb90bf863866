"""The pause of the garbage collector."""

from __future__ import annotations

import gc

import pytest

from apuflow.core import collection


def test_it_ends_with_the_block_however_that_ends() -> None:
    assert gc.isenabled()
    with pytest.raises(KeyError, match="nothing"), collection.paused():  # noqa: PT012
        assert not gc.isenabled()
        raise KeyError("nothing")
    assert gc.isenabled()


def test_it_does_not_start_a_collector_that_was_off() -> None:
    gc.disable()
    try:
        with collection.paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
