"""What a hook may say."""

from __future__ import annotations

import json

import pytest

from reflect_gate.hooks.answer import MOST_CHARACTERS, encode, fits


def test_an_answer_is_ascii_whatever_the_lesson_is() -> None:
    """No code page can break it, and half a surrogate pair cannot break a strict reader."""
    said = encode({"a": {"b": "naïve — 日本 \U0001f600 \ud800", "cancel": False}})
    assert said.isascii()
    assert b"\\ud800" not in said.replace(b"\\ud83d\\ude00", b"")
    assert json.loads(said) == {"a": {"b": "naïve — 日本 \U0001f600 ?", "cancel": False}}


@pytest.mark.parametrize(
    ("text", "may"),
    [("", False), (" \n", False), ("x", True), ("x" * (MOST_CHARACTERS - 1), True), ("x" * MOST_CHARACTERS, False)],
)
def test_half_a_lesson_is_never_said(text: str, may: bool) -> None:
    """A context of 2,000 characters or more, and a blank one, are not said at all."""
    assert fits(text) is may
