"""Changes of a text that make it say something else: what is changed, what is left alone, and when there is nothing to change."""

from __future__ import annotations

from random import Random

import pytest

from reflect_gate.corpus._rewording import misquoted, names_in, negated, renamed, renumbered


def denied(sentence: str) -> str | None:
    """Return the denial of one sentence."""
    changed = negated({"claim": sentence}, [sentence])
    return None if changed is None else changed["claim"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("The loader `load_cart` calls parseRow() on each row.", ["load_cart", "parseRow"]),
        ("It calls save( before `commit`.", ["save", "commit"]),
        ("It does `return None` and then `if x` fails.", []),
        ("Plain English names nothing.", []),
    ],
)
def test_identifiers_are_told_from_words(text: str, names: list[str]) -> None:
    """A name is marked by an underscore, an inner capital, a call, or backticks; keywords are none."""
    assert names_in(text) == names


def test_a_name_is_replaced_everywhere_by_the_same() -> None:
    """The claim and the lesson that repeats it stay consistent."""
    texts = {"claim": "`read_row` drops the header.", "lesson": "Since `read_row` drops the header, keep it."}
    changed = renamed(texts, texts["claim"], "def read_row(line): ...", ["send_mail"], Random(1))
    assert changed == {"claim": "`send_mail` drops the header.", "lesson": "Since `send_mail` drops the header, keep it."}


def test_a_name_that_the_record_does_not_hold_is_left_alone() -> None:
    """To replace an invented name by another changes nothing."""
    assert renamed({"claim": "`read_row` fails."}, "`read_row` fails.", "def other(): ...", ["send_mail"], Random(1)) is None


def test_a_name_is_not_replaced_by_one_of_the_record() -> None:
    """Else the claim might become true of something else."""
    assert renamed({"claim": "`read_row` fails."}, "`read_row` fails.", "read_row send_mail", ["send_mail"], Random(1)) is None


def test_numbers_of_the_check_are_replaced_by_foreign_ones() -> None:
    """The sign and the decimals stay; a number that the check does not show stays as well."""
    text = "It returned -3 and 2.50 after 7 rows."
    changed = renumbered({"claim": text}, text, "got -3, wanted 2.50", "got -3, wanted 2.50", Random(1))
    assert changed is not None
    words = changed["claim"].split()
    assert words[2].startswith("-")
    assert words[2] != "-3"
    assert words[4].endswith(".50")
    assert words[4] != "2.50"
    assert words[6] == "7"


def test_digits_within_names_are_no_numbers() -> None:
    """`utf8` and `v1.2.3` hold no number that could be altered."""
    assert renumbered({"claim": "utf8 of v1.2.3"}, "utf8 of v1.2.3", "utf8 8 1 2 3", "8 1 2 3", Random(1)) is None


def test_one_word_of_a_true_quotation_is_replaced() -> None:
    """What is quoted then stands nowhere."""
    text = 'It says "no such table" on start.'
    changed = misquoted({"claim": text}, text, ["error: no such table: users"], ["cart"], Random(2))
    assert changed is not None
    assert changed["claim"] in {
        f'It says "{quoted}" on start.' for quoted in ("cart such table", "no cart table", "no such cart")
    }


@pytest.mark.parametrize("text", ['It says "no such row".', "It says `users`.", "It isn't what it's called."])
def test_only_a_quotation_of_the_evidence_can_be_misquoted(text: str) -> None:
    """Neither a false quotation, nor a single name, nor an apostrophe."""
    assert misquoted({"claim": text}, text, ["no such table: users"], ["cart"], Random(1)) is None


@pytest.mark.parametrize(
    ("sentence", "denial"),
    [
        ("The parser does not handle an empty line.", "The parser handles an empty line."),
        ("It doesn't carry the sign.", "It carries the sign."),
        ("It does not properly close the file.", "It does properly close the file."),
        ("It never closes the file.", "It always closes the file."),
        ("It lacks a return.", "It has a return."),
        ("The total is too high.", "The total is too low."),
        ("The code is incorrect.", "The code is correct."),
        ("It cannot parse dates.", "It can parse dates."),
        ("The plan reads the file twice.", "The plan does not read the file twice."),
        ("The code tries each key.", "The code does not try each key."),
        ("It reaches the end.", "It does not reach the end."),
        ("The index was stale.", "The index was not stale."),
    ],
)
def test_a_sentence_is_denied(sentence: str, denial: str) -> None:
    """A word that says yes or no is turned round; where there is none, the verb is denied."""
    assert denied(sentence) == denial


def test_what_is_quoted_is_not_denied() -> None:
    """Evidence stays as it is, whatever it says."""
    assert denied("The log says `is not found` and `always`, hence the crash") is None


def test_every_sentence_is_denied() -> None:
    """A claim of two sentences is denied in both."""
    assert denied("It never ran. The cache is stale.") == "It always ran. The cache is not stale."


def test_a_lesson_that_repeats_the_claim_is_denied_with_it() -> None:
    """Else the lesson would no longer follow from the claim."""
    changed = negated({"claim": "It never ran.", "lesson": "It never ran. Run it."}, ["It never ran."])
    assert changed == {"claim": "It always ran.", "lesson": "It always ran. Run it."}
