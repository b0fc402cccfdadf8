"""Records replayed through a store: what remembers has a say in time alone."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from reflect_gate import Bundle
from reflect_gate.ab.chains import Chain, End, Step, chained, replay
from reflect_gate.ab.comparing import Plan
from reflect_gate.corpus.figures import Case

PLAN = Plan(resamples=60)


@pytest.fixture
def quick(structured: Bundle) -> Bundle:
    """The shipped bundle on the compiled engine alone."""
    return structured._replace(engine="compiled", cross_check=False)


def step(request: Mapping[str, Any], number: int, *, after: bool) -> Step:
    """Return the same failure met again: another record of the same task."""
    again = copy.deepcopy(dict(request))
    again["record"]["failure_id"] = f"checkout-{number}"
    return Step({**again, "project": {"task": "checkout"}}, "checkout", Case("checkout", False, after))


def test_a_lesson_is_recalled_for_what_comes_later(quick: Bundle, request_document: dict[str, Any]) -> None:
    """The first record finds an empty store; the later ones are shown its lesson, and their ends count for it."""
    found = replay([step(request_document, number, after=number < 3) for number in range(4)], quick)
    assert [applied for _, applied, _, _ in found.recalls] == [0, 1, 1, 1]
    assert [helped for _, _, helped, _ in found.recalls] == [0, 1, 1, 0]
    assert found.lessons == 1
    assert found.said["outcome"] == 3


def test_the_same_lesson_is_not_stored_twice(quick: Bundle, request_document: dict[str, Any]) -> None:
    """R-m5: deduplication has a say in a chain."""
    found = replay([step(request_document, number, after=True) for number in range(3)], quick)
    assert found.said["dedupe"] >= 1
    assert found.lessons == 1


def test_a_world_says_how_attempts_end(quick: Bundle, request_document: dict[str, Any]) -> None:
    """What a world says goes before what the log says, and it hears the lesson that was shown."""
    heard: list[Sequence[str]] = []

    def ends(_: Step, shown: Sequence[str]) -> End:
        heard.append(shown)
        return End("worse")

    found = replay([step(request_document, number, after=True)._replace(case=None) for number in range(2)], quick, ends)
    assert heard == [[request_document["reflection"]["candidate_lesson"]]]
    assert [hurt for _, _, _, hurt in found.recalls] == [0, 1]


def test_the_same_failure_with_a_lesson_at_hand_falsifies_it(quick: Bundle, request_document: dict[str, Any]) -> None:
    """R-g1: the world meets the failure again, so that the lesson goes, and the lifecycle has had a say."""
    request_document["reflection"]["scope"] = "error:TypeError"

    def ends(met: Step, shown: Sequence[str]) -> End:
        assert shown
        record = {**met.request["record"], "failure_id": "checkout-again"}
        return End("unchanged", met={**met.request, "record": record})

    found = replay([step(request_document, number, after=True) for number in range(2)], quick, ends)
    assert (found.said["lifecycle"], found.actions["lesson-retired"]) == (1, 1)


def chain(recalls: Sequence[tuple[int, int, int]], lessons: int = 10, said: int = 20) -> Chain:
    """Return a replay by hand: lessons applied, helped and hurt, of each of many tasks."""
    return Chain(tuple((f"t{n}", *one) for n, one in enumerate(recalls)), {"retrieval": said}, {}, lessons)


def judged(full: Chain, without: Chain) -> dict[str, Any]:
    """Return the line of retrieval."""
    (line,) = chained(full, {"retrieval": without}, PLAN, 10)
    return line


def test_what_keeps_recalls_good_is_kept() -> None:
    """Without it lessons that do not help are shown as well."""
    told = judged(chain([(1, 1, 0)] * 30), chain([(4, 1, 1)] * 30))
    assert told["verdict"] == "KEEP"
    assert (told["helped"]["with"], told["helped"]["without"]) == (1.0, 0.25)


def test_what_keeps_the_store_small_is_kept() -> None:
    """Dead weight counts."""
    told = judged(chain([(1, 1, 0)] * 30), chain([(1, 1, 0)] * 30, lessons=11))
    assert (told["verdict"], told["inert"]) == ("KEEP", False)
    assert "lessons kept" in told["why"]


def test_what_changes_nothing_is_inert() -> None:
    """It had a say, and all is as without it."""
    told = judged(chain([(1, 1, 0)] * 30), chain([(1, 1, 0)] * 30))
    assert (told["verdict"], told["inert"]) == ("DELETE", True)


def test_what_has_no_say_is_not_judged() -> None:
    """R-m5: unexercised."""
    assert judged(chain([(1, 1, 0)] * 30, said=9), chain([(4, 1, 1)] * 30))["verdict"] == "unexercised"


def test_what_hides_good_lessons_harms() -> None:
    """Without it recalls help more, beyond noise."""
    assert judged(chain([(2, 1, 0)] * 30), chain([(2, 2, 0)] * 30))["verdict"] == "HARM"


def test_what_gets_better_within_noise_is_said() -> None:
    """Without it recalls help more, perhaps by chance: nothing is worse, and `no measure changes` would be false."""
    told = judged(chain([(2, 1, 0)] * 30), chain([(2, 1, 0)] * 24 + [(2, 2, 0)] * 5 + [(2, 0, 0)]))
    assert (told["verdict"], told["why"]) == ("DELETE", "nothing worse by more than 5% without it, better helped (within noise)")
