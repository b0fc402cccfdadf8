"""`ab --live`: a model is asked once a record, the answers are kept, and the same comparison is made again without it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from reflect_gate import schemas
from reflect_gate.ab.living import Budget, BudgetSpentError, Candidates, calls_of, failure_of
from reflect_gate.errors import ReflectGateError
from reflect_gate.llm.errors import ModelError
from reflect_gate.llm.prompt import Prompt
from reflect_gate.llm.settings import ModelSettings, Price

from ..llm.server import Handler, ModelServer, completion, status
from .answers import answer

Run = Callable[..., Any]
Live = Callable[..., Any]

QUICK = ("--resamples", "40", "--engine", "compiled", "--format", "json")


@pytest.fixture
def asking(monkeypatch: pytest.MonkeyPatch) -> Callable[[ModelServer], None]:
    """Let this process ask a server, with waits that a test can afford."""

    def ask(server: ModelServer) -> None:
        for name, value in variables(server).items():
            monkeypatch.setenv(name, value)

    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "REFLECT_GATE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return ask


def variables(server: ModelServer) -> dict[str, str]:
    """Return the environment that names a server as the model."""
    return {
        "REFLECT_GATE_MODEL": "tiny",
        "REFLECT_GATE_BASE_URL": server.base_url,
        "REFLECT_GATE_QUEUE_INITIAL_DELAY": "1ms",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }


def live(run: Run, files: Mapping[str, str], *more: str, record: str = "") -> Any:
    """Compare with candidates that are asked for, one call at a time."""
    into = record or files["candidates"]
    named = ("ab", files["requests"], "--labels", files["labels"], *QUICK)
    return run(*named, "--live", "--record", into, "--at-once", "1", *more)


def replayed(run: Run, files: Mapping[str, str], *more: str) -> Any:
    """Compare the candidates that were kept."""
    return run("ab", files["requests"], "--labels", files["labels"], *QUICK, "--replay", files["candidates"], *more)


@pytest.fixture
def files(files: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """Requests of two tasks, their labels, and a file for the candidates."""
    return {**files, "candidates": str(tmp_path / "candidates.ndjson")}


def test_each_record_is_asked_about_once_for_both_bundles(here: Run, files: dict[str, str], asking: Any) -> None:
    """R-m1: two records, two bundles, two calls; the reflections that stand in the requests are not read."""
    with ModelServer(answer()) as server:
        asking(server)
        ran = live(here, files)
        assert ran.code == 0, ran.err
        assert len(server.asked) == 2
    document = json.loads(ran.out)
    schemas.check("ab", document, "stdout")
    assert (document["calls"]["calls"], document["calls"]["kinds"]["reflection"], document["calls"]["left"]) == (2, 2, 0)
    assert document["main"]["records"] == 2
    assert document["main"]["spending"]["tokens"]["mean"] == 1350
    assert "answers of a model that was asked" in " ".join(document["caveats"])
    assert not [asked for asked in server.asked if "candidate_lesson" in asked.body["messages"][1]["content"]]


def test_what_was_kept_says_the_same_without_a_model(here: Run, files: dict[str, str], asking: Any) -> None:
    """A replay gives the same bytes, and so does a second live run, which asks nobody."""
    with ModelServer(answer()) as server:
        asking(server)
        first = live(here, files).out
        again = live(here, files).out
        assert len(server.asked) == 2
    assert again == first == replayed(here, files).out


def test_a_bound_on_calls_leaves_the_rest_for_later(here: Run, files: dict[str, str], asking: Any) -> None:
    """What was not asked about is in no figure and is said; a higher bound goes on from there."""
    with ModelServer(answer()) as server:
        asking(server)
        ran = live(here, files, "--max-calls", "1")
        assert (ran.code, len(server.asked)) == (0, 1)
        assert "1 of 2 records were not asked about" in ran.err
        told = json.loads(ran.out)
        assert (told["calls"]["left"], told["main"]["records"]) == (1, 1)
        assert live(here, files, "--max-calls", "1").out == ran.out
        assert len(server.asked) == 1
        assert json.loads(live(here, files, "--max-calls", "2").out)["calls"]["left"] == 0
        assert len(server.asked) == 2


def test_a_kill_costs_no_second_call(files: dict[str, str], environment: dict[str, str], asking: Any, here: Run) -> None:
    """The first answer is kept; the process is killed while the second is awaited; then one more call is made and no other."""
    running: list[subprocess.Popen[bytes]] = []

    def kill(handler: Handler) -> None:
        running[0].send_signal(signal.SIGKILL)
        running[0].wait(30)
        handler.leave()

    with ModelServer(answer(), kill, answer()) as server:
        named = ["ab", files["requests"], "--labels", files["labels"], *QUICK, "--live", "--record", files["candidates"]]
        env = {**environment, **variables(server)}
        running.append(subprocess.Popen([sys.executable, "-m", "reflect_gate", *named, "--at-once", "1"], env=env))
        assert running[0].wait(60) == -signal.SIGKILL
        assert len(Path(files["candidates"]).read_bytes().splitlines()) == 1
        asking(server)
        ran = live(here, files)
        assert (ran.code, len(server.asked)) == (0, 3), ran.err
        prompts = [asked.body["messages"][1]["content"] for asked in server.asked]
    assert (prompts[0] != prompts[1], prompts[1] == prompts[2]) == (True, True)


def no_room(*_: object) -> None:
    """Fail as writing to a full disk does."""
    raise ReflectGateError("cannot-write", "the disk is full")


def test_a_received_answer_that_was_not_written_down_is_not_asked_for_again(
    here: Run, files: dict[str, str], asking: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal beside the file has it."""
    with ModelServer(answer()) as server:
        asking(server)
        with monkeypatch.context() as patch:
            patch.setattr(Candidates, "add", no_room)
            assert live(here, files).code == 1
        asked = len(server.asked)
        assert asked >= 1
        assert live(here, files).code == 0
        assert len(server.asked) == 2


