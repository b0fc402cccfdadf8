"""Every format of transcript, whole, live, cut off, huge or hostile."""

from __future__ import annotations

import json
import os
import sys
import tracemalloc
from pathlib import Path

import pytest

from reflect_gate.hooks.transcripts import MOST_ENTRIES, read_transcript
from reflect_gate.hooks.transcripts._evidence import TEXT, same_action

if __package__:
    from .long_transcript import HOOK, long_transcript, measured
    from .records import COMMAND, FAILS, TASK, WRITERS, lines
else:
    from long_transcript import HOOK, long_transcript, measured  # type: ignore[import-not-found, no-redef]
    from records import COMMAND, FAILS, TASK, WRITERS, lines  # type: ignore[import-not-found, no-redef]


@pytest.mark.parametrize("name", WRITERS)
def test_a_session_is_read_alike_in_every_format(name: str, tmp_path: Path) -> None:
    """The prompt, the failing command, the edit where there is one, and the passing command, in order."""
    read = read_transcript(WRITERS[name](tmp_path))
    assert read.format == name
    assert read.entries[0][:2] == ("user", TASK)
    ran = [entry for entry in read.entries if entry.action == COMMAND and entry.returned]
    assert [(entry.kind, entry.failed) for entry in ran] == [("test_output", True), ("test_output", False)]
    assert FAILS.splitlines()[0] in ran[0].text
    if name != "mini-swe-agent":
        assert [entry.kind for entry in read.entries].count("code") == 1


@pytest.mark.parametrize(
    ("name", "code"), [("claude-code", 1), ("codex", 1), ("gemini", 1), ("openhands", 1), ("mini-swe-agent", 1), ("atif", None)]
)
def test_exit_codes_are_kept_where_they_are_told(name: str, code: int | None, tmp_path: Path) -> None:
    """The number is the transcript's; where it has none, none is made up."""
    entries = read_transcript(WRITERS[name](tmp_path)).entries
    assert next(entry.exit_code for entry in entries if entry.failed) == code


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "openhands"])
def test_a_transcript_may_end_anywhere(name: str, tmp_path: Path) -> None:
    """A live file is cut at any byte: nothing is raised, and no later entry appears that the whole file does not have."""
    file = WRITERS[name](tmp_path)
    data, whole = file.read_bytes(), read_transcript(file).entries
    for end in range(0, len(data), 97):
        file.write_bytes(data[:end])
        part = read_transcript(file).entries
        assert part == whole[: len(part)]


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 100, b"not json\nat all\n", b"[1,2]", b"{}", b'{"a":' * 10_000, b"<", b"\xff\xfe\xfa"]
)
def test_what_is_no_transcript_is_empty(content: bytes, tmp_path: Path) -> None:
    """Another file under the transcript's name."""
    file = tmp_path / "x"
    file.write_bytes(content)
    assert read_transcript(file).entries == ()


def test_a_file_that_is_not_there_is_empty(tmp_path: Path) -> None:
    """The path is told before the file is written, or after it is gone (anthropics/claude-code#3046)."""
    assert read_transcript(tmp_path / "none.jsonl").format == ""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_under_the_transcripts_name_is_not_opened(tmp_path: Path) -> None:
    """Opening it would wait for a writer for ever."""
    os.mkfifo(tmp_path / "pipe")
    assert read_transcript(tmp_path / "pipe").entries == ()


def _long(file: Path, repeats: int) -> int:
    """Write a session of many turns, about 2 kB each; return its size."""
    text = WRITERS["claude-code"](file.parent).read_text("utf-8")
    filler = json.dumps({"type": "user", "uuid": "f", "sessionId": "s", "message": {"content": "x" * 1_000}}) + "\n"
    with file.open("w", encoding="utf-8") as stream:
        stream.writelines(filler for _ in range(repeats))
        stream.write(text)
    return file.stat().st_size


def test_a_long_transcript_is_not_read_into_memory(tmp_path: Path) -> None:
    """Memory does not grow with the file: 24 MB take no more than the entries that are kept."""
    size = _long(tmp_path / "long.jsonl", 22_000)
    tracemalloc.start()
    read = read_transcript(tmp_path / "long.jsonl")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size > 20_000_000
    assert peak < 8_000_000
    assert len(read.entries) == MOST_ENTRIES
    assert read.forgotten == 22_000 + 7 - MOST_ENTRIES


def test_the_end_of_a_long_transcript_is_found_at_once(tmp_path: Path) -> None:
    """A hook reads the end alone, and finds the same failure there."""
    _long(tmp_path / "long.jsonl", 2_000)
    read = read_transcript(tmp_path / "long.jsonl", tail=20_000)
    assert len(read.entries) < 40
    assert [entry.failed for entry in read.entries if entry.kind == "test_output"] == [True, False]


@pytest.mark.skipif(sys.platform == "win32", reason="the peak of a process is POSIX's to tell")
def test_a_hook_costs_the_same_beside_a_long_transcript(tmp_path: Path) -> None:
    """A process at the end of a session, beside 1 MB and beside 60 MB: its memory is the same; `long_transcript.py` takes 500."""
    peaks = []
    for megabytes in (1, 60):
        folder = tmp_path / str(megabytes)
        folder.mkdir()
        told = measured(HOOK, long_transcript(folder, megabytes), folder / "home")
        assert told["found"] == 1
        peaks.append(told["peak MB"])
    assert peaks[1] < peaks[0] + 15


