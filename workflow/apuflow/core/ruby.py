"""What the GPU's caches and the memory send each other through gem5's network, Ruby."""

from __future__ import annotations

DATA_BYTES, CONTROL_BYTES = 72.0, 8.0
"""Sizes of a message with a cache line and of one without (gem5 ``Network::MessageSizeType_to_int``)."""
