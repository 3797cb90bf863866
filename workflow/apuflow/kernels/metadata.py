"""What a code object says of its kernels: arguments, registers, LDS, private memory.

Source: LLVM's "User Guide for AMDGPU Backend", code object V3 to V5 metadata: a note ``AMDGPU`` of type 32
whose description is a MessagePack document.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from apuflow.core.errors import EngineError
from apuflow.miopen import elf
from apuflow.miopen.elf import BrokenObject

_METADATA: Final = 32
_MOST_NOTES: Final = 10_000
_LARGEST: Final = 1 << 32
"""Bound of every number: sizes are 32 bits wide in a kernel's descriptor."""
IGNORED: Final = frozenset(
    {
        *("hidden_none", "hidden_printf_buffer", "hidden_hostcall_buffer", "hidden_default_queue"),
        *("hidden_completion_action", "hidden_multigrid_sync_arg", "hidden_heap_v1"),
    }
)
"""Hidden arguments that stay 0: nothing of a runtime is behind them."""
_BY_AXIS: Final = ("global_offset", "block_count", "group_size", "remainder")
GEOMETRY: Final = frozenset(
    {
        *(f"hidden_{name}_{axis}" for name in _BY_AXIS for axis in "xyz"),
        *("hidden_grid_dims", "hidden_dynamic_lds_size"),
    }
)
"""Hidden arguments that follow from the launch."""
LDS_POINTER: Final = "dynamic_shared_pointer"
"""Kind of an argument that points to LDS whose size the launch decides (OpenCL: ``__local``)."""


@dataclass(frozen=True)
class Parameter:
    """One kernel argument.

    Attributes:
        offset, size: in the argument block, bytes.
        kind: ``global_buffer``, ``by_value``, ``hidden_...``.
        name, type_name: as in the source; empty where the compiler left them out (HIP, assembly).
        alignment: of the LDS that a ``dynamic_shared_pointer`` points to, bytes.
        constant: the source says that what it points to is only read.
    """

    offset: int
    size: int
    kind: str
    name: str = ""
    type_name: str = ""
    alignment: int = 1
    constant: bool = False

    @property
    def hidden(self) -> bool:
        """Whether the user does not give it."""
        return self.kind.startswith("hidden_")


@dataclass(frozen=True)
class Kernel:
    """One kernel of a code object.

    Attributes:
        parameters: in the order of the argument block, which has ``argument_bytes``.
        lds_bytes, private_bytes: per workgroup and per work-item.
        vector_registers, scalar_registers: of a wavefront; accumulation registers included.
        largest_workgroup, wave_size: work-items.
        dynamic_stack: its private memory is not known before it runs.
        required_workgroup: the only workgroup that it runs in, in x, y, z; None: any.
    """

    name: str
    parameters: tuple[Parameter, ...]
    argument_bytes: int
    lds_bytes: int
    private_bytes: int
    vector_registers: int
    scalar_registers: int
    largest_workgroup: int
    wave_size: int
    spilled: int
    dynamic_stack: bool
    required_workgroup: tuple[int, int, int] | None = None

    @property
    def given(self) -> tuple[Parameter, ...]:
        """The arguments that a launch has to give."""
        return tuple(parameter for parameter in self.parameters if not parameter.hidden)


KernelsBySource: TypeAlias = Mapping[Path, tuple[Kernel, ...]]
"""The kernels of each compiled source of a program."""


def read_kernels(path: Path) -> tuple[Kernel, ...]:
    """Every kernel of a code object, as its metadata has them.

    Raises:
        BrokenObject: there is no such metadata.
        EngineError: the file cannot be read.
    """
    try:
        return tuple(_kernel(each) for each in _document(path.read_bytes())["amdhsa.kernels"])
    except OSError as error:
        raise EngineError(f"cannot read the code object: {error.strerror}", file=path) from None
    except (struct.error, OverflowError, LookupError, TypeError, AttributeError, ValueError) as error:
        raise BrokenObject(
            f"the code object does not describe its kernels: {error}",
            file=path,
            remedy="compile it for code object V3 or later (-mcode-object-version=4); assembly needs an "
            ".amdgpu_metadata block",
        ) from None


