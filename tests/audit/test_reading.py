"""From files to entries: what begins one, where it stands, and what no file can do to the reader."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from reflect_gate import Bundle
from reflect_gate.auditing import Memory, read_memory
from reflect_gate.auditing.databases import HEADER
from reflect_gate.auditing.entries import MOST_BYTES, MOST_ENTRIES
from reflect_gate.auditing.markdown import entries_of, prose_of, said_of
from reflect_gate.errors import ReflectGateError

GRAPH = """\
{"type": "entity", "name": "n", "entityType": "t", "observations": ["one", "two"]}
{"type": "relation", "from": "n", "to": "m", "relationType": "r"}
"""
OBSERVATIONS = """
CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, text TEXT, type TEXT, title TEXT,
  subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, created_at_epoch INTEGER);
CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, request TEXT, learned TEXT);
INSERT INTO observations (id, memory_session_id, project, type, title, facts, narrative)
  VALUES (7, 's', 'shop', 'bugfix', 'Cart total fixed', '["load_cart returns None", "checked before use"]', 'It failed.');
INSERT INTO session_summaries VALUES (3, 'fix the cart', 'Loaders may return None.');
"""


def spans(text: str) -> list[tuple[int, int]]:
    """Return first and last line of each entry."""
    return [(entry.line, entry.end_line) for entry in entries_of(text)]


def read(compiled: Bundle, file: Path, content: str | bytes, kind: Any = None) -> Memory:
    """Write a file and read its entries."""
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_memory(str(file), compiled.limits, kind)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- one\n- two\n", [(1, 1), (2, 2)]),
        ("1. one\n2) two\n", [(1, 1), (2, 2)]),
        ("- one\n  goes on\n  - nested\n\n  after a blank\n- two\n", [(1, 5), (6, 6)]),
        ("# Rules\n\n- one\n- two\n", [(3, 3), (4, 4)]),
        ("## Lesson 7: Close files\n- why\n- what\n\n## Lesson 8\nbody\n", [(1, 3), (5, 6)]),
        ("### 2026-03-01 — Titles\n\nbody\n\n#### Deeper\nmore\n\n### 2026-03-02\nx\n", [(1, 6), (8, 9)]),
        ("## Close files\nA paragraph.\n\nAnother.\n", [(1, 4)]),
        ("## Uploads\n- **Root cause**: a\n- **Fix**: b\n", [(1, 3)]),
        ("Title\n=====\n\nbody\n", [(1, 4)]),
        ("one\n\ntwo\nlines\n\n---\n\nthree\n", [(1, 1), (3, 4), (8, 8)]),
        ("---\nname: x\n---\n\n- one\n", [(5, 5)]),
        ("Do this:\n\n- one\n", [(3, 3)]),
        ("- run:\n  ```sh\n  - not an entry\n  # nor a heading\n  ```\n- two\n", [(1, 5), (6, 6)]),
        ("````\n```\n- inside\n````\n- outside\n", [(1, 4), (5, 5)]),
        ("- one\r\n- two\r\n", [(1, 1), (2, 2)]),
        ("# Only a heading\n", []),
        ("", []),
    ],
)
def test_what_begins_an_entry(text: str, expected: list[tuple[int, int]]) -> None:
    """Items, headings with bodies and paragraphs; fences are kept whole."""
    assert spans(text) == expected


def test_places_lead_into_the_file() -> None:
    """A place in an entry's text is a line and column of the file."""
    text = "# T\n\n- first line\n  second needle\n"
    (entry,) = entries_of(text)
    line, column = entry.place(entry.text.index("needle"))
    assert text.split("\n")[line - 1][column - 1 :].startswith("needle")


def test_prose_keeps_every_place() -> None:
    """Code is blanked place for place."""
    text = "a\n```\ncode here\n```\nb"
    assert len(prose_of(text)) == len(text)
    assert prose_of(text).split() == ["a", "b"]


def test_what_is_said_has_no_marks() -> None:
    """Wrapped lines are joined, items and headings are sentences of their own."""
    assert said_of("## Head\n- one\n  goes on\n- two") == "Head\none goes on\ntwo"


