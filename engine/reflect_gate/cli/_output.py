"""What every verb prints with: results to stdout or a file, errors and progress to stderr, colour only where it is wanted."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TextIO

from ..errors import ReflectGateError, Source
from ..report._safe import json_for_terminal, plain

__all__ = [
    "BROKEN_PIPE",
    "COULD_NOT_RUN",
    "ERROR_FORMATS",
    "ERROR_FORMAT_VARIABLE",
    "INTERRUPTED",
    "INVALID",
    "OK",
    "REFUSED",
    "UNDECIDED",
    "USAGE",
    "FirstErrors",
    "Reporter",
    "Sink",
    "colour",
    "error_document",
    "exit_code_of",
    "internal_error",
    "note",
    "open_output",
    "report",
    "warn",
]

OK, COULD_NOT_RUN, INVALID, UNDECIDED, REFUSED, USAGE = 0, 1, 3, 4, 5, 64
INTERRUPTED, BROKEN_PIPE = 130, 141
"""128 + SIGINT and 128 + SIGPIPE: what a shell reports of a program that the signal ended."""

ERROR_FORMATS = ("text", "json")
ERROR_FORMAT_VARIABLE = "REFLECT_GATE_ERROR_FORMAT"

_QUOTED = re.compile(r"'([^'`]*)'")
_COULD_NOT_RUN = (
    frozenset({"bundle-unpack", "cannot-read", "cannot-write", "data-missing", "git-missing", "internal", "io"})
    | {f"store-{what}" for what in ("busy", "denied", "exists", "full", "io", "missing", "moved", "read-only", "unreachable")}
    | {f"bulk-{what}" for what in ("extra", "lost", "part", "scheduler", "worker")}
    | {f"queue-{what}" for what in ("busy", "closed", "denied", "full-disk", "gone", "handler", "io", "latched", "read-only")}
    | {"queue-unreachable"}
    | {f"journal-{what}" for what in ("busy", "io", "lost")}
    # What the model's server, or the way to it, answers for; how it was set, and what was asked, is an input like others.
    | {
        f"model-{what}"
        for what in ("busy", "client", "connection", "missing", "redirect", "timeout", "unauthorized", "unavailable")
    }
)


def exit_code_of(error: ReflectGateError) -> int:
    """Return 1 where reflect-gate could not run (files, engines), 3 where what it was given is invalid."""
    codes = {leaf.code for leaf in error.errors}
    could_not = all(code in _COULD_NOT_RUN or code.startswith(("engine-", "server-")) for code in codes)
    return COULD_NOT_RUN if could_not else INVALID


def colour(stream: TextIO) -> bool:
    """Return whether `stream` gets colour: `NO_COLOR` forbids it, `FORCE_COLOR` asks for it, else a terminal has it."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def error_document(error: ReflectGateError) -> dict[str, object]:
    """Return one error as data; `line` and `column` are 0 where unknown."""
    source = error.source or Source("")
    return {"code": error.code, "message": error.message, **source._asdict()}