def find_kernel(kernels: tuple[Kernel, ...], name: str, path: Path) -> Kernel:
    """The kernel of that name: its symbol, or the plain name of a C++ function.

    Raises:
        EngineError: none or several.
    """
    exact = [kernel for kernel in kernels if kernel.name == name]
    plain = [kernel for kernel in kernels if kernel.name.startswith(f"_Z{len(name)}{name}")]
    for found in (exact, plain):
        if len(found) == 1:
            return found[0]
    known = ", ".join(kernel.name for kernel in kernels) or "no kernel"
    raise EngineError(
        "several kernels have this name" if plain else "the code object has no kernel of this name",
        file=path,
        key="kernel",
        value=name,
        remedy=f'it has {known}; extern "C" keeps a C++ name as it is',
    )


def _whole(value: Any) -> int:
    number = int(value)
    if not 0 <= number < _LARGEST:
        raise ValueError(f"{number} is no size, offset or number of registers")
    return number


def _extent(sizes: Any) -> tuple[int, int, int] | None:
    if sizes is None:
        return None
    x, y, z = map(_whole, sizes)
    return x, y, z


def _kernel(each: dict[str, Any]) -> Kernel:
    return Kernel(
        name=str(each[".name"]),
        parameters=tuple(
            Parameter(
                _whole(parameter[".offset"]),
                _whole(parameter[".size"]),
                str(parameter[".value_kind"]),
                str(parameter.get(".name", "")),
                str(parameter.get(".type_name", "")),
                _whole(parameter.get(".pointee_align", 1)),
                bool(parameter.get(".is_const")) or parameter.get(".address_space") == "constant",
            )
            for parameter in sorted(each.get(".args", ()), key=lambda one: _whole(one[".offset"]))
        ),
        argument_bytes=_whole(each[".kernarg_segment_size"]),
        lds_bytes=_whole(each[".group_segment_fixed_size"]),
        private_bytes=_whole(each[".private_segment_fixed_size"]),
        vector_registers=_whole(each.get(".vgpr_count", 0)),
        scalar_registers=_whole(each.get(".sgpr_count", 0)),
        largest_workgroup=_whole(each.get(".max_flat_workgroup_size", 1024)),
        wave_size=_whole(each.get(".wavefront_size", 64)),
        spilled=_whole(each.get(".vgpr_spill_count", 0)) + _whole(each.get(".sgpr_spill_count", 0)),
        dynamic_stack=bool(each.get(".uses_dynamic_stack", False)),
        required_workgroup=_extent(each.get(".reqd_workgroup_size")),
    )


def _document(data: bytes) -> dict[str, Any]:
    """The metadata of an ELF file."""
    notes = 0
    for section in elf.sections(data):
        if section.kind != elf.NOTES:
            continue
        place, end = section.offset, section.offset + section.size
        if end > len(data):
            raise ValueError("a section of notes lies outside of the file")
        while place + 12 <= end:
            if (notes := notes + 1) > _MOST_NOTES:
                raise ValueError(f"it has more than {_MOST_NOTES:,} notes")
            names, described, kind = struct.unpack_from("<III", data, place)
            text = place + 12
            value = text + -(-names // 4) * 4
            if kind == _METADATA and data[text : text + names].rstrip(b"\0") == b"AMDGPU":
                found = _unpacked(data[value : min(value + described, end)])
                if isinstance(found, dict):
                    return found
            place = value + -(-described // 4) * 4
    raise ValueError("it has no note AMDGPU of type 32")


def _unpacked(described: bytes) -> Any:
    import msgpack

    try:
        return msgpack.unpackb(described)
    except ValueError as error:
        reason = str(error) or type(error).__name__
        raise ValueError(f"its metadata is not MessagePack: {reason}") from None
