"""The parts of the server that need no server: tokens, buckets, watched policies, threads, statuses."""

from __future__ import annotations

import functools
import gc
import json
import stat
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reflect_gate import Bundle, schemas
from reflect_gate.errors import ReflectGateError
from reflect_gate.pipeline import evaluate
from reflect_gate.serving.desk import Desk
from reflect_gate.serving.limiting import Buckets
from reflect_gate.serving.policies import PolicyBrokenError, WatchedPolicies
from reflect_gate.serving.problems import problem_of, refused
from reflect_gate.serving.tokens import SCOPES, TokenFile, Tokens
from reflect_gate.serving.workers import Workers

from ..conftest import REQUEST


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        """Return its time."""
        return self.now


# -- tokens ----------------------------------------------------------------------------------------------------------------


def test_a_token_is_kept_as_a_hash_alone(tmp_path: Path) -> None:
    """Whoever reads the file has no token; nobody else may read it."""
    file = TokenFile(tmp_path / "home" / "tokens.json")
    text, made = file.add("ci", ("retrieve", "evaluate"))
    kept = file.path.read_text()
    assert text.split("_", 2)[2] not in kept
    assert json.loads(kept)["entries"][0]["hash"] == made.hash
    assert made.scopes == ("evaluate", "retrieve")
    if sys.platform != "win32":
        assert stat.S_IMODE(file.path.stat().st_mode) == 0o600


def test_only_the_very_token_lets_in(tmp_path: Path) -> None:
    """Another secret of a known id, another id of a known secret, and pieces are nobody's."""
    file = TokenFile(tmp_path / "tokens.json")
    (text, made), (other, _) = file.add("a", SCOPES), file.add("b", SCOPES)
    tokens = Tokens(file, required=True)
    holder = tokens.holder(text)
    assert holder is not None
    assert holder.id == made.id
    prefix, id_, secret = text.split("_", 2)
    mixed = f"{prefix}_{other.split('_')[1]}_{secret}"
    for wrong in ("", "rgt", text[:-1], f"{text}x", f"{prefix}_{id_}_{'A' * 43}", mixed, made.hash, f"{text}\n"):
        assert tokens.holder(wrong) is None, wrong


def test_a_token_ends_when_it_is_revoked_or_its_day_comes(tmp_path: Path) -> None:
    """A running server reads the file again when it is another."""
    file = TokenFile(tmp_path / "tokens.json")
    text, made = file.add("a", ("read",))
    past, _ = file.add("old", ("read",), "2020-01-01T00:00:00Z")
    later, _ = file.add("new", ("read",), "2999-01-01T00:00:00Z")
    tokens = Tokens(file, required=False)
    assert [tokens.holder(each) is not None for each in (text, past, later)] == [True, False, True]
    assert tokens.live() == 2
    file.revoke(made.id)
    assert tokens.holder(text) is None
    with pytest.raises(ReflectGateError) as caught:
        file.revoke(made.id)
    assert caught.value.code == "token-unknown"


def test_a_server_that_had_tokens_never_opens(tmp_path: Path) -> None:
    """The last token revoked, or the file deleted, does not let everybody in."""
    file = TokenFile(tmp_path / "tokens.json")
    tokens = Tokens(file, required=False)
    needed = [tokens.required]
    text, made = file.add("a", ("read",))
    needed.append(tokens.required)
    file.revoke(made.id)
    needed.append(tokens.required)
    file.path.unlink()
    assert [*needed, tokens.required] == [False, True, True, True]
    assert tokens.holder(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"tokens": 2, "entries": []}',
        '{"tokens": 1, "entries": [{}]}',
        '{"tokens": 1, "entries": [{"id": "a", "name": "", "scopes": ["root"], "created": "", "expires": null, "hash": "'
        + "0" * 64
        + '"}]}',
    ],
)
def test_a_broken_file_of_tokens_lets_nobody_in(tmp_path: Path, text: str) -> None:
    """Neither are its readable entries taken, nor those of before."""
    file = TokenFile(tmp_path / "tokens.json")
    given, _ = file.add("a", ("read",))
    tokens = Tokens(file, required=True)
    assert tokens.holder(given) is not None
    file.path.write_text(text)
    for _ in range(2):
        with pytest.raises(ReflectGateError):
            tokens.holder(given)