@pytest.mark.parametrize(
    ("name", "content", "texts"),
    [
        ("memory.json", '["one", "two"]', ["one", "two"]),
        ("memory.json", '[{"id": 1, "text": "one"}, {"content": "two"}]', ["one", "two"]),
        ("mem0.json", '{"results": [{"id": "a", "memory": "one", "hash": "x"}], "relations": []}', ["one"]),
        ("mem0.json", '{"count": 1, "next": null, "results": [{"memory": "one"}]}', ["one"]),
        ("notes.json", '{"style": "one", "tests": "two"}', ["one", "two"]),
        ("memory.jsonl", '"one"\n\n{"text": "two"}\n', ["one", "two"]),
        ("memory.json", GRAPH, ["one", "two"]),
        ("lessons.json", '{"lessons": [{"id": "l", "lesson": {"statement": "one"}}]}', ["one"]),
    ],
)
def test_json_memories(compiled: Bundle, tmp_path: Path, name: str, content: str, texts: list[str]) -> None:
    """Lists, objects with a text, mem0 exports, maps, knowledge graphs and JSON lines."""
    assert [entry.text for entry in read(compiled, tmp_path / name, content).entries] == texts


def test_json_lines_are_known(compiled: Bundle, tmp_path: Path) -> None:
    """An entry of a JSON document stands where its string does, whatever else is written like it."""
    content = '{"results": [\n  {"id": "two", "memory": "one"},\n  {"memory": "tw\\u006f"}\n]}\n'
    found = read(compiled, tmp_path / "m.json", content).entries
    assert [(entry.line, entry.pointer) for entry in found] == [(2, "/results/0"), (3, "/results/1")]


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("a.md", b"ok\n\xff\n", "document-encoding"),
        ("a.md", b"PK\x03\x04\x00\x00", "document-encoding"),
        ("a.json", b"{", "document-syntax"),
        ("a.json", b"[" * 100_000, "document-depth"),
        ("a.json", b'{"a": ' * 100_000, "document-depth"),
        ("a.json", b'{"a": 1, "a": 2}', "document-duplicate-key"),
        ("a.json", b"3", "audit-shape"),
        ("a.json", b'{"results": [{"id": 1}]}', "audit-shape"),
        ("a.json", b'{"n": 3}', "audit-shape"),
        ("a.jsonl", b'"one"\n{"text": \n', "document-syntax"),
        ("a.jsonl", b'"one"\n[3]\n', "audit-shape"),
        ("a.md", b"x" * (MOST_BYTES + 1), "document-size"),
        ("a.md", b"- x\n" * (MOST_ENTRIES + 1), "audit-entries"),
        ("a.db", HEADER + b"junk" * 100, "audit-database"),
    ],
)
def test_bad_files_are_refused_by_name(compiled: Bundle, tmp_path: Path, name: str, content: bytes, code: str) -> None:
    """Broken, binary, deep and huge files end in one error that names the file."""
    with pytest.raises(ReflectGateError) as caught:
        read(compiled, tmp_path / name, content)
    assert caught.value.code == code
    assert caught.value.source
    assert name in caught.value.source.file


def test_an_error_names_its_line(compiled: Bundle, tmp_path: Path) -> None:
    """Of a line that is no JSON, and of a byte that is no UTF-8."""
    for name, content in (("a.jsonl", b'"one"\n{"text": \n'), ("a.md", b"ok\nb\xffd\n")):
        with pytest.raises(ReflectGateError) as caught:
            read(compiled, tmp_path / name, content)
        assert caught.value.source
        assert caught.value.source.line == 2


def test_what_is_no_file_is_not_waited_for(compiled: Bundle, tmp_path: Path) -> None:
    """A folder, a pipe without a writer, a missing file and a link to itself end at once."""
    pipe, loop = tmp_path / "pipe", tmp_path / "loop"
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    for path in (tmp_path, pipe, loop, tmp_path / "none.md"):
        with pytest.raises(ReflectGateError, match="cannot-read"):
            read_memory(str(path), compiled.limits)


