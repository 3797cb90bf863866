"""Messages between the GPU's caches and memory in gem5's Ruby network."""

from __future__ import annotations

DATA_BYTES, CONTROL_BYTES = 72.0, 8.0
"""Bytes of a message with and without a cache line (gem5 ``Network::MessageSizeType_to_int``)."""
