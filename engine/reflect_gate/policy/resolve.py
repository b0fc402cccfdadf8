"""From what the files say to what is in force: rule sets, settings and lexicon patterns, each with where it comes from.

Resolution does not depend on the order of entries: within one bundle two overrides never touch the same thing, a bundle overrides
the one that it extends, and the command line overrides them all. An override whose date has passed at `as_of` is not applied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from ..errors import Source, did_you_mean
from .atoms import atoms
from .bundle import Change, Group, Lexicon, Setting
from .load import read_setting_value
from .load_policies import SETTING_KEY, ruleset_ref
from .parsed import BundleDecl, LexiconFile, LexiconOverride, PoliciesFile, RuleFile, RulesetRef, SettingDecl, SettingOverride
from .problems import Problems
from .source import ScalarNode
from .values import Value, show

__all__ = ["Choice", "resolve_chain", "resolve_lexicons", "resolve_rulesets", "resolve_settings"]


@dataclass(frozen=True, slots=True)
class Choice:
    """Whether a rule set of the bundle is on, the version that it is pinned to, and where both were said."""

    on: bool
    pin: str
    origin: Source


def resolve_chain(policies: PoliciesFile, name: str, problems: Problems) -> tuple[BundleDecl, ...]:
    """Return the bundle called `name` (empty: the default one) and those that it extends, the root first."""
    wanted, asked = name or policies.default, Source(policies.file)
    chain: list[BundleDecl] = []
    while wanted:
        found = policies.bundles.get(wanted)
        if found is None:
            near = did_you_mean(wanted, policies.bundles)
            problems.add("policy-unknown-bundle", f"there is no bundle `{wanted}`{near}", asked)
            return ()
        if found in chain:
            path = " → ".join(f"`{bundle.name}`" for bundle in [*chain[chain.index(found) :], found])
            problems.add("policy-extends-cycle", f"bundles extend each other: {path}", found.source)
            return ()
        chain.append(found)
        wanted, asked = found.extends, found.source
    return tuple(reversed(chain))


def resolve_rulesets(
    chain: Sequence[BundleDecl], enable: Sequence[str], disable: Sequence[str], problems: Problems
) -> dict[str, Choice]:
    """Return the rule sets of a chain of bundles by name, sorted, after the command line's `--enable` and `--disable`."""
    state: dict[str, Choice] = {}
    for bundle in chain:
        state.update({ref.name: Choice(True, ref.pin, ref.source) for ref in bundle.rulesets})
        listed = {ref.name for ref in bundle.rulesets}
        for ref in bundle.enable:
            if ref.name in listed:
                problems.add(
                    "policy-conflict", f"`{ref.name}` stands in `rulesets` and in `enable` of `{bundle.name}`", ref.source
                )
        _switch(state, bundle.enable, bundle.disable, f"bundle `{bundle.name}`", problems)
    refs = [_given(names, option, problems) for names, option in ((enable, "--enable"), (disable, "--disable"))]
    _switch(state, refs[0], refs[1], "the bundle", problems)
    return dict(sorted(state.items()))


def _given(names: Sequence[str], option: str, problems: Problems) -> list[RulesetRef]:
    nodes = [ScalarNode(name, True, Source(option)) for name in sorted(set(names)) if "/" not in name]
    return [ref for node in nodes if (ref := ruleset_ref(node, problems, pinned=option == "--enable"))]


def _switch(
    state: dict[str, Choice], enable: Iterable[RulesetRef], disable: Iterable[RulesetRef], what: str, problems: Problems
) -> None:
    known = set(state)
    enabled = set()
    for ref in enable:
        enabled.add(ref.name)
        before = state.get(ref.name)
        state[ref.name] = Choice(True, ref.pin or (before.pin if before else ""), ref.source)
    for ref in disable:
        if ref.name in enabled:
            problems.add("policy-conflict", f"`{ref.name}` is both enabled and disabled", ref.source)
        elif ref.name not in known:
            near = did_you_mean(ref.name, known)
            problems.add("policy-unknown-ruleset", f"{what} has no rule set `{ref.name}` to disable{near}", ref.source)
        else:
            state[ref.name] = Choice(False, state[ref.name].pin, ref.source)


