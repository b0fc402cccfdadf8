"""Kill `ab --live` again and again, and count what is asked about twice.

usage: live_kills.py [--records N] [--kills N] [--at-once N] [--seed N]

Each kill comes while a request is being answered, or just after. Prints one JSON object: calls, records that were asked about
again although their line was written (must be 0), calls made again because they were under way, and whether a replay gives the
same bytes as the run that was never killed.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Final

if __package__:
    from ..conftest import REQUEST
    from ..llm.server import Handler, ModelServer
    from .answers import answer
else:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from tests.ab.answers import answer
    from tests.conftest import REQUEST
    from tests.llm.server import Handler, ModelServer

__all__ = ["Killer", "kills"]

_ID: Final = re.compile(r'"failure_id": "([^"]+)"')


class Killer:
    """Answers, and ends the process that asks at the chosen requests, before the answer or after it."""

    def __init__(self, candidates: Path, at: dict[int, bool]) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.asked: Counter[str] = Counter()
        self.again = 0
        self.killed = 0
        self._candidates = candidates
        self._at = at
        self._answer = answer()

    def __call__(self, handler: Handler) -> None:
        """Answer one request."""
        found = _ID.search(handler.asked.body["messages"][1]["content"])
        name = found[1] if found else ""
        written = self._candidates.read_text(encoding="utf-8") if self._candidates.exists() else ""
        self.again += f'"failure_id":"{name}"' in written
        self.asked[name] += 1
        before = self._at.get(sum(self.asked.values()))
        if before is not True:
            self._answer(handler)
        if before is not None and self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.killed += 1
            handler.leave()


def _files(work: Path, records: int) -> tuple[Path, Path]:
    requests, labels = work / "requests.ndjson", work / "labels.ndjson"
    rows, known = [], []
    for number in range(records):
        row: dict[str, Any] = copy.deepcopy(REQUEST)
        row["record"]["failure_id"] = f"failure-{number}"
        row["record"]["traces"][0]["text"] += f" Case {number}."
        rows.append(json.dumps(row))
        outcome = {"before": number % 3 == 0, "after": number % 2 == 0}
        known.append(json.dumps({"id": f"failure-{number}", "task": f"task-{number // 2}", **outcome}))
    requests.write_text("\n".join(rows) + "\n", encoding="utf-8")
    labels.write_text("\n".join(known) + "\n", encoding="utf-8")
    return requests, labels


def kills(records: int, times: int, at_once: int, seed: int) -> dict[str, Any]:
    """Return the figures."""
    rng = random.Random(seed)
    places = rng.sample(range(2, max(3, records)), min(times, max(1, records - 2)))
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        requests, labels = _files(work, records)
        candidates = work / "candidates.ndjson"
        killer = Killer(candidates, {place: rng.random() < 0.5 for place in places})
        named = [sys.executable, "-m", "reflect_gate", "ab", str(requests), "--labels", str(labels), "--frozen"]
        named += ["--resamples", "40", "--engine", "compiled", "--format", "json"]
        with ModelServer(killer) as server:
            env = {**os.environ, "REFLECT_GATE_MODEL": "tiny", "REFLECT_GATE_BASE_URL": server.base_url, "NO_PROXY": "127.0.0.1"}
            env |= {"no_proxy": "127.0.0.1", "REFLECT_GATE_HOME": str(work / "home")}
            live = [*named, "--live", "--record", str(candidates), "--at-once", str(at_once)]
            code, out = -1, b""
            for _ in range(times + 2):
                killer.process = subprocess.Popen(live, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                out, _ = killer.process.communicate(timeout=600)
                code = killer.process.returncode
                if code != -signal.SIGKILL:
                    break
        replayed = subprocess.run([*named, "--replay", str(candidates)], env=env, capture_output=True, check=False)
        return {
            "records": records,
            "kills": killer.killed,
            "at_once": at_once,
            "exit_code": code,
            "lines": len(candidates.read_bytes().splitlines()),
            "calls": sum(killer.asked.values()),
            "asked_again_though_written": killer.again,
            "made_again_because_under_way": sum(killer.asked.values()) - len(killer.asked),
            "replay_is_the_same": replayed.stdout == out != b"",
        }


def main() -> int:
    """Print the figures; exit code 1 where something was asked about twice, or is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=100)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found = kills(options.records, options.kills, options.at_once, options.seed)
    print(json.dumps(found, indent=1))  # noqa: T201
    good = found["asked_again_though_written"] == 0 and found["lines"] == options.records and found["replay_is_the_same"]
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
