"""What networks need and MIOpen 4.0.1 and rocBLAS have no kernel for: our own OpenCL kernels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from typing_extensions import override

from apuflow.miopen.launch import Arg, Extent, Launch, Role
from apuflow.miopen.rocm_4_0_1.common import floats, ints, read_unit
from apuflow.operations.key import real, whole
from apuflow.operations.launching import WAVE, fill
from apuflow.operations.operation import Operation, Pass, Wrong, too_large

DIRECTORY: Final = Path(__file__).with_name("kernels")
"""Where the sources stand."""
PROGRAMS: Final = frozenset(path.name for path in DIRECTORY.glob("*.cl"))
NOTE: Final = "apuflow's own kernel: MIOpen of ROCm 4.0.1 has none"
"""How tables label them."""
GROUP: Final = 256


def _group(columns: int) -> int:
    """Work-items of a workgroup along rows of so many elements."""
    return GROUP if columns >= GROUP else WAVE


class _Own(Operation):
    def _launch(
        self,
        direction: Pass,
        kernel: str,
        grid: Extent,
        group: int,
        args: tuple[Arg, ...],
        arguments: str = "",
        program: str = "",
    ) -> Launch:
        source = program or f"{self.kind}.cl"
        return self.launch(direction, source, arguments, kernel, grid, group, args, NOTE)

    def _by_element(self, direction: Pass, kernel: str, args: tuple[Arg, ...]) -> tuple[Launch, ...]:
        """A launch over the elements of the first argument."""
        unit = read_unit(args[0].elements)
        grid, program = (args[0].elements // unit, 1, 1), "elementwise.cl"
        return (self._launch(direction, kernel, grid, GROUP, args, f" -DUNIT={unit}", program),)


@dataclass(frozen=True, kw_only=True)
class Gelu(_Own):
    """``x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2``."""

    kind: ClassVar[str] = "gelu"
    title: ClassVar[str] = "GELU activation, by the hyperbolic tangent"
    source: ClassVar[str] = "apuflow's own: gelu_forward, gelu_backward"

    elements: int = whole("32-bit floats")

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        size = self.elements
        x = self.buffer("bottom", size, "in", "x")
        if direction == "fwd":
            return self._by_element("fwd", "gelu_forward", (x, self.buffer("top", size, "out", "y")))
        dy, dx = self.buffer("top_diff", size, "in", "dy"), self.buffer("bottom_diff", size, "out", "dx")
        return self._by_element("bwd", "gelu_backward", (x, dy, dx))


@dataclass(frozen=True, kw_only=True)
class Sgd(_Own):
    """``velocity = momentum velocity + gradient + decay weight``, ``weight = weight - rate velocity``."""

    kind: ClassVar[str] = "sgd"
    title: ClassVar[str] = "update of weights by gradient descent with momentum"
    source: ClassVar[str] = "apuflow's own: sgd_momentum"
    directions: ClassVar[tuple[Pass, ...]] = ("fwd",)

    elements: int = whole("weights")
    rate: float = real("learning rate", 0.01)
    momentum: float = real("factor of the velocity", 0.9)
    decay: float = real("factor of the weight in its gradient", 0.0)

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        size = self.elements
        args = (
            *(self.buffer(part, size, "inout") for part in ("weights", "velocity")),
            self.buffer("gradient", size, "in"),
            *floats(rate=self.rate, momentum=self.momentum, decay=self.decay),
        )
        return self._by_element(direction, "sgd_momentum", args)


@dataclass(frozen=True, kw_only=True)
class LayerNorm(_Own):
    """Each row less its mean, over its standard deviation, scaled and shifted along the row."""

    kind: ClassVar[str] = "layernorm"
    title: ClassVar[str] = "layer normalisation over the last dimension"
    source: ClassVar[str] = "apuflow's own: layernorm_forward, layernorm_backward, layernorm_weights"

    rows: int = whole("rows: tokens of all sequences")
    width: int = whole("elements of a row")
    epsilon: float = real("what is added to the variance", 1e-5, 1e-10)

    @override
    def problems(self) -> Iterator[Wrong]:
        yield from too_large("width", self.rows * self.width)

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        size, rows, width = self.rows * self.width, self.rows, self.width
        x = self.buffer("bottom", size, "in", "x")
        gamma = self.buffer("gamma", width, "in")
        kept: Role = "out" if direction == "fwd" else "in"
        saved = (self.buffer("mean", rows, kept), self.buffer("inverse_deviation", rows, kept))
        if direction == "fwd":
            beta, y = self.buffer("beta", width, "in"), self.buffer("top", size, "out", "y")
            args = (x, gamma, beta, y, *saved, *ints(width=width), *floats(epsilon=self.epsilon))
            return (self._launch(direction, "layernorm_forward", (rows * WAVE, 1, 1), WAVE, args),)
        dy = self.buffer("top_diff", size, "in", "dy")
        dx = self.buffer("bottom_diff", size, "out", "dx")
        sums = [self.buffer(f"{part}_diff", width, "out", f"d{part}") for part in ("gamma", "beta")]
        data = (x, dy, gamma, *saved, dx, *ints(width=width))
        weights = (x, dy, *saved, *sums, *ints(rows=rows, width=width))
        return (
            self._launch(direction, "layernorm_backward", (rows * WAVE, 1, 1), WAVE, data),
            self._launch(direction, "layernorm_weights", (width, 1, 1), GROUP, weights),
        )


@dataclass(frozen=True, kw_only=True)
class Embedding(_Own):
    """Rows of a table by their numbers; backward the table's gradient, cleared and then summed in order."""

    kind: ClassVar[str] = "embedding"
    title: ClassVar[str] = "rows of a table gathered by number; backward the table's gradient"
    source: ClassVar[str] = "apuflow's own: embedding_forward, embedding_backward"

    rows: int = whole("rows of the table (words)")
    width: int = whole("elements of a row")
    tokens: int = whole("rows that are gathered")

    @override
    def problems(self) -> Iterator[Wrong]:
        yield from too_large("width", max(self.rows, self.tokens) * self.width)

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        index = self.buffer("index", self.tokens, "in")
        group = _group(self.width)
        sizes = ints(rows=self.rows, width=self.width)
        if direction == "fwd":
            table = self.buffer("table", self.rows * self.width, "in")
            y = self.buffer("top", self.tokens * self.width, "out", "y")
            grid, args = (self.width, self.tokens, 1), (index, table, y, *sizes)
            return (self._launch(direction, "embedding_forward", grid, group, args),)
        dy = self.buffer("top_diff", self.tokens * self.width, "in", "dy")
        diff = self.buffer("table_diff", self.rows * self.width, "inout")
        args = (index, dy, diff, *sizes, *ints(tokens=self.tokens))
        grid = (self.width, 1, 1)
        return (
            fill(self, direction, diff._replace(role="out")),
            self._launch(direction, "embedding_backward", grid, group, args),
        )


