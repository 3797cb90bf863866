"""The report: what it says, and that nothing from a run can act in it."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from result_frames import HOSTILE, grid, table
from run_records import batch_record, run_record

from apuflow.core.errors import AnalysisError
from apuflow_analysis import figures
from apuflow_analysis.report import SweepDescription, render
from apuflow_analysis.tables import store


class Page(HTMLParser):
    """Tags with their attributes, and the text outside scripts and styles."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.scripts: list[str] = []
        self._inside = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag
        self.text += " "
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self.text += data

    def attributes(self, name: str) -> list[str]:
        return [value for _, attributes in self.tags if (value := attributes.get(name))]


def project(root: Path, **description: Any) -> Path:
    """A small project with tables, figures, run records and its report; gives the report."""
    results = root / "results" / "demo"
    frame = grid({"num_compute_units": [4, 8, 16]}, engine="gem5-kernels")
    rows = frame.to_dict("records")
    rows[1] = {**rows[1], "status": "guest_failure", "evidence": "MIOpen Error: " + HOSTILE}
    whole = table(rows, ["num_compute_units"])
    frames, records = {}, []
    for workload, part in whole.groupby("workload", sort=False):
        own = part.reset_index(drop=True)
        own.attrs["axes"] = ("num_compute_units",)
        path = results / f"{workload}.csv"
        store.write(own, path, path.with_suffix(".parquet"), path.with_suffix(".columns.json"))
        frames[str(path)] = own
        for row in own.to_dict("records"):
            directory = root / "runs" / "gem5-kernels" / str(workload) / row["point"]
            directory.mkdir(parents=True)
            record = run_record(
                **{key: row[key] for key in ("engine", "workload", "point", "status")},
                evidence=row["evidence"] if row["status"] == "guest_failure" else "",
                wall_seconds=30,
                provenance={"gem5_commit": "af72b9ba580546ac12ce05bfb4fd3fa53fb6fc4a"},
            )
            (directory / "run.json").write_text(json.dumps(record))
            records.append(directory)
    plot = figures.make("speedup", figures.combine(list(frames.values())))
    drawn = figures.save(plot.figure, plot.data, results / "figures" / "speedup")
    sweep = {
        "name": "demo",
        "description": "A study of " + HOSTILE,
        "engines": ["gem5-kernels"],
        "axes": {"num-compute-units": (4, 8, 16)},
        "zip": ({"num-tccs": (1, 2), "num-dirs": (1, 2)},),
        "release": "v23.0",
        "on_failure": "record",
        **description,
    }
    described = SweepDescription.of(
        sweep, [Path(path).stem for path in frames], {"configs/sweeps/demo.yaml": "# " + HOSTILE}
    )
    render(described, frames, records, [drawn[0]], results / "report.html")
    return results / "report.html"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the small project, made once; nobody changes it."""
    return project(tmp_path_factory.mktemp("shown"))


def test_the_page_says_what_was_asked_and_what_ran(shown: Path) -> None:
    page = Page(shown.read_text(encoding="utf-8"))
    text = re.sub(r"\s+", " ", page.text)
    assert "num-compute-units 4, 8, 16" in text
    assert "num-tccs + num-dirs 1 + 1, 2 + 2" in text
    assert "5 of 6 completed, 6 run records, 3.0 min of run time" in text
    assert "gem5 commit af72b9ba580546ac12ce05bfb4fd3fa53fb6fc4a" in text
    assert "gem5-kernels version 2 " in text
    assert "guest_failure" in text and "MIOpen Error: </script>" in text
    assert "instructions / cu_cycles" in text
    assert "Speedup of the GPU's active time" in text


def test_the_page_says_what_was_asked_of_some_workloads_alone() -> None:
    described = SweepDescription.of(
        {
            "name": "p",
            "axes": {"num-compute-units": (4, 8)},
            "per_workload": {
                "conv_*": {"axes": {"layer.n": (1, 2)}, "layer": {"c": 16}},
                "fc_fwd": {"zip": ()},
            },
        },
        ["conv_fwd", "fc_fwd"],
    )
    assert described.axes == {"num-compute-units": ("4", "8"), "conv_*: layer.n": ("1", "2")}
    assert described.fixed == {"conv_*: layer.c": "16"}


def test_nothing_from_a_run_becomes_markup(shown: Path) -> None:
    html = shown.read_text(encoding="utf-8")
    page = Page(html)
    assert len(page.scripts) == 2
    assert all(tag["src"].startswith("data:") for name, tag in page.tags if name == "img" and tag["src"])
    assert not [
        attributes for _, attributes in page.tags if any(name.startswith("on") for name in attributes)
    ]
    assert "49" not in re.findall(r"A study of .*", page.text)[0]
    evidence = next(
        column for column in json.loads(page.scripts[0])["columns"] if column["name"] == "evidence"
    )
    assert "MIOpen Error: " + HOSTILE in evidence["values"]


def test_the_page_needs_nothing_but_itself(shown: Path) -> None:
    page = Page(shown.read_text(encoding="utf-8"))
    assert not [name for name, attributes in page.tags if name == "link" and attributes["href"] != "data:,"]
    links = page.attributes("href") + page.attributes("src")
    assert not [link for link in links if re.match(r"(?i)(https?:|//|javascript:)", link)]
    assert [
        tag
        for name, tag in page.tags
        if name == "meta" and "default-src 'none'" in (tag.get("content") or "")
    ]


def test_the_scripts_are_the_ones_the_policy_lets_run(shown: Path) -> None:
    import base64
    import hashlib

    html = shown.read_text(encoding="utf-8")
    script = html.rsplit("<script>", 1)[1].split("</script>", 1)[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in html


def test_every_link_leads_to_a_file_or_a_place_in_the_page(shown: Path) -> None:
    page = Page(shown.read_text(encoding="utf-8"))
    places = set(page.attributes("id"))
    links = [attributes["href"] or "" for name, attributes in page.tags if name == "a"]
    assert len(links) > 15
    for link in links:
        if link.startswith("#"):
            assert link[1:] in places
        else:
            assert (shown.parent / link).exists(), link
    for link in json.loads(page.scripts[0])["links"]:
        assert (shown.parent / link).is_file()


def test_the_same_input_gives_the_same_page(tmp_path: Path) -> None:
    first, second = project(tmp_path / "a"), project(tmp_path / "b")
    assert first.read_bytes() == second.read_bytes()


def test_preview_reports_state_what_it_is_and_its_error(tmp_path: Path) -> None:
    frame = grid({"num_compute_units": [4, 8]})
    out = tmp_path / "report.html"
    described = SweepDescription.of(
        {"name": "p"}, ["softmax_fwd"], accuracy="Median error 8.2 % on 137 runs."
    )
    render(described, {"softmax_fwd.csv": frame}, [], [], out)
    text = Page(out.read_text()).text
    assert "None of its numbers comes from gem5" in text and "Median error 8.2 % on 137 runs." in text


def test_the_page_says_which_preview_made_its_numbers(tmp_path: Path) -> None:
    """Two batches of two versions of the model, as its writer left them."""
    frame = grid({"num_compute_units": [4, 8]})
    records = []
    for version in ("5", "6"):
        file = tmp_path / version / "run.json"
        file.parent.mkdir()
        file.write_text(json.dumps(batch_record(provenance={"preview_version": version})))
        records.append(file)
    render(SweepDescription("p"), {"conv_fwd.csv": frame}, records, [], tmp_path / "report.html")
    text = re.sub(r"\s+", " ", Page((tmp_path / "report.html").read_text()).text)
    assert "preview version 5, 6 " in text


def test_values_outside_their_range_are_listed(tmp_path: Path) -> None:
    frame = grid({"num_compute_units": [4, 8]}, workloads=["softmax_fwd"])
    frame["flags"] = ["lds_utilization=1.7>1", ""]
    render(SweepDescription("x"), {"a.csv": frame}, [], [], tmp_path / "r.html")
    text = Page((tmp_path / "r.html").read_text()).text
    assert "1 with flags" in text and "lds_utilization=1.7>1" in text


def test_rows_outside_what_the_preview_was_measured_on_are_listed_apart(tmp_path: Path) -> None:
    frame = grid({"num_compute_units": [4, 128]}, workloads=["softmax_fwd"])
    frame["gpu_cycles_low"], frame["gpu_cycles_high"] = 1234.0, 98765.0
    frame["flags"] = ["", "unmeasured: 128 num-compute-units (measured 1 to 64)"]
    render(SweepDescription("x"), {"a.csv": frame}, [], [], tmp_path / "r.html")
    text = re.sub(r"\s+", " ", Page((tmp_path / "r.html").read_text()).text)
    assert "1 not measured" in text and "with flags" not in text
    assert "1,234 98,765 unmeasured: 128 num-compute-units" in text


def test_the_stated_error_is_that_of_rows_within_what_was_measured(tmp_path: Path) -> None:
    frame = grid({"num_compute_units": [4, 8, 128]}, workloads=["softmax_fwd"])
    described = SweepDescription("x", accuracy="Cycles 5 % off.\nThe 6 runs are old.")
    frame["flags"] = ["", "", "unmeasured: 128 num-compute-units (measured 1 to 64)"]
    render(described, {"a.csv": frame}, [], [], tmp_path / "r.html")
    text = re.sub(r"\s+", " ", Page((tmp_path / "r.html").read_text()).text)
    assert (
        "2 of 3 points lie within what was measured (Cycles 5 % off); 1 of 3 points: error not measured."
        in text
    )
    assert "Error of points within what was measured: Cycles 5 % off. The 6 runs are old." in text
    frame["flags"] = "unmeasured: 128 num-compute-units (measured 1 to 64)"
    render(described, {"a.csv": frame}, [], [], tmp_path / "r.html")
    text = re.sub(r"\s+", " ", Page((tmp_path / "r.html").read_text()).text)
    assert "3 of 3 points: error not measured." in text and "5 % off" not in text and "6 runs" not in text


def test_a_failed_row_outside_what_was_measured_has_no_interval(tmp_path: Path) -> None:
    frame = grid({"num_compute_units": [4]}, workloads=["softmax_fwd"])
    frame["gpu_cycles"], frame["status"] = float("nan"), "timeout"
    frame["flags"] = "unmeasured: 1 of 3 operations"
    render(SweepDescription("x"), {"a.csv": frame}, [], [], tmp_path / "r.html")
    assert "unmeasured: 1 of 3 operations" in Page((tmp_path / "r.html").read_text()).text


def test_results_compared_with_numpy_are_counted(tmp_path: Path) -> None:
    frame = grid({"num_compute_units": [4, 8, 16]}, workloads=["softmax_fwd"])
    frame["max_relative_error"] = [1e-7, 0.5, float("nan")]
    frame["flags"] = ["", "wrong results: y differs", ""]
    render(SweepDescription("x"), {"a.csv": frame}, [], [], tmp_path / "r.html")
    assert "2 compared with NumPy, 1 wrong." in Page((tmp_path / "r.html").read_text()).text
    frame["flags"] = ""
    render(SweepDescription("x"), {"a.csv": frame}, [], [], tmp_path / "r.html")
    assert "2 compared with NumPy, all right." in Page((tmp_path / "r.html").read_text()).text


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(AnalysisError, match="needs a table"):
        render(SweepDescription("x"), {}, [], [], tmp_path / "r.html")
    frame = grid({"num_compute_units": [4, 8]})
    with pytest.raises(AnalysisError, match="cannot read a figure"):
        render(SweepDescription("x"), {"a.csv": frame}, [], [tmp_path / "absent.svg"], tmp_path / "r.html")
    with pytest.raises(AnalysisError, match="no run record"):
        render(SweepDescription("x"), {"a.csv": frame}, [tmp_path], [], tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


def test_the_head_says_whose_kernels_the_products_are(tmp_path: Path) -> None:
    frame = grid({"num_compute_units": [4]}, ["fc_fwd", "conv_fwd", "softmax_fwd"], products="rocBLAS")
    frame.loc[frame["workload"] == "softmax_fwd", "products"] = None

    def head(name: str) -> str:
        render(SweepDescription("x"), {"a.csv": frame}, [], [], tmp_path / name)
        page = (tmp_path / name).read_text(encoding="utf-8")
        return " ".join(Page(page.partition("<header>")[2].partition("</header>")[0]).text.split())

    assert "matrix products by rocBLAS' own kernels." in head("alike.html")
    frame.loc[frame["workload"] == "fc_fwd", "products"] = "stand-in"
    both = head("both.html")
    assert "by rocBLAS' own kernels (conv_fwd); matrix products by this project's stand-in (fc_fwd)" in both


def test_the_receiver_reads_how_far_to_trust_it_and_how_to_repeat_it(shown: Path) -> None:
    page = Page(shown.read_text(encoding="utf-8"))
    text = " ".join(page.text.split())
    assert "gem5-kernels (just the kernels): 5 of 6 runs completed and proved it." in text
    assert "snakemake --cores all results/demo/report.html" in text
    assert "apuflow archive pack demo" in text and "apuflow archive unpack demo.tar.zst demo" in text
    anchors = {f"#{name}" for name in page.attributes("id")}
    assert {link for link in page.attributes("href") if link.startswith("#")} <= anchors