def test_a_line_without_end_is_passed_over(tmp_path: Path) -> None:
    """One line of many megabytes costs no memory, and the lines after it are read."""
    file = WRITERS["claude-code"](tmp_path)
    whole = file.read_text("utf-8")
    file.write_text('{"type":"user","uuid":"1","sessionId":"s"}\n{"x":"' + "y" * 9_000_000 + '"}\n' + whole, "utf-8")
    assert [entry.failed for entry in read_transcript(file).entries if entry.kind == "test_output"] == [True, False]


def test_a_long_output_keeps_its_end(tmp_path: Path) -> None:
    """Errors stand at the end of what a tool prints."""
    file = tmp_path / "events.jsonl"
    data = {"toolCallId": "1", "success": False, "result": {"content": "a" * 50_000 + "Error: at the end"}}
    file.write_text(lines([{"type": "tool.execution_complete", "data": data}]), "utf-8")
    entry = read_transcript(file).entries[0]
    assert len(entry.text) == TEXT
    assert entry.text.endswith("Error: at the end")


def test_a_subagents_own_file_is_read(tmp_path: Path) -> None:
    """In the file of a subagent every line is a sidechain."""
    file = WRITERS["claude-code"](tmp_path)
    file.write_text(file.read_text("utf-8").replace('"isSidechain": false', '"isSidechain": true'), "utf-8")
    assert any(entry.failed for entry in read_transcript(file).entries)


JUNIT = """<?xml version="1.0"?><testsuites><testsuite tests="3">
<testcase classname="tests.test_cart" name="test_empty"><failure message="ValueError: invalid">body
tests/test_cart.py:9: ValueError</failure></testcase>
<testcase classname="tests.test_cart" name="test_sum"/>
<testcase classname="tests.test_cart" name="test_later"><skipped message="later"/></testcase>
</testsuite></testsuites>"""


def test_a_junit_report_is_read(tmp_path: Path) -> None:
    """An entry a test that ran, with its file; a skipped one showed nothing."""
    file = tmp_path / "report.xml"
    file.write_text(JUNIT, "utf-8")
    read = read_transcript(file)
    assert read.format == "junit"
    assert [(entry.action, entry.failed, entry.path) for entry in read.entries] == [
        ("tests.test_cart::test_empty", True, "tests/test_cart.py"),
        ("tests.test_cart::test_sum", False, ""),
    ]


def test_a_report_that_declares_entities_is_refused(tmp_path: Path) -> None:
    """A bomb of entities inside entities is never unpacked."""
    file = tmp_path / "report.xml"
    file.write_text('<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x>' + JUNIT.partition("?>")[2] + "</x>", "utf-8")
    assert read_transcript(file).entries == ()


def test_a_report_that_is_cut_off_keeps_its_beginning(tmp_path: Path) -> None:
    """A test run that was killed leaves half a report."""
    file = tmp_path / "report.xml"
    file.write_text(JUNIT[: JUNIT.index('<testcase classname="tests.test_cart" name="test_later"')], "utf-8")
    assert len(read_transcript(file).entries) == 2


def test_a_pytest_json_report_is_read(tmp_path: Path) -> None:
    """The older plugin's report."""
    call = {"outcome": "failed", "crash": {"path": "t.py", "lineno": 3, "message": "ValueError: x"}, "longrepr": "…"}
    report = {
        "exitcode": 1,
        "tests": [{"nodeid": "t.py::a", "outcome": "failed", "call": call}, {"nodeid": "t.py::b", "outcome": "passed"}],
    }
    file = tmp_path / "report.json"
    file.write_text(json.dumps(report), "utf-8")
    assert [(entry.failed, entry.path) for entry in read_transcript(file).entries] == [(True, "t.py"), (False, "t.py")]


def test_older_openhands_trajectories_are_read(tmp_path: Path) -> None:
    """A list of actions and observations."""
    records = [
        {"id": 1, "source": "user", "action": "message", "args": {"content": TASK}},
        {"id": 2, "source": "agent", "action": "run", "args": {"command": COMMAND, "thought": "Look."}},
        {
            "id": 3,
            "source": "agent",
            "cause": 2,
            "observation": "run",
            "content": FAILS,
            "extras": {"metadata": {"exit_code": 1}},
        },
    ]
    file = tmp_path / "t.json"
    file.write_text(json.dumps(records), "utf-8")
    assert [entry.kind for entry in read_transcript(file).entries] == ["user", "plan", "action", "test_output"]


def test_a_cursor_transcript_tells_of_its_turn(tmp_path: Path) -> None:
    """It has no results of tools, but says how a turn ended."""
    use = {"type": "tool_use", "name": "Shell", "input": {"command": COMMAND}}
    file = tmp_path / "c.jsonl"
    said = [
        {"role": "user", "message": {"content": [{"type": "text", "text": TASK}]}},
        {"role": "assistant", "message": {"content": [use]}},
    ]
    file.write_text(lines([*said, {"type": "turn_ended", "status": "error"}]), "utf-8")
    read = read_transcript(file)
    assert (read.format, [entry.kind for entry in read.entries]) == ("cursor", ["user", "action", "error"])


@pytest.mark.parametrize(
    ("one", "other"), [("pytest  -q", "pytest -q"), ("cd /w && pytest -q", "pytest -q"), ("cd a && cd b && make", "make")]
)
def test_a_command_is_the_same_from_another_folder(one: str, other: str) -> None:
    """White space and a change of folder do not make another command."""
    assert same_action(one) == same_action(other)
