"""Runs a suite: each case on gem5, beside its expected values."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from apuflow.conformance.assemble import Assembled
from apuflow.conformance.compare import Failure, failure
from apuflow.conformance.expected import Values, expected
from apuflow.conformance.simulator import ENDLESS, Ran
from apuflow.conformance.store import Kept, Store
from apuflow.core.errors import EngineError
from apuflow.core.files import file_lock
from apuflow.forms.form import Form
from apuflow.forms.table import Verdict

LEAST, MOST = 8, 200
"""Cases of one process of gem5: few where one of the last few ended it."""
_WHOLE: Final = re.compile(
    r"Encountered unimplemented|[Ii]nvalid opcode|without a class|unmapped to an execution resource"
)
"""What gem5 says of an instruction whatever its operands are."""
_MEMORY: Final = ("flat", "global", "scratch", "mubuf", "mtbuf", "ds")
_OWN: Final = re.compile(r"arch/amdgpu/|register_manager")
"""Where the code of instructions is: what fails elsewhere may be the fault of the case before."""
_CHANGED: Final = (
    ("sdwa", re.compile(r"SDWA not (?:supported|implemented)")),
    ("dpp", re.compile(r"DPP not (?:supported|implemented)")),
    *((f"constant{place}", re.compile(r"Constant values must be an integer")) for place in range(3)),
    *((f"literal{place}", re.compile(r"Assertion `NumDwords == 1'")) for place in range(3)),
)
"""Words of features that a message may be about."""


class Runner(Protocol):
    """Runs cases on gem5 in a directory of its own."""

    def run(self, some: Sequence[Assembled], directory: Path) -> Ran:
        """Run them, until one ends gem5."""


@dataclass(frozen=True)
class Judged:
    """A case and how it came out.

    Attributes:
        message: why gem5 stopped, or why there is no expected value.
        failure: of a wrong one.
        taken_from: the form that stopped gem5 in its place.
    """

    form: Form
    text: str
    verdict: Verdict
    message: str = ""
    failure: Failure | None = None
    taken_from: str = ""


@dataclass
class Suite:
    """Cases that run on a gem5.

    Attributes:
        place: directory of what is kept and of the processes of gem5.
        likely: whether a case is likely to stop gem5: those run last.
        say: is told of progress.
        covers: of which other forms a form's message is true as well.
    """

    some: Sequence[Assembled]
    runner: Runner
    place: Path
    jobs: int = 2
    likely: Callable[[Form], bool] = lambda _form: False
    say: Callable[[str], None] = print
    covers: Callable[[Form, str], Callable[[Form], bool]] = field(default=lambda *given: covers(*given))
    starts: int = 0
    _count: int = MOST
    _waiting: deque[Assembled] = field(default_factory=deque)
    _alone: set[str] = field(default_factory=set)
    """Keys of cases that run twice in a gem5 of their own: they may harm the wavefront behind them."""
    _known: list[tuple[Callable[[Form], bool], Kept]] = field(default_factory=list)
    """Messages that are about other forms, too."""

    def run(self) -> dict[str, Kept]:
        """Run what has no result yet; the results of all cases by their keys.

        Raises:
            EngineError: gem5 does not start, or another suite runs in the same place.
        """
        self.place.mkdir(parents=True, exist_ok=True)
        try:
            with file_lock(self.place / ".lock", wait=False):
                return self._run()
        except BlockingIOError:
            said, remedy = "another suite of this release runs", "wait for it, or end it: what it has is kept"
            raise EngineError(said, file=self.place, remedy=remedy) from None

    def _run(self) -> dict[str, Kept]:
        store = Store(self.place / "results.sqlite")
        kept = store.all()
        missing = list({each.key: each for each in self.some if each.key not in kept}.values())
        self._alone = {each.key for each in missing if harmful(each.case.form)}
        order = sorted(missing, key=lambda each: (each.key in self._alone, self.likely(each.case.form)))
        self._waiting = deque(order)
        if missing:
            self.say(f"{len(self.some) - len(missing)} of {len(self.some)} cases are done already")
        total = len(missing)
        free = [self.place / f"gem5-{number}" for number in range(self.jobs)]
        running: dict[Future[Ran], tuple[Path, list[Assembled]]] = {}
        with ThreadPoolExecutor(self.jobs) as pool:
            while self._waiting or running:
                while self._waiting and free:
                    chosen = self._next()
                    directory = free.pop()
                    running[pool.submit(self.runner.run, chosen, directory)] = directory, chosen
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    directory, chosen = running.pop(future)
                    free.append(directory)
                    new = self._taken(chosen, future.result())
                    store.add(new.items())
                    kept |= new
                    left = len(self._waiting) + sum(len(some) for _, some in running.values())
                    self.say(f"{total - left} of {total} cases, {self.starts} starts of gem5")
        return kept

    def _next(self) -> list[Assembled]:
        """Cases of the next process."""
        count = min(self._count, -(-len(self._waiting) // self.jobs))
        chosen = [self._waiting.popleft()]
        if chosen[0].key in self._alone:
            return chosen * 2
        while self._waiting and len(chosen) < count and self._waiting[0].key not in self._alone:
            chosen.append(self._waiting.popleft())
        return chosen

    def _taken(self, chosen: list[Assembled], ran: Ran) -> dict[str, Kept]:
        """Results of a process; what it did not come to waits again."""
        self.starts += 1
        done = len(ran.values)
        found = {each.key: Kept(values.data()) for each, values in zip(chosen, ran.values, strict=False)}
        if chosen[0].key not in self._alone:
            self._count = min(MOST, max(LEAST, done * (2 if ran.message else 4)))
        if done == len(chosen):
            return found
        stopped, others = chosen[done], chosen[done + 1 :]
        others = [each for each in others if each.key != stopped.key]
        doubt = ran.message == ENDLESS or (done and not _OWN.search(ran.message))
        if doubt and stopped.key not in self._alone:
            doubtful = chosen[max(0, done - 1) : done + 1]
            found.pop(doubtful[0].key, None)
            self._alone |= {each.key for each in doubtful}
            self._waiting.extendleft(reversed(others))
            self._waiting.extend(doubtful)
            return found
        found[stopped.key] = Kept(message=ran.message)
        self.say(f"  {stopped.case.form} stops: {ran.message}")
        covered = self.covers(stopped.case.form, ran.message)
        new = Kept(message=ran.message, taken_from=str(stopped.case.form))
        found |= {each.key: new for each in self._waiting if covered(each.case.form)}
        self._known.append((covered, new))
        for each in others:  # another process may have met such a message meanwhile
            for known, kept in self._known:
                if known(each.case.form):
                    found[each.key] = kept
        left = [*others, *self._waiting]
        self._waiting = deque(each for each in left if each.key not in found)
        return found


def harmful(form: Form) -> bool:
    """Whether a form is known to leave wavefronts behind it in disorder where gem5 executes it wrongly."""
    return "no_lane" in form.features and form.encoding in _MEMORY


def covers(form: Form, message: str) -> Callable[[Form], bool]:
    """Of which other forms a message with which one ended gem5 is true as well."""
    word = next(
        (word for word, pattern in _CHANGED if pattern.search(message) and word in form.features), None
    )
    if not _WHOLE.search(message) and word is None:
        return lambda _other: False

    def covered(other: Form) -> bool:
        return other[:2] == form[:2] and (word is None or word in other.features)

    return covered


def judged(
    some: Sequence[Assembled], kept: Mapping[str, Kept], gfx: str
) -> Iterator[tuple[Assembled, Judged]]:
    """How each case that has a result came out; the order is that of instruction sets."""
    for each, want in expected([each for each in some if each.key in kept], gfx):
        yield each, judge(each, kept[each.key], want)


def judge(each: Assembled, kept: Kept, want: Values | str) -> Judged:
    """How a case came out; ``want`` is a text where it has no expected values."""
    form, text = each.case.form, each.case.text
    if kept.message:
        return Judged(form, text, "stops", kept.message, taken_from=kept.taken_from)
    if isinstance(want, str):
        return Judged(form, text, "unknown", want)
    found = failure(each, Values.of(each, kept.data), want)
    return Judged(form, text, "wrong" if found else "right", failure=found)
