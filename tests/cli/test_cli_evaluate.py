"""`reflect-gate evaluate` as a user meets it: one request, many, bad ones, and where the output goes."""

from __future__ import annotations

import json
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from reflect_gate import Bundle, ReflectGateError, pipeline, schemas
from reflect_gate.cli import _batch
from reflect_gate.cli._options import BundleChoice
from reflect_gate.cli.demo import load_demo, requests

Run = Callable[..., Any]

DEMO = dict(requests(load_demo()))
EXIT_CODES = {"admitted": 0, "speculative": 5, "line-level": 5, "platitude": 5, "blame": 0}


def encoded(*documents: object, join: bytes = b"\n") -> bytes:
    """Return documents as JSON, one a line unless joined otherwise."""
    return join.join(json.dumps(document).encode() for document in documents)


@pytest.fixture
def request_file(tmp_path: Path) -> Callable[[str], str]:
    """Write a demo request and return its path."""

    def write(name: str) -> str:
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(DEMO[name], indent=2), encoding="utf-8")
        return str(path)

    return write


@pytest.mark.parametrize(("name", "code"), EXIT_CODES.items())
def test_exit_code_is_the_decision(here: Run, request_file: Callable[[str], str], name: str, code: int) -> None:
    """A single request's exit code says what was decided (docs/architecture.md, exit codes)."""
    assert here("evaluate", request_file(name)).code == code


def test_undecided_is_4(here: Run, tmp_path: Path) -> None:
    """What the measures cannot read is undecided: neither a success nor a refusal (R-e1)."""
    request = json.loads(json.dumps(DEMO["admitted"]))
    request["reflection"]["candidate_lesson"] = (
        "Wenn ein Aufruf mit Nebenwirkungen abläuft, behandle sein Ergebnis als unbekannt und wiederhole ihn mit demselben "
        "Schlüssel, weil der erste Versuch schon verbucht sein kann und der Kunde sonst zweimal zahlt."
    )
    path = tmp_path / "request.json"
    path.write_text(json.dumps(request), encoding="utf-8")
    assert here("evaluate", str(path)).code == 4


def test_stdin_is_the_default(process: Run) -> None:
    """Without FILE, and with `-`, the request comes from stdin."""
    data = encoded(DEMO["admitted"])
    assert process("evaluate", stdin=data) == process("evaluate", "-", stdin=data)


