"""The file of a workload of kind ``kernels``: any GPU kernels, their memory, launches and reference."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Literal, TypeAlias, cast

from pydantic import AfterValidator, Discriminator, Field, StringConstraints, Tag, model_validator

from apuflow.configure.base import BYTES, IDENTIFIER, ListOf, Model, Text, ValueProblem
from apuflow.configure.workload import Runs
from apuflow.core.engines import EngineName
from apuflow.kernels.element_types import ELEMENT_TYPES, ElementType
from apuflow.kernels.program import FillKind
from apuflow.kernels.sources import LANGUAGES

Identifier: TypeAlias = Annotated[str, StringConstraints(pattern=IDENTIFIER, max_length=40)]
"""A name that can stand in an expression."""
Expression: TypeAlias = Annotated[int | str, Field(description="a whole number, or an expression")]
Number: TypeAlias = int | float


def _below(value: str) -> str:
    path = PurePosixPath(value)
    if path.is_absolute() or ".." in path.parts or any(character.isspace() for character in value):
        remedy = "a path from this file's directory downwards, without white space"
        raise ValueProblem("not a file beside this one", value=value, remedy=remedy)
    return value


FileBeside: TypeAlias = Annotated[Text, AfterValidator(_below)]
ContentsWord: TypeAlias = Literal["zero", "touch", "untouched", "uniform", "reference"]
CONTENTS = (
    "zero, touch, untouched, uniform or reference; {uniform: SEED}, {modulo: M}, {constant: X}, "
    "{values: [...]}, {file: PATH}"
)


class ContentsFile(Model):
    """What a buffer holds before the first launch, where a word does not say it: one of these keys."""

    uniform: int | None = Field(None, ge=0, description="floats in [0, 1) by a seed")
    modulo: int | None = Field(None, ge=1, le=256, description="bytes below this; 256: any bits")
    seed: int = Field(0, ge=0, description="of modulo")
    constant: Number | None = Field(None, description="every element")
    values: ListOf[Number] | None = Field(None, description="the first elements; the rest is 0")
    file: FileBeside | None = Field(None, description="raw little-endian elements: a file beside this one")

    @property
    def kind(self) -> FillKind:
        """The key that is given."""
        return cast(FillKind, next(name for name in self.model_fields_set if name != "seed"))

    @model_validator(mode="after")
    def _one(self) -> ContentsFile:
        given = [name for name in self.model_fields_set if name != "seed"]
        if len(given) != 1 or getattr(self, given[0]) is None:
            value = ", ".join(given) or None
            raise ValueProblem("a buffer's contents are one thing", value=value, remedy=CONTENTS)
        return self


def _form(value: object) -> str:
    """Which alternative of a union a value of a file is meant to be."""
    return "tagged-mapping" if isinstance(value, (dict, Model)) else "tagged-plain"


Contents: TypeAlias = Annotated[
    Annotated[ContentsWord, Tag("tagged-plain")] | Annotated[ContentsFile, Tag("tagged-mapping")],
    Discriminator(_form),
]


class BufferFile(Model):
    """Memory that kernels take the address of."""

    type: ElementType | Identifier = Field(
        description="of its elements, or a parameter that has one; a reference sees bfloat16 as float32"
    )
    elements: Expression = Field(description="how many; an expression over the parameters")
    contents: Contents = Field("zero", description=f"before the first launch: {CONTENTS}")

    @property
    def fill(self) -> FillKind:
        """What kind of contents they are."""
        return self.contents if isinstance(self.contents, str) else self.contents.kind


_BESIDE = {"offset": "buffer", "addresses": "bytes"}
"""Keys that go with another one."""


class ArgumentFile(Model):
    """An argument that is neither a whole buffer nor a whole number: one of these keys."""

    buffer: Identifier | None = Field(None, description="a buffer; with offset")
    offset: Expression = Field(0, description="elements from its beginning")
    half: Number | None = None
    float: Number | None = Field(None, description="a number with a point, 32 bits")
    double: Number | None = None
    bytes: Annotated[str, StringConstraints(pattern=BYTES)] | None = Field(
        None, description="hexadecimal digits, for structures"
    )
    addresses: dict[Annotated[str, StringConstraints(pattern=r"^[0-9]+$")], Identifier] = Field(
        default_factory=dict, description="with bytes: buffers whose addresses they hold, by place"
    )
    lds: Expression | None = Field(None, description="bytes of LDS, for OpenCL's `__local` pointers")

    @model_validator(mode="after")
    def _one(self) -> ArgumentFile:
        given = self.model_fields_set - _BESIDE.keys()
        beside = self.model_fields_set & _BESIDE.keys()
        if len(given) != 1 or any(_BESIDE[name] not in given for name in beside):
            value = ", ".join(sorted(self.model_fields_set))
            remedy = "buffer (with offset), half, float, double, bytes (with addresses) or lds"
            raise ValueProblem("an argument is one thing", value=value, remedy=remedy)
        return self


Argument: TypeAlias = Annotated[
    Annotated[ArgumentFile, Tag("tagged-mapping")] | Annotated[Number | str, Tag("tagged-plain")],
    Discriminator(_form),
]


class ConstantFile(Model):
    """A constexpr that is neither a number nor yes or no: one of these keys."""

    string: str | None = Field(None, description="a text")
    type: ElementType | Identifier | None = Field(None, description="a type of elements, as tl.float16 is")

    @model_validator(mode="after")
    def _one(self) -> ConstantFile:
        if len(self.model_fields_set) != 1:
            value = ", ".join(sorted(self.model_fields_set)) or None
            raise ValueProblem("a constexpr is one thing", value=value, remedy="string or type")
        return self


Constant: TypeAlias = Annotated[
    Annotated[ConstantFile, Tag("tagged-mapping")]
    | Annotated[bool | Number | str | None, Tag("tagged-plain")],
    Discriminator(_form),
]


Repeat: TypeAlias = Annotated[
    Annotated[dict[Identifier, Expression], Tag("tagged-mapping")]
    | Annotated[Expression, Tag("tagged-plain")],
    Discriminator(_form),
]


class LaunchFile(Model):
    """One launch, or the same one several times."""

    kernel: Text = Field(description="its name in the source")
    source: FileBeside | None = Field(None, description="the file that has it; left out: `source` above")
    grid: ListOf[Expression] = Field(
        min_length=1, max_length=3, description="work-items in x, y, z; Triton: programs"
    )
    workgroup: ListOf[Expression] = Field(
        (), max_length=3, description="work-items of a workgroup; Triton: left out, it is 64 * num_warps"
    )
    arguments: ListOf[Argument] = Field(
        (), description="buffers by name, expressions, numbers, or {float: 0.5} and its like"
    )
    lds: Expression = Field(
        0, description="bytes of LDS beside the kernel's own, for HIP's `extern __shared__`"
    )
    offset: ListOf[Expression] = Field(
        (), max_length=3, description="OpenCL: numbers of the first work-item; left out: 0"
    )
    weight: float = Field(
        1,
        ge=0,
        description="how often it counts in the cycles of the whole program",
    )
    compile: str | None = Field(None, description="arguments for clang; left out: `compile` above")
    repeat: Repeat = Field(
        1,
        description="how many times in a row; or {NAME: times}: the launch may use NAME, which counts from "
        "0; of several names the last counts fastest, and its times may use those before it",
    )
    constexprs: dict[str, Constant] = Field(
        default_factory=dict,
        description="Triton: values by parameter: numbers, expressions, null, {string: relu}, {type: half}",
    )
    num_warps: Expression | None = Field(None, description="Triton: wavefronts of a workgroup; left out: 4")
    num_stages: Expression | None = Field(None, description="Triton: of software pipelines")
    matrix_instr_nonkdim: Expression | None = Field(
        None, description="Triton: 16 or 32, rows of a matrix instruction's result"
    )
    waves_per_eu: Expression | None = Field(
        None, description="Triton: wavefronts that a SIMD is to hold: fewer registers for each"
    )
    divisible_by_16: ListOf[str] = Field(
        (), description="Triton: parameters that are compiled as such multiples; every launch is checked"
    )
    specialize: ListOf[str] = Field(
        (),
        description="Triton: parameters that are compiled as multiples of 16 in launches where they are",
    )

    @property
    def options(self) -> dict[str, int | str]:
        """Triton's that are given."""
        found = {name: getattr(self, name) for name in OPTIONS}
        return {name: value for name, value in found.items() if value is not None}

    def check(self, source: str, key: str) -> None:
        """Raise ValueProblem for what a launch of this source does not take, or lacks.

        Args:
            key: where it stands in the file.
        """
        triton = LANGUAGES.get(PurePosixPath(source).suffix) == "triton"
        if triton == bool(self.workgroup):
            what = "of Triton it is 64 * num_warps" if triton else "work-items of a workgroup"
            remedy = "leave it out, give num_warps" if triton else "give them, as [64]"
            raise ValueProblem(what, key=f"{key}.workgroup", value=self.workgroup or None, remedy=remedy)
        wrong = ("lds", "compile") if triton else (*OPTIONS, "constexprs", "divisible_by_16", "specialize")
        for name in wrong:
            if name in self.model_fields_set:
                what = "Triton decides it" if triton else "for Triton's kernels, in a file .py"
                raise ValueProblem(
                    what, key=f"{key}.{name}", value=getattr(self, name), remedy="leave it out"
                )
        if self.offset and LANGUAGES.get(PurePosixPath(source).suffix) in ("triton", "hip"):
            what, remedy = "only OpenCL numbers work-items from an offset on", "add it in the kernel"
            raise ValueProblem(what, key=f"{key}.offset", value=self.offset, remedy=remedy)


