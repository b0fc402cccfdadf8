"""`reflect-gate explain --why-not`: from a request, or a decision with its request, to the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .._canonical import digest
from ..errors import ReflectGateError, Source
from ._output import warn

if TYPE_CHECKING:
    from ..policy import Bundle

__all__ = ["Asked", "why_not"]


class Asked(NamedTuple):
    """What is asked for, and within how many evaluations it is looked for."""

    goal: str
    limit: int


def why_not(
    document: Mapping[str, Any], request: Mapping[str, Any] | None, bundle: Bundle, asked: Asked, name: str
) -> dict[str, Any]:
    """Return the answer as data.

    Args:
        document: a request, or a decision.
        request: the request of a decision, where it was given.
        bundle: the policies.
        asked: the goal.
        name: what errors call the document.

    Raises:
        ReflectGateError: `why-not-request` or `why-not-bundle` where a decision is of another request or bundle.
    """
    from ..whynot.asking import ask
    from ..whynot.goals import parse_goal
    from ..whynot.telling import decision_document, why_not_document

    goal = parse_goal(asked.goal, bundle)
    if goal.name != asked.goal:
        warn(ReflectGateError("policy-old-name", f"rule `{asked.goal}` is now called `{goal.name}`"))
    if not str(document.get("schema", "")).startswith("urn:reflect-gate:schema:decision:"):
        return why_not_document(ask(document, bundle, goal, limit=asked.limit), goal)
    from ..schemas import check

    check("decision", document, name)
    if request is None:
        return decision_document(document, goal)
    if digest(request) != document["request_digest"]:
        raise ReflectGateError("why-not-request", "the decision is that of another request", Source(name))
    if bundle.digest != document["bundle"]["digest"]:
        message = (
            f"the decision was made by bundle `{document['bundle']['name']}` {document['bundle']['digest'][:12]}, not by this one"
        )
        raise ReflectGateError("why-not-bundle", message, Source(name))
    return why_not_document(ask(request, bundle, goal, limit=asked.limit), goal)
