"""The sample inputs of a folder beside the checkout, where it is there; the full table is printed by `samples.py`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

from reflect_gate.hooks.dialects import read
from reflect_gate.hooks.reading import payload_of
from reflect_gate.hooks.running import Options, respond

if __package__:
    from .samples import Row
else:
    from samples import Row  # type: ignore[import-not-found, no-redef]

_CORPORA: Final = Path(os.environ.get("REFLECT_GATE_CORPORA") or Path(__file__).parents[3] / "shared" / "corpora")
FOLDER: Final = _CORPORA.parent / "hooks-samples"


@pytest.mark.corpora
@pytest.mark.skipif(not FOLDER.is_dir(), reason="no folder of sample inputs beside the checkout")
def test_every_sample_is_read_in_its_dialect() -> None:
    """Each file of a harness is that harness's; a hostile one is nobody's, and silent."""
    files = [file for file in sorted(FOLDER.iterdir()) if file.name != "README.md"]
    assert files
    for file in files:
        payload = payload_of(file.read_bytes())
        found = read(payload) if payload is not None else None
        row = Row(file.name, found[0].name if found else "-", "", 0, 0, 0, "")
        assert not row.wrong, row
        if file.name.startswith("bad.") and payload is not None:
            assert respond(payload, Options(), lambda _event: None, lambda _event: "A lesson.") == b""
