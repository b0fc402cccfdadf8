"""The client: what it sends, that it sends it once, and that nothing of ours leaks on the way."""

from __future__ import annotations

import copy
import pickle
import sys
import time
from typing import Any

import pytest

from reflect_gate.llm.client import Client, request_of
from reflect_gate.llm.errors import ModelError
from reflect_gate.llm.prompt import Prompt, build_prompt
from reflect_gate.llm.settings import ModelSettings

from .faults import KEY, settings_for
from .server import ModelServer, status


@pytest.fixture
def prompt(record: Any, context: Any) -> Prompt:
    """A prompt for the example record."""
    found = build_prompt(record, context, 24_000)
    assert found is not None
    return found


def failure(client: Client, prompt: Prompt) -> ModelError:
    """Return why nothing was received."""
    with pytest.raises(ModelError) as caught:
        client.ask(prompt)
    return caught.value


def test_the_request_on_the_wire(prompt: Prompt) -> None:
    """R-L1: temperature 0, seed, 2048 tokens, strict schema, evidence before context; this and nothing else."""
    with ModelServer() as server:
        received = Client(settings_for(server, seed=7)).ask(prompt)
        (asked,) = server.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["accept-encoding"] == "identity"
    assert asked.body == {
        "model": "tiny",
        "messages": [dict(message) for message in prompt.messages],
        "temperature": 0,
        "seed": 7,
        "max_completion_tokens": 2048,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "reflection_response", "strict": True, "schema": prompt.schema},
        },
    }
    assert received.deviations == ()
    assert (received.status, received.content_type, received.cut) == (200, "application/json", False)


@pytest.mark.parametrize(
    ("parameters", "gone", "added", "deviation"),
    [
        ({"temperature": "omit"}, "temperature", {}, "temperature omitted"),
        ({"seed": "omit"}, "seed", {}, "seed omitted"),
        ({"max_completion_tokens": "omit"}, "max_completion_tokens", {}, "max_completion_tokens omitted"),
        (
            {"max_completion_tokens": "max_tokens"},
            "max_completion_tokens",
            {"max_tokens": 2048},
            "max_completion_tokens sent as max_tokens",
        ),
        ({"json_schema": "omit"}, "response_format", {}, "json_schema omitted"),
    ],
)
def test_what_a_model_refuses_is_left_out_and_recorded(
    parameters: dict[str, str], gone: str, added: dict[str, int], deviation: str, prompt: Prompt
) -> None:
    """R-L1: by configuration, never by asking again; one parameter changes nothing but itself."""
    whole = request_of(prompt, ModelSettings("tiny"))
    del whole[gone]
    with ModelServer() as server:
        received = Client(settings_for(server, parameters=parameters, seed=15)).ask(prompt)
        assert server.asked[0].body == {**whole, **added}
    assert received.deviations == (deviation,)


def test_the_digest_is_that_of_the_request(prompt: Prompt) -> None:
    """The same prompt and settings give the same digest, another seed another; server and key do not matter."""
    with ModelServer() as server:
        first, second, other = (
            Client(settings_for(server, **change)).ask(prompt).request_digest for change in ({}, {"key": "sk-other"}, {"seed": 1})
        )
    assert first == second != other


def test_a_server_without_a_key_gets_no_secret(prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    """openai would fall back to the environment's key by itself."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-account")
    with ModelServer() as server:
        Client(settings_for(server, key="")).ask(prompt)
        assert server.asked[0].headers["authorization"] == "Bearer none"


@pytest.mark.parametrize("account", [True, False])
def test_the_account_of_the_user_stays_with_his_servers(account: bool, prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    """openai's client sends what the environment says of an account, also to a server that a policies file names."""
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-1")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Team: team-1")
    with ModelServer() as server:
        Client(settings_for(server, account=account)).ask(prompt)
        (asked,) = server.asked
    sent = {name for name in ("openai-organization", "openai-project", "x-team") if name in asked.headers}
    # Not every version of openai knows headers of the environment.
    assert sent - {"x-team"} == ({"openai-organization", "openai-project"} if account else set())
    assert account or "x-team" not in sent
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body["model"] == "tiny"


