"""Measures: what Python reads off texts, so that rules can decide.

Every measure is deterministic, without a model, linear in the text, and takes any Unicode. Shares are integers at two places and
round toward refusal. A decision carries the versions below: a change of a measure that can change a fact raises its version.
"""

from __future__ import annotations

__all__ = ["MEASURES"]

MEASURES: dict[str, str] = {
    "achieved": "1.0.0",
    "anchors": "1.0.0",
    "backing": "1.1.0",
    "defect": "1.1.0",
    "expectation": "1.0.0",
    "hazards": "1.0.0",
    "failure": "1.1.0",
    "fault": "1.0.0",
    "lesson": "1.3.0",
    "lexicon": "1.0.0",
    "likeness": "1.0.0",
    "numbers": "1.0.0",
    "origin": "1.0.0",
    "polarity": "1.3.0",
    "precedent": "1.1.0",
    "scope": "1.1.0",
    "similarity": "1.0.0",
    "stance": "1.0.0",
    "stray": "1.0.0",
    "support": "1.1.0",
    "text": "1.0.0",
}
"""Version of each measure by name."""