@dataclass(frozen=True, kw_only=True)
class Upsample(_Own):
    """Each pixel as many times down and across; backward the sum of the gradients of its copies."""

    kind: ClassVar[str] = "upsample"
    title: ClassVar[str] = "images enlarged by repeating pixels (nearest neighbour)"
    source: ClassVar[str] = "apuflow's own: upsample_forward, upsample_backward"

    n: int = whole("images")
    c: int = whole("channels")
    h: int = whole("height")
    w: int = whole("width")
    factor: int = whole("how often a pixel is repeated down and across: 2 or 4", 2)

    @override
    def problems(self) -> Iterator[Wrong]:
        if self.factor not in (2, 4):
            yield "factor", "images are enlarged by 2 or 4", "set factor to 2 or 4"
        else:
            yield from too_large("n", self._pixels * self.factor**2)

    @property
    def _pixels(self) -> int:
        return self.n * self.c * self.h * self.w

    @override
    def one_pass(self, direction: Pass, compute_units: int) -> tuple[Launch, ...]:
        pixels, enlarged = self._pixels, self._pixels * self.factor**2
        if direction == "fwd":
            times, kernel = self.factor, "upsample_forward"
            ends = self.buffer("bottom", pixels, "in", "x"), self.buffer("top", enlarged, "out", "y")
        else:
            times, kernel = 1, "upsample_backward"
            dx = self.buffer("bottom_diff", pixels, "out", "dx")
            ends = self.buffer("top_diff", enlarged, "in", "dy"), dx
        columns = self.w * times
        grid = (columns, self.n * self.c * self.h * times, 1)
        args, arguments = (*ends, *ints(width=self.w)), f" -DFACTOR={self.factor}"
        return (self._launch(direction, kernel, grid, _group(columns), args, arguments),)
