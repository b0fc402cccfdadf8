"""Judging again what a store holds a decision on: the same bytes, or the names of what has changed since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .._canonical import canonical_bytes, digest
from ..errors import ReflectGateError
from .applying import decision_of, stored_decision

if TYPE_CHECKING:
    from reflect_store import Store

    from ..decision import Decision
    from ..policy import Bundle

__all__ = ["Difference", "Kept", "Replayed", "kept", "replay"]


class Kept(NamedTuple):
    """A decision as the store holds it, and the request that it was made on."""

    decision: Decision
    request: dict[str, Any]
    event: str
    time: str


class Difference(NamedTuple):
    """Something that is not what it was: its name, and both values in short."""

    what: str
    was: str
    now: str


class Replayed(NamedTuple):
    """A decision and what judging again gave; `changed` is empty where both have the same bytes."""

    was: Decision
    now: Decision
    changed: tuple[Difference, ...]

    @property
    def identical(self) -> bool:
        """Both decisions have the same bytes."""
        return self.was.to_bytes() == self.now.to_bytes()


def kept(store: Store, decision_id: str) -> Kept:
    """Return a stored decision.

    Raises:
        ReflectGateError: `decision-unknown`, or `decision-redacted` where its payload was erased.
    """
    row = store.get("decisions", decision_id)
    if row is None:
        raise ReflectGateError("decision-unknown", f"no decision `{decision_id}`")
    event = store.event(row["event"])
    data = event.data() if event else None
    if data is None:
        raise ReflectGateError("decision-redacted", f"decision `{decision_id}` was redacted")
    decision = stored_decision(data["decision"])
    return Kept(decision, _request(decision, data["inputs"]), row["event"], row["time"])


def _request(decision: Decision, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request, whose record the decision repeats: as it came, without the diagnosis that was made for it."""
    record = decision.stages["evidence"] or {}
    whole = {**inputs, "record": record}
    bare = {**inputs, "record": {**record, "diagnosis": None}}
    return bare if digest(bare) == decision.request_digest else whole


def replay(store: Store, decision_id: str, bundle: Bundle, *, on_current_view: bool = False) -> Replayed:
    """Judge again what a stored decision was made on.

    Args:
        store: where the decision is.
        decision_id: its id.
        bundle: the policies to judge by.
        on_current_view: judge against the store as it is now, instead of against what was seen of it then.

    Raises:
        ReflectGateError: as `kept` and `pipeline.evaluate` do.
    """
    was, request, _, _ = kept(store, decision_id)
    seen = request.get("store_view")
    if on_current_view:
        request = {**request, "store_view": _current_view(store, request, bundle)}
    now = decision_of(request, bundle)
    # The id follows from the bundle too; it names the decision that is replayed, and the bundle is compared by itself.
    now = now._replace(decision_id=was.decision_id)
    viewed = (seen, request.get("store_view"))
    return Replayed(was, now, tuple(_differences(was, now, *viewed)))


def _current_view(store: Store, request: Mapping[str, Any], bundle: Bundle) -> dict[str, Any]:
    from .applying import candidate_of

    bare = {name: value for name, value in request.items() if name != "store_view"}
    return store.view(candidate_of(bare, bundle).query).to_json()


def _differences(was: Decision, now: Decision, seen: object, sees: object) -> Iterator[Difference]:
    if was.to_bytes() == now.to_bytes():
        return
    for field, name in (("name", "bundle"), ("digest", "bundle digest"), ("as_of", "as of"), ("engine", "engine")):
        yield from _differs(name, was.bundle[field], now.bundle[field])
    yield from _differs("cross-check", was.bundle["cross_check"], now.bundle["cross_check"])
    measures, measured = was.bundle["measures"], now.bundle["measures"]
    for name in sorted({*measures, *measured}):
        yield from _differs(f"measure {name}", measures.get(name, "none"), measured.get(name, "none"))
    if _without_version(seen) != _without_version(sees):
        yield Difference("store view", digest(seen)[:12], digest(sees)[:12])
    yield from _differs("status", was.status, now.status)
    yield from _differs("reason", was.reason, now.reason)
    yield from _judgement(was, now)


def _judgement(was: Decision, now: Decision) -> Iterator[Difference]:
    for stage in dict.fromkeys([*was.stages, *now.stages]):
        before, after = was.stages.get(stage), now.stages.get(stage)
        if canonical_bytes(before) != canonical_bytes(after):
            yield Difference(f"stage {stage}", digest(before)[:12], digest(after)[:12])
    gone, come = sorted(_rules(was) - _rules(now)), sorted(_rules(now) - _rules(was))
    if gone or come:
        yield Difference("findings", ", ".join(gone) or "-", ", ".join(come) or "-")
    elif canonical_bytes(was.findings) != canonical_bytes(now.findings):
        yield Difference("measured values", digest(was.findings)[:12], digest(now.findings)[:12])
    if canonical_bytes(was.spans) != canonical_bytes(now.spans):
        yield Difference("spans", str(len(was.spans)), str(len(now.spans)))


def _rules(decision: Decision) -> set[str]:
    return {f"{found['ruleset']}/{found['rule']}" for found in decision.findings}


def _differs(what: str, was: object, now: object) -> Iterator[Difference]:
    if was != now:
        yield Difference(what, str(was), str(now))


def _without_version(view: object) -> object:
    return {name: value for name, value in view.items() if name != "version"} if isinstance(view, dict) else view
