"""The report in a real browser: what a reader does with mouse, keyboard and phone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import needs
import pytest
from result_frames import grid, table

from apuflow_analysis import figures
from apuflow_analysis.figures.axis import Choice
from apuflow_analysis.report import SweepDescription, render

pytestmark = pytest.mark.browser

BROWSER = os.environ.get("APUFLOW_TEST_BROWSER") or needs.BROWSER.program()
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 120_000
"""Milliseconds until a browser on a busy machine is given up."""

HOSTILE = "</script><img src=x onerror=\"document.title='owned'\"><b>bold</b>"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of 18 workloads on five machines, one point failed with a hostile message."""
    root = tmp_path_factory.mktemp("report")
    programs = ("conv", "pool", "lrn", "activation", "fc", "softmax", "bn", "dropout", "bypass")
    workloads = [f"{program}_{direction}" for program in programs for direction in ("fwd", "bwd")]
    frame = grid({"num_compute_units": [4, 8, 16, 32, 64]}, workloads=workloads)
    rows = frame.to_dict("records")
    rows[0] = {**rows[0], "status": "guest_failure", "evidence": HOSTILE}
    frame = table(rows, ["num_compute_units"])
    plot = figures.make("speedup", frame)
    drawn = figures.save(plot.figure, plot.data, root / "figures" / "speedup")
    sweep = SweepDescription("wide", "A sweep of " + HOSTILE, ("preview",), tuple(workloads))
    render(sweep, {str(root / "all.csv"): frame}, [], [drawn[0]], root / "report.html")
    return root / "report.html"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    if BROWSER is None:
        needs.BROWSER.skip()
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        profile = tmp_path_factory.mktemp("profile")
        context = driver.chromium.launch_persistent_context(
            str(profile),
            executable_path=BROWSER,
            args=FLAGS,
            viewport={"width": 1280, "height": 900},
            timeout=PATIENCE,
        )
        context.set_default_timeout(PATIENCE)
        yield context
        context.close()


@pytest.fixture
def page(browser: Any, report: Path) -> Iterator[Any]:
    """The report, freshly opened; any message on the console or request for a resource fails the test."""
    opened = browser.new_page()
    said: list[str] = []
    opened.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    opened.on("pageerror", lambda error: said.append(f"error: {error}"))
    requested: list[str] = []
    opened.on("request", lambda request: requested.append(request.url))
    opened.goto(report.as_uri())
    yield opened
    assert said == []
    assert {url for url in requested if not url.startswith("data:")} == {report.as_uri()}
    opened.close()


def cells(page: Any, column: str) -> list[str]:
    """The texts of one column of the page of the table that is shown."""
    names = page.eval_on_selector_all("#results thead th", "nodes => nodes.map((node) => node.dataset.name)")
    index = names.index(column) + 1
    return [text.strip() for text in page.locator(f"#results tbody td:nth-child({index})").all_inner_texts()]


def numbers(texts: list[str]) -> list[float]:
    return [float(text.replace("\u202f", "")) for text in texts if text != "–"]


def test_it_opens_and_runs_nothing_of_what_it_shows(page: Any) -> None:
    assert page.title() == "wide · apuflow report"
    assert page.locator("#results tbody tr").count() == 25
    assert page.locator("#answers-title").inner_text() == "A sweep of " + HOSTILE
    assert page.locator("main b").count() == 0
    shown = page.eval_on_selector_all("figure img", "nodes => nodes.map((node) => node.naturalWidth)")
    assert shown and all(width > 100 for width in shown)


def test_headings_sort_and_say_so(page: Any) -> None:
    heading = page.locator("#results th[data-name=gpu_cycles]")
    button = heading.locator("button")
    button.click()
    assert heading.get_attribute("aria-sort") == "ascending"
    rising = numbers(cells(page, "gpu_cycles"))
    assert len(rising) == 25 and rising == sorted(rising) and rising[0] == 1000
    button.click()
    assert heading.get_attribute("aria-sort") == "descending"
    falling = numbers(cells(page, "gpu_cycles"))
    assert falling == sorted(falling, reverse=True) and falling[0] == 16000
    page.locator("#results th[data-name=workload] button").click()
    assert heading.get_attribute("aria-sort") == "none"
    assert cells(page, "workload")[0] == "activation_bwd"


