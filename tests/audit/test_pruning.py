"""Pruned files: what goes, and that nothing else changes."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from reflect_gate import Bundle
from reflect_gate.auditing import Memory
from reflect_gate.auditing.jsonfiles import json_entries, jsonl_entries
from reflect_gate.auditing.markdown import entries_of
from reflect_gate.auditing.pruning import pruned, without_secrets
from reflect_gate.errors import ReflectGateError


def without(memory: Memory, numbers: Sequence[int]) -> str:
    """Return the text without the entries of these places."""
    return pruned(memory, [memory.entries[number] for number in numbers])


@pytest.mark.parametrize(
    ("text", "numbers", "expected"),
    [
        ("# T\n\n- one\n- two\n- three\n", [1], "# T\n\n- one\n- three\n"),
        ("one\n\ntwo\n\nthree\n", [1], "one\n\nthree\n"),
        ("one\n\ntwo\n", [1], "one\n"),
        ("- one\n  ```\n  x\n  ```\n- two\n", [0], "- two\n"),
        ("- one\r\n- two\r\n", [0], "- two\r\n"),
        ("- one\n- two", [], "- one\n- two"),
        ("- one\n- two", [1], "- one"),
    ],
)
def test_markdown_keeps_its_other_lines(text: str, numbers: list[int], expected: str) -> None:
    """Whole entries go, with one of the empty lines around them."""
    assert without(Memory("a.md", "markdown", text, tuple(entries_of(text))), numbers) == expected


@pytest.mark.parametrize("indent", [None, 2, 4])
def test_json_keeps_its_shape(compiled: Bundle, indent: int | None) -> None:
    """Elements go from the last to the first; the rest is the same document, indented as before."""
    document = {"results": [{"memory": name, "score": 0.5} for name in "abcd"], "relations": []}
    text = json.dumps(document, indent=indent) + "\n"
    memory = Memory("a.json", "json", text, tuple(json_entries(text, "a.json", compiled.limits)))
    left = {**document, "results": [document["results"][0], document["results"][3]]}
    assert without(memory, [1, 2]) == json.dumps(left, indent=indent) + "\n"


def test_json_lines_keep_their_bytes(compiled: Bundle) -> None:
    """A line goes whole; of a line with several texts the others stay."""
    text = '{"text":"one"}\n{ "name": "n", "observations": ["two", "three"] }\n"four"\n'
    memory = Memory("a.jsonl", "jsonl", text, tuple(jsonl_entries(text, "a.jsonl", compiled.limits)))
    assert without(memory, [0]) == text.split("\n", 1)[1]
    assert without(memory, [1, 3]) == '{"text":"one"}\n{"name": "n", "observations": ["three"]}\n'
    assert without(memory, [1, 2]) == '{"text":"one"}\n"four"\n'


def test_a_database_is_never_written() -> None:
    """Nothing is proposed for what is only read."""
    with pytest.raises(ReflectGateError, match="audit-fix"):
        pruned(Memory("a.db", "claude-mem", "", ()), ())


def test_a_printed_diff_has_no_secret() -> None:
    """Removed lines stand in a diff, their secrets do not."""
    assert without_secrets("-api_key = sk-proj-Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z\n+x\n") == "-api_key = [secret redacted]\n+x\n"