class PointerFile(Model):
    """The address of a buffer in memory before the first launch: in a buffer, or in a variable of code."""

    buffer: Identifier | None = Field(None, description="the buffer that holds it")
    source: FileBeside | None = Field(None, description="in its place: the code object that does")
    place: int = Field(ge=0, description="bytes from the buffer's first, or in the loaded code object")
    to: Identifier = Field(description="the buffer whose address it is")
    offset: int = Field(0, ge=0, description="bytes from its beginning")

    @model_validator(mode="after")
    def _one(self) -> PointerFile:
        if (self.buffer is None) == (self.source is None):
            message, remedy = "an address is in one place", "buffer or source"
            raise ValueProblem(message, value=self.buffer, remedy=remedy)
        return self


OPTIONS = ("num_warps", "num_stages", "matrix_instr_nonkdim", "waves_per_eu")
"""Of a Triton launch, with the names that Triton has for them."""


class KernelsFile(Model):
    """``kind: kernels``: kernels of your own, started without ROCm by engine gem5-kernels."""

    kind: Literal["kernels"]
    description: Text
    source: FileBeside = Field(
        description="OpenCL (.cl), HIP (.hip, .cpp, .cu), Triton (.py), assembly (.s, .S), a code object "
        "(.o, .co, .hsaco), or a model for IREE (.mlir, .onnx), beside this file"
    )
    compile: str = Field(
        "", description="arguments for clang or iree-compile; {NAME} becomes a parameter's value"
    )
    parameters: dict[Identifier, int | ElementType] = Field(
        default_factory=dict,
        description="names for expressions, or for types of elements; a sweep varies them as layer keys",
    )
    buffers: dict[Identifier, BufferFile] = Field(
        default_factory=dict, description="memory, by name; IREE: left out"
    )
    addresses: ListOf[PointerFile] = Field(
        (), description="of buffers, in other buffers or in variables of code objects"
    )
    launches: ListOf[LaunchFile] = Field((), description="in order; IREE: left out")
    entry: Text | None = Field(None, description="IREE: function of the model; left out: the only one")
    inputs: dict[Identifier, Contents] = Field(
        default_factory=dict,
        description="IREE: contents of arguments `input0`...; left out: uniform, of whole numbers zero",
    )
    outputs: ListOf[Identifier] = Field(
        (), description="buffers to compare with the reference; IREE: left out"
    )
    reference: FileBeside | None = Field(
        None, description="Python file beside this one (docs/own-kernels.md); IREE: left out: IREE on the CPU"
    )
    tolerance: Annotated[Number, Field(ge=0)] | None = Field(
        None,
        description="allowed difference over the largest element; left out: 1e-4, half 2e-3, bfloat16 "
        "1.6e-2, whole numbers 0",
    )
    runs_on: dict[EngineName, Runs] = Field(
        default_factory=dict, description="by engine; left out: gem5-kernels"
    )
    notes: Text | None = None

    @property
    def is_model(self) -> bool:
        """Whether IREE makes buffers and launches."""
        return LANGUAGES.get(PurePosixPath(self.source).suffix) == "iree"

    def _check_model(self) -> None:
        """Raise ValueProblem for keys that a model, or anything else, does not take, or lacks."""
        for name in ("buffers", "addresses", "launches", "outputs") if self.is_model else ("entry", "inputs"):
            if name in self.model_fields_set:
                what = "IREE makes them of the model" if self.is_model else "for models (.mlir, .onnx)"
                raise ValueProblem(what, key=name, value=getattr(self, name), remedy="leave it out")
        for name in () if self.is_model else ("buffers", "launches"):
            if name not in self.model_fields_set:
                remedy = "give it; only a model (.mlir, .onnx) has none"
                raise ValueProblem("required, but not set", key=name, value=None, remedy=remedy)
        if not self.launches and not self.is_model:
            raise ValueProblem("nothing is launched", key="launches", value=[], remedy="give one at least")
        if self.reference is None and any(each == "reference" for each in self.inputs.values()):
            message, remedy = "a Python file has to say what inputs hold", "name one beside this file"
            raise ValueProblem(message, key="reference", value=None, remedy=remedy)

    @model_validator(mode="after")
    def _known(self) -> KernelsFile:
        self._check_model()
        for number, launch in enumerate(self.launches):
            launch.check(launch.source or self.source, f"launches.{number}")
        for name, buffer in self.buffers.items():
            if buffer.type not in ELEMENT_TYPES and self.parameters.get(buffer.type) not in ELEMENT_TYPES:
                remedy = f"one of {', '.join(ELEMENT_TYPES)}, or a parameter that has one"
                key = f"buffers.{name}.type"
                raise ValueProblem("not a type of elements", key=key, value=buffer.type, remedy=remedy)
        for place, each in enumerate(self.addresses):
            for missing in {each.to, each.buffer} - {None, *self.buffers}:
                remedy = f"buffers: {', '.join(self.buffers)}"
                raise ValueProblem("not a buffer", key=f"addresses.{place}", value=missing, remedy=remedy)
        for name in set(self.outputs) - set(self.buffers):
            remedy = f"buffers: {', '.join(self.buffers)}"
            raise ValueProblem("not a buffer", key="outputs", value=name, remedy=remedy)
        made = [name for name, buffer in self.buffers.items() if buffer.fill == "reference"]
        if self.reference is None and (self.outputs or made):
            message, value = "a Python file has to say what they hold", ", ".join(self.outputs or made)
            remedy = "name one beside this file, or leave outputs and contents: reference out"
            raise ValueProblem(message, key="reference", value=value, remedy=remedy)
        if self.reference is not None and not self.outputs and not self.is_model:
            message = "which buffers the reference is about"
            raise ValueProblem(message, key="outputs", value=None, remedy="list them")
        for name in set(self.parameters) & ({"compute_units", "gfx"} | set(self.buffers)):
            message = "this name has a meaning already"
            raise ValueProblem(message, key="parameters", value=name, remedy="choose another")
        return self
