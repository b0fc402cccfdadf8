"""`policies.yaml`: from YAML to `PoliciesFile`, all bundles of it whether they are asked for or not."""

from __future__ import annotations

import re
from typing import Final, Literal

from ..config import Limits
from ..errors import did_you_mean
from .fields import Fields, as_name, as_scalar
from .load import read_setting_value
from .load_capture import load_capture
from .load_lexicon import check_lexicon_pattern
from .load_models import load_models
from .parsed import BundleDecl, LexiconOverride, PoliciesFile, RuleOp, RuleRef, RulesetRef, SettingOverride
from .problems import Problems
from .roles import rule_ref
from .source import ListNode, Node, ScalarNode, parse_document
from .values import KEBAB, parse_date, scalar_value

__all__ = ["SETTING_KEY", "load_policies", "ruleset_ref"]

SETTING_KEY: Final = re.compile(r"(?P<ruleset>[a-z][a-z0-9-]*)\.(?P<setting>[a-z][a-z0-9_]*)")

_LIMITS: Final = Limits._fields
_LIMIT_MAXIMUM: Final = 2**31 - 1
_TOP: Final = ("rules", "lexicons", "engine", "limits", "models", "capture", "queue")
_BUNDLE: Final = ("extends", "rulesets", "enable", "disable", "experimental", "settings", "lexicons")
_ON_RULES: Final[tuple[RuleOp, ...]] = ("enable", "disable", "experimental")
_PIN: Final = re.compile(r"(?:0|[1-9][0-9]{0,5})(?:\.(?:0|[1-9][0-9]{0,5})){0,2}")


def load_policies(data: bytes, file: str, problems: Problems) -> PoliciesFile | None:
    """Return what `policies.yaml` says, or `None` where it cannot be read at all; `file` is the name that sources carry."""
    root = parse_document(data, file, problems)
    if root is None:
        return None
    fields = Fields(root, "the policies file", problems, required=("policies", "default", "bundles"), optional=_TOP)
    form = fields.scalar("policies")
    if form is not None and form.text != "1":
        problems.add(
            "policy-version", f"`policies: {form.text}` is not understood: this version reads `policies: 1`", form.source
        )
    bundles = {bundle.name: bundle for bundle in _bundles(fields, problems)}
    default = fields.name("default")
    node = fields.get("default")
    if default and node and default not in bundles:
        message = f"`default` names no bundle: `{default}`{did_you_mean(default, bundles)}"
        problems.add("policy-unknown-bundle", message, node.source)
    mode, cross_check = _engine(fields, problems)
    limits = _limits(fields, problems)
    rules, lexicons = fields.text("rules"), fields.text("lexicons")
    # Read elsewhere; a fault is one of this file all the same.
    load_capture(fields.get, problems)
    return PoliciesFile(default, rules, lexicons, mode, cross_check, limits, bundles, file, load_models(fields, problems))


def _engine(fields: Fields, problems: Problems) -> tuple[Literal["durable", "compiled"], bool]:
    node = fields.get("engine")
    if node is None:
        return "durable", True
    parts = Fields(node, "`engine`", problems, required=("mode",), optional=("cross_check",))
    mode, check = parts.scalar("mode"), parts.scalar("cross_check")
    if mode is not None and mode.text not in {"durable", "compiled"}:
        message = f"`mode` is `durable` or `compiled`, not `{mode.text}`{did_you_mean(mode.text, ('durable', 'compiled'))}"
        problems.add("policy-value", message, mode.source)
    if check is not None and not (check.plain and check.text in {"true", "false"}):
        problems.add("policy-value", f"`cross_check` is `true` or `false`, not `{check.text}`", check.source)
    compiled = mode is not None and mode.text == "compiled"
    return ("compiled" if compiled else "durable"), check is None or check.text == "true"


def _limits(fields: Fields, problems: Problems) -> Limits:
    node = fields.get("limits")
    if node is None:
        return Limits()
    parts = Fields(node, "`limits`", problems, optional=_LIMITS)
    found: dict[str, int] = {}
    for key in _LIMITS:
        scalar = parts.scalar(key)
        value = scalar_value(scalar) if scalar else None
        if scalar is None:
            continue
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _LIMIT_MAXIMUM:
            found[key] = value
        else:
            problems.add(
                "policy-value", f"`{key}` is a whole number from 1 to {_LIMIT_MAXIMUM}, not `{scalar.text}`", scalar.source
            )
    return Limits(**found)


def _bundles(fields: Fields, problems: Problems) -> list[BundleDecl]:
    found = []
    for key, node in fields.entries("bundles"):
        name = as_name(key, "bundle", problems)
        parts = Fields(node, f"bundle `{key.text}`", problems, required=("doc",), optional=_BUNDLE)
        listed = parts.get("rulesets")
        if "extends" not in parts and listed is None:
            problems.add("policy-missing-key", f"{parts.what} needs `rulesets` or `extends`", node.source)
        if "extends" in parts and listed is not None:
            message = f"{parts.what} extends another, so it says `enable` and `disable` instead of `rulesets`"
            problems.add("policy-conflict", message, listed.source)
        bundle = BundleDecl(
            name,
            parts.text("doc"),
            parts.name("extends"),
            _refs(parts, "rulesets", problems),
            _refs(parts, "enable", problems),
            _refs(parts, "disable", problems),
            tuple(change for item in parts.items("settings") if (change := _setting(item, problems))),
            tuple(edit for item in parts.items("lexicons") if (edit := _lexicon(item, problems))),
            key.source,
            _rule_refs(parts, problems),
        )
        if name:
            found.append(bundle)
    return found


