"""Work that forked processes share. Each test runs in a Python of its own: pytest's may have threads."""

from __future__ import annotations

import subprocess
import sys
import textwrap


def said(script: str) -> list[str]:
    """Lines that a Python script writes."""
    command = [sys.executable, "-c", textwrap.dedent(script)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def test_parts_but_the_first_have_processes_and_the_results_are_in_order() -> None:
    lines = said(
        """
        import os
        from apuflow.core import forked
        here = os.getpid()
        factor = 10  # a process has what this one has
        found = forked.each(lambda part: (factor * part, os.getpid(), forked.usable()), [3, 1, 2])
        print([number for number, _, _ in found])
        print([process == here for _, process, _ in found], {usable for _, _, usable in found[1:]})
        print(forked.each(lambda part: os.getpid() == here, ["alone"]))
        """
    )
    assert lines == ["[30, 10, 20]", "[True, False, False] {1}", "[True]"]


def test_the_error_of_a_part_says_all_that_it_says_at_home() -> None:
    lines = said(
        """
        from apuflow.core import forked
        from apuflow.core.errors import NotModelled
        def act(part):
            if part == 2:
                raise NotModelled("no such kernel", file="a.yaml", key="k", value=[1], remedy="leave out")
            return part
        try:
            forked.each(act, [1, 2, 3])
        except NotModelled as error:
            print(error)
        """
    )
    assert lines == [
        "no such kernel",
        "  file:  a.yaml",
        "  key:   k",
        "  value: [1]",
        "  fix:   leave out",
    ]


def test_a_process_that_ends_without_an_answer_is_told() -> None:
    """As where the kernel ends it for want of memory. A large answer of another one is not waited for."""
    lines = said(
        """
        import os, signal
        from apuflow.core import forked
        def act(part):
            if part == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            return bytes(part)
        try:
            forked.each(act, [0, 1, 10_000_000])
        except RuntimeError as error:
            print(error)
        print([len(found) for found in forked.each(act, [0, 10_000_000])])
        """
    )
    assert lines == ["a process that shared the work ended without an answer", "[0, 10000000]"]


def test_nothing_is_forked_beside_other_threads() -> None:
    lines = said(
        """
        import os, threading
        from apuflow.core import forked
        print(forked.usable() == len(os.sched_getaffinity(0)))
        done = threading.Event()
        threading.Thread(target=done.wait).start()
        print(forked.usable())
        done.set()
        """
    )
    assert lines == ["True", "1"]


def test_processes_that_share_a_preview_give_the_rows_of_one() -> None:
    """Layers of their own are worth processes, and so are many points; a few that share layers are not."""
    lines = said(
        """
        import apuflow
        from apuflow import preview
        from apuflow.configure import option_rules
        from apuflow.preview import evaluate
        from apuflow.ask import question as ask
        from apuflow.ask import api as face
        evaluate.FEWEST = 10
        parts = []  # those of this process
        own = evaluate._columns
        evaluate._columns = lambda part, defaults: parts.append(len(part)) or own(part, defaults)
        def compared(*axes):
            asked = ask.described("softmax_fwd,pool_fwd", axes)
            points = apuflow.points(ask.question(asked, face._root(None)))
            defaults = option_rules.defaults(preview.RELEASE)
            alone, three = (preview.run(points, defaults, processes) for processes in (1, 3))
            print(len(points), parts, alone.equals(three), list(alone.columns) == list(three.columns))
            parts.clear()
        compared("n=" + ",".join(map(str, range(1, 37))))
        shared = "num-compute-units=1,2,3,4,5,6", "n=1,2,3,4,5,6"
        compared(*shared)
        evaluate.MANY = 72
        compared(*shared)
        """
    )
    assert lines == ["72 [72, 24] True True", "72 [72, 72] True True", "72 [72, 24] True True"]


def test_processes_that_share_a_question_give_the_table_and_the_mistakes_of_one() -> None:
    """24 points by three processes, and three mistakes, of which each process sees one."""
    lines = said(
        """
        import apuflow
        from apuflow.core import forked
        from apuflow.core.errors import ConfigError
        from apuflow.ask import question as ask
        ask.FEWEST = 2
        def told(processes, units):
            forked.usable = lambda: processes
            try:
                return apuflow.evaluate("softmax_fwd", {"num-compute-units": units}, {"n": [1, 2, 3, 4]})
            except ConfigError as error:
                return str(error)
        one, three = (told(processes, [2, 4, 8, 16, 32, 64]) for processes in (1, 3))
        print(len(three), one.equals(three), one.attrs == three.attrs)
        one, three = (told(processes, [4, -1, 8, -2, 16, -3]) for processes in (1, 3))
        print("value: -1, -2, -3" in three, one == three)
        """
    )
    assert lines == ["24 True True", "True True"]
