"""Recorded responses over real HTTP: what was asked once is answered the same again, and keys are not kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reflect_gate.errors import ReflectGateError
from reflect_gate.llm.client import Client
from reflect_gate.llm.errors import ModelError
from reflect_gate.llm.journal import open_journal
from reflect_gate.llm.replay import ReplayServer, read_recording
from reflect_gate.llm.settings import ModelSettings
from reflect_gate.stages.reflect import Reflected, reflect

from .faults import KEY
from .server import ModelServer


def ask(replay: ReplayServer, record: Any, context: Any, journal: Path, **change: Any) -> Reflected:
    """Reflect through a replay server, with a journal of its own."""
    settings = ModelSettings("tiny", replay.base_url, key=KEY, **change)
    return reflect(record, context, Client(settings), open_journal(journal))


def test_a_recording_answers_without_the_server(record: Any, context: Any, tmp_path: Path) -> None:
    """Recorded through the real server once, replayed without it: the same candidate and the same call, byte for byte."""
    recording = tmp_path / "recording.jsonl"
    with ModelServer() as server, ReplayServer(recording, upstream=server.base_url) as replay:
        first = ask(replay, record, context, tmp_path / "a")
        second = ask(replay, record, context, tmp_path / "b")
        assert (len(server.asked), replay.asked, replay.missed) == (1, 2, 1)
        assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    with ReplayServer(recording) as replay:
        third = ask(replay, record, context, tmp_path / "c")
        assert (replay.asked, replay.missed) == (1, 0)
    assert first.reflection == second.reflection == third.reflection is not None
    assert [each.call.usage for each in (first, second, third) if each.call] == [first.call and first.call.usage] * 3


def test_a_recording_holds_no_key(record: Any, context: Any, tmp_path: Path) -> None:
    """The file may be committed."""
    recording = tmp_path / "recording.jsonl"
    with ModelServer() as server, ReplayServer(recording, upstream=server.base_url) as replay:
        ask(replay, record, context, tmp_path / "a")
    assert KEY not in recording.read_text(encoding="utf-8")
    assert len(read_recording(recording)) == 1


def test_another_request_is_another_answer(record: Any, context: Any, tmp_path: Path) -> None:
    """What was not recorded is refused, permanently: no test passes on an answer to another question."""
    recording = tmp_path / "recording.jsonl"
    with ModelServer() as server, ReplayServer(recording, upstream=server.base_url) as replay:
        ask(replay, record, context, tmp_path / "a")
    with ReplayServer(recording) as replay:
        with pytest.raises(ModelError) as caught:
            ask(replay, record, context, tmp_path / "b", seed=99)
        assert (caught.value.code, replay.missed) == ("model-unknown", 1)


@pytest.mark.parametrize(("behaviour", "kept"), [("503", 0), ("429 Retry-After", 0), ("400", 1), ("truncated JSON", 1)])
def test_a_busy_moment_is_not_recorded(behaviour: str, kept: int, record: Any, context: Any, tmp_path: Path) -> None:
    """Faults of the request belong to it and are kept; faults of the day are not."""
    recording = tmp_path / "recording.jsonl"
    with ModelServer(behaviour) as server, ReplayServer(recording, upstream=server.base_url) as replay:
        try:
            ask(replay, record, context, tmp_path / "a")
        except ModelError as error:
            assert error.status in {503, 429, 400}  # noqa: PT017 - a violation raises nothing
    assert len(read_recording(recording)) == kept


def test_a_redirect_of_the_upstream_is_not_followed(record: Any, context: Any, tmp_path: Path) -> None:
    """The key would go along."""
    with ModelServer("redirect 302") as server, ReplayServer(tmp_path / "r.jsonl", upstream=server.base_url) as replay:
        with pytest.raises(ModelError) as caught:
            ask(replay, record, context, tmp_path / "a")
        assert (caught.value.status, len(server.asked)) == (302, 1)


def test_an_upstream_that_is_not_there_may_come_back(record: Any, context: Any, tmp_path: Path) -> None:
    """The replay's own trouble is no answer of the model."""
    with ReplayServer(tmp_path / "r.jsonl", upstream="http://127.0.0.1:1/v1") as replay:
        with pytest.raises(ModelError) as caught:
            ask(replay, record, context, tmp_path / "a")
        assert (caught.value.status, caught.value.transient) == (502, True)


def test_a_damaged_recording_is_refused_with_its_line(tmp_path: Path) -> None:
    """A line that cannot be read is an error, not a response less."""
    recording = tmp_path / "recording.jsonl"
    recording.write_text('{"request": "a", "status": 200, "headers": {}, "body": ""}\nnonsense\n', encoding="utf-8")
    with pytest.raises(ReflectGateError) as caught:
        read_recording(recording)
    assert caught.value.source is not None
    assert (caught.value.code, caught.value.source.line) == ("replay-line", 2)
