"""What was spent: reserved before, settled after, shared by all, whatever dies in between."""

from __future__ import annotations

import datetime as dt
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from reflect_gate.capture.spending import Calls, Capped, DailyLimit, Tail
from reflect_gate.llm.call import Received
from reflect_gate.llm.errors import ModelError
from reflect_gate.llm.prompt import Prompt
from reflect_gate.llm.settings import ModelSettings, Price

from ..llm.server import completion

NOON = dt.datetime(2031, 4, 2, 12, tzinfo=dt.UTC)
PRICE = Price(Decimal(1), Decimal(1), Decimal(1))
PROMPT = Prompt((), {}, 1_000, {})
NOTHING = Decimal(0)
MOST = Decimal("0.003048")


def calls(folder: Path, limit: str | None = None, at: dt.datetime = NOON) -> Calls:
    """Return the calls of a folder on a fixed day."""
    return Calls(folder / "calls", None if limit is None else Decimal(limit), lambda: at)


class Told:
    """A client that answers as it is told to, or raises."""

    def __init__(self, answer: Any, price: Price | None = PRICE) -> None:
        self.settings = ModelSettings("tiny", "http://127.0.0.1:1/v1", price=price)
        self._answer = answer

    def ask(self, prompt: Prompt) -> Received:
        """Answer, or raise."""
        if isinstance(self._answer, BaseException):
            raise self._answer
        return Received(self._answer, 200, "", False, 1, "tiny", "", f"{prompt.tokens}", (), self.settings.price)


def test_a_call_is_reserved_and_settled(tmp_path: Path) -> None:
    """R-L3: the most that it can cost while it lasts, what it cost afterwards."""
    kept = calls(tmp_path)
    day, call = kept.reserve(MOST)
    assert (kept.spent().settled, kept.spent().reserved, kept.spent().total) == (NOTHING, MOST, MOST)
    kept.settle(day, call, Decimal("0.001"))
    assert (kept.spent().settled, kept.spent().reserved) == (Decimal("0.001"), NOTHING)


@pytest.mark.parametrize(
    ("answer", "cost"),
    [
        (completion("{}"), "0.00135"),
        (completion("{}", usage=None), str(MOST)),
        (b"<html>", str(MOST)),
        (ModelError("model-busy", "no", transient=True, status=429), "0"),
        (ModelError("model-connection", "no", transient=True), "0"),
        (ModelError("model-timeout", "no", transient=True), str(MOST)),
    ],
)
def test_what_each_end_of_a_call_costs(tmp_path: Path, answer: Any, cost: str) -> None:
    """R-L3: what a server does not count is taken at its most; one that fell silent may have worked for its money."""
    kept = calls(tmp_path, "1")
    client = Capped(Told(answer), kept)
    if isinstance(answer, BaseException):
        with pytest.raises(ModelError):
            client.ask(PROMPT)
    else:
        assert client.ask(PROMPT).body == answer
    assert kept.spent() == (Decimal(cost), NOTHING)


def test_what_a_dead_worker_reserved_stays_reserved(tmp_path: Path) -> None:
    """A call that nobody can tell of counts as made until the day is over."""
    kept = calls(tmp_path, "0.005")
    with pytest.raises(KeyboardInterrupt):
        Capped(Told(KeyboardInterrupt()), kept).ask(PROMPT)
    assert kept.spent().reserved == MOST
    with pytest.raises(
        DailyLimit, match=r"daily-limit: \$0\.003048 of \$0\.005 are spent today and the call may cost \$0\.003048"
    ):
        Capped(Told(completion("{}")), kept).ask(PROMPT)
    assert kept.spent() == (NOTHING, MOST)
    tomorrow = calls(tmp_path, "0.005", NOON + dt.timedelta(days=1))
    assert Capped(Told(completion("{}")), tomorrow).ask(PROMPT).status == 200


