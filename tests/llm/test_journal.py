"""The journal: a response is durable before anybody reads it, and nobody asks twice, whatever happens in between."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflect_gate.llm import journal as module
from reflect_gate.llm.call import Received
from reflect_gate.llm.client import Client
from reflect_gate.llm.errors import ModelError
from reflect_gate.llm.journal import Journal, Lost, Slot, open_journal
from reflect_gate.llm.settings import Price
from reflect_gate.stages.reflect import reflect

from .faults import settings_for
from .server import ModelServer

posix = pytest.mark.skipif(os.name != "posix", reason="file modes and signals are POSIX")
ASK = Path(__file__).with_name("ask.py")
PRICE = Price(Decimal("0.4"), Decimal("0.1"), Decimal("1.6"))
RECEIVED = Received(
    b'{"a": "\n"}\n\xff', 200, "text/plain", False, 812, "tiny", "http://host/v1", "ab" * 32, ("seed omitted",), PRICE
)


def keep(journal: Journal, failure_id: str = "run-81", received: Received = RECEIVED) -> None:
    """Keep a response as the stage does."""
    with journal.slot(failure_id) as slot:
        assert isinstance(slot, Slot)
        slot.keep(received)


def files(journal: Journal) -> list[str]:
    """Return the kinds of files in the journal's folder."""
    return sorted(path.suffix for path in journal.folder.iterdir())


def test_what_was_kept_comes_back(journal: Journal) -> None:
    """Every byte and every figure, whatever the body is made of."""
    assert journal.received("run-81") is None
    keep(journal)
    assert journal.received("run-81") == RECEIVED
    assert journal.received("run-82") is None
    assert files(journal) == [".json"]


@given(st.binary(max_size=300), st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40), st.booleans())
@settings(max_examples=40, deadline=None)
def test_any_body_and_any_id_come_back(body: bytes, failure_id: str, cut: bool) -> None:
    """The file's name follows from the id, its head from what was received; neither depends on what stands in them."""
    changed = Received(body, 200, "", cut, 1, "m", "http://h/v1", "00" * 32, (), None)
    assert module._decode(module._encode(changed, failure_id), failure_id) == changed


@posix
def test_only_the_user_can_read_it(tmp_path: Path) -> None:
    """A response repeats what the agent worked on: files 0600, folders 0700, also those made on the way."""
    journal = open_journal(tmp_path / "new" / "journal")
    keep(journal)
    assert stat.S_IMODE(journal.path("run-81").stat().st_mode) == 0o600
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in (journal.folder, journal.folder.parent)} == {0o700}


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_damaged_file_is_a_lost_response(data: st.DataObject) -> None:
    """R-L2: any cut and any flipped bit is found, and still says that somebody was asked."""
    whole = module._encode(RECEIVED, "run-81")
    if data.draw(st.booleans()):
        damaged = whole[: data.draw(st.integers(0, len(whole) - 1))]
    else:
        at, bit = data.draw(st.integers(0, len(whole) - 1)), data.draw(st.integers(0, 7))
        damaged = whole[:at] + bytes([whole[at] ^ (1 << bit)]) + whole[at + 1 :]
    found = module._decode(damaged, "run-81")
    body_at = whole.index(b"\n") + 1
    if isinstance(found, Received):
        # A flipped bit in a figure of the head changes that figure; the body is as it came.
        assert len(damaged) == len(whole)
        assert found.body == whole[body_at:]
    else:
        assert isinstance(found, Lost)


def test_a_lost_response_is_a_violation_and_nobody_is_asked(record: Any, context: Any, journal: Journal) -> None:
    """R-L2: received is received, also when the disk has forgotten what."""
    keep(journal)
    journal.path("run-81").write_bytes(b"\0" * 100)
    with ModelServer() as server:
        found = reflect(record, context, Client(settings_for(server)), journal)
        assert server.asked == []
    assert found.violation is not None
    assert (found.kind, found.violation.code, found.call) == ("violation", "response-lost", None)


def test_another_terminations_file_is_not_taken(journal: Journal) -> None:
    """A file that was moved about does not answer for another failure."""
    keep(journal)
    journal.path("run-81").rename(journal.path("run-82"))
    assert journal.received("run-82") == Lost("it is another termination's")


def test_a_second_process_is_turned_away(journal: Journal) -> None:
    """R-L2: two workers on one termination make one call; the other tries later and finds the response."""
    with journal.slot("run-81") as slot:
        with pytest.raises(ModelError) as caught, open_journal(journal.folder).slot("run-81"):
            pass
        assert (caught.value.code, caught.value.transient) == ("journal-busy", True)
        with open_journal(journal.folder).slot("run-82") as other:
            assert isinstance(other, Slot)
        assert isinstance(slot, Slot)
        slot.keep(RECEIVED)
    with open_journal(journal.folder).slot("run-81") as second:
        assert second == RECEIVED


