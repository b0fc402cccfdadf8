"""95 % intervals of shares and of the difference of two shares, for counts of independent tasks; no dependency, no sampling."""

from __future__ import annotations

import math
from typing import TypeAlias

__all__ = ["Interval", "difference", "wilson"]

Interval: TypeAlias = tuple[float, float]
"""Lower and upper end."""

_NORMAL_95 = 1.959963984540054


def wilson(hits: int, n: int) -> Interval | None:
    """Return Wilson's 95 % interval of a share; `None` of nothing.

    E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927).
    """
    if n == 0:
        return None
    squared = _NORMAL_95**2
    middle = (hits + squared / 2) / (n + squared)
    half = _NORMAL_95 / (n + squared) * math.sqrt(hits * (n - hits) / n + squared / 4)
    return max(0.0, middle - half), min(1.0, middle + half)


def difference(hits: int, n: int, other_hits: int, other_n: int) -> Interval | None:
    """Return the 95 % interval of one share less another, from the Wilson intervals of both; `None` where one is of nothing.

    R. G. Newcombe, Interval estimation for the difference between independent proportions, Statistics in Medicine 17 (1998),
    method 10.
    """
    first, second = wilson(hits, n), wilson(other_hits, other_n)
    if first is None or second is None:
        return None
    one, other = hits / n, other_hits / other_n
    below = math.hypot(one - first[0], second[1] - other)
    above = math.hypot(first[1] - one, other - second[0])
    return max(-1.0, one - other - below), min(1.0, one - other + above)
