"""Tokens and dollars of a call: exact, bounded before, and silent about what the server does not say."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_gate import schemas
from reflect_gate.llm.call import Received, Usage, call_of, cost_of, most_expensive, plain_decimal
from reflect_gate.llm.settings import Price

from .server import completion

PRICE = Price(Decimal("0.4"), Decimal("0.1"), Decimal("1.6"))
TOKENS = st.integers(0, 2**40)
DOLLARS = st.decimals(0, 1_000_000, places=18, allow_nan=False, allow_infinity=False)


def received(body: bytes, price: Price | None = PRICE) -> Received:
    """Return a response with that body."""
    return Received(body, 200, "application/json", False, 12, "tiny", "http://127.0.0.1:1/v1", "0" * 64, (), price)


def test_a_cost_is_tokens_times_prices() -> None:
    """R-L3: 1,000 fresh, 200 cached and 150 answered tokens at 0.4, 0.1 and 1.6 dollars a million."""
    call = call_of(received(completion("")), replayed=False)
    assert call.usage == Usage(1200, 200, 150)
    assert call.cost == Decimal("0.00066")
    assert call.to_json()["cost"] == "0.00066"
    schemas.check("call", call.to_json(), "call")


@given(TOKENS, TOKENS, TOKENS, DOLLARS, DOLLARS, DOLLARS)
def test_no_cost_is_rounded(fresh: int, cached: int, answered: int, paid: Decimal, kept: Decimal, given: Decimal) -> None:
    """R-L3: the sum is exact for any number of tokens and any price that a table may hold."""
    cost = cost_of(Usage(fresh + cached, cached, answered), Price(paid, kept, given))
    exact = fresh * Fraction(paid) + cached * Fraction(kept) + answered * Fraction(given)
    assert Fraction(cost) == exact / 1_000_000
    assert Fraction(plain_decimal(cost)) == Fraction(cost)


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 2048), DOLLARS, DOLLARS, DOLLARS)
def test_no_call_costs_more_than_was_bounded(
    prompt: int, cached: int, answered: int, paid: Decimal, kept: Decimal, given: Decimal
) -> None:
    """R-L3: whatever part of the prompt is cached, and whichever of the two prices is the higher one."""
    price = Price(paid, kept, given)
    assert cost_of(Usage(prompt, min(cached, prompt), answered), price) <= most_expensive(prompt, price)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        [],
        {},
        {"prompt_tokens": 5},
        {"prompt_tokens": -5, "completion_tokens": 1},
        {"prompt_tokens": True, "completion_tokens": 1},
        {"prompt_tokens": "5", "completion_tokens": 1},
        {"prompt_tokens": 1.5, "completion_tokens": 1},
        {"prompt_tokens": 2**50, "completion_tokens": 1},
    ],
)
def test_what_the_server_does_not_count_has_no_cost(usage: object) -> None:
    """Unknown is not zero."""
    call = call_of(received(completion("", usage=usage)), replayed=False)
    assert (call.usage, call.cost) == (None, None)
    schemas.check("call", call.to_json(), "call")


def test_more_cached_tokens_than_there_are_count_as_all() -> None:
    """A server cannot make a call cheaper than nothing."""
    usage = {"prompt_tokens": 10, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 99}}
    assert call_of(received(completion("", usage=usage)), replayed=False).cost == Decimal("0.000001")


def test_without_prices_tokens_are_still_recorded() -> None:
    """R-L3: tokens and dollars are two facts."""
    call = call_of(received(completion(""), None), replayed=False)
    assert (call.usage, call.cost) == (Usage(1200, 200, 150), None)


@pytest.mark.parametrize("body", [b"", b"<html>", b"null", b"[1]", b'{"choices": [1], "model": 7, "usage": 3}'])
def test_a_body_that_is_no_completion_is_a_call_all_the_same(body: bytes) -> None:
    """R-L2: it was received, so it is recorded."""
    call = call_of(received(body), replayed=True)
    assert (call.usage, call.cost, call.answered_by, call.finish_reason, call.replayed) == (None, None, None, None, True)
    schemas.check("call", call.to_json(), "call")


@pytest.mark.parametrize(("value", "text"), [("0", "0"), ("1E+2", "100"), ("0.50", "0.5"), ("1E-7", "0.0000001"), ("10", "10")])
def test_dollars_are_written_plainly(value: str, text: str) -> None:
    """No exponent and no zeros at the end, so that one number has one text."""
    assert plain_decimal(Decimal(value)) == text
