"""A server of which 3 in 10 calls fail; `python tests/capture/flaky.py --jobs 1000` is the whole of it."""

from __future__ import annotations

import os
from unittest import mock

import pytest

from .flaky import work_off, wrong
from .world import World


@pytest.mark.slow
def test_all_jobs_end_and_all_counts_add_up(world: World) -> None:
    """R-q4, R-q8, R-L2: success, skip or dead letter; queue, store, log of calls and server tell the same story."""
    with mock.patch.dict(os.environ):
        counted = work_off(world, 30, 2, 1)
    assert wrong(counted) == [], counted
    assert counted.attempts["transient"] > 0
    assert counted.rows["lessons"] > 0
    assert sum(counted.dead.values()) > 0