@pytest.mark.parametrize(
    "said", [f"bad key {KEY}", "bad key sk-other-0123456789", "sent Bearer abcdefgh", f"x\n\x1b[31m{KEY}\u2028"]
)
def test_errors_give_no_key_away(said: str, prompt: Prompt) -> None:
    """Servers repeat keys in their messages, and our errors are logged."""
    with ModelServer(status(401, said)) as server:
        error = failure(Client(settings_for(server)), prompt)
    assert not any(secret in str(error) for secret in (KEY, "0123456789", "abcdefgh", "\n", "\x1b", "\u2028"))


def test_a_long_error_is_told_shortly(prompt: Prompt) -> None:
    """One line that fits a terminal and a queue's record."""
    with ModelServer("huge error body") as server:
        assert len(str(failure(Client(settings_for(server)), prompt))) < 400


@pytest.mark.parametrize(
    ("given", "wait"), [("0", 0.0), ("1.5", 1.5), ("9999999", 86_400.0), ("-3", None), ("nan", None), ("inf", None)]
)
def test_how_long_to_wait(given: str, wait: float | None, prompt: Prompt) -> None:
    """R-q4: the server's own word is kept for the queue; a day at most, and only where it is a number of seconds or a date."""
    with ModelServer(status(429, "slow down", retry_after=given)) as server:
        assert failure(Client(settings_for(server)), prompt).retry_after == wait


def test_a_permanent_error_has_nothing_to_wait_for(prompt: Prompt) -> None:
    """A 401 with Retry-After stays permanent."""
    with ModelServer(status(401, "no", retry_after="5")) as server:
        error = failure(Client(settings_for(server)), prompt)
    assert (error.transient, error.retry_after, error.status) == (False, None, 401)


def test_a_server_that_is_not_there(prompt: Prompt) -> None:
    """R-q4: a refused connection may be accepted later."""
    with ModelServer() as server:
        settings = settings_for(server)
    error = failure(Client(settings), prompt)
    assert (error.code, error.transient, error.status) == ("model-connection", True, None)


def test_the_time_bounds_the_whole_call(prompt: Prompt) -> None:
    """A byte every 20 ms keeps every read short, and the call still ends in time."""
    with ModelServer("slow drip") as server:
        client = Client(settings_for(server, timeout=0.4))
        started = time.monotonic()
        error = failure(client, prompt)
        assert error.code == "model-timeout"
        assert time.monotonic() - started < 5


@pytest.mark.parametrize("behaviour", ["redirect 302", "redirect 307"])
def test_a_redirect_takes_the_evidence_nowhere(behaviour: str, prompt: Prompt) -> None:
    """Neither the prompt nor the key goes to a place that the settings do not name."""
    with ModelServer(behaviour) as server:
        failure(Client(settings_for(server)), prompt)
        assert [asked.path for asked in server.asked] == ["/v1/chat/completions"]


def test_without_openai_the_error_says_so(prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    """R-x1: only asking needs the library."""
    monkeypatch.setitem(sys.modules, "openai", None)
    error = failure(Client(ModelSettings("tiny", "http://127.0.0.1:1/v1")), prompt)
    assert (error.code, error.transient) == ("model-missing", False)


def test_a_proxy_that_cannot_be_used_is_permanent(prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trying again does not mend the environment."""
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("HTTP_PROXY", "nonsense://proxy")
    error = failure(Client(ModelSettings("tiny", "http://127.0.0.1:1/v1")), prompt)
    assert (error.code, error.transient) == ("model-settings", False)


def test_a_fault_of_the_library_is_permanent(prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    """R-L2: it may have lost a response that was received, so nobody asks again by himself."""
    from openai import APIResponse

    def fail(*_: object, **__: object) -> Any:
        raise AttributeError("no such thing")

    monkeypatch.setattr(APIResponse, "iter_bytes", fail)
    with ModelServer() as server:
        error = failure(Client(settings_for(server)), prompt)
    assert (error.code, error.transient) == ("model-client", False)
    assert "AttributeError: no such thing" in error.message


def test_errors_survive_a_process_boundary() -> None:
    """Jobs may run in processes of their own; what the queue reads must come back."""
    error = ModelError("model-busy", "slow down", transient=True, retry_after=7.0, status=429)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert (type(again), vars(again)) == (ModelError, vars(error))
    assert str(copy.copy(error)) == str(error)