@pytest.mark.parametrize("expires", ["31.12.2020", "never", "2020-12-31", "", 0, False, []])
def test_an_end_of_another_form_is_no_end_at_all(tmp_path: Path, expires: object) -> None:
    """Moments are compared as texts, so one that an editor's hand wrote otherwise could lie in the future for ever."""
    file = TokenFile(tmp_path / "tokens.json")
    given, _ = file.add("a", ("read",), "2020-12-31T00:00:00Z")
    document = json.loads(file.path.read_text())
    document["entries"][0]["expires"] = expires
    file.path.write_text(json.dumps(document))
    with pytest.raises(ReflectGateError) as caught:
        Tokens(file, required=True).holder(given)
    assert caught.value.code == "tokens-file"


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_a_file_that_others_may_write_is_not_trusted(tmp_path: Path) -> None:
    """Whoever can add a hash can make a token."""
    file = TokenFile(tmp_path / "tokens.json")
    file.add("a", ("read",))
    file.path.chmod(0o622)
    with pytest.raises(ReflectGateError) as caught:
        file.read()
    assert caught.value.code == "tokens-file"


def test_tokens_that_are_made_at_once_are_all_kept(tmp_path: Path) -> None:
    """Each change reads what is there, changes it, and keeps it whole, while others wait."""
    file = TokenFile(tmp_path / "tokens.json")
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda number: file.add(str(number), ("read",))[1].id, range(24)))
    assert sorted(made) == sorted(token.id for token in file.read())


# -- how often -------------------------------------------------------------------------------------------------------------


def test_a_bucket_fills_at_its_rate() -> None:
    """A burst at once, then as many as the rate gives, each for itself."""
    clock = Clock()
    buckets = Buckets(2.0, 3.0, clock)
    assert [buckets.take("a") for _ in range(4)] == [0, 0, 0, 0.5]
    assert buckets.take("b") == 0
    clock.now += 0.5
    assert [buckets.take("a"), buckets.take("a")] == [0, 0.5]
    clock.now += 1_000
    assert [buckets.take("a") for _ in range(4)] == [0, 0, 0, 0.5]


def test_buckets_do_not_grow_without_bound() -> None:
    """Addresses that were not heard of for longest are forgotten."""
    buckets = Buckets(0.001, 1.0, Clock())
    assert buckets.take("first") == 0
    for number in range(10_001):
        buckets.take(str(number))
    assert buckets.take("first") == 0
    assert buckets.take("10000") > 0


# -- policies --------------------------------------------------------------------------------------------------------------


def test_policies_are_read_again_and_a_broken_one_is_not_replaced_by_the_last(structured: Bundle) -> None:
    """R-P3: what loaded before does not judge for what is broken now; what is repaired judges again."""
    clock, state = Clock(), ["good"]

    def load() -> Bundle:
        if state[0] == "good":
            return structured
        raise ReflectGateError("rule-unknown", "no rule `x`")

    policies = WatchedPolicies(load, 2.0, clock)
    assert policies.bundle() is structured
    state[0] = "broken"
    assert policies.bundle() is structured
    clock.now += 2
    for _ in range(2):
        with pytest.raises(PolicyBrokenError) as caught:
            policies.bundle()
        assert (problem_of(caught.value).status, caught.value.code) == (503, "rule-unknown")
    state[0] = "good"
    clock.now += 2
    assert policies.bundle() is structured


# -- threads ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def desk(structured: Bundle) -> Callable[[], Desk]:
    """What makes a desk of the shipped policies."""
    return lambda: Desk(WatchedPolicies(lambda: structured))


def begin(begun: threading.Event, held: threading.Event) -> bool:
    """Say that it has begun, and go on when it may."""
    begun.set()
    return held.wait(60)