def resolve_settings(
    chain: Sequence[BundleDecl],
    files: Mapping[str, RuleFile],
    unread: frozenset[str],
    set_: Sequence[str],
    as_of: str,
    problems: Problems,
) -> tuple[dict[str, Setting], list[Change]]:
    """Return every setting of the bundle by `ruleset.setting`, sorted, and the overrides that were considered.

    `unread` names the rule sets whose files could not be read: their settings are not reported as unknown.
    """
    declared = {f"{file.name}.{name}": setting for file in files.values() for name, setting in file.settings.items()}
    attempted = {f"{file.name}.{name}" for file in files.values() for name in file.attempted}
    state = {key: Setting(setting.default, setting.doc, setting.source) for key, setting in sorted(declared.items())}
    for key, setting in declared.items():
        _check_bounds(key, setting, problems)
    changes: list[Change] = []
    layers = [bundle.settings for bundle in chain] + [_from_options(set_, declared, problems)]
    for layer in layers:
        touched: set[str] = set()
        for change in layer:
            if change.key in touched:
                problems.add("policy-conflict", f"`{change.key}` is set twice in one place", change.source)
            touched.add(change.key)
            applied = not change.expires or as_of <= change.expires
            changes.append(Change("setting", change.key, change.reason, change.owner, change.expires, change.source, applied))
            target = declared.get(change.key)
            if target is None:
                if change.key.partition(".")[0] not in unread and change.key not in attempted:
                    near = did_you_mean(change.key, declared)
                    problems.add("policy-unknown-setting", f"there is no setting `{change.key}`{near}", change.source)
                continue
            value = _fitting(change, target, problems)
            if value is not None and applied:
                said = (change.reason or None, change.owner or None, change.expires or None)
                state[change.key] = Setting(value, target.doc, change.source, *said)
    return state, changes


def _from_options(set_: Sequence[str], declared: Mapping[str, SettingDecl], problems: Problems) -> list[SettingOverride]:
    found = []
    for text in sorted(set_):
        key, equals, raw = text.partition("=")
        source = Source("--set")
        if not equals or not SETTING_KEY.fullmatch(key):
            problems.add("policy-name", f"`{text[:80]}` must be `ruleset.setting=value`", source)
            continue
        target = declared.get(key)
        # The command line has no quotes of its own: where text is wanted, text is given.
        plain = target is None or not isinstance(target.default, str)
        value = read_setting_value(ScalarNode(raw, plain, source), problems)
        if value is not None:
            found.append(SettingOverride(key, value, "", "", "", source))
    return found


def _fitting(change: SettingOverride, target: SettingDecl, problems: Problems) -> Value | None:
    value, default = change.value, target.default
    if isinstance(default, Decimal) and isinstance(value, int) and not isinstance(value, bool):
        value = Decimal(f"{value}.0")
    if type(value) is not type(default):
        kind = _kind(default)
        hint = (
            "; write the default with a decimal point if it may be"
            if isinstance(value, Decimal) and kind == "a whole number"
            else ""
        )
        message = f"`{change.key}` is {kind}, which `{show(value)}` is not{hint}"
        problems.add("policy-setting-kind", message, change.source)
        return None
    if not _within(value, target):
        problems.add("policy-setting-range", f"`{change.key}` may be {_range(target)}, not {show(value)}", change.source)
        return None
    return value


def _kind(value: Value) -> str:
    if isinstance(value, bool):
        return "`true` or `false`"
    return "text" if isinstance(value, str) else "a whole number" if isinstance(value, int) else "a number"


def _check_bounds(key: str, setting: SettingDecl, problems: Problems) -> None:
    low, high = setting.minimum, setting.maximum
    if (low is not None or high is not None) and isinstance(setting.default, bool | str):
        problems.add(
            "policy-setting-range", f"`{key}` is {_kind(setting.default)}, so it has no minimum or maximum", setting.source
        )
    elif low is not None and high is not None and low > high:
        problems.add("policy-setting-range", f"`{key}` has a minimum above its maximum", setting.source)
    elif not _within(setting.default, setting):
        message = f"`{key}` may be {_range(setting)}, which its default {show(setting.default)} is not"
        problems.add("policy-setting-range", message, setting.source)


def _within(value: Value, setting: SettingDecl) -> bool:
    low, high = setting.minimum, setting.maximum
    if isinstance(value, bool | str) or (low is not None and high is not None and low > high):
        return True
    return (setting.minimum is None or value >= setting.minimum) and (setting.maximum is None or value <= setting.maximum)


