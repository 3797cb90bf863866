"""What IREE's HAL text says of a function: its buffers, constants, launches and results.

Only what static shapes give is read: one straight line of operations with constant numbers. Anything else
is refused by the operation's name, so that nothing of a model is left out without a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from apuflow.core.errors import ConfigError
from apuflow.kernels.hal import HalFunction, HalLaunch, Memory, Region, Result, Shape, refused
from apuflow.kernels.hal_constants import constant_data, part

_ITEM: Final = re.compile(
    r"^  (util\.func|util\.initializer|hal\.executable)\b(.*?)\n  \}$", re.MULTILINE | re.DOTALL
)
_NAMED: Final = re.compile(r" (public|private) @([\w$.-]+)\((.*?)\)(?: ->|$| attributes| \{)", re.MULTILINE)
_STATEMENT: Final = re.compile(r"(?:(%[\w$.-]+(?:, %[\w$.-]+)*) = )?([a-z][\w.]*)(.*)", re.DOTALL)
_VALUE: Final = re.compile(r"%[\w$.-]+")
_IGNORED: Final = (
    *("arith.", "hal.fence.", "hal.memory_type", "hal.buffer_usage", "hal.encoding_type", "hal.device."),
    *("hal.devices.", "hal.buffer.assert", "hal.executable.create", "util.null", "util.status.check_ok"),
    *("hal.command_buffer.execution_barrier", "hal.command_buffer.finalize", "util.optimization_barrier"),
    *("hal.command_buffer.begin_debug_group", "hal.command_buffer.end_debug_group", "hal.buffer_view.trace"),
)
"""Begin of operations that change no memory, or whose effect launches in order have anyway."""
_COPIES: Final = "the launcher starts kernels and copies nothing"
_MEMORY: Final = re.compile(
    r"hal\.(?:command_buffer|device\.queue)\.(?:fill|copy|update|read|write|collective|dispatch)"
)


def read_function(text: str, entry: str = "") -> HalFunction:
    """The function of that name, or the only one.

    Raises:
        ConfigError: there are several or none, or it does what cannot be run.
    """
    module = _Module(text)
    names = [name for name in module.public if f"{name}$async" not in module.public]
    names = [name.removesuffix("$async") for name in module.public if name.endswith("$async")] or names
    names = list(dict.fromkeys(names))
    if entry not in names and (entry or len(names) != 1):
        what = "the model has no such function" if entry else "the model has several functions"
        if not names:
            what = "the model has no public function"
        remedy = f"entry: one of {', '.join(names)}" if names else "make one public"
        raise ConfigError(what, key="entry", value=entry or None, remedy=remedy)
    name = entry or names[0]
    real = f"{name}$async"
    try:
        return _Run(module, name).function(real if real in module.functions else name)
    except (LookupError, AssertionError, ValueError) as error:
        what = f"text of another form than IREE 3.13's ({type(error).__name__}: {error})"
        raise refused(what, "it cannot be read", "report it with the model") from error


class _Module:
    """The items of a module."""

    def __init__(self, text: str) -> None:
        self.functions: dict[str, tuple[list[str], str]] = {}
        self.public: list[str] = []
        self.stored: dict[str, str] = {}
        for kind, body in _ITEM.findall(text):
            if kind == "util.initializer":
                for name in re.findall(r"util\.global\.store %[\w$.-]+, @([\w$.-]+)", body):
                    self.stored[name] = body
            elif kind == "util.func" and (head := _NAMED.match(body)):
                arguments = [each.strip() for each in head[3].split(", %")]
                self.functions[head[2]] = ([f"%{each.lstrip('%')}" for each in arguments if each], body)
                self.public += [head[2]] if head[1] == "public" else []


def _statements(body: str) -> Iterator[str]:
    """Statements of a function, each with the lines that belong to it."""
    waiting, depth = "", 0
    for line in body.split("\n")[1:]:
        waiting += f" {line.strip()}" if waiting else line.strip()
        depth += line.count("[") - line.count("]")
        if depth <= 0 and waiting:
            yield waiting
            waiting, depth = "", 0


_STATIC: Final = "give every tensor a static shape, and make numbers constants of the model"


@dataclass
class _Run:
    """Follows the operations of a function."""

    module: _Module
    name: str
    known: dict[str, object] = field(default_factory=dict)
    globals: dict[str, Memory] = field(default_factory=dict)
    inputs: dict[str, tuple[Memory, Shape]] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    launches: list[HalLaunch] = field(default_factory=list)
    waiting: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def function(self, real: str) -> HalFunction:
        """What the function does."""
        arguments, body = self.module.functions[real]
        for argument in arguments:
            value, _, kind = argument.partition(": ")
            if kind == "!hal.buffer_view":
                self.order.append(value)
            elif not kind.startswith("!hal.fence"):
                raise refused(f"an argument of type {kind}", "its value is not known", _STATIC)
        returned: list[str] = []
        for statement in _statements(body):
            returned = self._statement(statement) or returned
        results = tuple(self._result(value) for value in returned)
        if not self.launches:
            raise refused(
                "no launch", "nothing is left to run on a GPU", "return what it computes from its arguments"
            )
        missing = [value for value in self.order if value not in self.inputs]
        for value in missing:  # an argument that nothing looks at
            self.inputs[value] = Memory("input", 4, self.order.index(value)), Shape((1,), "i32")
        shapes = tuple(self.inputs[value][1] for value in self.order)
        return HalFunction(self.name, shapes, tuple(self.launches), results)

    def _statement(self, text: str) -> list[str] | None:
        """Do one statement; the values of a return."""
        found = _STATEMENT.match(text)
        if found is None or text.startswith(("}", "^")):
            if text.startswith("^"):
                raise refused("branches", "what it launches depends on numbers", _STATIC)
            return None
        target, operation, rest = (found[1] or "").partition(",")[0], found[2], found[3]
        match operation:
            case "util.return":
                return _VALUE.findall(rest.partition(" : ")[0])
            case "arith.constant":
                number = part(r"^ (-?\d+) : ", rest)
                self.known[target] = int(number) if number else None
            case "hal.element_type":
                self.known[target] = part(r"<(.*?)>", rest)
            case "hal.buffer_view.assert":
                self._input(rest)
            case "hal.buffer_view.buffer":
                self.known[target] = Region(self.inputs[_VALUE.findall(rest)[0]][0], 0)
            case "hal.buffer_view.dim" | "hal.buffer_view.rank":
                raise refused("dynamic shapes", "sizes are not known before it runs", _STATIC)
            case "hal.device.queue.alloca" | "hal.allocator.allocate":
                size = self._number(part(r": !hal\.buffer\{(%[\w$.-]+)\}", rest), operation)
                self.known[target] = Region(Memory("transient", size), 0)
            case "hal.buffer.subspan":
                offset = part(r"\[(%[\w$.-]+),", rest)
                self.known[target] = self._region(_VALUE.findall(rest)[0], offset, ())
            case "util.global.load":
                self._load(target, rest)
            case "hal.command_buffer.create":
                self.waiting[target] = []
                self.known[target] = target
            case "hal.executable.lookup.function":
                self.known[target] = part(r"function\(@(.*?)\)", rest)
            case "util.call":
                self.known[target] = self._called(part(r"@([\w$.-]+)\(", rest))
            case "hal.device.queue.execute" | "hal.device.queue.execute.indirect":
                self._execute(rest)
            case "hal.buffer_view.create":
                self.known[target] = self._view(rest)
            case _ if _MEMORY.match(operation):
                command = part(r"^<(%[\w$.-]+)", rest)
                if operation.startswith("hal.command_buffer.") and command in self.waiting:
                    self.waiting[command].append((operation, rest))
                else:
                    self._memory(operation, rest)
            case _ if operation.startswith(_IGNORED):
                self.known[target] = None
            case _:
                raise refused(operation, "it is not read here", "write the model without what needs it")
        return None

    def _number(self, value: str, what: str) -> int:
        found = self.known.get(value)
        if not isinstance(found, int):
            raise refused(f"numbers of {what} that are not static", "they follow from arguments", _STATIC)
        return found

    def _numbers(self, text: str, what: str) -> tuple[int, ...]:
        return tuple(self._number(value, what) for value in _VALUE.findall(text))

    def _shape(self, rest: str) -> Shape:
        kind = self.known[part(r"\btype\((%[\w$.-]+)\)", rest)]
        return Shape(self._numbers(part(r"shape\(\[(.*?)\]\)", rest), "a shape"), str(kind))

    def _input(self, rest: str) -> None:
        value, shape = _VALUE.findall(rest)[0], self._shape(rest)
        bits = int(part(r"(\d+)$", shape.type) or part(r"(\d+)", shape.type) or 0)
        size = max(1, shape.elements * max(1, bits // 8))
        self.inputs[value] = Memory("input", size, self.order.index(value)), shape

    def _load(self, target: str, rest: str) -> None:
        name, kind = part(r"@([\w$.-]+) :", rest), part(r": (!\S+)", rest)
        if kind == "!hal.buffer":
            if name not in self.globals:
                data = constant_data(self.module.stored.get(name, ""), name)
                self.globals[name] = Memory("constant", len(data), len(self.globals), data)
            self.known[target] = Region(self.globals[name], 0)
        elif kind == "!hal.command_buffer":
            called = part(r"util\.call @([\w$.-]+)\(", self.module.stored.get(name, ""))
            self.known[target] = self._called(called)
        else:
            self.known[target] = None

    def _called(self, name: str) -> object:
        """What a private function without arguments returns: a command buffer."""
        arguments, body = self.module.functions.get(name, ([], ""))
        if arguments or not body:
            raise refused(f"util.call @{name}", "it is not read here", "make the model one function")
        inner = _Run(self.module, self.name, globals=self.globals)
        returned: list[str] = []
        for statement in _statements(body):
            returned = inner._statement(statement) or returned
        return inner, returned[0]

    def _execute(self, rest: str) -> None:
        commands = _VALUE.findall(part(r"commands\((.*?)\)", rest))
        slots = part(r"bindings\(\[(.*?)\]\)", rest)
        table = tuple(region for region, _ in self._regions(slots, ()))
        for value in commands:
            found = self.known[value]
            run, recorded = found if isinstance(found, tuple) else (self, found)
            assert isinstance(run, _Run)
            for operation, text in run.waiting[str(recorded)]:
                run._memory(operation, text, table)
            if run is not self:
                self.launches += run.launches
                run.launches.clear()

    def _regions(self, text: str, slots: Sequence[Region]) -> Iterator[tuple[Region, int]]:
        """Bindings ``(%buffer : !hal.buffer)[%offset, %length]`` with their lengths; slots are a table's."""
        for value, offset, length in re.findall(r"\((%[\w$.-]+) : [^)]*\)\[(%[\w$.-]+), (%[\w$.-]+)\]", text):
            yield self._region(value, offset, slots), self._number(length, "a binding")

    def _region(self, value: str, offset: str, slots: Sequence[Region]) -> Region:
        found = self.known[value]
        whole = slots[found] if isinstance(found, int) else found
        if not isinstance(whole, Region):
            raise refused("a buffer that is not known", "where it comes from is not read here", _STATIC)
        return Region(whole.memory, whole.offset + self._number(offset, "a binding"))

    def _memory(self, operation: str, rest: str, slots: Sequence[Region] = ()) -> None:
        if operation == "hal.command_buffer.dispatch":
            self.launches.append(self._launch(rest, slots))
            for region in self.launches[-1].bindings:
                region.memory.written = True
            return
        fill = re.search(
            r"target\((%[\w$.-]+) : [^)]*\)\[(%[\w$.-]+), (%[\w$.-]+)\] pattern\((%[\w$.-]+) : i(\d+)\)", rest
        )
        if operation.endswith((".fill", ".fill_buffer")) and fill:
            region, length = self._region(fill[1], fill[2], slots), self._number(fill[3], "a fill")
            if not region.memory.written and region.memory.kind == "transient":
                size, number = int(fill[5]) // 8, self._number(fill[4], "a fill")
                pattern = (number & (1 << 8 * size) - 1).to_bytes(size, "little")
                region.memory.fill(region.offset, pattern * (length // size))
                return
        remedy = "write the model so that a computation makes the tensor, or return no argument unchanged"
        raise refused(operation, _COPIES, remedy)

    def _launch(self, rest: str, slots: Sequence[Region]) -> HalLaunch:
        x, y, z = self._numbers(part(r"workgroups\(\[(.*?)\]\)", rest), "workgroups")
        path = str(self.known[part(r"\)\[(%[\w$.-]+)\] workgroups", rest)]).split("::")
        constants = self._numbers(part(r" constants\(\[(.*?)\]\)", rest), "push constants")
        bindings = tuple(region for region, _ in self._regions(part(r"bindings\(\[(.*)\]\)", rest), slots))
        return HalLaunch(path[-1].lstrip("@"), (x, y, z), bindings, constants)

    def _view(self, rest: str) -> Result:
        found = re.search(r"buffer\((%[\w$.-]+) : [^)]*\)\[(%[\w$.-]+), %[\w$.-]+\]", rest)
        assert found is not None
        return Result(self._region(found[1], found[2], ()), self._shape(rest))

    def _result(self, value: str) -> Result:
        if value in self.inputs:
            memory, shape = self.inputs[value]
            return Result(Region(memory, 0), shape)
        found = self.known.get(value)
        if not isinstance(found, Result):
            raise refused("a result that is no tensor", "only tensors are compared", "return tensors")
        return found