def _refs(parts: Fields, key: str, problems: Problems) -> tuple[RulesetRef, ...]:
    found: dict[str, RulesetRef] = {}
    for item in parts.items(key):
        scalar = as_scalar(item, f"an entry of `{key}`", problems)
        if scalar is None or (key != "rulesets" and "/" in scalar.text):
            continue
        ref = ruleset_ref(scalar, problems, pinned=key != "disable")
        if ref is None:
            continue
        first = found.setdefault(ref.name, ref)
        if first is not ref:
            problems.add("policy-duplicate", f"`{ref.name}` stands twice in `{key}`", ref.source)
    return tuple(found.values())


def _rule_refs(parts: Fields, problems: Problems) -> tuple[RuleRef, ...]:
    """Return the single rules that a bundle names; an entry without a slash is a rule set."""
    found: dict[tuple[str, str], RuleRef] = {}
    for op in _ON_RULES:
        for item in parts.items(op):
            if not isinstance(item, ScalarNode) or ("/" not in item.text and op != "experimental"):
                continue
            scalar = as_scalar(item, f"an entry of `{op}`", problems)
            ref = rule_ref(scalar, op, problems) if scalar else None
            if ref is not None and found.setdefault((op, ref.name), ref) is not ref:
                problems.add("policy-duplicate", f"`{ref.name}` stands twice in `{op}`", ref.source)
    return tuple(found.values())


def ruleset_ref(scalar: ScalarNode, problems: Problems, *, pinned: bool) -> RulesetRef | None:
    """Return the rule set that `name` or `name@version` refers to, `None` with a problem where it is neither."""
    name, at, pin = scalar.text.partition("@")
    sound = KEBAB.fullmatch(name) is not None
    if not sound or (at and not (pinned and _PIN.fullmatch(pin))):
        shape = "`name` or `name@version`" if pinned else "`name`"
        problems.add("policy-name", f"`{scalar.text[:80]}` must be a rule set: {shape}", scalar.source)
    return RulesetRef(name, pin if _PIN.fullmatch(pin) else "", scalar.source) if sound else None


def _setting(node: Node, problems: Problems) -> SettingOverride | None:
    parts = Fields(node, "a setting override", problems, required=("set", "to", "reason", "owner"), optional=("expires",))
    key, scalar = parts.scalar("set"), parts.scalar("to")
    value = read_setting_value(scalar, problems) if scalar else None
    reason, owner, expires = parts.text("reason"), parts.text("owner"), _expires(parts, problems)
    if key is not None and not SETTING_KEY.fullmatch(key.text):
        problems.add("policy-name", f"`{key.text[:80]}` must be `ruleset.setting`", key.source)
        return None
    if key is None or scalar is None or value is None:
        return None
    return SettingOverride(key.text, value, reason, owner, expires, key.source)


def _expires(parts: Fields, problems: Problems) -> str:
    scalar = parts.scalar("expires")
    if scalar is None:
        return ""
    if parse_date(scalar.text):
        return scalar.text
    problems.add("policy-date", f"`expires` must be a date `YYYY-MM-DD`, not `{scalar.text[:40]}`", scalar.source)
    return ""


def _lexicon(node: Node, problems: Problems) -> LexiconOverride | None:
    operations = ("append", "remove", "replace")
    required = ("lexicon", "group", "reason", "owner")
    parts = Fields(node, "a lexicon override", problems, required=required, optional=(*operations, "expires"))
    lexicon, group = parts.name("lexicon"), parts.name("group")
    reason, owner, expires = parts.text("reason"), parts.text("owner"), _expires(parts, problems)
    given = [key for key in operations if key in parts]
    if len(given) != 1:
        problems.add("policy-lexicon-change", "a lexicon override has one of `append`, `remove` and `replace`", node.source)
        return None
    op: Literal["append", "remove", "replace"] = (
        "append" if given[0] == "append" else "remove" if given[0] == "remove" else "replace"
    )
    patterns = _patterns(parts, op, problems)
    if not lexicon or not group or not patterns:
        return None
    return LexiconOverride(lexicon, group, op, patterns, reason, owner, expires, node.source)


def _patterns(parts: Fields, op: str, problems: Problems) -> tuple[ScalarNode, ...]:
    found: dict[str, ScalarNode] = {}
    for item in parts.items(op):
        scalar = as_scalar(item, f"an entry of `{op}`", problems)
        if scalar is None or (op != "remove" and not check_lexicon_pattern(scalar, problems)):
            continue
        if found.setdefault(scalar.text, scalar) is not scalar:
            problems.add("policy-duplicate", f"pattern `{scalar.text}` stands twice in `{op}`", scalar.source)
    listed = parts.get(op)
    if isinstance(listed, ListNode) and not listed.items:
        problems.add("policy-shape", f"`{op}` lists no pattern", listed.source)
    return tuple(found.values())
