"""`reflect-gate doctor --model` asks once, only when told to, and says what to do where it fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reflect_gate.cli import main

from ..llm.server import ModelServer, status

_CLEARED = ("REFLECT_GATE_MODEL", "REFLECT_GATE_BASE_URL", "REFLECT_GATE_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL")
KEY = "sk-test-0123456789abcdef"


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (*_CLEARED, "REFLECT_GATE_POLICIES"):
        monkeypatch.delenv(name, raising=False)
    # Hooks of the developer's own are none of this.
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    for name in ("HOME", "CACHE"):
        monkeypatch.setenv(f"REFLECT_GATE_{name}", str(tmp_path / name.lower()))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def use(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the environment name the server."""
    monkeypatch.setenv("REFLECT_GATE_MODEL", "tiny")
    monkeypatch.setenv("REFLECT_GATE_BASE_URL", server.base_url)
    monkeypatch.setenv("REFLECT_GATE_API_KEY", KEY)


def examine(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """Return the exit code and the checks by name."""
    code = main(["doctor", "--format", "json", *arguments])
    document = json.loads(capfd.readouterr().out)
    return code, {check["name"]: check for check in document["checks"]}


def test_nobody_is_asked_by_default(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """A call costs money, so it is asked for."""
    with ModelServer() as server:
        use(server, monkeypatch)
        code, found = examine(capfd)
        assert (code, found["model"]["status"], server.asked) == (0, "ok", [])
        assert "not asked" in found["model"]["detail"]
        assert KEY not in found["model"]["detail"]


def test_a_model_that_answers_is_fine(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """One call; model, server, source of the key, time and tokens are told, the key is not."""
    with ModelServer() as server:
        use(server, monkeypatch)
        code, found = examine(capfd, "--model")
        assert (code, len(server.asked)) == (0, 1)
    check = found["model"]
    assert (check["status"], check["fix"]) == ("ok", "")
    assert check["detail"].startswith(f"`tiny` at {server.base_url} (key from REFLECT_GATE_API_KEY) answered in ")
    assert "1200 + 150 tokens, cost not known" in check["detail"]
    assert KEY not in check["detail"]


def test_prices_and_deviations_of_the_policies(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The model of `models:` with its price; what is not sent is told."""
    with ModelServer() as server:
        path = tmp_path / "policies.yaml"
        path.write_text(
            "policies: 1\ndefault: a\nbundles: {a: {doc: A bundle., rulesets: [grounding]}}\n"
            "models:\n  default: small\n  known:\n"
            f"    small: {{doc: Ours., model: tiny, base_url: '{server.base_url}',"
            " parameters: {seed: omit}, price: {input: 0.4, output: 1.6}}\n",
            encoding="utf-8",
        )
        code, found = examine(capfd, "--model", "--policies", str(path))
        assert "seed" not in server.asked[0].body
    assert (code, found["model"]["status"]) == (0, "ok")
    assert "(no key, seed omitted)" in found["model"]["detail"]
    assert found["model"]["detail"].endswith("1200 + 150 tokens, $0.00072")


def test_an_answer_that_is_no_candidate_is_a_warning(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """The server works; the model does not hold to the schema."""
    with ModelServer("prose around") as server:
        use(server, monkeypatch)
        code, found = examine(capfd, "--model")
    assert (code, found["model"]["status"]) == (0, "warn")
    assert "no candidate: the answer is no JSON" in found["model"]["detail"]


def test_a_refused_key_is_broken(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Exit 1, with the variable to set; the key that the server repeats is not shown."""
    with ModelServer(status(401, f"Incorrect API key provided: {KEY}")) as server:
        use(server, monkeypatch)
        code, found = examine(capfd, "--model")
        assert len(server.asked) == 1
    assert (code, found["model"]["status"]) == (1, "fail")
    assert found["model"]["fix"] == "set REFLECT_GATE_API_KEY to a key that this server accepts"
    assert KEY not in found["model"]["detail"]


def test_without_a_model_nothing_is_asked(capfd: pytest.CaptureFixture[str]) -> None:
    """The shipped policies name none."""
    code, found = examine(capfd, "--model")
    assert (code, found["model"]["status"]) == (1, "fail")
    assert "REFLECT_GATE_MODEL" in found["model"]["fix"]
