"""When a job runs again, and which errors are worth it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_store.queue import PermanentError, PersistError, QueueSettings, StoreError, TransientError, backoff, classify
from reflect_store.queue.policy import retry_after
from reflect_store.queue.schedule import Entry, Schedule

FRACTION = st.floats(0, 1, exclude_max=True)


class _Error(Exception):
    """An error that carries what a client's errors carry."""

    def __init__(self, **attributes: object) -> None:
        super().__init__("told")
        self.__dict__.update(attributes)


@given(st.integers(1, 10_000), FRACTION)
def test_the_delay_is_in_its_bounds(failed: int, fraction: float) -> None:
    """R-q4: 1 s × 2, cap 5 min, ± 20 % after the cap."""
    base = min(2.0 ** min(failed - 1, 60), 300.0)
    assert 0.8 * base <= backoff(QueueSettings(), failed, lambda: fraction) <= 1.2 * base


@given(st.integers(1, 50), FRACTION, st.floats(0, 1e6))
def test_what_the_other_side_asks_for_is_kept_within_reason(failed: int, fraction: float, after: float) -> None:
    """R-q4: at least what was asked, at most six minutes."""
    delay = backoff(QueueSettings(), failed, lambda: fraction, after)
    assert min(after, 360.0) <= delay <= 360.0


@pytest.mark.parametrize(
    "error",
    [
        TimeoutError(), ConnectionResetError(), OSError(28, "no space"), TransientError("x"), PersistError("x"), EOFError(),
        Exception("unknown"), _Error(status_code=429), _Error(status_code=503), _Error(status_code=408), _Error(transient=True),
        InterruptedError(),
    ],
)  # fmt: skip
def test_transient(error: Exception) -> None:
    """R-q4: timeouts, 429, 503, the file system, and what is not known."""
    assert classify(error) == "transient"


@pytest.mark.parametrize(
    "error",
    [
        json.JSONDecodeError("x", "y", 0), ValueError(), TypeError(), KeyError("x"), AttributeError(), RecursionError(),
        ZeroDivisionError(), PermanentError("x"), _Error(status_code=400), _Error(status_code=401), _Error(transient=False),
        UnicodeDecodeError("utf-8", b"x", 0, 1, "x"), ModuleNotFoundError("x"),
    ],
)  # fmt: skip
def test_permanent(error: Exception) -> None:
    """R-q4: parsers, bugs, and what the other side will never accept."""
    assert classify(error) == "permanent"


def test_an_error_may_overrule_its_type() -> None:
    """An error that says whether it is transient is believed."""

    class BusyError(ValueError):
        transient = True

    assert classify(BusyError()) == "transient"


@pytest.mark.parametrize(("told", "seconds"), [(7, 7.0), (None, None), ("soon", None), (-1, None)])
def test_retry_after_is_read_if_it_makes_sense(told: object, seconds: float | None) -> None:
    """Only a number of seconds counts."""
    assert retry_after(_Error(retry_after=told)) == seconds


def test_settings_name_every_wrong_value() -> None:
    """All wrong values are told at once."""
    with pytest.raises(StoreError, match=r"`capacity` is `0`.*`jitter` is `0.6`") as caught:
        QueueSettings(capacity=0, jitter=0.6).check()
    assert caught.value.code == "queue-settings"


def test_the_defaults_are_those_of_the_seed() -> None:
    """R-q4, R-q6, R-q7: the numbers."""
    settings = QueueSettings().check()
    assert settings[:9] == (1000, False, 5.0, 5, 1.0, 2.0, 300.0, 0.2, 7 * 86_400.0)
    assert settings.longest == 360.0


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9), st.booleans()), max_size=300))
def test_a_schedule_is_a_sorted_list(steps: list[tuple[int, int, bool]]) -> None:
    """R-q3: whatever was added, changed and removed, jobs come out by when they are due."""
    schedule, plain = Schedule(), dict[str, float]()
    for id_, due, keep in steps:
        if keep:
            schedule.add(str(id_), Entry(float(due), 0.0, 0, None))
            plain[str(id_)] = float(due)
        else:
            schedule.remove(str(id_))
            plain.pop(str(id_), None)
    assert (len(schedule), set(schedule)) == (len(plain), set(plain))
    taken = []
    while (item := schedule.take(9.0)) is not None:
        taken.append((item[1].due, item[0]))
    assert [due for due, _ in taken] == sorted(plain.values())
    assert {id_: due for due, id_ in taken} == plain
