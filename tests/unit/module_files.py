"""A file of PyTorch modules, as a user has one."""

from __future__ import annotations

import sys
from pathlib import Path

import needs
import pytest


def module_file(source: str, directory: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Path of a file that a test may import; torch is needed."""
    pytest.importorskip("torch", reason=needs.NETWORKS.reason)
    file = directory / "own_models_of_a_test.py"
    file.write_text(source)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, file.stem, raising=False)
    return str(file)
