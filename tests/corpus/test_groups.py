"""Near-identical tasks share a group, and a group is never in two parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_gate.corpus.importing.groups import file_name, of_name, of_text
from reflect_gate.corpus.importing.rows import alfworld, exams, programming
from reflect_gate.corpus.importing.splitting import part_of

from .forms import FORM_ROWS, PROGRAMMING

SHARES = st.floats(0, 1)
SEEDS = st.integers(-(2**31), 2**31)


@pytest.mark.parametrize("name", ["HumanEval/50", "HumanEval_50", "HumanEval_50_decode_shift", "humaneval-50", "HumanEval/050"])
def test_one_problem_under_several_names_is_one_group(name: str) -> None:
    """Its number says which it is."""
    assert of_name(name) == "humaneval/50"


def test_one_problem_in_two_languages_is_one_group() -> None:
    """The language is no part of the group."""
    groups = {programming({**PROGRAMMING, "lang": language})["group"] for language in ("py", "rs")}
    assert groups == {"mbpp/12"}


@pytest.mark.parametrize("name", ["HumanEval", "mbpp", "humaneval/x", "xhumaneval/5", "django__django-11099", "5"])
def test_any_other_name_stands_for_itself(name: str) -> None:
    """Nothing is guessed."""
    assert of_name(name) == name


def test_one_question_in_two_collections_is_one_group() -> None:
    """The text decides, whatever the collection calls it."""
    row = FORM_ROWS["renze"]
    other = {**row, "task_id": "mixed-100#2", "task_prompt": f"  {row['task_prompt'].upper()}\n"}
    assert exams(row)["group"] == exams(other)["group"]


def test_environments_of_two_kinds_are_two_groups() -> None:
    """Both count from 1; trials and runs of one are together."""
    row = FORM_ROWS["alfworld"]
    groups = [alfworld({**row, **changed})["group"] for changed in ({}, {"trial": 4, "run": "other"}, {"env": "webshop"})]
    assert groups == ["alfworld/env_3", "alfworld/env_3", "webshop/env_3"]


def test_a_text_of_any_length_makes_a_short_group() -> None:
    """A group fits a line."""
    assert len(of_text("question", "x" * 100_000)) < 64
    assert len(of_name("x" * 100_000)) < 64


@pytest.mark.parametrize(
    ("path", "name"),
    [("a/run.traj.json", "run"), ("report.xml", "report"), (".json", ".json"), ("acme__shop-1.2", "acme__shop-1.2")],
)
def test_a_file_is_named_without_what_says_its_form(path: str, name: str) -> None:
    """Only known suffixes go."""
    assert file_name(path) == name


@given(group=st.text(), share=SHARES, seed=SEEDS)
def test_a_group_is_in_one_part_always_the_same(group: str, share: float, seed: int) -> None:
    """R-m8: the part follows from name, share and seed alone, so no two records of a group can part."""
    assert part_of(group, share, seed) == part_of(group, share, seed)
    assert part_of(group, 0, seed) == "train"
    assert part_of(group, 1, seed) == "test"


@given(group=st.text(), shares=st.tuples(SHARES, SHARES), seed=SEEDS)
def test_a_larger_share_only_adds(group: str, shares: tuple[float, float], seed: int) -> None:
    """What is kept apart at a small share stays apart at a larger one."""
    small, large = sorted(shares)
    assert not (part_of(group, small, seed) == "test" and part_of(group, large, seed) == "train")


@pytest.mark.parametrize("share", [0.1, 0.2, 0.5])
def test_the_share_is_met_about(share: float) -> None:
    """Of 4,000 groups, within four standard deviations."""
    drawn = sum(part_of(f"group-{number}", share, 7) == "test" for number in range(4_000))
    assert abs(drawn - 4_000 * share) < 4 * (4_000 * share * (1 - share)) ** 0.5


def test_another_seed_draws_otherwise() -> None:
    """Two seeds agree on no more groups than two draws do."""
    names = [f"group-{number}" for number in range(400)]
    assert [part_of(name, 0.5, 1) for name in names] != [part_of(name, 0.5, 2) for name in names]