def test_more_than_may_wait_is_refused(desk: Callable[[], Desk]) -> None:
    """A server that is asked too much says so at once, and takes requests again later."""
    begun, held = threading.Event(), threading.Event()
    workers = Workers(1, 1, desk)
    try:
        first = workers.submit(lambda _: begin(begun, held))
        assert begun.wait(60)
        second = workers.submit(lambda _: "second")
        assert workers.waiting == 1
        with pytest.raises(ReflectGateError) as caught:
            workers.submit(lambda _: "third")
        assert (caught.value.code, problem_of(caught.value).status) == ("server-busy", 503)
        held.set()
        assert first.result(60)
        assert second.result(60) == "second"
        assert workers.submit(lambda _: "fourth").result(60) == "fourth"
    finally:
        held.set()
        workers.close()


def test_who_has_gone_costs_no_work(desk: Callable[[], Desk]) -> None:
    """A request that was given up while it waited is not worked on."""
    held, done = threading.Event(), []
    workers = Workers(1, 8, desk)
    try:
        workers.submit(lambda _: held.wait(60))
        waiting = workers.submit(lambda _: done.append("given up"))
        assert waiting.cancel()
        held.set()
        workers.submit(lambda _: done.append("wanted")).result(60)
    finally:
        held.set()
        workers.close()
    assert done == ["wanted"]


def test_who_has_gone_leaves_no_body_behind(desk: Callable[[], Desk]) -> None:
    """Requests that are given up while all threads are stuck are not held until one of them comes free."""
    begun, held = threading.Event(), threading.Event()
    workers = Workers(1, 8, desk)
    body = Body(b"x" * 1_000)
    kept = weakref.ref(body)
    try:
        workers.submit(lambda _: begin(begun, held))
        assert begun.wait(60)
        waiting = workers.submit(functools.partial(len_of, body))
        del body
        assert kept() is not None
        assert waiting.cancel()
        gc.collect()
        assert kept() is None
    finally:
        held.set()
        workers.close()


class Body:
    """A body of which it can be seen that it is gone."""

    def __init__(self, data: bytes) -> None:
        self.data = data


def len_of(body: Body, _: Desk) -> int:
    """Return how long a body is."""
    return len(body.data)


def test_threads_judge_as_one_does(desk: Callable[[], Desk], structured: Bundle) -> None:
    """R-P3: decisions that are made at once have the bytes of those that are made one by one."""
    requests = [{**REQUEST, "record": {**REQUEST["record"], "failure_id": f"checkout-{number}"}} for number in range(12)]
    alone = [evaluate(request, structured).to_bytes() for request in requests]
    workers = Workers(4, 64, desk)
    try:
        found = [workers.submit(lambda here, each=request: evaluate(each, here.bundle).to_bytes()) for request in requests]  # type: ignore[misc]
        assert [each.result(60) for each in found] == alone
    finally:
        workers.close()


# -- statuses --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("document-syntax", 400),
        ("document-size", 413),
        ("schema", 422),
        ("limit-items", 422),
        ("signature-mismatch", 422),
        ("engine-limit", 422),
        ("engine-disagreement", 503),
        ("store-busy", 503),
        ("store-unknown", 422),
        ("store-unreachable", 503),
        ("queue-full-disk", 503),
        ("queue-payload", 422),
        ("settings", 503),
        ("outcome-conflict", 409),
        ("decision-unknown", 404),
        ("internal", 500),
    ],
)
def test_a_code_has_its_status(code: str, status: int) -> None:
    """4xx is for the client to change, 503 for the operator to repair, and only what nobody foresaw is 500."""
    problem = problem_of(ReflectGateError(code, "no"))
    assert problem.status == status
    assert bool(problem.retry) == (status == 503)


def test_a_problem_is_a_problem_document() -> None:
    """RFC 9457, with the errors as the command line prints them."""
    document = refused("server-scope", "no such scope").to_json("0b9f5a1e-6f0c-4a44-9a3f-2f6f5b1c7d10")
    schemas.check("problem", document, "problem")
    assert document["title"] == "Forbidden"
