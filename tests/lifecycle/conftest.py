"""The world that these tests play in."""

from __future__ import annotations

import pytest

from reflect_gate import Bundle

from .world import World


@pytest.fixture
def world(structured: Bundle) -> World:
    """Return an empty store judged by the bundle with every mechanism on."""
    return World(structured)