def test_a_link_to_a_file_is_read(compiled: Bundle, tmp_path: Path) -> None:
    """CLAUDE.md is often a link to AGENTS.md."""
    (tmp_path / "AGENTS.md").write_text("- one\n")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    assert len(read_memory(str(tmp_path / "CLAUDE.md"), compiled.limits).entries) == 1


def database(file: Path, script: str, *, log: bool = False) -> sqlite3.Connection:
    """Make a database; with `log`, its rows lie in the write-ahead log as long as it is open."""
    connection = sqlite3.connect(file)
    if log:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA wal_autocheckpoint=0")
    connection.executescript(script)
    connection.commit()
    return connection


@pytest.mark.parametrize("log", [False, True])
def test_claude_mem_is_read_and_left_alone(compiled: Bundle, tmp_path: Path, log: bool) -> None:
    """Observations and what summaries learned are entries; not a byte beside or in the database changes."""
    file = tmp_path / "claude-mem.db"
    connection = database(file, OBSERVATIONS, log=log)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    found = read_memory(str(file), compiled.limits)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    connection.close()
    assert (found.kind, [entry.pointer for entry in found.entries]) == (
        "claude-mem",
        ["observations/7", "session_summaries/3"],
    )
    assert found.entries[0].text == "Cart total fixed\nIt failed.\nload_cart returns None\nchecked before use"


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TABLE memories (id INTEGER, text TEXT);",
        "CREATE TABLE observations (id INTEGER, title TEXT);",
        "CREATE VIEW observations AS SELECT 1 id, 's' memory_session_id, '' project, '' title, '' narrative, '' facts",
    ],
)
def test_other_databases_are_refused(compiled: Bundle, tmp_path: Path, script: str) -> None:
    """A database of another program is said to be one, with the tables that it has."""
    database(tmp_path / "x.db", script).close()
    with pytest.raises(ReflectGateError, match="audit-schema"):
        read_memory(str(tmp_path / "x.db"), compiled.limits)


def test_computed_columns_are_not_read(compiled: Bundle, tmp_path: Path) -> None:
    """A column can be computed, and that can take for ever; the schema is then not the one that is known."""
    slow = "title TEXT AS (length(hex(zeroblob(40000000))) || '')"
    script = OBSERVATIONS.split(";", maxsplit=1)[0].replace("title TEXT", slow) + ";"
    rows = "INSERT INTO observations (id, memory_session_id, project, narrative) VALUES (1, 's', 'p', 'n');"
    database(tmp_path / "x.db", script + rows).close()
    with pytest.raises(ReflectGateError, match="audit-schema"):
        read_memory(str(tmp_path / "x.db"), compiled.limits)


def test_stdin_is_told_by_how_it_begins(compiled: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` reads Markdown, or JSON where it begins like an object."""
    import io
    import sys

    for content, kind in (("- one\n", "markdown"), ('{"a": "one"}', "json"), ("[link](x) is Markdown\n", "markdown")):
        monkeypatch.setattr(sys, "stdin", type("In", (), {"buffer": io.BytesIO(content.encode())}))
        assert read_memory("-", compiled.limits).kind == kind


def test_a_string_of_a_document_can_be_anything(compiled: Bundle, tmp_path: Path) -> None:
    """Escapes, quotes and line breaks in a text do not move the places of the others."""
    texts = ['a "quoted" one', "line\nbreak", "back\\slash", "é\u202e"]
    found = read(compiled, tmp_path / "m.json", json.dumps(texts, indent=2)).entries
    assert [(entry.text, entry.line) for entry in found] == [(text, line) for line, text in enumerate(texts, 2)]


def test_a_fence_at_the_margin_is_no_part_of_the_item_before_it() -> None:
    """After an empty line the list has ended, so that pruning the item leaves the code."""
    assert spans("- One.\n\n```sh\nls\n```\n") == [(1, 1), (3, 5)]
    assert spans("- One.\n\n  ```sh\n  ls\n  ```\n") == [(1, 5)]
    assert spans("- One.\n```sh\nls\n```\n") == [(1, 4)]
