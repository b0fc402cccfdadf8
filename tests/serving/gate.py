"""A server as a process of its own on a free port of this machine, and plain HTTP to speak to it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final, NamedTuple, Self
from urllib.parse import urlsplit

__all__ = ["Answer", "Gate", "environment"]

_PATIENCE: Final = 60.0

# It ends by itself, however its starter ended.
_PROGRAM: Final = """
import signal
if hasattr(signal, "alarm"):
    signal.alarm(3_600)
from reflect_gate.cli import entry
entry()
"""


class Answer(NamedTuple):
    """What came back; `body` is the document, or the bytes where there is none."""

    status: int
    body: Any
    headers: Mapping[str, str]

    @property
    def code(self) -> str:
        """The code of a problem document, which it has to be."""
        assert self.headers["content-type"] == "application/problem+json", self
        assert self.body["status"] == self.status
        code: str = self.body["code"]
        return code


def environment(home: Path, cache: Path) -> dict[str, str]:
    """Return an environment without the user's own settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REFLECT")}
    return {**kept, "REFLECT_GATE_HOME": str(home), "REFLECT_GATE_CACHE": str(cache), "PYTHONUTF8": "1"}


class Gate:
    """A running server; its log is read while it runs, so that it never waits for a reader."""

    def __init__(self, environ: Mapping[str, str], *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, "serve", "--port", "0", *options],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        self.lines: list[dict[str, Any]] = []
        self.other: list[str] = []
        self._over = False
        self._told = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.url = self.line(event="listening")["url"]
        at = urlsplit(self.url)
        self.host, self.port = at.hostname or "", at.port or 0

    def _read(self) -> None:
        assert self.process.stderr is not None
        for text in self.process.stderr:
            with self._told:
                try:
                    self.lines.append(json.loads(text))
                except ValueError:
                    self.other.append(text.decode())
                self._told.notify_all()
        with self._told:
            self._over = True
            self._told.notify_all()

    def line(self, after: int = 0, **fields: object) -> dict[str, Any]:
        """Return the first line of the log, of those after the first `after`, that has these fields; waits for it."""

        def find() -> dict[str, Any] | None:
            return next((line for line in self.lines[after:] if fields.items() <= line.items()), None)

        with self._told:
            self._told.wait_for(lambda: self._over or find() is not None, _PATIENCE)
            found = find()
        assert found is not None, (fields, self.other)
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(_PATIENCE)
        self._reader.join(_PATIENCE)
        assert self.process.stderr is not None
        self.process.stderr.close()

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        code = self.process.wait(_PATIENCE)
        self._reader.join(_PATIENCE)
        return code

    def ask(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None, token: str = ""
    ) -> Answer:
        """Send one request; a body that is no bytes is sent as JSON."""
        sent = {"content-type": "application/json"} if body is not None else {}
        if token:
            sent["authorization"] = f"Bearer {token}"
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection = HTTPConnection(self.host, self.port, timeout=_PATIENCE)
        try:
            connection.request(method, path, data, {**sent, **(headers or {})})
            answer = connection.getresponse()
            told = {name.lower(): value for name, value in answer.getheaders()}
            text = answer.read()
        finally:
            connection.close()
        document = json.loads(text) if "json" in told.get("content-type", "") and text else text
        return Answer(answer.status, document, told)

    def get(self, path: str, token: str = "") -> Answer:
        """Send a `GET`."""
        return self.ask("GET", path, token=token)

    def post(self, path: str, body: object, token: str = "") -> Answer:
        """Send a `POST`."""
        return self.ask("POST", path, body, token=token)

    def raw(self, *parts: bytes, until_closed: bool = True) -> bytes:
        """Send bytes as they are, and return what comes until the server closes (or the first of it)."""
        with socket.create_connection((self.host, self.port), timeout=_PATIENCE) as connection:
            for part in parts:
                connection.sendall(part)
            found = b""
            while data := connection.recv(65_536):
                found += data
                if not until_closed:
                    break
            return found
