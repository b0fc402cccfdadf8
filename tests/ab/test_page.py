"""The report as one page: what it holds, that nothing of a candidate's text is markup, and that it fetches nothing."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from reflect_gate import schemas
from reflect_gate.report.ab_page import ab_page

Run = Callable[..., Any]

VOID = frozenset({"meta", "link", "br", "hr", "img", "input"})
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> $\\frac{a}{b}$ & \u202e \x1b[31m ]]> </svg> --> 'quoted' \"so\""

plots = pytest.mark.skipif(find_spec("matplotlib") is None, reason="the extra `report` is not installed")
CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), "")


class Page(HTMLParser):
    """Elements with their attributes, texts by the element they stand in, and whether every element is closed."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element without content."""
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Close the innermost element, which must be this one."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note a text."""
        if data.strip():
            self.texts.append((self.open[-1] if self.open else "", data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of every element of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]


def full() -> dict[str, Any]:
    """Return a comparison with everything in it."""
    found: dict[str, Any] = copy.deepcopy(schemas.schema("ab")["examples"][0])
    found["frozen"] = {"section": found["main"], "targets": found["targets"]}
    return found


@pytest.fixture
def document() -> dict[str, Any]:
    """A comparison that a test may change."""
    return full()


@pytest.fixture
def ablation() -> dict[str, Any]:
    """An ablation with pairs and chains."""
    return copy.deepcopy(schemas.schema("ablation")["examples"][0])


@pytest.fixture(scope="module")
def text() -> str:
    """The page of both, drawn once."""
    return ab_page(full(), schemas.schema("ablation")["examples"][0])


@plots
def test_the_page_holds_every_part(document: dict[str, Any], text: str) -> None:
    """R-m6, R-m8: decision with each input, key measure, thresholds, ablation, reasons, examples, caveats, kept apart."""
    page = Page(text)
    assert page.open == []
    headings = [text for tag, text in page.texts if tag == "h2"]
    assert headings == [
        "Decision",
        "Key measure",
        "Beside the other gates",
        "Rejected, swapped, spent",
        "Thresholds",
        "What each mechanism is worth",
        "Examples of calibration",
        "Targets, folds, labels of people",
        "What this can prove",
        "Kept apart",
    ]
    said = {text for _, text in page.texts}
    assert {one["what"] for one in document["decision"]["inputs"]} <= said
    assert set(document["caveats"]) <= said
    assert len(page.all("svg")) == len(page.all("figure")) >= 7


@plots
def test_every_plot_has_a_name_and_a_table(text: str) -> None:
    """What a plot shows is said in words, and its figures stand beside it; header cells say what they head."""
    page = Page(text)
    for attributes in page.all("svg"):
        assert attributes["role"] == "img"
        assert attributes["aria-label"]
    assert len(page.all("table")) >= len(page.all("svg"))
    assert len(page.all("caption")) == len(page.all("table"))
    assert {attributes.get("scope") for attributes in page.all("th")} == {"col", "row"}
    assert page.all("html")[0] == {"lang": "en"}


@plots
def test_ids_are_unique_and_every_reference_stands_in_the_page(text: str) -> None:
    """Plots of one page must not draw on one another's parts, and nothing is fetched."""
    page = Page(text)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in page.elements:
        for name in ("href", "xlink:href", "src"):
            if name in attributes:
                assert str(attributes[name]).removeprefix("#") in ids
        for part in str(attributes.get("style") or attributes.get("clip-path") or "").split("url(")[1:]:
            assert part.partition(")")[0].removeprefix("#") in ids
    assert not [tag for tag, _ in page.elements if tag in {"script", "link", "iframe", "object", "embed", "img"}]
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert "default-src 'none'" in text


@plots
def test_the_same_figures_are_the_same_bytes(document: dict[str, Any], ablation: dict[str, Any], text: str) -> None:
    """No date, no version, nothing drawn by lot; colours are the page's own."""
    assert text == ab_page(document, ablation)
    svg = text[text.index("<svg") : text.rindex("</svg>")]
    assert "Created with" not in svg
    assert "<dc:" not in svg
    assert "var(--a)" in svg
    assert not [colour for colour in ("#010101", "#030303", "#000000") if colour in svg]


@plots
def test_hostile_texts_are_shown_and_never_read(document: dict[str, Any], ablation: dict[str, Any]) -> None:
    """Texts of candidates, names of bundles, gates and labels are of others."""
    example = {
        **document["examples"][0],
        "id": HOSTILE,
        "lesson": HOSTILE,
        "calibrated_lesson": f"{HOSTILE}!",
        "rules": [HOSTILE],
    }
    document["examples"] = [example]
    document["arms"]["a"]["name"] = document["decision"]["adopt"] = HOSTILE
    document["caveats"] = [HOSTILE]
    document["sweep"]["curves"][0]["setting"] = HOSTILE
    document["main"]["compared"]["above_random"]["what"] = HOSTILE
    document["main"]["statuses"]["a"]["reasons"] = {HOSTILE: 1}
    ablation["rows"][1]["name"] = HOSTILE
    page = Page(ab_page(document, ablation))
    assert page.open == []
    assert not {"script", "img"} & {tag for tag, _ in page.elements}
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    shown = [text for tag, text in page.texts if "alert(1)" in text]
    assert len(shown) >= 8
    assert not [text for text in shown if "\x1b" in text or "\u202e" in text]
    assert [text for tag, text in page.texts if tag == "text" and "<script>" in text]


def test_without_plots_the_tables_stay(document: dict[str, Any], ablation: dict[str, Any]) -> None:
    """The extra is not needed for the figures themselves."""
    page = Page(ab_page(document, ablation, drawn=False))
    assert page.all("svg") == []
    assert [text for _, text in page.texts if "Plots are left out" in text]
    assert len(page.all("table")) > 10


def test_parts_that_were_not_asked_for_are_not_there(document: dict[str, Any]) -> None:
    """No empty headings."""
    document.update(frozen=None, sweep=None, examples=[])
    headings = [text for tag, text in Page(ab_page(document, drawn=False)).texts if tag == "h2"]
    assert not {"Thresholds", "What each mechanism is worth", "Examples of calibration", "Kept apart"} & set(headings)


# -- the verb --------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path: Path, document: dict[str, Any], ablation: dict[str, Any]) -> Mapping[str, str]:
    """Both documents as files."""
    paths = {}
    for name, content in (("ab", document), ("ablation", ablation)):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        paths[name] = str(path)
    return {**paths, "html": str(tmp_path / "out.html")}


@plots
def test_report_writes_a_page(here: Run, written: Mapping[str, str], text: str) -> None:
    """Nothing is printed beside it."""
    ran = here("ab", "report", written["ab"], "--ablation", written["ablation"], "--html", written["html"])
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert Path(written["html"]).read_text(encoding="utf-8") == text


def test_report_prints_what_the_comparison_printed(here: Run, files: dict[str, str], tmp_path: Path) -> None:
    """Text and Markdown of the file are those of the run, and JSON is the file."""
    path = str(tmp_path / "ab.json")
    fixed = ("ab", files["requests"], "--labels", files["labels"], "--resamples", "40", "--engine", "compiled")
    kept = ("--resume", files["kept"])
    assert here(*fixed, *kept, "--format", "json", "-o", path).code == 0
    for name in ("text", "markdown", "json"):
        assert here("ab", "report", path, "--format", name).out == here(*fixed, *kept, "--format", name).out


def test_an_ablation_of_another_bundle_is_told_apart(
    here: Run, written: Mapping[str, str], ablation: dict[str, Any], document: dict[str, Any]
) -> None:
    """Figures of two versions of a bundle stand beside each other only with a warning, which the report keeps."""
    ablation["bundle"]["digest"] = "0" * 64
    Path(written["ablation"]).write_text(json.dumps(ablation), encoding="utf-8")
    ran = here("ab", "report", written["ab"], "--ablation", written["ablation"])
    assert (ran.code, "[ablation-other]" in ran.err, "The ablation is of another bundle" in ran.out) == (0, True, True)
    ran = here("ab", "report", written["ab"], "--ablation", written["ablation"], "--format", "json")
    assert json.loads(ran.out)["caveats"] == document["caveats"]


def test_report_names_what_is_no_comparison(here: Run, written: Mapping[str, str], tmp_path: Path) -> None:
    """Exit code 3 for another document, 1 for no file."""
    assert here("ab", "report", written["ablation"]).code == 3
    assert here("ab", "report", str(tmp_path / "nowhere.json")).code == 1


def test_without_the_extra_a_page_comes_with_a_warning(
    here: Run, written: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page has its tables, and stderr says what is missing."""
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    ran = here("ab", "report", written["ab"], "--html", written["html"])
    assert (ran.code, "reflect-gate[report]" in ran.err) == (0, True)
    assert "Plots are left out" in Path(written["html"]).read_text(encoding="utf-8")


def test_plots_are_imported_by_the_page_alone(process: Run, files: dict[str, str]) -> None:
    """The verb starts without matplotlib."""
    ran = process("ab", files["requests"], "--labels", files["labels"], "--resamples", "40", env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert ran.code == 0
    assert "reflect_gate.report.ab" in ran.err
    assert "matplotlib" not in ran.err


@plots
@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM, reason="Chromium is not installed")
def test_chromium_shows_the_page(tmp_path: Path, text: str) -> None:
    """A browser lays it out without fetching anything: every plot is there after parsing, and the picture is no blank."""
    path = tmp_path / "page.html"
    path.write_text(text, encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1200,3000"]
    shot = tmp_path / "page.png"
    done = subprocess.run([CHROMIUM, *flags, f"--screenshot={shot}", path.as_uri()], capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    assert shot.stat().st_size > 50_000
    dumped = subprocess.run([CHROMIUM, *flags, "--dump-dom", path.as_uri()], capture_output=True, timeout=60, check=True)
    shown = Page(dumped.stdout.decode())
    assert len(shown.all("svg")) == len(Page(text).all("svg"))
