"""`policy try`: a request judged again on each save, by real processes and real files."""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from reflect_gate import evaluate, load_bundle, schemas
from reflect_gate.cli import main
from reflect_gate.report.trying import attempt_text
from reflect_gate.trying import Attempts, difference

from .lives import DRAFT

PATIENCE: Final = 60.0
"""Seconds that a process may take for what a test waits for; a test that passes takes a fraction."""

HEDGES: Final = "It may be that the cart is perhaps empty, so one might check it, possibly."


@pytest.fixture
def request_file(folder: Path, request_document: dict[str, Any]) -> Path:
    """A request in the folder of the policies."""
    path = folder / "request.json"
    path.write_bytes(orjson.dumps(request_document))
    return path


def save(path: Path, text: str) -> None:
    """Write a file as editors do: beside it, then in its place."""
    beside = path.with_name(f"{path.name}.swp")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


# -- what differs ------------------------------------------------------------------------------------------------------


def test_the_difference_names_all_that_moved(request_document: dict[str, Any], tmp_path: Path) -> None:
    """Status, stages, findings and firings, from a rule that was not there; nothing where nothing was changed."""
    path = tmp_path / "draft.yaml"
    path.write_text(DRAFT.replace("    maturity: experimental\n", ""), encoding="utf-8")
    first, second = (
        (evaluate(request_document, load_bundle("structured", rules=rules), explain=True).to_json(), request_document)
        for rules in (None, path)
    )
    found = difference(first, second)
    assert (found["same"], found["before"]["status"], found["after"]["status"]) == (False, "admitted", "refused")
    assert "calibrate" in {moved["stage"] for moved in found["stages"]}
    assert ("draft", "no-lesson") in {(one["ruleset"], one["rule"]) for one in found["added"]}
    assert "draft/no-lesson" in found["fired"]
    assert "admission/admitted" not in found["fired"]
    assert difference(first, first) == {
        **{key: [] for key in found},
        "same": True,
        "before": found["before"],
        "after": found["before"],
    }


def test_spans_are_compared_by_their_text(with_reflection: Callable[..., dict[str, Any]]) -> None:
    """A word that only moved is the same; one that a lexicon finds now is named."""
    import copy

    bundle = load_bundle("structured")

    def judged(lesson: str) -> tuple[dict[str, Any], dict[str, Any]]:
        request = copy.deepcopy(with_reflection(candidate_lesson=lesson))
        return evaluate(request, bundle, explain=True).to_json(), request

    moved = difference(judged("Always be careful."), judged("In carts: Always be careful."))
    assert (moved["marked"], moved["unmarked"]) == ([], [])
    more = difference(judged("Load the cart."), judged("Always be careful."))
    assert {span["lexicon"] for span in more["marked"]} == {"virtue-level"}
    assert more["unmarked"] == []


def test_a_broken_attempt_keeps_the_last_decision(request_document: dict[str, Any], tmp_path: Path) -> None:
    """It is told as not judged, and the next difference is against the decision that stood."""
    path = tmp_path / "draft.yaml"
    path.write_text(DRAFT, encoding="utf-8")
    attempts = Attempts(lambda: load_bundle("structured", rules=path), lambda: request_document)
    first = attempts.make()
    path.write_text(DRAFT.replace("lesson: {}", "lesson: {hedge: 1}"), encoding="utf-8")
    broken = attempts.make([str(path)])
    assert [error.code for error in broken.errors] == ["policy-unknown-field"]
    assert (broken.decision, broken.difference, broken.exit_code) == (first.decision, None, None)
    assert "still admitted" in attempt_text(broken)
    path.write_text(DRAFT.replace("    maturity: experimental\n", ""), encoding="utf-8")
    sound = attempts.make([str(path)])
    assert sound.difference is not None
    assert (sound.difference["before"]["status"], sound.difference["after"]["status"]) == ("admitted", "refused")
    assert "admitted → refused: too_vague" in attempt_text(sound)
    assert (first.difference, sound.number) == (None, 3)


# -- once --------------------------------------------------------------------------------------------------------------