def internal_error(error: Exception) -> ReflectGateError:
    """Return a fault of reflect-gate itself as one line; `REFLECT_GATE_DEBUG=1` prints its traceback to stderr."""
    if os.environ.get("REFLECT_GATE_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
    message = f"internal error: {type(error).__name__}: {error} (REFLECT_GATE_DEBUG=1 shows where)"
    return ReflectGateError("internal", " ".join(message.split()))


class Reporter:
    """Prints errors and warnings to stderr, as lines for people or as one JSON object a line."""

    def __init__(self, style: str) -> None:
        self.style = style

    @classmethod
    def of(cls, argv: Sequence[str]) -> Reporter:
        """Return the reporter that the arguments or the environment ask for, before the arguments are known to be good."""
        style = os.environ.get(ERROR_FORMAT_VARIABLE, "text")
        for index, word in enumerate(argv):
            if word == "--":
                break
            if word.startswith("--error-format="):
                style = word.partition("=")[2]
            elif word == "--error-format" and index + 1 < len(argv):
                style = argv[index + 1]
        reporter = cls("json" if style == "json" else "text")
        _current[0] = reporter
        return reporter

    def failed(self, error: Exception) -> int:
        """Print why the command ended and return its exit code."""
        import click

        if isinstance(error, ReflectGateError):
            self.show(error)
            return exit_code_of(error)
        if isinstance(error, click.UsageError):
            self.show(ReflectGateError("usage", _usage(error)))
            if self.style == "text" and error.ctx is not None:
                self.line(f"try `{error.ctx.command_path} --help`")
            return USAGE
        if isinstance(error, click.ClickException):
            self.show(ReflectGateError("io", _lowered(error.format_message())))
            return COULD_NOT_RUN
        if isinstance(error, click.Abort):
            return INTERRUPTED
        if isinstance(error, OSError):
            self.show(ReflectGateError("io", _os_message(error)))
            return COULD_NOT_RUN
        self.show(internal_error(error))
        return COULD_NOT_RUN

    def show(self, error: ReflectGateError, kind: str = "error") -> None:
        """Print every error that `error` stands for."""
        for leaf in error.errors:
            if self.style == "json":
                self.line(json.dumps({kind: error_document(leaf)}))
            else:
                self.line(f"{kind}: {plain(str(leaf))}")

    def line(self, text: str) -> None:
        """Print one line to stderr; a closed stderr is no reason to fail."""
        try:
            print(text, file=sys.stderr)
        except (OSError, ValueError):
            return


_current = [Reporter("text")]


def report(error: ReflectGateError) -> None:
    """Print an error without ending the command."""
    _current[0].show(error)


class FirstErrors:
    """Prints the first errors of a long input; as lines for people the rest is only counted, as data every one is printed."""

    MOST = 20

    def __init__(self) -> None:
        self._count = 0

    def report(self, error: ReflectGateError) -> None:
        """Print what is still to be told of `error`."""
        for leaf in error.errors:
            self._count += 1
            if self._count <= self.MOST or _current[0].style == "json":
                report(leaf)

    def end(self) -> None:
        """Say how many were not printed."""
        left = self._count - self.MOST
        if left > 0 and _current[0].style != "json":
            plural = "s" if left > 1 else ""
            _current[0].line(f"and {left} more error{plural}; `--error-format json` prints every one")


def warn(warning: ReflectGateError) -> None:
    """Print a warning."""
    _current[0].show(warning, "warning")


def note(text: str, data: Mapping[str, object]) -> None:
    """Print a closing remark, as text or as data, in the form that errors have."""
    reporter = _current[0]
    reporter.line(json.dumps({"summary": data}) if reporter.style == "json" else text)


def _usage(error: Exception) -> str:
    return _lowered(error.format_message() if hasattr(error, "format_message") else str(error))


def _lowered(message: str) -> str:
    """Return click's sentence in the house style: one line, lower case, no full stop."""
    text = _QUOTED.sub(r"`\1`", " ".join(message.split()).rstrip("."))
    return text[:1].lower() + text[1:]


def _os_message(error: OSError) -> str:
    reason = (error.strerror or str(error) or type(error).__name__).lower()
    return f"`{error.filename}`: {reason}" if error.filename else reason


class Sink:
    """Where a command's result goes; text and bytes may be mixed."""

    def __init__(self, stream: IO[bytes], *, coloured: bool, terminal: bool) -> None:
        self._stream = stream
        self.coloured = coloured
        self.terminal = terminal

    def text(self, text: str) -> None:
        """Write text as UTF-8; `text` has been made safe where it was built."""
        self._stream.write(text.encode("utf-8", "backslashreplace"))

    def json(self, document: bytes) -> None:
        """Write canonical JSON; on a terminal, characters that could drive it are written as JSON escapes of the same value."""
        self._stream.write(json_for_terminal(document) if self.terminal else document)

    def flush(self) -> None:
        """Hand on what is buffered."""
        self._stream.flush()


@contextmanager
def open_output(path: str | None) -> Iterator[Sink]:
    """Yield the sink of `-o PATH`, or of stdout; a file appears whole or not at all."""
    if path is None or path == "-":
        sys.stdout.flush()
        yield Sink(sys.stdout.buffer, coloured=colour(sys.stdout), terminal=sys.stdout.isatty())
        sys.stdout.buffer.flush()
        return
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        with _creating(path, target) as stream:
            yield Sink(stream, coloured=False, terminal=False)
        return
    draft = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    try:
        with _creating(path, draft) as stream:
            yield Sink(stream, coloured=False, terminal=False)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _creating(shown: str, path: Path) -> IO[bytes]:
    try:
        return path.open("wb")
    except OSError as error:
        raise ReflectGateError("cannot-write", f"cannot write `{shown}`: {(error.strerror or '').lower()}") from None
