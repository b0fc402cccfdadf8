"""A real bash on a terminal of its own, typed into key by key."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

__all__ = ["Bash", "installed"]

_PATIENCE: Final = 60.0
_SETUP: Final = (
    "bind 'set bell-style none'; bind 'set page-completions off'; bind 'set completion-query-items 0'; "
    "bind 'set enable-bracketed-paste off'; PS1='ready> '"
)


def installed(folder: Path) -> Path:
    """Return a folder that holds the command `reflect-gate`, as an installation would."""
    command = folder / "reflect-gate"
    folder.mkdir(exist_ok=True)
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m reflect_gate "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return folder


class Bash:
    """An interactive bash; `until` waits for what it writes, and fails with what it wrote instead."""

    def __init__(self, environ: Mapping[str, str], commands: Path, columns: int = 120) -> None:
        self._terminal, other = os.openpty()
        kept = {**environ, "PATH": f"{commands}{os.pathsep}{environ['PATH']}", "TERM": "dumb", "COLUMNS": str(columns)}
        self._process = subprocess.Popen(
            [shutil.which("bash") or "bash", "--norc", "--noprofile", "-i"],
            stdin=other,
            stdout=other,
            stderr=other,
            env=kept,
            cwd=commands,
            start_new_session=True,
        )
        os.close(other)
        self._seen = ""
        self.type(f"{_SETUP}\n")
        self.until("\nready> ")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._terminal)

    def type(self, keys: str) -> None:
        """Type keys."""
        os.write(self._terminal, keys.encode())

    def run(self, line: str) -> str:
        """Run a line and return what it wrote."""
        self.type(f"{line}\n")
        return self.until("\nready> ")

    def until(self, text: str) -> str:
        """Return what bash writes up to and with `text`."""
        end = time.monotonic() + _PATIENCE
        while text not in self._seen:
            ready, _, _ = select.select([self._terminal], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise AssertionError(f"no {text!r} in {self._seen!r}")
            self._seen += os.read(self._terminal, 65_536).decode("utf-8", "replace").replace("\r", "")
        before, _, self._seen = self._seen.partition(text)
        return before + text