def test_once_exits_as_evaluate_does(request_file: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the decision's code, and 3 with the place of the fault where the policies are broken."""
    draft = folder / "draft.yaml"
    draft.write_text(DRAFT, encoding="utf-8")
    assert main(["policy", "try", str(request_file), "--rules", str(draft), "--once"]) == 0
    out = capsys.readouterr().out
    assert "experimental rules would decide refused: too_vague" in out
    promoted = ["--enable-experimental", "draft/no-lesson", "--format", "json"]
    assert main(["policy", "try", str(request_file), "--rules", str(draft), "--once", *promoted]) == 5
    document = orjson.loads(capsys.readouterr().out)
    schemas.check("policy-try", document, "attempt")
    assert (document["judged"], document["difference"]) == (True, None)
    draft.write_text(DRAFT.replace("stage: calibrate", "stage: calibrat"), encoding="utf-8")
    assert main(["policy", "try", str(request_file), "--rules", str(draft), "--once", "--format", "json"]) == 3
    captured = capsys.readouterr()
    assert f"{draft}:3:8: no stage `calibrat`" in captured.err
    document = orjson.loads(captured.out)
    schemas.check("policy-try", document, "attempt")
    assert (document["judged"], document["decision"], document["errors"][0]["line"]) == (False, None, 3)


def test_rules_stand_in_for_the_rule_set_of_their_name(
    request_file: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file is judged by, and not the one in the policies' folder."""
    other = folder / "speed.yaml"
    text = (folder / "rules" / "speed.yaml").read_text(encoding="utf-8")
    other.write_text(text.replace("reason: plain", "reason: draft"), encoding="utf-8")
    arguments = ["policy", "try", str(request_file), "--policies", str(folder / "policies.yaml"), "--once", "--format", "json"]
    main([*arguments, "--rules", str(other)])
    found = {finding["reason"] for finding in orjson.loads(capsys.readouterr().out)["decision"]["findings"]}
    main(arguments)
    before = {finding["reason"] for finding in orjson.loads(capsys.readouterr().out)["decision"]["findings"]}
    assert (found, before) == ({"draft"}, {"plain"})


@pytest.mark.parametrize(("content", "code"), [(b"{}\n{}\n", "document-many"), (b"{", "json"), (None, "cannot-read")])
def test_what_is_no_request_is_told(
    request_file: Path, content: bytes | None, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two requests, half of one, none at all."""
    if content is None:
        request_file.unlink()
    else:
        request_file.write_bytes(content)
    assert main(["policy", "try", str(request_file), "--once"]) in {1, 3}
    assert code in capsys.readouterr().err


def test_stdin_cannot_be_saved(capsys: pytest.CaptureFixture[str]) -> None:
    """So it is no request to try."""
    assert main(["policy", "try", "-"]) == 64
    assert "not stdin" in capsys.readouterr().err


# -- processes ---------------------------------------------------------------------------------------------------------


class Watcher:
    """A process of `policy try`, read with a time limit."""

    def __init__(self, process: subprocess.Popen[bytes], output: int) -> None:
        self.process = process
        self._output = output
        self._held = b""
        self._selector = selectors.DefaultSelector()
        self._selector.register(output, selectors.EVENT_READ)

    def until(self, wanted: bytes) -> bytes:
        """Return what is written up to and with `wanted`."""
        end = time.monotonic() + PATIENCE
        while wanted not in self._held:
            if not self._selector.select(max(0.0, end - time.monotonic())):
                pytest.fail(f"{wanted!r} was not written; held {self._held[-2000:]!r}")
            read = os.read(self._output, 65536)
            if not read:
                pytest.fail(f"the process ended; held {self._held[-2000:]!r}")
            self._held += read
        found, _, self._held = self._held.partition(wanted)
        return found + wanted

    def attempt(self) -> dict[str, Any]:
        """Return the next line of JSON, held to the schema."""
        document: dict[str, Any] = orjson.loads(self.until(b"\n"))
        schemas.check("policy-try", document, "attempt")
        return document

    def close(self) -> None:
        """End the process."""
        self._selector.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)


def environment(folder: Path) -> dict[str, str]:
    """Return an environment of the test's own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REFLECT_GATE_")}
    for name in ("NO_COLOR", "FORCE_COLOR"):
        kept.pop(name, None)
    return {**kept, "REFLECT_GATE_CACHE": str(folder / "cache"), "REFLECT_GATE_HOME": str(folder / "home"), "TERM": "xterm"}


@pytest.fixture
def watching(request_file: Path, folder: Path) -> Iterator[Watcher]:
    """A process that watches the request and the policies, and writes JSON to a pipe."""
    command = [sys.executable, "-m", "reflect_gate", "policy", "try", str(request_file), "--format", "json"]
    command += ["--policies", str(folder / "policies.yaml")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(folder)) as process:
        assert process.stdout is not None
        watcher = Watcher(process, process.stdout.fileno())
        try:
            yield watcher
        finally:
            watcher.close()


def test_each_save_is_one_attempt(watching: Watcher, request_file: Path, folder: Path) -> None:
    """Of a rule, a lexicon, the policies and the request; a broken one keeps the decision; an interrupt ends it cleanly."""
    rules, lexicon, policies = (
        folder / "rules" / "speed.yaml",
        folder / "rules" / "lexicons" / "noise.yaml",
        folder / "policies.yaml",
    )
    text = rules.read_text(encoding="utf-8")
    first = watching.attempt()
    assert (first["attempt"], first["judged"], first["changed"], first["difference"]) == (1, True, [], None)

    save(rules, text.replace("hedges: {gt: $limit}", "hedge: {gt: $limit}"))
    broken = watching.attempt()
    assert (broken["judged"], broken["changed"], broken["decision"]) == (False, [str(rules)], first["decision"])
    fault = broken["errors"][0]
    assert (fault["code"], fault["file"], fault["line"], fault["column"]) == ("policy-unknown-field", str(rules), 12, 18)

    save(rules, text.replace("reason: plain", "reason: simple"))
    mended = watching.attempt()
    assert mended["judged"]
    assert [one["reason"] for one in mended["difference"]["gone"]] == ["plain"]
    assert [one["reason"] for one in mended["difference"]["added"]] == ["simple"]

    lexicon.write_text(
        lexicon.read_text(encoding="utf-8").replace("'ahoy'", "'cart'").replace("ahoy", "cart").replace("Ahoy", "Cart")
    )
    marked = watching.attempt()
    assert marked["errors"] == []
    assert {span["text"].lower() for span in marked["difference"]["marked"]} == {"cart"}
    assert [one["rule"] for one in marked["difference"]["gone"]] == ["in-limits"]

    save(policies, policies.read_text(encoding="utf-8").replace("default: ours", "default: without"))
    assert watching.attempt()["decision"]["bundle"]["name"] == "without"

    request = orjson.loads(request_file.read_bytes())
    request["reflection"]["candidate_lesson"] = HEDGES
    save(request_file, orjson.dumps(request).decode())
    assert watching.attempt()["changed"] == [str(request_file)]

    watching.process.send_signal(signal.SIGINT)
    assert watching.process.wait(PATIENCE) == 130
    assert watching.process.stderr is not None
    err = watching.process.stderr.read().decode()
    assert f"error: {rules}:12:18: `lesson` has no field `hedge`" in err
    assert "Traceback" not in err


_CONTROLLED = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.executable, sys.argv[1:])"
"""Makes the terminal that it is started with its own, so that Ctrl-C typed there reaches it."""


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are of POSIX")
@pytest.mark.parametrize("colour", [True, False])
def test_on_a_terminal(request_file: Path, folder: Path, colour: bool) -> None:
    """Coloured unless `NO_COLOR` says otherwise, the marked text, the trace and the difference; Ctrl-C typed there ends it."""
    import pty

    lexicon = folder / "rules" / "lexicons" / "noise.yaml"
    master, slave = pty.openpty()
    python = [sys.executable, "-c", _CONTROLLED]
    command = [
        sys.executable,
        "-m",
        "reflect_gate",
        "policy",
        "try",
        str(request_file),
        "--policies",
        str(folder / "policies.yaml"),
    ]
    env = {**environment(folder), **({} if colour else {"NO_COLOR": "1"})}
    with subprocess.Popen(
        [*python, *command], stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True
    ) as process:
        os.close(slave)
        watcher = Watcher(process, master)
        try:
            shown = watcher.until(b"why")
            assert (b"\x1b[" in shown) is colour
            assert b"refused" in shown
            text = lexicon.read_text(encoding="utf-8").replace("'ahoy'", "'cart'").replace("ahoy", "cart").replace("Ahoy", "Cart")
            save(lexicon, text)
            plain = re.sub(rb"\x1b\[[0-9;]*m", b"", watcher.until(b"`cart`") + watcher.until(b"noise/shouting"))
            assert f"2 ── changed: {lexicon}".encode() in plain
            assert b"against the decision before" in plain
            assert b"speed/in-limits fires no more" in plain
            os.write(master, b"\x03")
            assert process.wait(PATIENCE) == 130
        finally:
            watcher.close()
            os.close(master)
