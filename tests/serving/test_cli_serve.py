"""`serve token`: a token is told once, and its report has a schema."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reflect_gate import schemas
from reflect_gate.serving.tokens import TokenFile, Tokens

from .conftest import Run


def test_a_token_is_printed_once(run: Run, tmp_path: Path) -> None:
    """Alone on stdout, so that a shell can take it; what is told of it afterwards does not hold it."""
    path = str(tmp_path / "tokens.json")
    made = run("serve", "token", "new", "--scope", "retrieve", "--scope", "evaluate", "--name", "ci", "--tokens", path)
    text = made.out.decode().strip()
    holder = Tokens(TokenFile(Path(path)), required=True).holder(text)
    assert (made.code, holder is not None) == (0, True)
    assert text not in made.err
    listed = run("serve", "token", "list", "--tokens", path)
    assert listed.out.decode().split() == [text.split("_")[1], "evaluate,retrieve", "without", "end", "ci"]
    assert text.split("_", 2)[2] not in (listed.out + listed.err.encode()).decode() + Path(path).read_text()


def test_reports_hold_to_their_schema(run: Run, tmp_path: Path) -> None:
    """Of each command; only `new` tells a token."""
    path = str(tmp_path / "tokens.json")
    new = ("serve", "token", "new", "--scope", "read", "--expires", "2999-01-31", "--tokens", path, "--format", "json")
    made = json.loads(run(*new).out)
    id_ = made["tokens"][0]["id"]
    listed = json.loads(run("serve", "token", "list", "--tokens", path, "--format", "json").out)
    revoked = json.loads(run("serve", "token", "revoke", id_, "--tokens", path, "--format", "json").out)
    for report in (made, listed, revoked):
        schemas.check("token-report", report, "report")
        assert report["tokens"] == made["tokens"]
    assert made["tokens"][0]["expires"] == "2999-01-31T00:00:00Z"
    assert [made["token"] is None, listed["token"], revoked["token"]] == [False, None, None]
    assert run("serve", "token", "revoke", id_, "--tokens", path).code == 3


@pytest.mark.parametrize(
    "options",
    [("--scope", "root"), (), ("--scope", "read", "--expires", "soon"), ("--scope", "read", "--expires", "2027-02-31")],
)
def test_a_token_that_makes_no_sense_is_a_wrong_use(run: Run, tmp_path: Path, options: tuple[str, ...]) -> None:
    """Exit code 64, and nothing is made."""
    path = tmp_path / "tokens.json"
    assert run("serve", "token", "new", *options, "--tokens", str(path)).code == 64
    assert not path.exists()


def test_broken_policies_serve_nothing(run: Run, tmp_path: Path) -> None:
    """R-P3: exit code 3 before anything listens."""
    (tmp_path / "policies.yaml").write_text("policies: 1\nbundels: {}\n")
    ended = run("serve", "--port", "0", "--policies", str(tmp_path / "policies.yaml"))
    assert ended.code == 3
    assert "listening" not in ended.err


def test_an_address_that_is_taken_is_said(run: Run, tmp_path: Path) -> None:
    """Exit code 1."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = run("serve", "--port", str(taken.getsockname()[1]), "--tokens", str(tmp_path / "none.json"))
    assert ended.code == 1
    assert "[server-address]" in ended.err
