"""What a transcript is evidence of: one entry a prompt, a thought, a call of a tool and what came back, in order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

from ..dialects._fields import action, exit_code_in, path
from ..event import Payload

__all__ = ["TEXT", "Calls", "Evidence", "Format", "Kind", "bounded", "plain", "same_action"]

Kind: TypeAlias = Literal["user", "plan", "action", "code", "tool_output", "test_output", "error"]

TEXT: Final = 6_000
"""Characters that are kept of one entry: of a longer one its first third and its last two, where errors stand."""

_GAP: Final = "\n[…]\n"
_PENDING: Final = 1_000
_EDITS: Final = frozenset(
    "edit write multiedit notebookedit apply_patch write_file replace edit_file editfiles create_file insert_edit_into_file "
    "write_to_file replace_in_file str_replace_editor str_replace_based_edit_tool file_editor patch".split()
)
_LOOKS: Final = frozenset({"view", "read", "undo_edit"})
_TESTS: Final = (
    "pytest", "unittest", "nosetests", "tox", "nox", "npm test", "npm run test", "yarn test", "pnpm test", "jest", "vitest",
    "mocha", "go test", "cargo test", "mvn test", "mvn verify", "gradle test", "gradlew test", "rspec", "phpunit", "ctest",
    "dotnet test", "make test", "make check", "rake test", "mix test", "bun test", "deno test", "swift test",
)  # fmt: skip

# As text, which `re` compiles when it is first searched for: a hook that knows the exit code needs neither.
_FAILED: Final = r"(?im)\b[1-9]\d{0,8} (?:failed|failures?|errors?)\b|^(?:FAIL|FAILED)\b|^test result: FAILED"
_PASSED: Final = r"(?m)\b\d{1,9} (?:passed|passing)\b|^OK\b|^ok\s|^PASS\b|^test result: ok"
_CRASHED: Final = "Traceback (most recent call last):"


class Evidence(NamedTuple):
    """One entry. `action` is the command (or a tool and its file) that it belongs to, by which a later success is found.

    `call` is the id of the call where it is told; `executed` says that a command was run and that its exit code, or the harness
    by it, tells how it ended, and not the words of its output.
    """

    kind: Kind
    text: str
    action: str = ""
    tool: str = ""
    path: str = ""
    exit_code: int | None = None
    error_class: str = ""
    failed: bool | None = None
    call: str = ""
    executed: bool = False

    @property
    def returned(self) -> bool:
        """Whether it is what came back from a tool."""
        return self.kind in {"tool_output", "test_output", "error"}


class Format(NamedTuple):
    """A kind of transcript: whether one of its records shows it, and how its records are read."""

    name: str
    claims: Callable[[Payload], bool]
    read: Callable[[Iterable[Payload]], Iterator[Evidence]]


def bounded(text: str) -> str:
    """Return a text held to `TEXT` characters."""
    if len(text) > TEXT:
        head = TEXT // 3
        text = text[:head] + _GAP + text[-(TEXT - head - len(_GAP)) :]
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def plain(kind: Kind, text: str) -> Iterator[Evidence]:
    """Yield a prompt or a thought, unless it is blank."""
    if text.strip():
        yield Evidence(kind, bounded(text))


def same_action(command: str) -> str:
    """Return a command as it is compared: white space as one space, and without a change of folder before it."""
    short = " ".join(command.split())
    while short.startswith("cd ") and " && " in short:
        short = short.partition(" && ")[2]
    return short[:TEXT]


class Calls:
    """The calls that have not returned yet, by their ids; the oldest are forgotten."""

    def __init__(self) -> None:
        self._open: dict[str, Evidence] = {}

    def called(self, call: str, tool: str, arguments: object) -> Iterator[Evidence]:
        """Yield the entry of a call."""
        given = {"input": arguments}
        done, file = action(given, "input"), path(given, "input")
        edits = _is_edit(tool, done, arguments)
        # An edit is known again by its file: a second try is never the same text.
        about = f"{tool} {file}" if edits or not _has_command(arguments) else done
        entry = Evidence(
            "code" if edits else "action",
            bounded(done or tool),
            same_action(about or tool),
            tool,
            file,
            call=call,
            executed=not edits and _has_command(arguments),
        )
        if call:
            self._open[call] = entry
            if len(self._open) > _PENDING:
                del self._open[next(iter(self._open))]
        yield entry

    def returned(
        self,
        call: str,
        output: str,
        *,
        failed: bool | None = None,
        exit_code: int | None = None,
        error_class: str = "",
        made: Evidence | None = None,
    ) -> Iterator[Evidence]:
        """Yield the entry of what came back; `failed` None where the transcript does not say, then the exit code decides."""
        made = self._open.pop(call, None) or made or Evidence("action", "")
        if exit_code is None and failed is not False:
            exit_code = exit_code_in(output)
        if failed is None and exit_code is not None:
            failed = exit_code != 0
        tests = any(word in made.action for word in _TESTS) and made.kind == "action"
        executed = made.executed and failed is not None
        if failed is None:
            failed = _in_words(output, tests)
        kind: Kind = "test_output" if tests else "error" if failed and exit_code is None else "tool_output"
        about = (made.action, made.tool, made.path)
        yield Evidence(kind, bounded(output), *about, exit_code, error_class, failed, call or made.call, executed)


def _in_words(output: str, tests: bool) -> bool | None:
    """Return whether an output without a verdict tells of a failure; None where it tells of neither."""
    end = output[-TEXT:]
    if _CRASHED in end:
        return True
    if not tests:
        return None
    return True if re.search(_FAILED, end) else False if re.search(_PASSED, end) else None


def _has_command(arguments: object) -> bool:
    return isinstance(arguments, str) or (isinstance(arguments, dict) and bool({"command", "cmd", "script"} & set(arguments)))


def _is_edit(tool: str, done: str, arguments: object) -> bool:
    if done.startswith("*** Begin Patch"):
        return True
    asked = arguments.get("command") if isinstance(arguments, dict) else None
    return tool.lower() in _EDITS and not (isinstance(asked, str) and asked in _LOOKS)