def test_json_is_a_decision_document(here: Run, request_file: Callable[[str], str]) -> None:
    """`--format json` prints canonical JSON that holds to the decision schema."""
    out = here("evaluate", request_file("blame"), "--format", "json", "--explain").out
    decision = json.loads(out)
    schemas.check("decision", decision, "stdout")
    assert decision["firings"]
    assert out == json.dumps(decision, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"


def test_same_request_same_bytes(process: Run) -> None:
    """Two processes give identical bytes; no clock and no hash seed is in a decision."""
    runs = [
        process(
            "evaluate", "--format", "json", "--as-of", "2026-01-01", stdin=encoded(DEMO["admitted"]), env={"PYTHONHASHSEED": seed}
        )
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]


def test_text_shows_spans_values_and_places(here: Run, request_file: Callable[[str], str]) -> None:
    """Text says what matched, what was measured against which threshold, and which rule said so, with its place."""
    out = here("evaluate", request_file("platitude")).out
    assert "[Always be more careful]" in out
    assert "(calibration.virtue_level_coverage)" in out
    assert "calibration/virtue-level  calibration.yaml:" in out


def test_no_colour_in_a_pipe(process: Run) -> None:
    """Output that is no terminal has no escape sequences."""
    assert "\x1b" not in process("evaluate", stdin=encoded(DEMO["platitude"])).out


def test_forced_colour_replaces_brackets(process: Run) -> None:
    """`FORCE_COLOR` asks for colour, in which spans need no brackets."""
    out = process("evaluate", stdin=encoded(DEMO["platitude"]), env={"FORCE_COLOR": "1"}).out
    assert "\x1b[" in out
    assert "[Always be more careful]" not in out


def test_no_color_wins(process: Run) -> None:
    """`NO_COLOR` is stronger than `FORCE_COLOR`."""
    assert "\x1b" not in process("evaluate", stdin=encoded(DEMO["platitude"]), env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).out


def test_hostile_text_is_harmless(process: Run) -> None:
    """Escape sequences and bidirectional controls of a request never reach the terminal as such."""
    request = json.loads(json.dumps(DEMO["admitted"]))
    request["reflection"]["candidate_lesson"] = (
        "When \x1b]0;owned\x07 times out\u202e repeat it\x9b2J, because it may be captured."
    )
    out = process("evaluate", stdin=encoded(request)).out
    assert "\\x1b]0;owned\\x07" in out
    assert not [char for char in out if not char.isprintable() and char != "\n"]


# -- bad input ---------------------------------------------------------------------------------------------------------


GOOD = encoded(DEMO["admitted"])

BAD: Mapping[str, tuple[bytes, str]] = {
    "empty": (b"", "document-empty"),
    "blank": (b" \n\n", "document-empty"),
    "truncated": (GOOD[:-40], "document-syntax"),
    "bom": (b"\xef\xbb\xbf" + GOOD, "document-bom"),
    "not utf-8": (GOOD.replace(b"storefront-ci", b"store\xff", 1), "document-encoding"),
    "duplicate key": (b'{"record": 1, "record": 2}', "document-duplicate-key"),
    "nan": (b'{"record": NaN}', "document-syntax"),
    "deep": (b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}", "document-depth"),
    "large number": (b'{"record": 123456789012345678901234567890}', "document-number"),
    "lone surrogate": (b'{"record": "\\ud800"}', "document-surrogate"),
    "scalar": (b"42", "document-type"),
    "wrong types": (b'{"record": [], "reflection": "x"}', "schema"),
    "empty array": (b"[]", "document-empty"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_3(process: Run, name: str) -> None:
    """Whatever is not a request is refused with its place and code, without a traceback and without a decision."""
    data, code = BAD[name]
    exit_code, out, err = process("evaluate", stdin=data)
    assert (exit_code, out) == (3, "")
    assert f"[{code}]" in err
    assert err.startswith("error: <stdin>")
    assert "Traceback" not in err


def test_every_violation_is_told(here: Run, tmp_path: Path) -> None:
    """All that is wrong with a request is told at once, each with its JSON pointer."""
    path = tmp_path / "request.json"
    path.write_text(json.dumps({**DEMO["admitted"], "reflection": {"outcome": "won"}, "extra": 1}), encoding="utf-8")
    err = here("evaluate", str(path)).err
    assert len(err.splitlines()) > 5
    assert f"error: {path} at /reflection/outcome: " in err


def test_errors_as_json(here: Run, tmp_path: Path) -> None:
    """`--error-format json` prints each error as one object with its parts."""
    path = tmp_path / "request.json"
    path.write_text('{"record": 1, "record": 2}', encoding="utf-8")
    error = json.loads(here("evaluate", str(path), "--error-format", "json").err)["error"]
    assert (error["code"], error["file"], error["line"], error["column"]) == ("document-duplicate-key", str(path), 1, 15)


def test_machine_output_of_an_invalid_request(process: Run) -> None:
    """In machine formats an error object stands where the decision would be."""
    code, out, _ = process("evaluate", "--format", "ndjson", stdin=b"{}")
    document = json.loads(out)
    assert code == 3
    schemas.check("error", document, "stdout")
    assert document["errors"]


def test_missing_file_could_not_run(here: Run) -> None:
    """A file that is not there is 1, not an invalid request."""
    code, _, err = here("evaluate", "no-such-file.json")
    assert code == 1
    assert err == "error: cannot read `no-such-file.json`: no such file or directory [cannot-read]\n"


def test_folder_could_not_run(here: Run, tmp_path: Path) -> None:
    """Neither is a folder a file."""
    assert here("evaluate", str(tmp_path)).code == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["--bundle", "structurd"],
        ["--set", "grounding.min_anchor_overlap=2"],
        ["--set", "grounding.nothing=1"],
        ["--disable", "groundin"],
        ["--as-of", "soon"],
        ["--policies", "no-such-policies.yaml"],
    ],
)
def test_broken_policy_never_admits(here: Run, request_file: Callable[[str], str], arguments: list[str]) -> None:
    """A bundle that does not load judges nothing (docs/architecture.md, exit codes)."""
    code, out, err = here("evaluate", request_file("admitted"), *arguments)
    assert (code, out) == (3, "")
    assert err.startswith("error: ")


# -- bundles -----------------------------------------------------------------------------------------------------------


def test_disable_is_an_ablation(here: Run, request_file: Callable[[str], str]) -> None:
    """A rule set that is switched off no longer refuses (R-m5)."""
    assert here("evaluate", request_file("line-level"), "--disable", "calibration").code == 0


def test_introspect_admits_everything(here: Run, request_file: Callable[[str], str]) -> None:
    """The naive baseline stores whatever the model says (R-x3)."""
    assert {here("evaluate", request_file(name), "--bundle", "introspect").code for name in DEMO} == {0}


def test_set_changes_a_threshold(here: Run, request_file: Callable[[str], str]) -> None:
    """A setting given on the command line is the one that decides."""
    assert here("evaluate", request_file("admitted"), "--set", "calibration.min_words=200").code == 5


def test_bundle_from_the_environment(process: Run) -> None:
    """`REFLECT_GATE_BUNDLE` names the bundle where the option does not."""
    assert process("evaluate", stdin=encoded(DEMO["platitude"]), env={"REFLECT_GATE_BUNDLE": "introspect"}).code == 0


def test_engines_agree_and_are_named(here: Run, request_file: Callable[[str], str]) -> None:
    """The compiled engine alone decides the same, and the decision says that it ran alone."""
    path = request_file("blame")
    both = json.loads(here("evaluate", path, "--format", "json").out)
    alone = json.loads(here("evaluate", path, "--format", "json", "--engine", "compiled").out)
    assert (alone["bundle"]["engine"], alone["bundle"]["cross_check"]) == ("compiled", False)
    assert alone["findings"] == both["findings"]


def test_working_directory_brings_no_policy(process: Run, tmp_path: Path) -> None:
    """A repository cannot switch off its visitor's gate by a file in it."""
    (tmp_path / "policies.yaml").write_text(
        "policies: 1\ndefault: open\nbundles: {open: {doc: x, rulesets: []}}\n", encoding="utf-8"
    )
    assert process("evaluate", stdin=encoded(DEMO["platitude"])).code == 5


# -- batches -----------------------------------------------------------------------------------------------------------


def test_batch_of_good_requests_is_0(process: Run) -> None:
    """A batch is a success when every line was judged, whatever was decided."""
    code, out, err = process("evaluate", "--format", "ndjson", stdin=encoded(*DEMO.values()))
    assert code == 0
    assert [json.loads(line)["exit_code"] for line in out.splitlines()] == list(EXIT_CODES.values())
    assert err == "5 judged: 2 admitted, 0 undecided, 3 refused, 0 invalid\n"


def test_bad_line_does_not_stop_the_rest(process: Run) -> None:
    """A bad line is told with its number, stands as an error object, and makes the batch 3."""
    lines = [encoded(DEMO["admitted"]), b'{"record": ', b"{}", encoded(DEMO["platitude"])]
    code, out, err = process("evaluate", "--format", "ndjson", stdin=b"\n".join(lines))
    documents = [json.loads(line) for line in out.splitlines()]
    assert code == 3
    assert [document["schema"].split(":")[-2] for document in documents] == ["decision", "error", "error", "decision"]
    schemas.check("error", documents[1], "stdout")
    assert documents[1]["place"] == "line 2"
    assert "error: <stdin>:2:" in err
    assert "error: <stdin>:3 at /record: " in err or "error: <stdin>:3: " in err


def test_array(process: Run) -> None:
    """A JSON array of requests comes back as an array of decisions, also of one."""
    code, out, _ = process("evaluate", "--format", "json", stdin=b"[" + encoded(DEMO["platitude"]) + b"]")
    assert code == 0
    assert [decision["status"] for decision in json.loads(out)] == ["refused"]


def test_array_with_an_invalid_request(process: Run) -> None:
    """An invalid element of an array is told by its index."""
    code, out, err = process(
        "evaluate", "--format", "json", stdin=b"[" + encoded(DEMO["admitted"], {"record": 1}, join=b",") + b"]"
    )
    assert code == 3
    assert [document["schema"].split(":")[-2] for document in json.loads(out)] == ["decision", "error"]
    assert "error: <stdin> at /1/record: " in err


def test_batch_text_is_a_line_each_and_a_summary(process: Run) -> None:
    """Text of a batch can be skimmed: a line an entry with the deciding rule, then the counts."""
    out = process("evaluate", stdin=encoded(*DEMO.values())).out.splitlines()
    assert out[3].startswith("line 4     refused    too_vague          storefront-ci-4127  calibration/")
    assert out[-1] == "5 judged: 2 admitted, 0 undecided, 3 refused, 0 invalid"


def test_summary_as_json(process: Run) -> None:
    """Where errors are objects, the summary on stderr is one too."""
    err = process("evaluate", "--format", "ndjson", "--error-format", "json", stdin=encoded(*DEMO.values())).err
    assert json.loads(err) == {"summary": {"admitted": 2, "undecided": 0, "refused": 3, "invalid": 0}}


@pytest.mark.slow
def test_jobs_give_the_same_bytes(process: Run) -> None:
    """Worker processes change neither the decisions nor their order, bad lines included."""
    data = b"\n".join([encoded(*DEMO.values()), b"{", b"[]", encoded(*DEMO.values())] * 12)
    alone = process("evaluate", "--format", "ndjson", stdin=data)
    shared = process("evaluate", "--format", "ndjson", "--jobs", "2", stdin=data)
    assert shared == alone


def test_batch_streams(environment: dict[str, str]) -> None:
    """A decision comes out while the input is still open: a live log can be piped through."""
    running = subprocess.Popen(
        [sys.executable, "-m", "reflect_gate", "evaluate", "--format", "ndjson"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdin.write(encoded(DEMO["admitted"], DEMO["platitude"]) + b"\n")
    running.stdin.flush()
    first = json.loads(running.stdout.readline())
    running.communicate(timeout=60)
    assert first["status"] == "admitted"


# -- output ------------------------------------------------------------------------------------------------------------


def test_output_file(here: Run, request_file: Callable[[str], str], tmp_path: Path) -> None:
    """`-o` writes the file and nothing to stdout; the exit code stays the decision's."""
    target = tmp_path / "decision.json"
    code, out, _ = here("evaluate", request_file("platitude"), "--format", "json", "-o", str(target))
    assert (code, out) == (5, "")
    assert json.loads(target.read_bytes())["reason"] == "too_vague"


def test_output_may_replace_the_input(here: Run, tmp_path: Path) -> None:
    """Writing over the input is safe: it is replaced when everything has been read."""
    path = tmp_path / "requests.ndjson"
    path.write_bytes(encoded(*DEMO.values()))
    assert here("evaluate", str(path), "--format", "ndjson", "-o", str(path)).code == 0
    assert len(path.read_bytes().splitlines()) == 5
    assert [entry.name for entry in tmp_path.iterdir() if entry.suffix == ".tmp"] == []


def test_output_to_nowhere_could_not_run(here: Run, request_file: Callable[[str], str], tmp_path: Path) -> None:
    """An output that cannot be written is 1, and no decision is lost silently."""
    code, _, err = here("evaluate", request_file("admitted"), "-o", str(tmp_path / "none" / "x.json"))
    assert code == 1
    assert "[cannot-write]" in err


# -- workers --------------------------------------------------------------------------------------------------------------


def test_worker_refuses_other_policies(monkeypatch: pytest.MonkeyPatch, structured: Bundle) -> None:
    """A worker that loads other policies than its parent judges nothing: a batch has one bundle."""
    monkeypatch.setattr(signal, "signal", lambda _number, _handler: None)
    _batch._start_worker(BundleChoice("introspect", as_of=structured.as_of), structured.digest, "x", False)
    with pytest.raises(ReflectGateError, match="policies changed"):
        _batch._work([("line 1", DEMO["admitted"])])


def test_worker_tells_why_it_cannot_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bundle that no longer loads is told as what it is, and can be sent between processes."""
    monkeypatch.setattr(signal, "signal", lambda _number, _handler: None)
    _batch._start_worker(BundleChoice("no-such-bundle"), "", "x", False)
    with pytest.raises(ReflectGateError) as caught:
        _batch._work([("line 1", DEMO["admitted"])])
    assert pickle.loads(pickle.dumps(caught.value)).message == caught.value.message  # noqa: S301 - its own bytes


def test_fault_in_one_entry_is_its_own(monkeypatch: pytest.MonkeyPatch, structured: Bundle) -> None:
    """An unexpected exception costs one entry its decision, never the batch, and never admits."""

    def fail(*_arguments: object, **_options: object) -> None:
        raise ZeroDivisionError("boom")

    monkeypatch.setattr(pipeline, "evaluate", fail)
    judged = _batch.judge_one(("line 3", DEMO["admitted"]), "in.ndjson", structured, False)
    assert judged.decision is None
    assert judged.error is not None
    assert (judged.error.code, str(judged.error.source)) == ("internal", "in.ndjson:3")


@pytest.mark.parametrize(("style", "lines"), [("text", 21), ("json", 31)])
def test_of_many_errors_the_first_are_told(here: Run, tmp_path: Path, style: str, lines: int) -> None:
    """A file of prose is no reason for a screen of errors; as data each is there, and stdout keeps every one as well."""
    prose = tmp_path / "notes.md"
    prose.write_text("A line of prose.\n" * 30, encoding="utf-8")
    ran = here("evaluate", str(prose), "--format", "ndjson", "--error-format", style)
    told = [line for line in ran.err.splitlines() if "30 read" not in line]
    assert (ran.code, len(told), len(ran.out.splitlines())) == (3, lines, 30)
    assert (told[-1] == "and 10 more errors; `--error-format json` prints every one") is (style == "text")


def test_in_flight_is_bounded() -> None:
    """Workers that are slow do not make the reader swallow the input."""
    read = 0

    def entries() -> Iterator[tuple[str, object]]:
        nonlocal read
        for number in range(10_000):
            read += 1
            yield f"line {number}", {}

    class Pool:
        def submit(self, _work: object, chunk: list[object]) -> Future[list[tuple[None, list[object]]]]:
            done: Future[list[tuple[None, list[object]]]] = Future()
            done.set_result([(None, []) for _ in chunk])
            return done

    ordered = _batch._ordered(Pool(), entries(), 2)
    assert next(ordered).place == "line 0"
    assert read == 2 * _batch.CHUNK
    assert [judged.place for judged in ordered] == [f"line {number}" for number in range(1, 10_000)]


def test_warm_run_imports_no_parser_of_policies(environment: dict[str, str], tmp_path: Path) -> None:
    """With a warm cache, `evaluate` reads no YAML and builds no slow validator (docs/architecture.md, start-up)."""
    path = tmp_path / "request.json"
    path.write_bytes(GOOD)
    code = (
        "import sys; from reflect_gate.cli import main; main(['evaluate', sys.argv[1]]);"
        "print([name for name in ('yaml', 'jsonschema', 'openai', 'rich', 'multiprocessing') if name in sys.modules])"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, env=environment, check=True)
        for _ in range(2)
    ]
    assert runs[1].stdout.splitlines()[-1] == "[]"
