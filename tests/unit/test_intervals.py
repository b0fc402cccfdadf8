"""Intervals of the difference of two shares."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_gate.intervals import difference


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        ((56, 70, 48, 80), 0.0524, 0.3339),
        ((9, 10, 3, 10), 0.1705, 0.8090),
        ((10, 10, 0, 20), 0.6791, 1.0),
        ((5, 56, 0, 29), -0.0381, 0.1926),
    ],
)
def test_difference_of_two_shares(counts: tuple[int, int, int, int], low: float, high: float) -> None:
    """Against table II, method 10, of Newcombe's paper of 1998."""
    assert difference(*counts) == pytest.approx((low, high), abs=1e-4)


def test_nothing_has_no_difference() -> None:
    """Without tasks on a side nothing can be compared."""
    assert difference(0, 0, 3, 4) is None
    assert difference(3, 4, 0, 0) is None


@given(st.tuples(*[st.tuples(st.integers(0, 40), st.integers(0, 40))] * 2))
def test_turned_round_the_interval_is_mirrored(counts: tuple[tuple[int, int], tuple[int, int]]) -> None:
    """One less the other, and the other less one, are each other's negative; the estimate lies within."""
    (hits, misses), (other_hits, other_misses) = counts
    n, other_n = hits + misses, other_hits + other_misses
    one, other = difference(hits, n, other_hits, other_n), difference(other_hits, other_n, hits, n)
    if one is None or other is None:
        assert 0 in (n, other_n)
        return
    assert one == pytest.approx((-other[1], -other[0]))
    assert one[0] - 1e-9 <= hits / n - other_hits / other_n <= one[1] + 1e-9