def test_unknown_values_stay_at_the_end(page: Any) -> None:
    page.locator("#rows select").last.select_option("500")
    for _ in range(2):
        page.locator("#results th[data-name=gpu_cycles] button").click()
        assert cells(page, "gpu_cycles")[-1] == "–"


def test_the_keyboard_sorts(page: Any) -> None:
    page.locator("#results th[data-name=num_compute_units] button").focus()
    page.keyboard.press("Enter")
    heading = page.locator("#results th[data-name=num_compute_units]")
    assert heading.get_attribute("aria-sort") == "ascending"
    assert page.evaluate("document.activeElement.closest('th')?.dataset.name") == "num_compute_units"
    page.keyboard.press("Space")
    assert heading.get_attribute("aria-sort") == "descending"
    assert numbers(cells(page, "num_compute_units"))[0] == 64


def test_search_and_filters_narrow_the_table(page: Any) -> None:
    page.get_by_label("Search").fill("softmax bwd")
    assert set(cells(page, "workload")) == {"softmax_bwd"}
    assert page.locator("#rows .status").inner_text() == "5 of 90 rows"
    page.get_by_role("combobox", name="Compute units", exact=True).select_option("=16")
    assert numbers(cells(page, "gpu_cycles")) == [4000]
    page.get_by_label("Search").fill("nothing like this")
    assert page.locator("#results tbody tr").count() == 0
    page.get_by_label("Search").fill("")
    page.get_by_role("combobox", name="Compute units", exact=True).select_option("")
    page.get_by_role("combobox", name="status", exact=True).select_option("=guest_failure")
    assert page.locator("#results tbody tr").count() == 1


def test_pages_turn(page: Any) -> None:
    first = cells(page, "point")
    page.get_by_role("button", name="Next").click()
    assert cells(page, "point") != first or cells(page, "workload")[0] != "conv_fwd"
    assert "page 2 of 4" in page.locator(".pager").inner_text()
    page.get_by_role("button", name="Previous").click()
    assert cells(page, "point") == first
    assert page.get_by_role("button", name="Previous").is_disabled()


def test_columns_can_be_chosen(page: Any) -> None:
    assert page.locator("#results th[data-name=gfx]").count() == 0
    page.locator("#rows summary", has_text="Columns (").click()
    page.locator(".choices label", has_text="gfx").locator("input").check()
    assert set(cells(page, "gfx")) == {"gfx801"}


def test_the_selection_is_saved_as_csv(page: Any, tmp_path: Path) -> None:
    page.get_by_label("Search").fill("lrn_fwd")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").click()
    saved = tmp_path / "selection.csv"
    download.value.save_as(saved)
    lines = saved.read_text().splitlines()
    assert (
        len(lines) == 6
        and lines[0].startswith("workload,num_compute_units,gpu_cycles")
        and lines[0].endswith("status,point")
    )
    assert "lrn_fwd" in lines[1] and "16000" in lines[1]


def test_hovering_reads_a_value(page: Any) -> None:
    plot = page.locator(".plot svg")
    plot.scroll_into_view_if_needed()
    box = page.locator(".plot g.series").nth(1).locator("circle").last.bounding_box()
    page.mouse.move(box["x"] + 3, box["y"] + 3)
    tip = page.locator(".tip")
    assert tip.is_visible()
    text = tip.inner_text()
    assert "Compute units: 64" in text and "speedup: 16" in text
    page.mouse.move(2, 2)
    assert not tip.is_visible()


def test_arrow_keys_read_values_aloud(page: Any) -> None:
    page.locator(".plot svg").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    spoken = page.locator("#chart [role=status]").inner_text()
    assert spoken.startswith("pool_fwd") and "Compute units: 8" in spoken
    page.keyboard.press("Escape")
    assert not page.locator(".tip").is_visible()


def test_lines_are_switched_by_buttons(page: Any) -> None:
    series = page.locator(".plot g.series")
    assert series.count() == 8
    button = page.locator(".toggles button").nth(17)
    assert button.get_attribute("aria-pressed") == "false"
    button.focus()
    page.keyboard.press("Enter")
    assert series.count() == 9
    assert page.locator(".toggles button").nth(17).get_attribute("aria-pressed") == "true"
    assert page.evaluate("document.activeElement.dataset.line") == "bypass_bwd"
    page.get_by_role("button", name="No line").click()
    assert series.count() == 0 and "No line is switched on." in page.locator(".plot").text_content()
    page.get_by_role("button", name="All lines").click()
    assert series.count() == 18


