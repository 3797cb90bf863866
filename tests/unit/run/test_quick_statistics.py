"""The script that keeps gem5's lists of statistics, run by Python with modules as gem5's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from apuflow.run.command import Gem5, Guest, gem5_command, start_files

GEM5 = Gem5(Path("/g/gem5.opt"), Path("/g/configs/example/apu_se.py"), quick_statistics=True)
FILES = {
    "_m5/__init__.py": "",
    "_m5/stats.py": """
class Group:
    asked = []

    def __init__(self, name, *groups):
        self.name, self.groups = name, {group.name: group for group in groups}

    def getStatGroups(self):
        Group.asked.append(f"groups of {self.name}")
        return dict(self.groups)

    def getStats(self):
        Group.asked.append(f"statistics of {self.name}")
        return [f"{self.name}.cycles"]
""",
    "m5/__init__.py": "from m5 import stats\n",
    "m5/stats/__init__.py": """
import _m5.stats

class Processor(_m5.stats.Group):
    pass

root = _m5.stats.Group("root")

def walk(group):
    yield from group.getStats()
    for each in group.getStatGroups().values():
        yield from walk(each)

def enable():
    list(walk(root))

def dump():
    print(*walk(root))
""",
    "upstream/apu_se.py": """
import sys
import m5.stats
from _m5.stats import Group
from beside import WORD

m5.stats.root.groups["early"] = m5.stats.Processor("early", m5.stats.Processor("inner"))
list(m5.stats.walk(m5.stats.root))
m5.stats.root.groups["late"] = Group("late")
print(*sys.argv[1:], WORD, __name__)
Group.asked.clear()
m5.stats.enable()
m5.stats.dump()
m5.stats.dump()
print(len(Group.asked), len(set(Group.asked)))
""",
    "upstream/beside.py": "WORD = 'beside'\n",
    # As in Python 3.8, which gem5's own image has.
    "sitecustomize.py": "import functools\ndel functools.cache\n",
}


@pytest.fixture
def lines(tmp_path: Path) -> list[str]:
    """What a script prints that writes two blocks of statistics."""
    for name, text in {**FILES, **start_files(GEM5, {})}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    command = [sys.executable, "quick_statistics.py", "upstream/apu_se.py", "--num-compute-units=4"]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert not done.stderr
    return done.stdout.splitlines()


def test_apu_se_runs_as_gem5_runs_it(lines: list[str]) -> None:
    assert lines[0] == "--num-compute-units=4 beside __m5_main__"


def test_blocks_have_every_statistic_that_there_is_when_statistics_are_enabled(lines: list[str]) -> None:
    block = "root.cycles early.cycles inner.cycles late.cycles"
    assert lines[1:3] == [block, block]


def test_each_group_is_asked_once(lines: list[str]) -> None:
    assert lines[3] == "8 8"


def test_it_stands_between_gem5_and_its_script() -> None:
    words = gem5_command(GEM5, {}, Guest(Path("/d"), "program"), Path("/run"))
    assert words[words.index(str(GEM5.script)) - 1] == "/run/quick_statistics.py"