def test_an_answer_about_another_record_of_that_name_is_not_taken(
    here: Run, files: dict[str, str], asking: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The records were changed between the kill and the next run: what was received is about something else."""
    with ModelServer(answer()) as server:
        asking(server)
        with monkeypatch.context() as patch:
            patch.setattr(Candidates, "add", no_room)
            live(here, files)
        before = len(server.asked)
        path = Path(files["requests"])
        path.write_text(path.read_text(encoding="utf-8").replace("FAILED", "failed"), "utf-8")
        assert live(here, files).code == 0
        assert len(server.asked) == before + 2


def test_nothing_is_left_in_the_journal(here: Run, files: dict[str, str], asking: Any) -> None:
    """Once everything is in the file, the folder beside it goes."""
    with ModelServer(answer()) as server:
        asking(server)
        live(here, files)
    assert not Path(files["candidates"] + ".journal").exists()


def test_a_busy_server_is_asked_again(here: Run, files: dict[str, str], asking: Any) -> None:
    """Transient faults are tried again as the queue does; the fault is in no figure."""
    with ModelServer(status(503), status(429, retry_after="0"), answer()) as server:
        asking(server)
        ran = live(here, files)
        assert (ran.code, len(server.asked)) == (0, 4), ran.err
    assert json.loads(ran.out)["calls"]["calls"] == 2


def test_a_server_that_stays_busy_ends_the_run(
    here: Run, files: dict[str, str], asking: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After as many attempts as a job of the queue has; what was answered before stays."""
    monkeypatch.setenv("REFLECT_GATE_QUEUE_MAX_ATTEMPTS", "2")
    with ModelServer(answer(), status(503)) as server:
        asking(server)
        ran = live(here, files)
        assert len(server.asked) == 3
    assert (ran.code, "answered 503" in ran.err, ran.out) == (1, True, "")
    assert len(Candidates(Path(files["candidates"]))) == 1


def test_a_wrong_key_ends_the_run_at_once(here: Run, files: dict[str, str], asking: Any) -> None:
    """The next record would meet it as well."""
    with ModelServer("401") as server:
        asking(server)
        ran = live(here, files)
        assert (ran.code, len(server.asked)) == (1, 1)
    assert "401" in ran.err


def test_one_refused_request_costs_the_others_nothing(here: Run, files: dict[str, str], asking: Any) -> None:
    """A 400 is about one record, which is reported and left."""
    with ModelServer("400", answer()) as server:
        asking(server)
        ran = live(here, files)
        assert (ran.code, len(server.asked)) == (0, 2)
    assert (json.loads(ran.out)["calls"]["left"], "answered 400" in ran.err) == (1, True)


@pytest.mark.parametrize(
    ("behaviour", "kind", "reason"),
    [("skip", "skip", {}), ("truncated JSON", "violation", {"not-json": 1}), ("one tag", "violation", {"tags": 1})],
)
def test_what_is_no_candidate_is_counted_and_not_compared(
    here: Run, files: dict[str, str], asking: Any, behaviour: str, kind: str, reason: dict[str, int]
) -> None:
    """R-L2: it is not asked for again, and both bundles go without it."""
    with ModelServer(behaviour, answer()) as server:
        asking(server)
        told = json.loads(live(here, files).out)
        live(here, files)
        assert len(server.asked) == 2
    assert (told["calls"]["kinds"][kind], told["calls"]["reasons"], told["main"]["records"]) == (1, reason, 1)


def test_secrets_do_not_leave_the_machine(here: Run, files: dict[str, str], asking: Any) -> None:
    """They are taken out before the prompt is built, as capture does."""
    secret = "ghp_" + "a1B2c3D4" * 5
    path = Path(files["requests"])
    path.write_text(path.read_text(encoding="utf-8").replace("send_mail() retries", f"{secret} send_mail() retries"), "utf-8")
    with ModelServer(answer()) as server:
        asking(server)
        assert live(here, files).code == 0
        assert not [asked for asked in server.asked if secret in json.dumps(asked.body)]
    assert secret not in Path(files["candidates"]).read_text(encoding="utf-8")


def test_candidates_of_another_record_are_refused(here: Run, files: dict[str, str], asking: Any) -> None:
    """A record that was changed since then has no candidate here, and the figures must not be made of it."""
    with ModelServer(answer()) as server:
        asking(server)
        live(here, files)
    path = Path(files["requests"])
    path.write_text(path.read_text(encoding="utf-8").replace("send_mail() retries", "send_mail() tries"), "utf-8")
    ran = replayed(here, files)
    assert (ran.code, "another record" in ran.err) == (3, True)


def test_one_failure_has_one_candidate(here: Run, files: dict[str, str], asking: Any) -> None:
    """A second record of the same name is invalid, and is not asked about."""
    path = Path(files["requests"])
    path.write_bytes(path.read_bytes() * 2)
    with ModelServer(answer()) as server:
        asking(server)
        ran = live(here, files)
        assert (ran.code, len(server.asked)) == (3, 2)
    assert json.loads(ran.out)["requests"]["invalid"] == 2
    assert "stands here a second time" in ran.err


@pytest.mark.parametrize("more", ["--live", "--record x", "--max-calls 1", "--max-cost 1", "--live --record x --max-cost much"])
def test_options_that_do_not_go_together(here: Run, files: dict[str, str], more: str) -> None:
    """Usage errors, before anybody is asked."""
    assert here("ab", files["requests"], "--labels", files["labels"], *more.split()).code == 64


def test_a_line_that_a_kill_left_unfinished_is_written_anew(tmp_path: Path, request_document: dict[str, Any]) -> None:
    """The lines before it stay as they are."""
    path = tmp_path / "c.ndjson"
    reflected = schemas.schema("reflected")["examples"][0]
    failure = failure_of(request_document)
    Candidates(path).add(failure, {**reflected, "failure_id": failure.failure_id})
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])
    other = failure_of({**request_document, "record": {**request_document["record"], "failure_id": "other"}})
    Candidates(path).add(other, {**reflected, "failure_id": "other"})
    assert path.read_bytes().startswith(whole)
    assert len(Candidates(path)) == 2


