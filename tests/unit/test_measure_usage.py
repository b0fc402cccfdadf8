"""What a claim says of the use of names is held against the code (R-c2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_gate.measure.usage import sayings, signs

CODE = """
def is_even(number):
    return number % 2 == 0


def count(values):
    total = 0
    first = values[0]
    for value in values:
        total += weigh(value, first)
    return total
"""


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("The function `is_even` is not being called anywhere in the code.", [1]),
        ("The function `is_even` is being called.", [-1]),
        ("The helper weigh is called, but its weight is wrong.", [1]),
        ("The helper weigh is never called.", [-1]),
        ("The implementation never calls `is_even`.", [1]),
        ("It does not call the function weigh at all.", [-1]),
        ("The function `is_even` is not defined.", [-1]),
        ("The function `is_odd` is not defined in the implementation.", [1]),
        ("The variable total is not defined.", [-1]),
        ("The variable first is not used.", [-1]),
        ("It does not try to access values[0] before the loop.", [-1]),
        ("It does not weigh the value using `weigh(value, first)`.", []),
        ("It does not compute the weight using `weigh(value, first)`.", [-1]),
        ("It does not compute the weight using `weigh(first, value)`.", [1]),
        ("It does not compute the weight of a value using the `weigh()` function.", [-1]),
        ("It does not compute the weight of a value by calling scale().", [1]),
        ("It does not compute the weight correctly using the `weigh()` function.", []),
        ("It never checks whether a number is even (`number % 2 == 0`).", [-1]),
        ("It never checks whether a number is odd (`number % 2 == 1`).", [1]),
        ("It never checks whether `number` is even.", []),
        ("It does not check whether a number is even (`number % 2 == 0`) before it adds.", []),
    ],
)
def test_code_bears_out_or_contradicts(claim: str, expected: list[int]) -> None:
    """Calls, uses and definitions are told apart; expressions are compared without space."""
    assert signs(claim, CODE) == expected


@pytest.mark.parametrize(
    "claim",
    [
        "The function `is_even` is not called correctly.",
        "The function `is_even` is not called with an integer.",
        "If the function `is_even` is not called, the count is wrong.",
        "The function `is_even` should be called.",
        "I assumed that the function `is_even` is called.",
        "The loop is wrong.",
    ],
)
def test_conditions_manner_and_wishes_are_not_read(claim: str) -> None:
    """Only a plain statement of use is held against the code."""
    assert sayings(claim) == ()


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_texts_give_signs(claim: str, code: str) -> None:
    """No text raises, and a sign is 1 or -1."""
    assert set(signs(claim, code)) <= {1, -1}
