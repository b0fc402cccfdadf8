"""A small version of `load.py`, and of `fuzz.py` where schemathesis is installed."""

from __future__ import annotations

import importlib.util

import pytest

from .fuzz import run as fuzz
from .gate import Gate
from .load import KINDS, load


@pytest.mark.parametrize("kind", KINDS)
def test_many_clients_at_once_are_all_answered(gate: Gate, kind: str) -> None:
    """No request is lost, refused or failed, be it judged, committed or asked for."""
    found = load(gate, kind, 16, 48, first=10_000)
    assert (found.requests, found.errors) == (48, {})


@pytest.mark.skipif(importlib.util.find_spec("schemathesis") is None, reason="schemathesis is not installed")
def test_generated_requests_cause_no_server_error(gate: Gate) -> None:
    """What its OpenAPI document allows, and what it does not, is answered as it says."""
    code, told = fuzz(gate.url, examples=3, phases="examples,fuzzing")
    assert code == 0, told
