"""The compiled executor, once for all tests of the interpreter."""

from __future__ import annotations

import pytest
from needs import C_COMPILER

from apuflow.interpret import native


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> native.Library:
    C_COMPILER.required_program()
    found = native.library(tmp_path_factory.mktemp("native"))
    assert found is not None
    return found
