"""What ``apuflow ask`` and ``apuflow search`` share: what is assumed, and gem5-kernels as the judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.core.words import many
from apuflow.core.workflow import run_workflow

if TYPE_CHECKING:
    import pandas as pd

    from apuflow.ask.question import Answer
    from apuflow.ask.search import Found
    from apuflow.configure import Sweep


@dataclass(frozen=True)
class Asked:
    """A question as it was typed.

    Attributes:
        verb: the command.
        content: of the question's sweep; empty where a sweep of the project is searched.
        words: the arguments.
    """

    verb: str
    content: Mapping[str, Any]
    sweep: Sweep
    words: Sequence[str]

    @property
    def origin(self) -> str:
        """What a search's own sweeps call the space that they are from."""
        return " ".join(self.words)

    def assumed(self, frame: pd.DataFrame) -> str:
        """What the question leaves open."""
        from apuflow.ask.assumed import assumed

        sweep = self.sweep
        keys = {word.partition("=")[0].removeprefix("layer.").replace("_", "-") for word in self.words[1:]}
        keys |= {key.replace("-", "_") for key in keys}
        if not self.content:
            keys |= {"machine", "release"} & sweep.model_fields_set | {*sweep.options, *sweep.layer}
        units = frame["num_compute_units"].dropna().unique()
        return assumed(sweep, keys, units=int(units[0]) if len(units) == 1 else None)


def check_judge(asked: Asked, judge: str, *, run: bool, force: bool) -> None:
    """Refuse what --judge cannot do before anything is computed (ConfigError)."""
    from apuflow.ask.judge import continues, objection

    if run and not judge:
        raise ConfigError("nothing to run", key="--run", remedy="name the sweep: --judge NAME --run")
    if not judge:
        return
    if asked.verb == "ask":
        from apuflow.ask.settle import continues_question

        continues_question(judge, asked.content, force=force)
    else:
        continues(judge, asked.origin, force=force)
    if why := objection(asked.sweep):
        told = f"gem5-kernels cannot judge this: {why.message}"
        raise ConfigError(told, file=why.file, key=why.key, value=why.value, remedy=why.remedy)


def settled(asked: Asked, answer: Answer, judge: str, *, run: bool, force: bool) -> Iterator[str]:
    """Lines on how gem5 settles a question; with a name, keep and perhaps run the sweep that does."""
    from apuflow.ask import settle
    from apuflow.ask.judge import objection, results_of

    if not judge:
        if why := objection(asked.sweep):
            yield f"gem5 cannot settle it: {why.message}"
            return
        command = settle.command(asked.verb, asked.words, settle.free_name(asked.words[0]))
        yield f"to settle it on gem5 ({settle.cost(answer)}): {command}"
        return
    if not settle.continues_question(judge, asked.content, force=force):
        path = settle.save_question(asked.content, answer, judge, force=force)
        yield f"{path}: {settle.cost(answer)} of gem5"
    if run:
        run_workflow([paths.report(paths.under(judge))])
    results = results_of(judge, asked.sweep)
    if results is None:
        yield f"next: {_make(judge)}, then this command again"
        return
    yield from settle.compared(answer.frame, results)


def _make(name: str) -> str:
    return f"snakemake --cores all {paths.report(paths.under(name))}"


def judged_search(
    asked: Asked, found: Found, options: Sequence[str], judge: str, best: int, *, run: bool, force: bool
) -> tuple[Found, list[str]]:
    """What a search found after gem5-kernels judged as much as it may, and lines on that.

    Args:
        options: of the search, as they were typed.
        judge: the sweep that judges; "": none.
        best: points that it gets at a time.
    """
    from apuflow.ask import judge as judging
    from apuflow.ask import settle
    from apuflow.ask.behind import behind

    lines = list(behind(found.answer, found.iterations_of(0)))
    if not judge:
        return found, [*lines, *_how(asked, found, options, best)]
    judged = judging.continues(judge, asked.origin, force=force)
    while True:
        results = judging.results_of(judge, asked.sweep) if judged else None
        if results is None and judged and not run:
            return found, [*lines, f"sweep {judge} judges, and has no tables yet", _again(judge)]
        verdict = None
        if results is not None:
            verdict = judging.judge(found, found.objectives, results, asked.sweep)
        if verdict is not None and not verdict.undecided:
            return verdict.found, [*lines, verdict.text]
        if not judged or verdict is not None:
            chosen = judging.contenders(found) if verdict is None else judging.next_points(verdict, best)
            count = min(best if verdict is None else len(chosen.rows), len(chosen.rows))
            given = (asked.sweep, chosen, found.objectives, count, judge)
            path = judging.save_best(*given, force=force or verdict is not None, origin=asked.origin)
            lines += [] if verdict is None else [verdict.text]
            told = f"{path}: {many(count, 'point')}, {settle.cost_of(found, chosen, count)}"
            judged = True
            if not run:
                return (found if verdict is None else verdict.found), [*lines, told, _again(judge)]
        run_workflow([paths.report(paths.under(judge))])


def _again(name: str) -> str:
    return f"next: {_make(name)}, then this command again"


def _how(asked: Asked, found: Found, options: Sequence[str], best: int) -> Iterator[str]:
    from apuflow.ask import settle
    from apuflow.ask.judge import contenders, objection

    if why := objection(asked.sweep):
        yield f"gem5 cannot settle it: {why.message}"
        return
    words = [*asked.words, *options]
    count = min(best, len(found.rows))
    spent = settle.cost_of(found, contenders(found), count)
    command = settle.command("search", words, settle.free_name(asked.words[0]))
    yield f"to settle it on gem5 ({many(count, 'point')} first, {spent}): {command}"