@pytest.mark.parametrize("data", [b"nonsense\n", b"{}\n", b'{"schema": "urn:reflect-gate:schema:candidate:1"}\n'])
def test_a_damaged_file_is_refused_with_its_line(tmp_path: Path, data: bytes) -> None:
    """A candidate that cannot be read is no candidate less."""
    path = tmp_path / "c.ndjson"
    path.write_bytes(data)
    with pytest.raises(ReflectGateError) as caught:
        Candidates(path)
    assert caught.value.source is not None
    assert (caught.value.code in {"not-json", "candidate-line"}, caught.value.source.line) == (True, 1)


# -- money -----------------------------------------------------------------------------------------------------------------------


class Costly:
    """A client whose every call costs 20 cents of at most 8.19 dollars, or fails."""

    settings = ModelSettings("tiny", price=Price(Decimal(0), Decimal(0), Decimal(4000)))

    def __init__(self, *errors: ModelError) -> None:
        self.errors = list(errors)
        self.asked = 0

    def ask(self, _prompt: Prompt) -> Any:
        """Ask once."""
        from reflect_gate.llm.call import Received

        self.asked += 1
        if self.errors:
            raise self.errors.pop()
        usage = {"prompt_tokens": 1, "completion_tokens": 50}
        settings = self.settings
        body = completion("{}", usage=usage)
        return Received(body, 200, "", False, 1, "tiny", "http://127.0.0.1", "0" * 64, (), settings.price)


