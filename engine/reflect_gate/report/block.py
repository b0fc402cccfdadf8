"""A lesson as S1 prints one: four lines, then its tags (R-t3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ._safe import one_line

__all__ = ["NO_MISTAKE", "block_tags", "lesson_block"]

NO_MISTAKE: Final = "(user-supplied lesson; no automatic mistake detection)"
UNKNOWN: Final = "(erased)"

_CAUSES: Final = ("failed_assumption", "overlooked_evidence", "strategy_error", "violated_invariant")
_WIDE: Final = 8_192


def lesson_block(statement: str, reflection: Mapping[str, Any] | None, trigger: str, tags: Sequence[str] = ()) -> str:
    """Return the block: the mistake is what the causal fields say, the correction is the counterfactual.

    Args:
        statement: the lesson.
        reflection: the candidate that it came from, `None` where that was erased.
        trigger: why the failure was captured; empty where nobody said.
        tags: beyond `reflexion` and the trigger's.
    """
    causes = [] if reflection is None else [reflection[field] for field in _CAUSES if reflection[field].strip()]
    mistake = NO_MISTAKE if trigger == "manual" else UNKNOWN if reflection is None else "; ".join(causes)
    # Some models leave it empty; the lesson itself says then what to do.
    correction = (reflection or {}).get("counterfactual", "").strip() or statement
    lines = {"LESSON": statement, "MISTAKE": mistake, "CORRECTION": correction, "TRIGGER": trigger or "unknown"}
    told = [f"{name}: {one_line(text, _WIDE)}" for name, text in lines.items()]
    return "\n".join([*told, f"TAGS: {', '.join(one_line(tag, 64) for tag in block_tags(trigger, tags))}"])


def block_tags(trigger: str, tags: Sequence[str]) -> tuple[str, ...]:
    """Return the tags of a lesson: `reflexion`, the trigger's, and its own, each once."""
    named = (f"trigger:{trigger}",) if trigger else ()
    return tuple(dict.fromkeys(("reflexion", *named, *tags)))
