"""A loaded bundle as text: rule sets, settings with their places, lexicons, digest; from what `policy.describe` says of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ._paint import Paint
from ._safe import one_line, plain

__all__ = ["bundle_text"]

Document = Mapping[str, Any]


def bundle_text(described: Document, paint: Paint | None = None, *, origin: bool = False) -> str:
    """Return the bundle as lines; `origin` adds the file and line of every value and who changed it."""
    paint = paint or Paint()
    sections = [
        "\n".join(_head(described, paint, origin)),
        _section("rule sets", [_ruleset(ruleset, described, paint, origin) for ruleset in described["rulesets"]], paint),
        _section("settings", list(_settings(described["settings"], paint, origin)), paint),
        _section("lexicons", [_lexicon(lexicon) for lexicon in described["lexicons"]], paint),
        _section("changes", [_change(change, paint, origin) for change in described["changes"]], paint),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _section(title: str, lines: Sequence[str], paint: Paint) -> str:
    return "\n".join([paint(title, "bold"), *(f"  {line}" for line in lines)]) if lines else ""


def _head(described: Document, paint: Paint, origin: bool) -> Iterator[str]:
    engine = f"{described['engine']}, cross-checked" if described["cross_check"] else described["engine"]
    yield f"{paint(described['name'], 'bold')} {described['digest'][:12]}  as of {described['as_of']}  {engine}"
    yield f"  {plain(described['doc'])}"
    if origin:
        yield paint(f"  {plain(described['policies'])}", "dim")


def _ruleset(ruleset: Document, described: Document, paint: Paint, origin: bool) -> str:
    own = [rule for rule in described["rules"] if rule["name"].startswith(f"{ruleset['name']}/")]
    looking = [rule["name"].partition("/")[2] for rule in own if not rule["decides"]]
    rules = len(own) - len(looking)
    state = paint("on ", "green") if ruleset["on"] else paint("off", "yellow")
    body = f"{rules} rules" if ruleset["on"] else f"says `{ruleset['neutral']}`"
    place = _dim(ruleset["origin"], paint) if origin else ""
    beside = f", looking on: {', '.join(looking)}" if looking else ""
    return f"{state} {ruleset['name']} {ruleset['version']}  {ruleset['stage']}, {body}{beside}{place}"


def _settings(settings: Sequence[Document], paint: Paint, origin: bool) -> Iterator[str]:
    width = max((len(setting["key"]) for setting in settings), default=0)
    for setting in settings:
        place = _dim(_why(setting), paint) if origin else ""
        yield f"{setting['key']:<{width}}  {plain(str(setting['value']))}{place}"


def _lexicon(lexicon: Document) -> str:
    groups = ", ".join(f"{group['id']} ({len(group['patterns'])})" for group in lexicon["groups"])
    return f"{lexicon['name']} {lexicon['version']}  {groups}"


def _change(change: Document, paint: Paint, origin: bool) -> str:
    state = "" if change["applied"] else paint("expired, not applied: ", "yellow")
    return f"{state}{change['kind']} {change['target']}{_dim(_why(change), paint) if origin else ''}"


def _why(entry: Document) -> str:
    """The place of a value, and for an override its reason, owner and last day."""
    said = ", ".join(f"{key} {one_line(entry[key], 80)}" for key in ("reason", "owner", "expires") if entry[key])
    return f"{entry['origin']}" + (f" ({said})" if said else "")


def _dim(text: str, paint: Paint) -> str:
    return paint(f"  {plain(text)}", "dim")