PROMPT = Prompt((), {}, 100, {})


def test_a_call_that_could_cost_too_much_is_not_made() -> None:
    """R-L3: bounded before the call: 8.19 dollars at most fit into 8.50 twice as long as 20 cents are spent."""
    client = Costly()
    budget = Budget(client, [], None, Decimal("8.50"))
    budget.ask(PROMPT)
    budget.ask(PROMPT)
    with pytest.raises(BudgetSpentError, match=r"\$0\.4 of at most \$8\.5"):
        budget.ask(PROMPT)
    assert client.asked == 2


def test_earlier_runs_count() -> None:
    """What stands in the file was paid for."""
    call = {**schemas.schema("call")["examples"][0], "cost": "3"}
    line = {"of": "", "reflected": {"kind": "skip", "reason": None, "violation": None, "call": call}}
    assert calls_of([line], 0)["cost"] == "3"
    with pytest.raises(BudgetSpentError, match="1 of at most 1"):
        Budget(Costly(), [line], 1, None).ask(PROMPT)
    with pytest.raises(BudgetSpentError, match=r"\$3 of at most"):
        Budget(Costly(), [line], None, Decimal(9)).ask(PROMPT)


@pytest.mark.parametrize(("code", "fits"), [("model-timeout", False), ("model-busy", True)])
def test_what_a_failed_call_may_have_cost(code: str, fits: bool) -> None:
    """A server that fell silent may have worked for its money, one that refused has not."""
    budget = Budget(Costly(ModelError(code, "failed", transient=True)), [], None, Decimal("8.50"))
    with pytest.raises(ModelError):
        budget.ask(PROMPT)
    if fits:
        budget.ask(PROMPT)
    else:
        with pytest.raises(BudgetSpentError):
            budget.ask(PROMPT)


def test_dollars_need_a_price() -> None:
    """A limit that nobody can hold is an error, not a wish."""
    client = Costly()
    client.settings = ModelSettings("tiny")
    with pytest.raises(ModelError, match="needs the price"):
        Budget(client, [], None, Decimal(1)).ask(PROMPT)
    assert client.asked == 0
