"""Logged checks and the worked examples of a task statement are read without running anything (R-c2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_gate.corpus._checks import examples, normal, oracle, parse_feedback


@pytest.mark.parametrize(
    ("line", "call", "expected"),
    [
        ("assert f([1, 2], 'a, b') == [2]", "f([1, 2], 'a, b')", "[2]"),
        ("assert f(1) == 2, 'one == two'", "f(1)", "2"),
        ("assert 2 == f(1)", "f(1)", "2"),
        ("assert f(1) is None", "f(1)", "None"),
        ("assert not f(1)", "f(1)", "False"),
        ("assert f(1)", "f(1)", "True"),
        ("self.assertEqual(f(1), 2)", "f(1)", "2"),
        ("self.assertTrue(f(1))", "f(1)", "True"),
        ("assert_eq!(f(vec![1, 2]), 3);", "f(vec![1, 2])", "3"),
        ("assert abs(f(1) - 2.5) < 1e-9", "", ""),
        ("assert f(1) + g(2) == 3", "", ""),
        ("assert False, 'must raise'", "", ""),
        ("assert f(1) ==", "", ""),
    ],
)
def test_check_forms(line: str, call: str, expected: str) -> None:
    """A check of one call against one value is read; any other says nothing that is compared."""
    (check,) = parse_feedback(f"Tests failed:\n{line} # output: 9")
    assert (check.call, check.expected, check.output) == (call, expected, "9")


def test_output_of_several_lines_stays_with_its_check() -> None:
    """A logged value may hold line breaks."""
    first, second = parse_feedback("Tests failed:\nassert f(1) == 'a' # output: a\n b\nassert f(2) == 'c' # output: d")
    assert (first.output, second.output) == ("a\n b", "d")


@pytest.mark.parametrize(
    "statement",
    [
        ">>> f([1, 2], 'a')\n3",
        '>>> f([1,2], "a") == 3',
        '/// >>> f([1,2], "a")\n/// 3\nfn f()',
        "f([1, 2], 'a') -> 3",
        "f([1, 2], 'a') ➞ 3 because it is",
        "* f([1, 2], 'a') => 3",
        "For example, f([1, 2], 'a') returns 3.",
        "f([1, 2], 'a') should return 3",
        "f([1, 2], 'a') == 1 + 2 = 3",
        "Input: [1, 2], 'a'\nOutput: 3",
        "For xs = [1, 2], word = 'a' the output should be 3",
    ],
)
def test_example_is_found_in_any_form(statement: str) -> None:
    """R-c2: doctest, comparison, arrow, prose, input and output: the same call with the same value is the statement's own."""
    (check,) = parse_feedback("Tests failed:\nassert f([1,  2], 'a') == 3 # output: 4")
    assert oracle(check, examples(statement)) == "repeats_example"


@pytest.mark.parametrize(
    "statement",
    [
        "",
        "f(9) == 3",
        "f([1, 2], 'a') == 4",
        "f([1, 2], 'a') == 3\nf([1, 2], 'a') == 4",
        "g([1, 2], 'a') == 3",
        "def f([1, 2], 'a') -> 3",
        "f([1, 2], 'a') == 3 + 1",
    ],
)
def test_other_or_contradicting_example_does_not_count(statement: str) -> None:
    """R-c2: another call, another value, two values, a definition or an unfinished calculation lends no trust."""
    (check,) = parse_feedback("Tests failed:\nassert f([1, 2], 'a') == 3 # output: 4")
    assert oracle(check, examples(statement)) == "self_written"


def test_space_in_a_string_counts() -> None:
    """Two strings that differ in space are two values."""
    assert normal("f('a b')") != normal("f('ab')")


@given(st.text(max_size=300))
def test_any_feedback_is_read(feedback: str) -> None:
    """Whatever was logged, each check keeps its text, and none is read as more than one call against one value."""
    for check in parse_feedback(feedback):
        assert check.text.strip()
        assert bool(check.call) == bool(check.expected)


@given(st.text("f(1, )=->\"'[2]\\n:inputo", max_size=200))
def test_any_statement_is_read(statement: str) -> None:
    """Whatever the statement, an example has a value."""
    assert all(values and "" not in values for values in examples(statement).values())