def test_a_call_that_failed_leaves_nothing(journal: Journal) -> None:
    """No response was received, so the queue may try again."""
    with pytest.raises(ModelError), journal.slot("run-81"):
        raise ModelError("model-timeout", "too late", transient=True)
    assert files(journal) == []
    keep(journal)
    assert journal.received("run-81") == RECEIVED


def test_what_is_forgotten_is_gone(journal: Journal) -> None:
    """After its outcome is stored the response is not needed any more."""
    keep(journal)
    assert len(journal.keys()) == 1
    journal.forget("run-81")
    journal.forget("run-81")
    assert (journal.keys(), journal.received("run-81")) == ([], None)


@pytest.mark.parametrize("name", ["write", "fsync", "ftruncate"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT])
def test_a_full_disk_is_found_before_the_call(
    name: str, code: int, record: Any, context: Any, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R-L3: no money is spent on a response that could not be kept; the queue may try again."""

    def fail(*_: object) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, name, fail)
    with ModelServer() as server:
        with pytest.raises(ModelError) as caught:
            reflect(record, context, Client(settings_for(server)), journal)
        assert server.asked == []
    assert (caught.value.code, caught.value.transient) == ("journal-io", True)


@pytest.mark.parametrize("failing", ["write", "fsync", "ftruncate", "replace", "sync folder"])
def test_a_response_that_cannot_be_kept_is_never_asked_for_again(
    failing: str, record: Any, context: Any, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R-L2: a disk that fails between request and response costs this response, not a second call: the error is permanent."""
    with ModelServer() as server:
        client = Client(settings_for(server))
        with monkeypatch.context() as patch:
            _fail_after_reserving(failing, patch)
            with pytest.raises(ModelError) as caught:
                reflect(record, context, client, journal)
        assert (caught.value.code, caught.value.transient) == ("journal-lost", False)
        assert len(server.asked) == 1
        if failing != "replace":
            assert reflect(record, context, client, journal).kind in {"violation", "reflection"}
            assert len(server.asked) == 1


def _fail_after_reserving(failing: str, patch: pytest.MonkeyPatch) -> None:
    """Let one system call fail from the moment at which the response is there."""
    real = Slot.keep

    def fail(*_: object) -> int:
        raise OSError(errno.EIO, "input/output error")

    def failing_keep(slot: Slot, received: Received) -> None:
        if failing == "replace":
            patch.setattr(Path, "replace", fail)
        elif failing == "sync folder":
            patch.setattr(module, "_sync_folder", fail)
        else:
            patch.setattr(os, failing, fail)
        real(slot, received)

    patch.setattr(Slot, "keep", failing_keep)


def test_an_unreadable_journal_is_no_empty_one(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    """R-L2: only a file that is not there says that nobody was asked."""
    keep(journal)

    def fail(*_: object, **__: object) -> Any:
        raise PermissionError(errno.EACCES, "permission denied")

    monkeypatch.setattr(Path, "open", fail)
    with pytest.raises(ModelError) as caught:
        journal.received("run-81")
    assert (caught.value.code, caught.value.transient) == ("journal-io", True)


def test_the_order_of_making_durable(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    """R-L2: written, synced, renamed, folder synced; in that order, and before the response is given out."""
    done: list[str] = []
    real_sync, real_replace, real_folder = os.fsync, Path.replace, module._sync_folder

    def sync(handle: int) -> None:
        done.append("fsync")
        real_sync(handle)

    def replace(path: Path, target: Path) -> Path:
        done.append("rename")
        return real_replace(path, target)

    def folder(path: Path) -> None:
        done.append("folder")
        real_folder(path)

    journal.folder.mkdir(mode=0o700)
    with journal.slot("run-81") as slot:
        assert isinstance(slot, Slot)
        monkeypatch.setattr(os, "fsync", sync)
        monkeypatch.setattr(Path, "replace", replace)
        monkeypatch.setattr(module, "_sync_folder", folder)
        slot.keep(RECEIVED)
    assert done == ["fsync", "rename", "folder", "fsync"]


# -- kill -9 --------------------------------------------------------------------------------------------------------------------


def ask(server: ModelServer, journal: Journal, *point: str) -> Any:
    """Reflect in a process of its own; `None` where it was killed."""
    environ = {**os.environ, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    command = [sys.executable, str(ASK), server.base_url, str(journal.folder), *point]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environ)
    assert done.returncode == (-9 if point else 0), done.stderr
    return None if point else json.loads(done.stdout)


@posix
@pytest.mark.slow
@pytest.mark.parametrize(("point", "calls"), [("reserved", 1), ("sent", 2), ("kept", 1)])
def test_a_kill_costs_no_second_call_once_the_response_is_kept(point: str, calls: int, journal: Journal) -> None:
    """R-L2: one call in all, unless the kill comes after the request and before anything was kept, where there is a second."""
    with ModelServer() as server:
        ask(server, journal, point)
        found = ask(server, journal)
        again = ask(server, journal)
        assert len(server.asked) == calls
    assert found["kind"] == again["kind"] == "reflection"
    assert found["call"]["replayed"] == (point == "kept")
    assert again["call"] == {**found["call"], "replayed": True}
    assert files(journal) == [".json"]
