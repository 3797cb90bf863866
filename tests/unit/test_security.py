"""Configuration and runs cannot make the project run, read or write what it should not."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tarfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from places import ROOT

from apuflow.configure import load_sweep, load_workload
from apuflow.configure.work import label_of, value_part
from apuflow.containers.docker import _free_name
from apuflow.containers.job import Job
from apuflow.core import paths
from apuflow.core.errors import AnalysisError, ApuflowError, ConfigError
from apuflow.core.owner import Labels
from apuflow.engines.preview_batch import write_batch
from apuflow.plan.campaign import Campaign
from apuflow.plan.targets import check_targets
from apuflow.run.command import Gem5, Guest, command_script, environment_file, gem5_command
from apuflow_analysis import report
from apuflow_analysis.archive import archive
from apuflow_analysis.tables import tables

SOURCES = [*(ROOT / "workflow").rglob("*.py"), *(ROOT / "analysis").rglob("*.py")]
ODD = [
    "a b",
    "a'b",
    'a"b',
    "$(id)",
    "`id`",
    "a;b",
    "a&&b",
    "a|b",
    "a>b",
    "*",
    "~",
    "a\\b",
    "-x",
    "ü",
    "#",
    "!",
]


# code -------------------------------------------------------------------------------------------------------
def calls(file: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_code_calls_a_shell_or_executes_data(file: Path) -> None:
    forbidden = {"os.system", "os.popen", "eval", "exec", "pickle.load", "pickle.loads", "marshal.loads"}
    forbidden |= {"yaml.load", "yaml.unsafe_load", "yaml.full_load", "subprocess.getoutput", "os.execl"}
    if (
        file == ROOT / "analysis/apuflow_analysis/metrics/compute.py"
    ):  # formulas of our own tables, without builtins
        forbidden.remove("eval")
    if file == ROOT / "workflow/apuflow/kernels/triton_process.py":  # the user's own kernels
        forbidden.remove("exec")
    for name, call in calls(file):
        assert name not in forbidden, f"{name} in line {call.lineno}"
        for keyword in call.keywords:
            assert keyword.arg != "shell", f"shell= in line {call.lineno}"
        if name.startswith("subprocess."):
            first = call.args[0] if call.args else None
            assert not isinstance(first, ast.JoinedStr | ast.Constant), f"text as command in {call.lineno}"


def test_no_rule_has_a_shell_command() -> None:
    for file in (ROOT / "workflow/Snakefile", *(ROOT / "workflow/rules").glob("*.smk")):
        text = file.read_text()
        assert not re.search(r"^\s*(shell|wrapper|cwl):", text, re.M), file
        assert text.count(" run:\n") == len(
            re.findall(r" run:\n +session\.run\([^\n]*\)\n(?:\n\n|\Z)", text)
        ), file
        assert "shell(" not in file.read_text()


# commands ---------------------------------------------------------------------------------------------------
@given(words=st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=1))
def test_the_script_for_hand_use_passes_any_word_unchanged(words: list[str]) -> None:
    command = ("printf", "%s\\0", *words)
    text = command_script(command, Path("/"), "note\nrm -rf /; $(id)")
    shown = subprocess.run(["sh"], input=text.encode(), capture_output=True, check=True)
    assert shown.stdout.decode() == "".join(f"{word}\0" for word in words)


@pytest.mark.parametrize("value", ODD)
def test_an_option_value_stays_one_word(value: str) -> None:
    gem5 = Gem5(Path("/g/gem5.opt"), Path("/g/apu_se.py"))
    command = gem5_command(gem5, {"cpu-type": value}, Guest(Path("/p"), "x"), Path("/run"))
    assert f"--cpu-type={value}" in command


@pytest.mark.parametrize("name", ["a b", "-x", "a=b", "", "a\nb"])
def test_an_option_name_cannot_become_another_option(name: str) -> None:
    gem5 = Gem5(Path("/g/gem5.opt"), Path("/g/apu_se.py"))
    with pytest.raises(ConfigError):
        gem5_command(gem5, {name: 1}, Guest(Path("/p"), "x"), Path("/run"))


@given(
    name=st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    value=st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
)
def test_a_guest_variable_never_makes_a_second_line(name: str, value: str) -> None:
    try:
        text = environment_file({name: value})
    except ConfigError:
        return
    assert text.split("\n") == [f"{name}={value}", ""]


# paths ------------------------------------------------------------------------------------------------------
@given(name=st.from_regex(r"[a-z-]{1,12}", fullmatch=True), value=st.text(max_size=200))
def test_a_label_is_one_safe_file_name(name: str, value: str) -> None:
    label = label_of("u4", value_part(name, value))
    assert re.fullmatch(r"[A-Za-z0-9._-]+", label)
    assert len(f"{label}-01234567".encode()) <= 255
    assert Path(paths.run_dir("gem5", "w", f"{label}-01234567")).parts[:3] == ("runs", "gem5", "w")


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "..", ".", "a/b", "a\0b", "", "a b", "$(id)", "x\n"])
def test_names_that_lead_elsewhere_are_refused(name: str) -> None:
    for load in (load_sweep, load_workload):
        with pytest.raises(ConfigError):
            load(name, ROOT)


@pytest.mark.parametrize("target", ["results/../../x/softmax_fwd.csv", "results/../softmax_fwd.csv"])
def test_targets_that_lead_elsewhere_are_refused_or_not_ours(target: str) -> None:
    try:
        check_targets(Campaign(ROOT), [target])
    except ApuflowError as error:
        assert "sweep" in str(error)
    else:  # no rule makes it then
        assert not re.fullmatch(r"results/([^/]+/)?[^/]+\.csv", target)


@pytest.mark.parametrize("config", ["../softmax.dnnmark", "/etc/passwd", "a/b.dnnmark"])
def test_a_workload_reads_only_networks_beside_it(tmp_path: Path, config: str) -> None:
    directory = tmp_path / "configs/workloads"
    directory.mkdir(parents=True)
    text = yaml.safe_load((ROOT / "configs/workloads/softmax_fwd.yaml").read_text())
    (directory / "mine.yaml").write_text(yaml.safe_dump({**text, "config": config}))
    with pytest.raises(ConfigError, match="not a usable name"):
        load_workload("mine", tmp_path)


@given(point=st.text(max_size=80))
def test_a_container_name_is_a_name(point: str) -> None:
    job = Job(("x",), Path("/"), Path("/"), Path("/log"), Labels.here(Path("/p"), point))
    assert re.fullmatch(r"[a-zA-Z0-9][a-zA-Z0-9_.-]+", _free_name(job))


# archives ---------------------------------------------------------------------------------------------------
def _member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, link
    return member


@pytest.mark.parametrize(
    "member",
    [
        _member("../escaped"),
        _member("/tmp/apuflow-escaped"),
        _member("study/../../escaped"),
        _member("study/link", tarfile.SYMTYPE, "/etc"),
        _member("study/link", tarfile.LNKTYPE, "/etc/passwd"),
        _member("study/device", tarfile.CHRTYPE),
        _member("study/pipe", tarfile.FIFOTYPE),
    ],
    ids=lambda member: f"{member.name}-{member.type.decode()}",
)
def test_nothing_leaves_an_archive(tmp_path: Path, member: tarfile.TarInfo) -> None:
    file = tmp_path / "evil.tar.gz"
    with tarfile.open(file, "w:gz") as tar:
        tar.addfile(member, io.BytesIO())
    target = tmp_path / "inner" / "target"
    target.parent.mkdir()
    with pytest.raises(AnalysisError):
        archive.unpack(file, target)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["evil.tar.gz", "inner"]
    assert not Path("/tmp/apuflow-escaped").exists()


# reports ----------------------------------------------------------------------------------------------------
class Tags(HTMLParser):
    """The page as a browser reads it: its tags and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, list[tuple[str, str | None]]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, attrs))


