"""Many processes record outcomes of one lesson at once: every one counts, and each change of level is made once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from reflect_gate import Bundle
from reflect_store import open_store

from .world import World

_RECORDER = """
import sys
from pathlib import Path
from reflect_gate import load_bundle
from reflect_gate.memory.recording import Outcome, Proof, record
from reflect_store import open_store

file, number = Path(sys.argv[1]), sys.argv[2]
bundle = load_bundle("structured")
with open_store(file) as store:
    for task in range(6):
        origin = {"repository": f"acme/{number}", "task": f"{number}-{task}"}
        outcome = Outcome("resolved", "failing", Proof(exit_code=0), origin)
        for _ in range(2):
            record(store, bundle, outcome, lessons=["l-1"])
"""


def test_outcomes_of_many_processes_are_all_counted(structured: Bundle, tmp_path: Path) -> None:
    """R-i1, R-g1: no outcome is lost or counted twice, and the lesson rises to the top by two events."""
    file = tmp_path / "store.db"
    world = World(structured)
    with open_store(file, create=True) as store:
        world.store = store
        world.lesson("l-1")
    environment = {**os.environ, "REFLECT_GATE_CACHE": str(tmp_path / "cache")}
    command = (sys.executable, "-c", _RECORDER, str(file))
    started = [subprocess.Popen([*command, str(number)], env=environment, stderr=subprocess.PIPE) for number in range(4)]
    assert [process.communicate(timeout=120)[1] for process in started] == [b""] * 4
    with open_store(file) as store:
        row = store.get("lessons", "l-1")
        types = [event.type for event in store.events()]
        assert row is not None
        assert (row["lesson"]["times_applied"], row["lesson"]["times_helped"], row["level"]) == (24, 24, "meta_strategy")
        assert (types.count("outcome-recorded"), types.count("lesson-promoted")) == (24, 2)
        assert store.verify().sound
