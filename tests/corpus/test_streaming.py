"""A log of any size is imported in the memory of one line; `large.py` shows it at 1 GB."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

from reflect_gate.corpus.importing.reading import read_files

from .forms import FORM_ROWS, written


def peak(path: str) -> int:
    """Return the bytes that reading a log holds at most."""
    tracemalloc.start()
    try:
        for record in read_files("alfworld", [path]):
            assert isinstance(record, dict)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    """Eight times the lines, and no more held but the digests of ids."""
    sizes = []
    for count in (25, 25, 200):
        rows = [{**FORM_ROWS["alfworld"], "id": f"house-{number}", "padding": "x" * 50_000} for number in range(count)]
        sizes.append(peak(written(tmp_path / f"rows-{count}.jsonl", *rows)))
    assert sizes[2] < sizes[1] + 200_000
