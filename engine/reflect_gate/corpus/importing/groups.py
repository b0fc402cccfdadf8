"""Which records belong together: near-identical tasks share a group, and a split or a resample takes a group whole.

- Programming tasks of HumanEval and MBPP are grouped by their number: `HumanEval/50`, `HumanEval_50` and
  `HumanEval_50_decode_shift` are one problem, in whatever language it is set. Any other name stands for itself.
- Questions are grouped by their text, since one question stands in several collections under several names.
- Environments (AlfWorld, WebShop) are grouped by their number, over all trials and runs.
- Lessons files are grouped by the project that they come from: its entries were written in one voice, and restate each other.
- Runs of an agent are grouped by the instance that the run names, else by the text of its first prompt, else by its file's name.
- Tests of a report are grouped by the test's name.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

from ...measure._pattern import Pattern

__all__ = ["file_name", "of_name", "of_text"]

_NUMBERED: Final = Pattern(r"^(?P<set>humaneval|mbpp)[ _/-]+(?P<number>\d{1,6})(?:[ _/-].*)?$", ignore_case=True)
_LONGEST: Final = 200
_DIGITS: Final = 16
_SUFFIXES: Final = (".json", ".jsonl", ".ndjson", ".traj", ".xml", ".md", ".markdown", ".txt")


def of_name(name: str) -> str:
    """Return the group of a task that its log names."""
    numbered = _NUMBERED.search(name)
    if numbered:
        return f"{numbered.group('set').lower()}/{int(numbered.group('number'))}"
    return name if len(name) <= _LONGEST else of_text("task", name)


def of_text(kind: str, said: str) -> str:
    """Return the group of a text: its kind and a digest that letter case and white space do not change."""
    plain = " ".join(said.split()).casefold()
    return f"{kind}/{hashlib.sha256(plain.encode('utf-8', 'surrogatepass')).hexdigest()[:_DIGITS]}"


def file_name(path: str) -> str:
    """Return the name of a file without its folder and the suffixes that say what it is."""
    name = Path(path).name
    while (suffix := Path(name).suffix.lower()) in _SUFFIXES and len(name) > len(suffix):
        name = name[: -len(suffix)]
    return name