def test_the_chart_shows_any_quantity(page: Any) -> None:
    page.get_by_label("Up", exact=True).select_option("gpu_cycles")
    assert "gpu_cycles (cycle)" in page.locator(".plot svg").text_content()
    page.locator(".plot svg").focus()
    page.keyboard.press("ArrowRight")
    assert "gpu_cycles: 16\u202f000 cycle" in page.locator(".tip").inner_text()
    ticks = page.locator(".plot svg text").all_text_contents()
    assert {"1000", "2000", "5000", "10\u202fk"} <= set(ticks)


def test_the_lines_that_change_most_are_on_at_first(page: Any) -> None:
    """A line that lacks its first point changes less than the others."""
    buttons = page.locator(".toggles button")
    states = buttons.evaluate_all("nodes => nodes.map((node) => node.getAttribute('aria-pressed'))")
    pressed = dict(zip(buttons.all_inner_texts(), states, strict=True))
    assert pressed["conv_fwd"] == "false" and pressed["conv_bwd"] == "true"


def test_the_chart_is_saved_as_it_is_shown(page: Any, tmp_path: Path) -> None:
    with page.expect_download() as download:
        page.get_by_role("button", name="Save SVG").click()
    download.value.save_as(tmp_path / "chart.svg")
    svg = (tmp_path / "chart.svg").read_text(encoding="utf-8")
    root = ElementTree.fromstring(svg)
    assert root.tag.endswith("svg") and "var(" not in svg
    texts = {node.text for node in root.iter() if node.tag.endswith("text")}
    assert {"Compute units", "conv_bwd", "64"} <= texts and "conv_fwd" not in texts
    assert "Engine: preview" in texts
    with page.expect_download() as download:
        page.get_by_role("button", name="Save PNG").click()
    download.value.save_as(tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")


def test_a_link_restores_the_view(page: Any) -> None:
    page.get_by_label("Up", exact=True).select_option("gpu_cycles")
    page.get_by_role("button", name="No line").click()
    page.locator(".toggles button", has_text="lrn_fwd").click()
    page.get_by_label("Search").fill("lrn")
    page.locator("#results th[data-name=gpu_cycles] button").click()
    page.get_by_role("button", name="Link to this view").click()
    assert "#view=" in page.url
    page.reload()
    assert page.get_by_label("Up", exact=True).input_value() == "gpu_cycles"
    assert page.locator(".plot g.series").count() == 1
    assert set(cells(page, "workload")) == {"lrn_fwd", "lrn_bwd"}
    heading = page.locator("#results th[data-name=gpu_cycles]")
    assert heading.get_attribute("aria-sort") == "ascending"
    page.evaluate("location.hash = '#view=%7Bnonsense'")
    page.reload()
    assert page.locator(".plot g.series").count() == 8


def test_headings_stay_in_sight_and_dark_mode_is_dark(page: Any) -> None:
    page.locator("#rows select").last.select_option("500")
    page.locator(".results").evaluate("node => { node.scrollTop = 900; }")
    region, heading = (page.locator(name).first.bounding_box() for name in (".results", "#results th"))
    assert abs(heading["y"] - region["y"]) < 3
    page.emulate_media(color_scheme="dark")
    paper, ink = (
        page.evaluate(f"getComputedStyle(document.body).{name}") for name in ("backgroundColor", "color")
    )
    assert paper == "rgb(20, 24, 28)" and ink == "rgb(228, 232, 235)"
    page.emulate_media(color_scheme="light")


def test_many_axes_are_held_until_asked(browser: Any, tmp_path: Path) -> None:
    """Two further axes and a layer key that only one of the programs has."""
    machines: dict[str, list[Any]] = {
        "num_compute_units": [4, 8, 16],
        "tcc_size": ["1MB", "256kB", "4MB"],
        "num_tccs": [1, 2, 4, 8],
    }
    wide = grid(machines)
    narrow = grid({"num_compute_units": [4, 8, 16], "layer.n": list(range(1, 20))}, workloads=["bn_fwd"])
    out = tmp_path / "report.html"
    render(SweepDescription("axes"), {"a.csv": wide, "b.csv": narrow}, [], [], out)
    opened = browser.new_page()
    opened.goto(out.as_uri())
    assert opened.get_by_role("combobox", name="Batch size n", exact=True).first.input_value() == "=1"
    size = opened.get_by_role("combobox", name="TCC size", exact=True).first
    assert size.locator("option").all_inner_texts() == ["all", "256kB", "1MB", "4MB"]
    assert size.input_value() == ""
    assert len(opened.locator(".toggles button").all_inner_texts()) == 25
    size.select_option("=256kB")
    assert len(opened.locator(".toggles button").all_inner_texts()) == 9
    with opened.expect_download() as download:
        opened.get_by_role("button", name="Save SVG").click()
    download.value.save_as(tmp_path / "chart.svg")
    assert "Engine: preview · " in (picture := (tmp_path / "chart.svg").read_text(encoding="utf-8"))
    assert " · TCC size 256kB" in picture
    opened.get_by_role("combobox", name="Across", exact=True).select_option("tcc_size")
    assert "TCC size" in opened.locator(".plot svg").text_content()
    opened.close()


def test_speedups_are_relative_to_the_baseline_of_the_sweep(browser: Any, tmp_path: Path) -> None:
    """Cycles of the grid are 64,000 over the compute units; a second option halves them."""
    frame = grid({"num_compute_units": [4, 8, 16], "num_tccs": [1, 2]}, workloads=["softmax_fwd"])
    for column in ("gpu_cycles", "gpu_time"):
        frame[column] = frame[column] / frame["num_tccs"]
    choice = Choice("num_compute_units", None, {"num_compute_units": 8, "num_tccs": 2})
    out = tmp_path / "report.html"
    render(SweepDescription("base"), {"a.csv": frame}, [], [], out, choice=choice)
    opened = browser.new_page()
    opened.goto(out.as_uri())
    picture = opened.locator(".plot svg")
    assert "Speedup (1 at compute units = 8, TCC banks = 2)" in picture.text_content()
    read = []
    picture.focus()
    for step in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowDown"):
        opened.keyboard.press(step)
        read.append(opened.locator(".tip").inner_text().split("speedup: ")[1].split()[0])
    assert [float(value) for value in read] == [0.25, 0.5, 1.0, 2.0]
    opened.close()


def test_a_phone_shows_it_without_sideways_scrolling(page: Any) -> None:
    page.set_viewport_size({"width": 375, "height": 740})
    page.reload()
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    wide = page.evaluate(
        """() => [...document.querySelectorAll('main *')].filter((node) => {
            const box = node.getBoundingClientRect();
            return box.right > innerWidth + 1 && !node.closest('.scroll, pre, .hidden, .choices');
        }).map((node) => node.tagName + '.' + node.className)"""
    )
    assert wide == []
    sizes = "nodes => nodes.map((node) => [node.clientWidth, node.naturalWidth])"
    assert all(shown >= own for shown, own in page.eval_on_selector_all("figure img", sizes)), "shrunk"
    box = page.get_by_role("button", name="Next").bounding_box()
    assert box["height"] >= 32
    page.set_viewport_size({"width": 1280, "height": 900})


def test_it_prints_whole_tables(page: Any) -> None:
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#results tbody tr").count() == 90
    assert not page.locator("nav").is_visible()
    assert page.locator(".contents").is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#results tbody tr").count() == 25
    page.emulate_media(media="screen")


def test_a_dark_screen_prints_on_white_paper_two_pictures_to_a_page(page: Any) -> None:
    page.emulate_media(media="print", color_scheme="dark")
    style = "getComputedStyle(document.body)"
    assert page.evaluate(f"[{style}.backgroundColor, {style}.color, {style}.colorScheme]") == [
        "rgb(255, 255, 255)",
        "rgb(29, 35, 40)",
        "light",
    ]
    a4_between_margins = (297 - 2 * 14) / 25.4 * 96
    for picture in ("figure img", ".plot svg"):
        assert page.locator(picture).first.bounding_box()["height"] < a4_between_margins / 2
    page.emulate_media(media="screen", color_scheme="light")


def test_without_scripts_it_still_reads(browser: Any, report: Path, tmp_path: Path) -> None:
    html = report.read_text(encoding="utf-8").replace("script-src 'sha256-", "script-src 'sha256-x")
    (tmp_path / "report.html").write_text(html, encoding="utf-8")
    opened = browser.new_page()
    opened.goto((tmp_path / "report.html").as_uri())
    assert opened.locator("#figures figure").count() == 1
    assert opened.locator("#rows *").count() == 0
    opened.close()
