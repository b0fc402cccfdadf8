"""Runs of the command line, and two candidates of two tasks whose outcomes are known."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import cache_folder, environment, here, process

__all__ = ["cache_folder", "environment", "files", "here", "process"]


@pytest.fixture
def files(tmp_path: Path, request_document: dict[str, Any]) -> dict[str, str]:
    """Requests of two tasks, neither of which is kept apart: the first is admitted and helped, the second refused and harmed."""
    other = copy.deepcopy(request_document)
    other["record"]["failure_id"] = "mailer-12"
    other["record"]["traces"][0]["text"] = "send_mail() retries for ever, so that no limit is needed."
    other["record"]["traces"][2].update(text="tests/test_mailer.py::test_empty FAILED\nIndexError: pop", error_class="IndexError")
    requests = [{**request_document, "project": {"task": "checkout"}}, {**other, "project": {"task": "mailer"}}]
    known = [
        {"id": "checkout-1187", "task": "checkout", "before": False, "after": True, "label": "e", "tokens": 800, "team": "a"},
        {"id": "mailer-12", "task": "mailer", "before": True, "after": False, "label": "d", "tokens": 600, "team": "b"},
    ]
    paths = {}
    for name, rows in (("requests", requests), ("labels", known)):
        path = tmp_path / f"{name}.ndjson"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        paths[name] = str(path)
    return {**paths, "kept": str(tmp_path / "kept")}
