"""A bundle as plain data with the origin of every value, for `policy show --origin`."""

from __future__ import annotations

from .bundle import Bundle, Change
from .values import show

__all__ = ["describe"]


def describe(bundle: Bundle) -> dict[str, object]:
    """Return what is in force and where it comes from; values are exact text, origins `file:line:col`."""
    looking = bundle.trial.rules if bundle.trial else ()
    return {
        "name": bundle.name,
        "doc": bundle.doc,
        "digest": bundle.digest,
        "as_of": bundle.as_of,
        "policies": bundle.file,
        "engine": bundle.engine,
        "cross_check": bundle.cross_check,
        "limits": bundle.limits._asdict(),
        "measures": dict(bundle.measures),
        "rulesets": [{**ruleset._asdict(), "origin": str(ruleset.origin)} for ruleset in bundle.rulesets],
        "settings": [
            {"key": key, **setting._asdict(), "value": show(setting.value), "origin": str(setting.origin)}
            for key, setting in bundle.settings.items()
        ],
        "lexicons": [
            {
                "name": lexicon.name,
                "version": lexicon.version,
                "doc": lexicon.doc,
                "groups": [{"id": group.id, "doc": group.doc, "patterns": list(group.patterns)} for group in lexicon.groups],
            }
            for lexicon in bundle.lexicons.values()
        ],
        "rules": [
            {
                "name": rule.name,
                "stage": rule.stage,
                "stratum": rule.stratum,
                "doc": rule.doc,
                "origin": str(rule.source),
                "maturity": rule.maturity,
                "decides": rule.name not in looking,
            }
            for rule in bundle.trying().program.rules
        ],
        "changes": [_change(change) for change in bundle.changes],
    }


def _change(change: Change) -> dict[str, object]:
    return {**change._asdict(), "origin": str(change.origin)}
