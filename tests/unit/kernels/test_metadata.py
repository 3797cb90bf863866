"""What code objects say of their kernels."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from apuflow.core.errors import EngineError
from apuflow.kernels.metadata import find_kernel, read_kernels
from apuflow.miopen.elf import BrokenObject


def test_a_real_object(whole: bytes, tmp_path: Path) -> None:
    """As llvm-readobj --notes prints it: SoftmaxForward takes two float pointers and eight integers."""
    path = tmp_path / "k.o"
    path.write_bytes(whole)
    (kernel,) = read_kernels(path)
    assert kernel.name == "SoftmaxForward"
    assert kernel.wave_size == 64
    assert [each.offset for each in kernel.parameters] == sorted(each.offset for each in kernel.parameters)
    assert {each.kind for each in kernel.given} <= {"global_buffer", "by_value"}
    assert find_kernel((kernel,), "SoftmaxForward", path) is kernel
    with pytest.raises(EngineError, match=r"no kernel of this name[\s\S]*it has SoftmaxForward"):
        find_kernel((kernel,), "Softmax", path)


def test_damaged_objects_are_refused(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "k.o"
    place = whole.index(b"amdhsa.kernels")
    for data in (b"", whole[: place + 40], whole[:place] + b"\xc1" * 8 + whole[place + 8 :]):
        path.write_bytes(data)
        with pytest.raises(BrokenObject, match="does not describe its kernels"):
            read_kernels(path)
    with pytest.raises(EngineError, match="cannot read the code object"):
        read_kernels(tmp_path / "absent.o")


def _packed(value: object) -> bytes:
    """MessagePack by its specification, always the longest form: not the one that LLVM chooses."""
    match value:
        case bool():
            return b"\xc3" if value else b"\xc2"
        case int():
            return b"\xcf" + struct.pack(">Q", value)
        case str():
            return b"\xdb" + struct.pack(">I", len(value)) + value.encode()
        case list():
            return b"\xdd" + struct.pack(">I", len(value)) + b"".join(map(_packed, value))
        case dict():
            body = b"".join(_packed(key) + _packed(item) for key, item in value.items())
            return b"\xdf" + struct.pack(">I", len(value)) + body
    raise AssertionError(value)


def note_object(kernels: list[dict[str, object]]) -> bytes:
    """An ELF file with nothing but the metadata of these kernels."""
    return described_object(_packed({"amdhsa.version": [1, 1], "amdhsa.kernels": kernels}))


def described_object(described: bytes) -> bytes:
    """An ELF file with nothing but a note of these bytes."""
    note = struct.pack("<III", 7, len(described), 32) + b"AMDGPU\0\0" + described
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01", 3, 224, 1, 0, 0, 64, 0, 64, 0, 0, 64, 1, 0)
    return header + struct.pack("<IIQQQQIIQQ", 0, 7, 0, 0, 128, len(note), 0, 0, 4, 0) + note


def test_every_form_of_metadata_and_cpp_names(tmp_path: Path) -> None:
    facts: dict[str, object] = {
        ".kernarg_segment_size": 300,
        ".group_segment_fixed_size": 70000,
        ".private_segment_fixed_size": 0,
        ".vgpr_count": 10,
        ".agpr_count": 4,
        ".uses_dynamic_stack": True,
        ".args": [
            {".offset": 8, ".size": 4, ".value_kind": "by_value"},
            {".offset": 0, ".size": 8, ".value_kind": "global_buffer"},
        ],
    }
    path = tmp_path / "k.o"
    path.write_bytes(note_object([{".name": "_Z5otherPf", **facts}, {".name": "_Z6other2Pf", **facts}]))
    kernels = read_kernels(path)
    kernel = find_kernel(kernels, "other", path)
    assert (kernel.name, kernel.lds_bytes, kernel.vector_registers) == ("_Z5otherPf", 70000, 10)
    assert [each.kind for each in kernel.parameters] == ["global_buffer", "by_value"]
    assert kernel.dynamic_stack
    with pytest.raises(EngineError, match="several kernels have this name"):
        find_kernel((*kernels, kernels[0]), "other", path)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (described_object(b"\x91" * 5000 + b"\xc0"), "not MessagePack: StackError"),
        (described_object(b"\x81\xa1a" * 5000 + b"\xc0"), "not MessagePack: StackError"),
        (described_object(b"\x81\xa1a\xdd\xff\xff\xff\xff"), "exceeds max_array_len"),
        (described_object(b"\x81\xa1a\xdb\xff\xff\xff\xff"), "incomplete input"),
        (note_object([])[:-4], "outside of the file"),
        (note_object([{".name": "k", ".kernarg_segment_size": 1 << 40}]), "no size"),
    ],
    ids=[
        "lists in lists",
        "mappings in mappings",
        "endless list",
        "endless text",
        "cut section",
        "a terabyte",
    ],
)
def test_metadata_that_lie_are_one_error(content: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "k.co"
    path.write_bytes(content)
    with pytest.raises(BrokenObject, match=why) as caught:
        read_kernels(path)
    assert caught.value.file == str(path)


def test_a_million_empty_notes_are_not_read_again_by_every_section(tmp_path: Path) -> None:
    notes = bytes(12) * 20_000
    header = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01", 3, 224, 1, 0, 0, 64, 0, 64, 0, 0, 64, 999, 0
    )
    section = struct.pack("<IIQQQQIIQQ", 0, 7, 0, 0, 64 * 1000, len(notes), 0, 0, 4, 0)
    path = tmp_path / "k.co"
    path.write_bytes(header + section * 999 + notes)
    with pytest.raises(BrokenObject, match="more than 10,000 notes"):
        read_kernels(path)
