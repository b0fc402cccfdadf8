"""The documents point at things that exist and name variables that the program reads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "requirements/*.md", "rules/**/*.md")
    for path in ROOT.glob(pattern)
)
CODE = "\n".join(
    path.read_text(encoding="utf-8") for folder in ("engine", "store", "tests") for path in sorted((ROOT / folder).rglob("*.py"))
)
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]+\]\((?!https?://|mailto:)(?P<target>[^)#]*)(?:#(?P<anchor>[^)]+))?\)")


def anchors(text: str) -> set[str]:
    """Return the anchors of a Markdown text's headings, as forges make them."""
    headings = re.findall(r"^#{1,6} (.+)$", _FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_there_are_documents() -> None:
    """The lists below are not empty, so that the tests can fail."""
    assert {"README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/architecture.md"} <= set(DOCUMENTS)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_relative_link_leads_somewhere(document: str) -> None:
    """A link names a file of the checkout and, where it has one, a heading in it."""
    path = ROOT / document
    broken = []
    for link in _LINK.finditer(_FENCED.sub("", path.read_text(encoding="utf-8"))):
        target = path.parent / link["target"] if link["target"] else path
        if not target.exists() or (link["anchor"] and link["anchor"] not in anchors(target.read_text(encoding="utf-8"))):
            broken.append(link.group())
    assert broken == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_variable_that_is_named_is_read(document: str) -> None:
    """A document does not promise an environment variable that no module knows."""
    named = set(re.findall(r"REFLECT_GATE_[A-Z_]+", (ROOT / document).read_text(encoding="utf-8")))
    assert {name for name in named if name not in CODE} == set()


def test_every_test_that_the_threat_table_names_exists() -> None:
    """SECURITY.md says which test holds each defence; the named paths are there and are not empty."""
    table = [line for line in (ROOT / "SECURITY.md").read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    named = {name for line in table for name in re.findall(r"`((?:tests|rules)/[^`]+)`", line)}
    assert named
    assert {
        name for name in named if not [path for path in ROOT.glob(name) if path.is_file() or any(path.rglob("test_*.py"))]
    } == set()