def test_a_call_that_ends_tomorrow_counts_for_today(tmp_path: Path) -> None:
    """The day on which it was reserved is the day that it counts for."""
    kept = calls(tmp_path)
    day, call = kept.reserve(MOST)
    later = calls(tmp_path, None, NOON + dt.timedelta(days=1))
    later.settle(day, call, Decimal("0.002"))
    assert (kept.spent().total, later.spent().total) == (Decimal("0.002"), NOTHING)


def test_without_a_price_nothing_is_noted(tmp_path: Path) -> None:
    """What costs nothing known leaves no line; that a limit needs a price is checked where the model is chosen."""
    kept = calls(tmp_path)
    Capped(Told(completion("{}"), None), kept).ask(PROMPT)
    assert not kept.folder.exists()


def test_a_used_up_day_is_known_before_the_call(tmp_path: Path) -> None:
    """Nobody builds a prompt that cannot be sent; the rest of the day is what is left to wait."""
    kept = calls(tmp_path, "0.001", NOON + dt.timedelta(hours=11, minutes=59, seconds=30))
    kept.check()
    day, call = kept.reserve(Decimal("0.001"))
    kept.settle(day, call, Decimal("0.001"))
    with pytest.raises(DailyLimit) as caught:
        kept.check()
    assert caught.value.retry_after == 30.0


def test_eight_threads_do_not_overspend(tmp_path: Path) -> None:
    """R-L3: whoever wrote first may spend; together they stay below the limit, to the last digit."""
    made, barrier = list[str](), threading.Barrier(8)

    def spend() -> None:
        barrier.wait()
        for _ in range(10):
            own = calls(tmp_path, "0.030479")
            try:
                made.append(own.reserve(MOST)[1])
            except DailyLimit:
                continue

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = calls(tmp_path)
    assert kept.spent().total == len(made) * MOST <= Decimal("0.030479")
    assert len(made) > 0


def test_a_torn_line_spoils_nothing(tmp_path: Path) -> None:
    """A crash in the middle of a line loses that line alone, also of the one that comes after it."""
    kept = calls(tmp_path)
    kept.reserve(MOST)
    path = kept.path(NOON.date())
    path.write_bytes(path.read_bytes() + b'{"what":"settled","call":"x","co')
    kept.reserve(MOST)
    assert kept.spent().total == 2 * MOST


def outcome(name: str, kind: str = "reflection") -> dict[str, str]:
    """Return what is noted of a failure."""
    return {"failure_id": name, "kind": kind}


def test_an_outcome_counts_once(tmp_path: Path) -> None:
    """What was noted twice, for a crash in between, is read once; a job that was parked first has two ends."""
    kept = calls(tmp_path)
    for noted in (outcome("a"), outcome("a"), outcome("b", "not_reflected"), outcome("b")):
        kept.outcome(noted)
    found = [(line["failure_id"], line["kind"]) for line in kept.outcomes()]
    assert found == [("a", "reflection"), ("b", "not_reflected"), ("b", "reflection")]


def test_a_tail_reads_what_comes(tmp_path: Path) -> None:
    """Metrics begin at what is there, and go on over midnight."""
    kept = calls(tmp_path)
    kept.outcome(outcome("before"))
    tail = Tail(kept)
    assert tail.read() == []
    kept.outcome(outcome("a"))
    kept.outcome(outcome("a"))
    assert [line["failure_id"] for line in tail.read()] == ["a"]
    path = kept.path(NOON.date())
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"what":"outcome","failure_id":"b"')
    assert tail.read() == []
    path.write_bytes(whole + b'{"what":"outcome","failure_id":"b","kind":"skip"}\n')
    calls(tmp_path, None, NOON + dt.timedelta(days=1)).outcome(outcome("c"))
    assert [line["failure_id"] for line in tail.read()] == ["b", "c"]
    assert tail.read() == []


def test_files_are_for_the_user_alone(tmp_path: Path) -> None:
    """What was asked about, when, and at what price is nobody else's."""
    kept = calls(tmp_path)
    kept.outcome(outcome("a"))
    assert (kept.folder.stat().st_mode & 0o777, kept.path(NOON.date()).stat().st_mode & 0o777) == (0o700, 0o600)
