"""YAML as people write it: aliases, merge keys, any text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sweep_texts import HEAD, expand

from apuflow.configure import (
    yaml_source,
)
from apuflow.core.errors import ConfigError


def test_an_alias_bomb_is_refused_at_once(root: Path) -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(ConfigError, match="written out"):
        expand(root, "\n".join(lines))


def test_anchors_and_merge_keys_work(root: Path) -> None:
    text = HEAD + "options: &o {num-tccs: 2}\nper_workload: {softmax_*: {options: {<<: *o, num-dirs: 2}}}\n"
    assert len(expand(root, text)) == 1


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=60))
def test_no_text_ends_in_a_traceback(text: str) -> None:
    try:
        document = yaml_source.parse(text)
    except ConfigError as error:
        assert error.remedy
    else:
        assert isinstance(document.data, dict)