def _range(setting: SettingDecl) -> str:
    low = f"at least {show(setting.minimum)}" if setting.minimum is not None else ""
    high = f"at most {show(setting.maximum)}" if setting.maximum is not None else ""
    return f"{low} and {high}" if low and high else low or high


def resolve_lexicons(
    chain: Sequence[BundleDecl], files: Mapping[str, LexiconFile], unread: frozenset[str], as_of: str, problems: Problems
) -> tuple[dict[str, Lexicon], list[Change]]:
    """Return the lexicons by name, sorted, after the changes of the chain, and the changes that were considered."""
    state = {
        (file.name, group.id): {pattern.text for pattern in group.patterns}
        for file in files.values()
        for group in file.groups.values()
    }
    changes: list[Change] = []
    for bundle in chain:
        sound = _refuse_overlap(bundle.lexicons, problems)
        for change in bundle.lexicons:
            applied = not change.expires or as_of <= change.expires
            target = f"{change.lexicon}/{change.group} {change.op}"
            changes.append(Change("lexicon", target, change.reason, change.owner, change.expires, change.source, applied))
            if _known_group(change, files, unread, problems) and applied and sound:
                _apply(change, state[change.lexicon, change.group], problems)
        _refuse_empty(bundle.lexicons, state, problems)
    lexicons = {}
    for name, file in sorted(files.items()):
        groups = (_group(group.id, group.doc, state[name, group.id]) for group in file.groups.values())
        lexicons[name] = Lexicon(name, file.version, file.doc, tuple(sorted(groups, key=lambda group: group.id)))
    return lexicons, changes


def _group(name: str, doc: str, patterns: Iterable[str]) -> Group:
    ordered = tuple(sorted(patterns))
    return Group(name, doc, ordered, tuple(map(atoms, ordered)))


def _refuse_overlap(changes: Sequence[LexiconOverride], problems: Problems) -> bool:
    """Hold two changes of one bundle that share a group to touching different patterns, so that their order cannot matter."""
    noted = len(problems)
    whole: set[tuple[str, str]] = set()
    parts: dict[tuple[str, str], set[str]] = {}
    for change in changes:
        group = (change.lexicon, change.group)
        touched = {pattern.text for pattern in change.patterns}
        before = parts.get(group)
        if group in whole or (before is not None and (change.op == "replace" or before & touched)):
            problems.add("policy-conflict", f"`{change.lexicon}/{change.group}` is changed twice in one bundle", change.source)
        if change.op == "replace":
            whole.add(group)
        parts.setdefault(group, set()).update(touched)
    return len(problems) == noted


def _known_group(change: LexiconOverride, files: Mapping[str, LexiconFile], unread: frozenset[str], problems: Problems) -> bool:
    file = files.get(change.lexicon)
    if file is None:
        if change.lexicon not in unread:
            near = did_you_mean(change.lexicon, files)
            problems.add("policy-unknown-lexicon", f"there is no lexicon `{change.lexicon}`{near}", change.source)
        return False
    if change.group in file.groups:
        return True
    near = did_you_mean(change.group, file.groups)
    problems.add("policy-unknown-group", f"lexicon `{change.lexicon}` has no group `{change.group}`{near}", change.source)
    return False


def _apply(change: LexiconOverride, patterns: set[str], problems: Problems) -> None:
    if change.op == "replace":
        patterns.clear()
    for pattern in change.patterns:
        if change.op == "remove":
            if pattern.text not in patterns:
                near = did_you_mean(pattern.text, patterns)
                problems.add("policy-lexicon-change", f"there is no pattern `{pattern.text}` to remove{near}", pattern.source)
            patterns.discard(pattern.text)
        else:
            if pattern.text in patterns:
                problems.add("policy-lexicon-change", f"pattern `{pattern.text}` is there already", pattern.source)
            patterns.add(pattern.text)


def _refuse_empty(changes: Sequence[LexiconOverride], state: Mapping[tuple[str, str], set[str]], problems: Problems) -> None:
    """Hold the groups that a bundle changed to having a pattern left, once all its changes are made."""
    for change in changes:
        if not state.get((change.lexicon, change.group), {""}):
            problems.add("policy-lexicon-change", f"`{change.lexicon}/{change.group}` is left without a pattern", change.source)