EVIL = "</script><img src=x onerror=evil()><evil-tag>\"'&<!--"


def test_a_report_shows_text_of_runs_as_text(tmp_path: Path) -> None:
    points = Campaign(ROOT).points("quickstart", "softmax_fwd")
    write_batch(points, tmp_path / "counters.parquet", tmp_path / "run.json")
    frame = tables.build([tmp_path])
    for column in ("evidence", "status", "point", "release", "gfx", "flags"):
        frame[column] = EVIL
    sweep = load_sweep("quickstart", ROOT).model_dump() | {"description": EVIL, "name": EVIL}
    described = report.SweepDescription.of(sweep, [EVIL], {f"configs/{EVIL}": EVIL})
    page = tmp_path / "report.html"
    report.render(described, {f"results/{EVIL}": frame}, [tmp_path / "run.json"], [], page)
    text = page.read_text()
    tags = Tags()
    tags.feed(text)
    assert "evil-tag" in text
    assert not [tag for tag, _ in tags.seen if tag == "evil-tag"]
    assert not [tag for tag, attrs in tags.seen for name, _ in attrs if name.startswith("on")]
    assert not [value for _, attrs in tags.seen for name, value in attrs if name == "src" and value == "x"]
    policy = next(
        dict(attrs).get("content")
        for _, attrs in tags.seen
        if ("http-equiv", "Content-Security-Policy") in attrs
    )
    assert policy is not None and "default-src 'none'" in policy and "'sha256-" in policy
