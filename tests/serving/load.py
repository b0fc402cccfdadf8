"""A server under load from a second process: time and errors of requests by 1, 8 and 64 clients.

`python tests/serving/load.py --clients 1,8,64 --requests 600` prints a table; `--json` one object. Each client is a thread with
one connection that it keeps; a request is sent when the answer before it is there. The server is a process of its own on this
machine.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, NamedTuple

if __package__:
    from ..conftest import REQUEST
    from .gate import Gate, environment
else:
    sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]
    from gate import Gate, environment  # type: ignore[import-not-found, no-redef] # run as a script
    from tests.conftest import REQUEST

__all__ = ["KINDS", "Figures", "load", "served"]

_PATIENCE = 60.0


class Figures(NamedTuple):
    """What came of one load: milliseconds of the middle and of the slowest hundredth, requests a second, and errors by kind."""

    kind: str
    clients: int
    requests: int
    p50: float
    p99: float
    rate: float
    errors: dict[str, int]


def memory(gate: Gate) -> float | None:
    """Return the most MB that the server has held, `None` where the system does not tell."""
    path = Path(f"/proc/{gate.process.pid}/status")
    told = path.read_text() if path.exists() else ""
    line = next((line for line in told.splitlines() if line.startswith("VmHWM:")), "")
    return round(int(line.split()[1]) / 1024, 1) if line else None


def _request(number: int) -> dict[str, Any]:
    request = copy.deepcopy(REQUEST)
    request["record"]["failure_id"] = f"load-{number}"
    return request


KINDS: dict[str, tuple[str, Callable[[int], dict[str, Any]]]] = {
    "evaluate": ("/v1/evaluate", _request),
    "apply": ("/v1/evaluate?store=true&apply=true", _request),
    "retrieve": ("/v1/retrieve", lambda number: {"text": f"load_cart() may return None for session {number}", "log": False}),
}


class _Clients:
    def __init__(self, gate: Gate, kind: str, first: int, count: int) -> None:
        self._gate = gate
        self._path, self._make = KINDS[kind]
        self._numbers = iter(range(first, first + count))
        self._guard = threading.Lock()
        self.times: list[float] = []
        self.errors: Counter[str] = Counter()

    def _next(self) -> int | None:
        with self._guard:
            return next(self._numbers, None)

    def run(self) -> None:
        """Send requests one after another until there are none left."""
        connection = HTTPConnection(self._gate.host, self._gate.port, timeout=_PATIENCE)
        while (number := self._next()) is not None:
            body = json.dumps(self._make(number))
            begun = time.perf_counter()
            try:
                connection.request("POST", self._path, body, {"content-type": "application/json"})
                answer = connection.getresponse()
                data = answer.read()
                if answer.status != 200:
                    self.errors[f"{answer.status} {json.loads(data)['code']}"] += 1
            except (OSError, HTTPException) as error:
                connection.close()
                self.errors[type(error).__name__] += 1
            self.times.append(time.perf_counter() - begun)
        connection.close()


def load(gate: Gate, kind: str, clients: int, requests: int, first: int = 0) -> Figures:
    """Send `requests` by so many clients at once; each is another one, numbered from `first`."""
    sent = _Clients(gate, kind, first, requests)
    threads = [threading.Thread(target=sent.run) for _ in range(clients)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - begun
    times = sorted(sent.times)
    p50, p99 = (times[min(len(times) - 1, int(len(times) * share))] * 1000 for share in (0.5, 0.99))
    return Figures(kind, clients, requests, round(p50, 2), round(p99, 2), round(requests / seconds, 1), dict(sent.errors))


@contextmanager
def served(*options: str) -> Iterator[Gate]:
    """Yield a server with an empty store, without a limit of requests."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with Gate(environment(home / "home", home / "cache"), "--rate", "0", *options) as gate:
            yield gate
            gate.end()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", default="1,8,64")
    parser.add_argument("--requests", type=int, default=600)
    parser.add_argument("--kinds", default="evaluate,apply,retrieve")
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found, first = [], 0
    with served("--threads", str(given.threads)) as gate:
        for kind in given.kinds.split(","):
            load(gate, kind, 1, 20, first)
            first += 20
            for clients in map(int, given.clients.split(",")):
                found.append(load(gate, kind, clients, given.requests, first))
                first += given.requests
        held = memory(gate)
    if given.json:
        print(json.dumps({"megabytes": held, "loads": [figures._asdict() for figures in found]}))  # noqa: T201 - a script
        return
    print("| kind | clients | requests | p50 ms | p99 ms | requests/s | errors |\n|---|---|---|---|---|---|---|")  # noqa: T201
    for each in found:
        errors = ", ".join(f"{count} {name}" for name, count in each.errors.items()) or "none"
        print(f"| {each.kind} | {each.clients} | {each.requests} | {each.p50} | {each.p99} | {each.rate} | {errors} |")  # noqa: T201
    print(f"\nThe server held {held} MB at most.")  # noqa: T201


if __name__ == "__main__":
    main()
