"""Argument blocks of launches."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from own_programs import kernel, program

from apuflow.core.errors import EngineError
from apuflow.kernels.launches import argument_problems, arguments, dynamic_lds
from apuflow.kernels.metadata import Parameter
from apuflow.kernels.program import Code, Given, OwnLaunch
from apuflow.launcher.dispatch_list import Argument

SIZES = {"uchar": 1, "ushort": 2, "uint": 4, "ulong": 8, "buffer": 8}
A = Given("buffer", "a")
K = Code(Path("k.cl"))


def placed(given: tuple[Argument, ...]) -> dict[int, int]:
    """Values by their place, at their natural alignment as the guest packs them; without bytes of 0."""
    found, end = {}, 0
    for each in given:
        size = SIZES[each.kind]
        end = -(-end // size) * size
        if each.kind == "buffer" or each.value:
            found[end] = int(each.value) if each.kind != "buffer" else -1 - each.offset
        end += size
    return found


def test_arguments_stand_where_the_metadata_says() -> None:
    """A buffer from element 10, a short in a place that is aligned for more, a float and a double."""
    taken = kernel(
        Parameter(0, 8, "global_buffer"),
        Parameter(8, 2, "by_value"),
        Parameter(16, 4, "by_value", "", "float"),
        Parameter(24, 8, "by_value"),
    )
    numbers = (Given("integer", -2), Given("integer", 3), Given("real", 0.5))
    own = program(Given("buffer", "a", 10), *numbers)
    assert placed(arguments(taken, own.launches[0], own)) == {
        0: -41,
        8: 0xFFFE,
        16: int.from_bytes(struct.pack("<f", 3.0), "little"),
        24: int.from_bytes(struct.pack("<d", 0.5), "little"),
    }


def test_hidden_arguments_of_code_object_5() -> None:
    """LLVM's User Guide: counts are whole workgroups, remainders what is left; dimensions."""
    hidden = [
        *((0, 4, "block_count_x"), (4, 4, "block_count_y"), (8, 4, "block_count_z")),
        *((12, 2, "group_size_x"), (14, 2, "group_size_y"), (16, 2, "group_size_z")),
        *((18, 2, "remainder_x"), (20, 2, "remainder_y"), (22, 2, "remainder_z")),
        *((40, 8, "global_offset_x"), (64, 2, "grid_dims"), (72, 8, "printf_buffer")),
    ]
    taken = kernel(
        Parameter(0, 8, "global_buffer"),
        *(Parameter(8 + offset, size, f"hidden_{name}") for offset, size, name in hidden),
    )
    own = program(A, launches=(OwnLaunch(K, "k", (100, 8, 1), (32, 4, 1), (A,)),))
    assert placed(arguments(taken, own.launches[0], own)) == {
        **{0: -1, 8: 3, 12: 2, 16: 1},
        **{20: 32, 22: 4, 24: 1},
        **{26: 4, 72: 2},
    }


def test_numbers_of_work_items_begin_at_the_launchs_offset() -> None:
    """OpenCL's get_global_id adds the hidden argument of its dimension."""
    hidden = (Parameter(8 + 8 * axis, 8, f"hidden_global_offset_{name}") for axis, name in enumerate("xyz"))
    taken = kernel(Parameter(0, 8, "global_buffer"), *hidden)
    launch = OwnLaunch(K, "k", (64, 2, 1), (64, 1, 1), (A,), offset=(5, 1 << 33, 0))
    assert placed(arguments(taken, launch, program(A, launches=(launch,)))) == {0: -1, 8: 5, 16: 1 << 33}


@pytest.mark.parametrize(
    ("parameter", "given", "said"),
    [
        (Parameter(0, 8, "global_buffer", "in"), Given("integer", 1), r"argument 1 \(in\) is a buffer"),
        (Parameter(0, 4, "by_value"), A, "is a value of 4 bytes, the launch gives buffer a"),
        (Parameter(0, 8, "global_buffer"), Given("buffer", "a", 100), "element 100 of a, which has 100"),
        (Parameter(0, 2, "by_value"), Given("integer", 70000), "has 16 bits, 70000 needs more"),
        (Parameter(0, 4, "by_value"), Given("real", 1.0, type="double"), "the launch gives a double"),
        (Parameter(0, 24, "by_value"), Given("integer", 1), "is a structure of 24 bytes"),
        (Parameter(0, 4, "dynamic_shared_pointer"), A, "points to LDS: give the bytes that it needs"),
        (Parameter(0, 8, "global_buffer"), Given("lds", 64), "is no pointer to LDS, the launch gives 64"),
    ],
)
def test_what_does_not_fit_is_said(parameter: Parameter, given: Given, said: str) -> None:
    own = program(given)
    with pytest.raises(EngineError, match=said):
        arguments(kernel(parameter), own.launches[0], own)


def test_too_few_arguments_and_those_of_a_runtime() -> None:
    taken = kernel(Parameter(0, 8, "global_buffer", "in"), Parameter(8, 8, "hidden_private_base"))
    own = program()
    problems = list(argument_problems(taken, own.launches[0], own))
    assert problems == [
        "it wants hidden_private_base, which only a runtime has",
        "it takes 1 arguments (in), the launch gives 0",
    ]


def test_local_arguments_lie_behind_the_kernels_own_lds() -> None:
    """Each at its alignment, as ROCm places them; the argument is an address of 32 bits within the LDS."""
    taken = kernel(
        Parameter(0, 4, "dynamic_shared_pointer", alignment=4),
        Parameter(4, 4, "dynamic_shared_pointer", alignment=16),
        Parameter(8, 4, "hidden_dynamic_lds_size"),
        lds_bytes=100,
    )
    own = program(Given("lds", 30), Given("lds", 8))
    assert placed(arguments(taken, own.launches[0], own)) == {0: 100, 4: 144, 8: 52}
    assert dynamic_lds(taken, own.launches[0]).size == 52


def test_lds_without_an_argument() -> None:
    """HIP's extern __shared__: no argument says where it is. Not beside arguments that point to LDS."""
    own = program(Given("lds", 64), launches=(OwnLaunch(K, "k", (64, 1, 1), (64, 1, 1), (), 256),))
    assert dynamic_lds(kernel(lds_bytes=16), own.launches[0]).size == 256
    both = OwnLaunch(K, "k", (64, 1, 1), (64, 1, 1), (Given("lds", 64),), 256)
    pointer = kernel(Parameter(0, 4, "dynamic_shared_pointer"))
    assert list(argument_problems(pointer, both, own)) == [
        "its arguments point to the LDS that the launch adds, so lds of the launch would lie over it"
    ]


def test_structures_are_given_as_bytes() -> None:
    own = program(Given("bytes", "010203000000000000000400"))
    given = arguments(kernel(Parameter(0, 12, "by_value")), own.launches[0], own)
    assert placed(given) == {0: 1, 1: 2, 2: 3, 10: 4}
