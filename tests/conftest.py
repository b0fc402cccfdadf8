"""Fixtures that every suite shares: the shipped bundles, and one failure told as an evaluation request."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from reflect_gate import Bundle, load_bundle

from .postgres_server import Server, running, unable

if TYPE_CHECKING:
    from .store.tenants import Tenants

# A check of a commit says the same each time; new examples are looked for wherever else the suite runs.
settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")

REQUEST: dict[str, Any] = {
    "record": {
        "failure_id": "checkout-1187",
        "outcome": "resolved",
        "traces": [
            {
                "id": "plan",
                "component": 11,
                "kind": "plan",
                "seq": 0,
                "text": "load_cart() always returns a dict, so read cart['items'] and sum the prices.",
            },
            {
                "id": "code",
                "component": 11,
                "kind": "code",
                "seq": 1,
                "text": "def total(session):\n    cart = load_cart(session)\n    return sum(map(price, cart['items']))",
            },
            {
                "id": "test",
                "component": 12,
                "kind": "test_output",
                "seq": 2,
                "text": "tests/test_cart.py::test_total_of_new_session FAILED\nTypeError: 'NoneType' object is not subscriptable",
                "error_class": "TypeError",
                "path": "tests/test_cart.py",
                "passed": False,
                "oracle": "authoritative",
            },
        ],
        "diagnosis": None,
        "repair_delta": None,
        "successful_trajectory": [],
    },
    "reflection": {
        "outcome": "resolved",
        "failed_assumption": "The plan assumed that load_cart() always returns a dict, but for a new session it returns None.",
        "overlooked_evidence": "",
        "strategy_error": "",
        "violated_invariant": "",
        "evidence_ids": ["plan", "test"],
        "counterfactual": "A check for None before reading cart['items'] would have returned a total of zero.",
        "candidate_lesson": (
            "When a loader such as load_cart() may return None for a new session, check its result before subscripting it, "
            "because the plan's assumption that it always returns a dict does not hold for empty state."
        ),
        "scope": "task:checkout",
        "confidence": 0.7,
    },
}


@pytest.fixture(scope="session")
def structured() -> Bundle:
    """The bundle with every mechanism on."""
    return load_bundle("structured", cache=False)


@pytest.fixture
def request_document() -> dict[str, Any]:
    """A well-formed request that `structured` admits; a test may change its copy."""
    return copy.deepcopy(REQUEST)


@pytest.fixture
def with_reflection(request_document: dict[str, Any]) -> Callable[..., dict[str, Any]]:
    """Return the request with some fields of its reflection replaced."""

    def build(**fields: Any) -> dict[str, Any]:
        request_document["reflection"].update(fields)
        return request_document

    return build


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server of this test session; tests that ask for it are skipped where none can be started."""
    if reason := unable():
        pytest.skip(reason)
    with running() as server:
        yield server


@pytest.fixture(scope="session")
def tenants(postgres: Server) -> Tenants:
    """A database of that server that holds a store, and makes a tenant for whoever needs one."""
    from .store.tenants import Tenants

    return Tenants(postgres)
