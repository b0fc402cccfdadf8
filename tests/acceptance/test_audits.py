"""Real lesson files are read entry by entry, and what is found in them is there (R-m7)."""

from __future__ import annotations

import pytest

from reflect_gate import Bundle

from .audits import audited, planted
from .corpora import folder


@pytest.mark.skipif(not folder().is_dir(), reason="the corpora are not here")
def test_real_files_are_read_and_judged(structured: Bundle) -> None:
    """Every entry of the corpus is found; next to nothing but copies and entries without evidence is wrong with them."""
    found = audited(folder(), structured)
    assert len(found) == 3
    for count, audit in found.values():
        assert len(audit.memory.entries) >= count
        others = sum(number for reason, number in audit.counts().items() if reason not in {"duplicate", "unevidenced"})
        assert others * 20 <= len(audit.memory.entries)


def test_every_planted_store_trips_its_audit(structured: Bundle) -> None:
    """Both engines agree on it."""
    assert [name for name, said in planted(structured).items() if not said["failed"]] == []
