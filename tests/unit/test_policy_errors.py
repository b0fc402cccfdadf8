"""Every way to break a policy, each with its code and its exact place; a broken policy never gives a bundle."""
# ruff: noqa: E501 - a row of the table is a line, so that what it changes can be read in it

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from reflect_gate import ReflectGateError, load_bundle, policy
from reflect_gate.policy import POLICY_CODES

POLICIES, GROUNDING, ADMISSION, BLAME = "policies.yaml", "rules/grounding.yaml", "rules/admission.yaml", "lexicons/blame.yaml"
MARK = "⟦"


class Broken(NamedTuple):
    """An edit of one sound file: `new` stands for `old`, and `⟦` in it is where the error must be."""

    note: str
    code: str
    file: str
    old: str
    new: str
    says: str = ""


def b(note: str, code: str, file: str, old: str, new: str, says: str = "") -> Broken:
    """Return one row of the table."""
    return Broken(note, f"policy-{code}", file, old, new, says)


# fmt: off
YAML = [
    b("alias", "yaml-feature", GROUNDING, "[none, self_written]", "⟦*x", "alias `*x`"),
    b("anchor", "yaml-feature", GROUNDING, "{populated: true}\n      - wanted", "⟦&x {populated: true}\n      - wanted", "anchor `&x`"),
    b("tag", "yaml-feature", GROUNDING, "doc: Test.", "doc: ⟦!!str Test.", "tag"),
    b("own tag", "yaml-feature", GROUNDING, "doc: Test.", "doc: ⟦! Test.", "tag"),
    b("second document", "yaml-feature", GROUNDING, "reason: supported}\n", "reason: supported}\n⟦---\nx: 1\n", "second document"),
    b("directive", "yaml-feature", GROUNDING, "ruleset: g", "⟦%YAML 1.1\n---\nruleset: g", "directive"),
    b("duplicate key", "duplicate", GROUNDING, "doc: Test.\n", "doc: Test.\n⟦doc: Again.\n", "first in line 4"),
    b("duplicate field", "duplicate", GROUNDING, "as e: {exists: false}", "as e: {exists: false, ⟦exists: true}", "`exists`"),
    b("syntax", "yaml", GROUNDING, "doc: Test.\n", "doc: Test.⟦: a\n", "not valid YAML"),
    b("unclosed", "yaml", GROUNDING, "{gt: 1}}\n", "{gt: 1}\n      ⟦- x\n", "not valid YAML"),
    b("key is a list", "shape", GROUNDING, "doc: Test.\n", "doc: Test.\n⟦[a]: b\n", "a key must be a scalar"),
    b("byte-order mark", "encoding", GROUNDING, "ruleset: g", "⟦\ufeffruleset: g", "byte-order mark"),
    b("control character", "encoding", GROUNDING, "doc: Test.", "doc: Te⟦\x07st.", "control character"),
    b("line separator", "encoding", GROUNDING, "doc: Test.", "doc: Te⟦\u2028st.", "control character"),
    b("too deep", "too-deep", GROUNDING, "doc: Test.", f"doc: {'[' * 31}⟦[{']' * 32}", "32 levels"),
]

SHAPE = [
    b("unknown key", "unknown-key", GROUNDING, "doc: Test.\n", "doc: Test.\n⟦setings: {}\n", "did you mean `settings`?"),
    b("missing key", "missing-key", GROUNDING, "ruleset: grounding\nversion: 1.2.3\n", "⟦ruleset: grounding\n", "needs the key `version`"),
    b("a list for a mapping", "shape", GROUNDING, "derive:\n  supported: {field: field}", "derive: ⟦[a]", "must be a mapping"),
    b("text for a list", "shape", GROUNDING, "      - supported: {}\n", "      - ⟦supported\n", "must be a mapping"),
    b("empty doc", "value", GROUNDING, "doc: Test.", "doc: ⟦''", "is empty"),
    b("null doc", "value", GROUNDING, "doc: Test.", "doc: ⟦~", "is empty"),
    b("camel case rule", "name", GROUNDING, "id: missing", "id: ⟦missingIds", "kebab-case"),
    b("kebab setting", "name", GROUNDING, "  weight: {", "  ⟦weight-a: {", "snake_case"),
    b("long name", "name", GROUNDING, "id: missing", f"id: ⟦{'x' * 65}", "64 characters"),
    b("other file", "name", GROUNDING, "ruleset: grounding", "ruleset: ⟦groundings", "must stand in `groundings.yaml`"),
    b("version", "version", GROUNDING, "version: 1.2.3", "version: ⟦1.2", "MAJOR.MINOR.PATCH"),
    b("setting without doc", "shape", GROUNDING, "weight: {default: 3, doc: For Python., use: python}", "weight: ⟦3", "needs a doc"),
    b("use", "value", GROUNDING, "use: python", "use: ⟦pyton", "`rules` or `python`"),
    b("yes", "value", GROUNDING, "default: 3,", "default: ⟦yes,", "`true` or `false`"),
    b("octal", "value", GROUNDING, "default: 3,", "default: ⟦010,", "plain decimal"),
    b("grouped number", "value", GROUNDING, "default: 3,", "default: ⟦1_000,", "plain decimal"),
    b("base sixty", "value", GROUNDING, "default: 3,", "default: ⟦1:30,", "plain decimal"),
    b("exponent", "value", GROUNDING, "default: 0.5", "default: ⟦5e-1", "plain decimal"),
    b("infinity", "value", GROUNDING, "default: 0.5", "default: ⟦.inf", "plain decimal"),
    b("long text", "value", GROUNDING, "default: 3,", f"default: ⟦{'x' * 201},", "200"),
    b("minimum is text", "value", GROUNDING, "minimum: 0", "minimum: ⟦none", "must be a number"),
    b("default below minimum", "setting-range", GROUNDING, "default: 0.5", "default: ⟦-0.5", "at least 0 and at most 1"),
    b("minimum above maximum", "setting-range", GROUNDING, "    default: 0.5\n    doc: Share.\n    minimum: 0", "    default: ⟦0.5\n    doc: Share.\n    minimum: 2"),
    b("bounds of text", "setting-range", GROUNDING, "{default: 3, ", "{default: ⟦x, minimum: 1, ", "no minimum"),
    b("no columns", "shape", GROUNDING, "derive:\n", "derive:\n  empty: ⟦{}\n", "at least one field"),
    b("no rules", "shape", GROUNDING, "    when:\n      - supported: {}\n", "    when: ⟦[]\n", "at least one entry"),
    b("two types in a pattern", "shape", GROUNDING, "      - supported: {}\n", "      - ⟦supported: {}\n        claim: {}\n", "this one has 2"),
    b("alias of an absence", "shape", GROUNDING, "- not supported:", "- ⟦not supported as s:", "`not type`"),
    b("no tests", "shape", GROUNDING, "      - supported: {}\n", "      - ⟦supported:\n", "write `{}`"),
    b("bare list", "shape", GROUNDING, "{exists: false}", "{exists: ⟦[false]}", "{in: […]}"),
    b("empty in", "shape", GROUNDING, "{in: [none, self_written]}", "{in: ⟦[]}", "never holds"),
    b("empty test", "shape", GROUNDING, "{gt: 1}", "⟦{}", "needs one of"),
    b("operator", "unknown-key", GROUNDING, "{gt: 1}", "{⟦greater: 1}", "no key `greater`"),
    b("exists", "unknown-key", GROUNDING, "{gt: 1}", "{⟦exists: true}"),
    b("same rule twice", "duplicate", GROUNDING, "id: grounded", "id: ⟦missing", "stands twice"),
    b("same row twice", "duplicate", GROUNDING, "- {field: violated_invariant, kind: spec}", "- ⟦{field: strategy_error, kind: plan}", "stands twice"),
    b("row without a cell", "missing-key", GROUNDING, "{field: violated_invariant, kind: spec}", "⟦{field: violated_invariant}", "`kind`"),
    b("row with another cell", "unknown-key", GROUNDING, "kind: spec}", "kind: spec, ⟦knd: spec}", "did you mean `kind`?"),
]

MEANING = [
    b("stage", "unknown-stage", GROUNDING, "stage: ground", "stage: ⟦grund", "did you mean `ground`?"),
    b("measuring stage", "unknown-stage", GROUNDING, "stage: ground", "stage: ⟦evidence"),
    b("neutral", "unknown-verdict", GROUNDING, "neutral: grounded", "neutral: ⟦admit", "no verdict of stage `ground`"),
    b("domain", "unknown-domain", GROUNDING, "derive:\n  supported: {field: field}", "derive:\n  supported: {field: ⟦feld}", "did you mean `field`?"),
    b("type", "unknown-type", GROUNDING, "- cite as e: {exists: false}", "- ⟦cites as e: {}", "did you mean `cite`?"),
    b("finding is read", "unknown-type", GROUNDING, "      - supported: {}\n", "      - ⟦finding: {}\n", "cannot read findings"),
    b("head type", "unknown-type", GROUNDING, "    then:\n      - supported:", "    then:\n      - ⟦suported:", "did you mean `supported`?"),
    b("field", "unknown-field", GROUNDING, "as e: {exists: false}", "as e: {⟦exist: false}", "did you mean `exists`?"),
    b("field of an alias", "unknown-field", GROUNDING, "about: $e.item}", "about: ⟦$e.itm}", "did you mean `item`?"),
    b("field of a head", "unknown-field", GROUNDING, "reason: supported}", "reason: supported, ⟦abut: x}", "did you mean `about`?"),
    b("symbol", "unknown-symbol", GROUNDING, "[none, self_written]", "[none, ⟦selfwritten]", "did you mean `self_written`?"),
    b("lexicon", "unknown-symbol", GROUNDING, "lexicon: blame", "lexicon: ⟦blames", "did you mean `blame`?"),
    b("symbol in a table", "unknown-symbol", GROUNDING, "kind: spec}", "kind: ⟦specs}", "`spec`"),
    b("alias", "unknown-alias", GROUNDING, "about: $e.item}", "about: ⟦$f.item}", "no earlier positive pattern"),
    b("later alias", "unknown-alias", GROUNDING, "      - claim as c: {populated: true}\n      - hits", "      - claim as c: {field: ⟦$h.target}\n      - hits as h"),
    b("type is no alias", "unknown-alias", GROUNDING, "about: $e.item}", "about: ⟦$cite.item}", "`type as name`"),
    b("same alias twice", "duplicate", GROUNDING, "- wanted as k: {field: $c.field}\n      - support:", "- wanted as k: {field: $c.field}\n      - ⟦support as k:"),
    b("setting", "unknown-setting", GROUNDING, "anchor_overlap: {gte: $min_overlap}", "anchor_overlap: {gte: $min_overlap, lt: ⟦$min_overlop}", "did you mean `min_overlap`?"),
    b("alias for a setting", "unknown-setting", GROUNDING, "about: $e.item}", "about: $e.item}\n      - supported: {field: strategy_error}\n  - id: other\n    doc: D.\n    when:\n      - cite as e: {}\n      - item: {item: ⟦$e}\n    then:\n      - finding: {verdict: speculative, reason: x}", "write `$e.field`"),
    b("reference", "value", GROUNDING, "about: $e.item}", "about: ⟦$E.item}", "`$name.field`"),
    b("unused setting", "unused-setting", GROUNDING, "{default: 3, doc: For Python., use: python}", "{default: ⟦3, doc: D.}", "use: python"),
    b("never derived", "never-derived", GROUNDING, "derive:\n", "derive:\n  ⟦extra: {by: id}\n", "no rule derives `extra`"),
    b("number as text", "value", GROUNDING, "{gt: 1}", "{gt: ⟦'1'}", "not a plain decimal number"),
    b("fraction of a count", "value", GROUNDING, "{gt: 1}", "{gt: ⟦1.5}", "a whole number"),
    b("negative count", "value", GROUNDING, "{gt: 1}", "{gt: ⟦-1}", "from 0 to"),
    b("too many places", "value", GROUNDING, "anchor_overlap: {gte: $min_overlap}", "anchor_overlap: {gte: $min_overlap, lt: ⟦0.755}", "kept to 2 places"),
    b("share above one", "value", GROUNDING, "anchor_overlap: {gte: $min_overlap}", "anchor_overlap: {gte: $min_overlap, lt: ⟦1.01}", "from 0.00 to 1.00"),
    b("flag in capitals", "value", GROUNDING, "as e: {exists: false}", "as e: {exists: ⟦False}", "`true` or `false`"),
    b("flag as no", "value", GROUNDING, "as e: {exists: false}", "as e: {exists: ⟦no}", "`true` or `false`"),
    b("nothing", "value", GROUNDING, "as e: {exists: false}", "as e: {exists: ⟦null}", "missing"),
    b("order of symbols", "operator", GROUNDING, "{in: [none, self_written]}", "{gt: none}", "compares numbers"),
    b("setting in a list", "value", GROUNDING, "[none, self_written]", "[none, ⟦$weight]", "lists constants"),
    b("same value twice", "duplicate", GROUNDING, "[none, self_written]", "[none, ⟦none]", "stands twice"),
    b("join of other kinds", "join", GROUNDING, "- hits: {lexicon: blame, n: {gt: 1}}", "- hits: {lexicon: ⟦$c.field}", "never equals"),
    b("join of number and flag", "join", GROUNDING, "- hits: {lexicon: blame, n: {gt: 1}}", "- hits: {n: {gt: ⟦$c.populated}}", "never equals"),
    b("default of the wrong kind", "value", GROUNDING, "anchor_overlap: {gte: $min_overlap}", "anchor_overlap: {gte: $min_overlap}, quoted: ⟦$weight", "does not suit"),
    b("late fact", "late-fact", GROUNDING, "      - supported: {}\n", "      - supported: {}\n      - ⟦lesson: {}\n", "stage `calibrate`"),
    b("private type", "private-type", ADMISSION, "      - earned: {}\n", "      - ⟦supported: {}\n", "private to rule set `grounding`"),
    b("reserved type", "reserved-type", GROUNDING, "derive:\n", "derive:\n  ⟦claim: {by: id}\n", "of the vocabulary"),
    b("finding is reserved", "reserved-type", GROUNDING, "derive:\n", "derive:\n  ⟦finding: {by: id}\n"),
    b("table and type", "duplicate", GROUNDING, "derive:\n", "derive:\n  ⟦wanted: {by: id}\n", "a table and a derived type"),
    b("head field missing", "head", GROUNDING, "- finding: {verdict: grounded, reason: supported}", "- ⟦finding: {verdict: grounded}", "needs `reason`"),
    b("measured head", "head", GROUNDING, "- finding: {verdict: grounded, reason: supported}", "- ⟦cite: {item: x, exists: true}", "is measured"),
    b("table head", "head", GROUNDING, "- finding: {verdict: grounded, reason: supported}", "- ⟦wanted: {field: strategy_error, kind: plan}", "is a table"),
    b("setting in a head", "head", GROUNDING, "reason: supported}", "reason: supported, about: ⟦$weight}", "not a setting"),
    b("number in an id", "head", GROUNDING, "about: $e.item}", "about: ⟦$e.exists}", "does not hold"),
    b("wider symbol in a head", "head", GROUNDING, "      - hits: {lexicon: blame, n: {gt: 1}}\n      - not supported: {field: $c.field}\n    then:\n", "      - hits as h: {lexicon: blame, n: {gt: 1}}\n    then:\n      - supported: {field: ⟦$h.target}\n"),
    b("verdict of a finding", "unknown-verdict", GROUNDING, "{verdict: grounded, r", "{verdict: ⟦groundd, r", "did you mean `grounded`?"),
    b("reason is open", "name", GROUNDING, "reason: missing,", "reason: ⟦$e.item,", "constant"),
    b("only absence", "no-positive", GROUNDING, "id: grounded\n    doc: Support found.\n    when:\n      - supported", "id: ⟦grounded\n    doc: Support found.\n    when:\n      - not supported", "`record: {}`"),
    b("absence of itself", "negation-cycle", GROUNDING, "      - support: {field", "      - ⟦not supported: {field: $c.field}\n      - support: {field", "`supported` → `supported`"),
    b("conclusion of no stage", "conclusion", ADMISSION, "- conclusion: {stage: ground, verdict: grounded}", "- ⟦conclusion: {verdict: grounded}", "must name the stage"),
    b("conclusion of any stage", "conclusion", ADMISSION, "{stage: ground, verdict: grounded}", "{stage: {ne: ground}, verdict: grounded}", "must name the stage"),
    b("conclusion of its own stage", "conclusion", ADMISSION, "{stage: ground, verdict: grounded}", "{stage: ⟦admit, verdict: admit}", "has not concluded"),
    b("conclusion of a later stage", "conclusion", ADMISSION, "{stage: ground, verdict: grounded}", "{stage: ⟦lifecycle, verdict: admit}", "has not concluded"),
    b("verdict of another stage", "unknown-verdict", ADMISSION, "verdict: grounded}", "verdict: {in: [grounded, ⟦calibrated]}}", "no verdict of stage `ground`"),
    b("too many patterns", "limit", GROUNDING, "id: grounded\n    doc: Support found.\n    when:\n", "id: ⟦grounded\n    doc: Support found.\n    when:\n" + "      - record: {}\n" * 12, "13 patterns"),
    b("too many variants", "limit", GROUNDING, "id: grounded\n    doc: Support found.\n    when:\n", "id: ⟦grounded\n    doc: Support found.\n    when:\n" + "      - item: {kind: {in: [plan, code, action, spec, log]}, component: {in: ['11', '12', '13', user]}, oracle: {in: [none, self_written, authoritative, repeats_example]}}\n", "80 variants"),
]

LEXICON = [
    b("not RE2", "lexicon-pattern", BLAME, "[bad luck]", "[⟦'(?<=x)y']", "is not RE2"),
    b("unbalanced", "lexicon-pattern", BLAME, "[bad luck]", "[⟦'a)(b']", "is not RE2"),
    b("empty match", "lexicon-pattern", BLAME, "[bad luck]", "[⟦'x*']", "matches the empty text"),
    b("not normal", "lexicon-pattern", BLAME, "[bad luck]", "[⟦ﬁne]", "NFKC"),
    b("long", "lexicon-pattern", BLAME, "[bad luck]", f"[⟦{'x' * 1001}]", "1000"),
    b("twice", "duplicate", BLAME, "[bad luck]", "[bad luck, ⟦bad luck]", "stands twice"),
    b("none", "shape", BLAME, "[bad luck]", "⟦[]", "at least one"),
    b("same group", "duplicate", BLAME, "id: luck", "id: ⟦outward", "stands twice"),
    b("cases", "unknown-key", BLAME, "miss: [my plan]", "⟦mis: [my plan]", "did you mean `miss`?"),
    b("name", "name", BLAME, "lexicon: blame", "lexicon: ⟦blaming", "must stand in"),
]

OVERRIDE = "{set: grounding.min_overlap, to: 0.6, reason: Stricter, owner: qa, expires: 2030-01-01}"
CHANGE = "{lexicon: blame, group: outward, append: [flaky], reason: Seen, owner: qa}"

BUNDLES = [
    b("form", "version", POLICIES, "policies: 1", "policies: ⟦2", "is not understood"),
    b("default", "unknown-bundle", POLICIES, "default: main", "default: ⟦mein", "did you mean `main`?"),
    b("extends", "unknown-bundle", POLICIES, "  child:\n    doc: One off.\n    extends: main", "  ⟦child:\n    doc: One off.\n    extends: mian", "did you mean `main`?"),
    b("extends itself", "extends-cycle", POLICIES, "  child:\n    doc: One off.\n    extends: main", "  ⟦child:\n    doc: One off.\n    extends: child"),
    b("neither", "missing-key", POLICIES, "    doc: One off.\n    extends: main\n    disable: [admission]", "    ⟦doc: One off."),
    b("both", "conflict", POLICIES, "    extends: main\n", "    extends: main\n    rulesets: ⟦[grounding]\n", "`enable` and `disable`"),
    b("bundle key", "unknown-key", POLICIES, "    disable:", "    ⟦disabled:", "did you mean `disable`?"),
    b("rule set", "unknown-ruleset", POLICIES, "disable: [admission]", "enable: [⟦admision]", "did you mean `admission`?"),
    b("no rule set to disable", "unknown-ruleset", POLICIES, "disable: [admission]", "disable: [⟦admissions]", "did you mean `admission`?"),
    b("pin", "version", POLICIES, "[grounding@1,", "[⟦grounding@2,", "is 1.2.3"),
    b("longer pin", "version", POLICIES, "[grounding@1,", "[⟦grounding@1.20,", "is 1.2.3"),
    b("pin is no version", "name", POLICIES, "[grounding@1,", "[⟦grounding@x,", "`name@version`"),
    b("path as a rule set", "name", POLICIES, "disable: [admission]", "enable: [⟦../admission]"),
    b("listed twice", "duplicate", POLICIES, "admission]\n    settings", "admission, ⟦admission]\n    settings", "stands twice"),
    b("listed and enabled", "conflict", POLICIES, "admission]\n    settings", "admission]\n    enable: [⟦admission]\n    settings"),
    b("on and off", "conflict", POLICIES, "disable: [admission]", "disable: [⟦admission]\n    enable: [admission]", "both enabled and disabled"),
    b("mode", "value", POLICIES, "mode: compiled", "mode: ⟦compild", "did you mean `compiled`?"),
    b("cross check", "value", POLICIES, "cross_check: false", "cross_check: ⟦maybe"),
    b("limit", "value", POLICIES, "{facts: 1000}", "{facts: ⟦0}", "from 1 to"),
    b("limit name", "unknown-key", POLICIES, "{facts: 1000}", "{⟦fact: 1000}", "did you mean `facts`?"),
    b("override of nothing", "unknown-setting", POLICIES, "set: grounding.min_overlap", "set: ⟦grounding.min_overlop", "did you mean `grounding.min_overlap`?"),
    b("override name", "name", POLICIES, "set: grounding.min_overlap", "set: ⟦min_overlap", "`ruleset.setting`"),
    b("override kind", "setting-kind", POLICIES, "set: grounding.min_overlap, to: 0.6", "set: ⟦grounding.min_overlap, to: high", "is a number"),
    b("override of a whole number", "setting-kind", POLICIES, "set: grounding.min_overlap, to: 0.6", "set: ⟦grounding.weight, to: 0.6", "decimal point"),
    b("override range", "setting-range", POLICIES, "set: grounding.min_overlap, to: 0.6", "set: ⟦grounding.min_overlap, to: 1.5", "at most 1"),
    b("override is not exact", "value", POLICIES, "set: grounding.min_overlap, to: 0.6", "set: ⟦grounding.min_overlap, to: 0.666", "read at"),
    b("override without a reason", "missing-key", POLICIES, OVERRIDE, "⟦{set: grounding.min_overlap, to: 0.6, owner: qa}", "`reason`"),
    b("override twice", "conflict", POLICIES, f"- {OVERRIDE}", f"- {OVERRIDE}\n      - {{set: ⟦grounding.min_overlap, to: 0.7, reason: R, owner: o}}", "set twice"),
    b("date", "date", POLICIES, "expires: 2030-01-01", "expires: ⟦2030-02-30", "YYYY-MM-DD"),
    b("date form", "date", POLICIES, "expires: 2030-01-01", "expires: ⟦1.1.2030", "YYYY-MM-DD"),
    b("lexicon", "unknown-lexicon", POLICIES, "{lexicon: blame,", "⟦{lexicon: blme,", "did you mean `blame`?"),
    b("group", "unknown-group", POLICIES, "{lexicon: blame, group: outward,", "⟦{lexicon: blame, group: outwards,", "did you mean `outward`?"),
    b("pattern is there", "lexicon-change", POLICIES, "append: [flaky]", "append: [⟦blame]", "is there already"),
    b("pattern is not there", "lexicon-change", POLICIES, "append: [flaky]", "remove: [⟦blam]", "did you mean `blame`?"),
    b("no pattern left", "lexicon-change", POLICIES, CHANGE, "⟦{lexicon: blame, group: luck, remove: [bad luck], reason: Seen, owner: qa}", "without a pattern"),
    b("two operations", "lexicon-change", POLICIES, CHANGE, "⟦" + CHANGE.replace("append:", "remove: [blame], append:"), "one of"),
    b("pattern of an override", "lexicon-pattern", POLICIES, "append: [flaky]", "append: [⟦'(']", "is not RE2"),
    b("same pattern twice", "conflict", POLICIES, f"- {CHANGE}", f"- {CHANGE}\n      - ⟦{CHANGE}", "changed twice"),
    b("replace and append", "conflict", POLICIES, f"- {CHANGE}", f"- {CHANGE}\n      - ⟦{CHANGE.replace('append: [flaky]', 'replace: [x]')}", "changed twice"),
]

LIVES = [
    b("maturity", "maturity", GROUNDING, "doc: Support found.\n", "doc: Support found.\n    maturity: ⟦experimentl\n", "did you mean `experimental`?"),
    b("replacement of a stable rule", "maturity", GROUNDING, "doc: Support found.\n", "doc: Support found.\n    replaced_by: ⟦missing\n", "write `maturity: deprecated`"),
    b("replacement that is not there", "unknown-rule", GROUNDING, "doc: Support found.\n", "doc: Support found.\n    maturity: deprecated\n    replaced_by: ⟦missin\n", "did you mean `missing`?"),
    b("replaced by itself", "unknown-rule", GROUNDING, "doc: Support found.\n", "doc: Support found.\n    maturity: deprecated\n    replaced_by: ⟦grounded\n", "no other rule"),
    b("since is no version", "version", GROUNDING, "doc: Support found.\n", "doc: Support found.\n    since: ⟦1.2\n", "MAJOR.MINOR.PATCH"),
    b("since is to come", "version", GROUNDING, "doc: Support found.\n", "doc: Support found.\n    since: ⟦1.10.0\n", "later than the rule set, which is 1.2.3"),
    b("old id is live", "renamed", GROUNDING, "doc: Support found.\n", "doc: Support found.\n    renamed_from: [⟦missing]\n", "the id of another rule (line 23)"),
    b("old id of two rules", "renamed", GROUNDING, "  - id: grounded\n", "  - id: again\n    doc: Again.\n    renamed_from: [old]\n    when: [{supported: {}}]\n    then: [{finding: {verdict: grounded, reason: again}}]\n  - id: grounded\n    renamed_from: [⟦old]\n", "both say"),
    b("old id twice", "duplicate", GROUNDING, "doc: Support found.\n", "doc: Support found.\n    renamed_from: [old, ⟦old]\n", "stands twice"),
    b("no old id", "shape", GROUNDING, "doc: Support found.\n", "doc: Support found.\n    renamed_from: ⟦[]\n", "at least one id"),
    b("old id's shape", "name", GROUNDING, "doc: Support found.\n", "doc: Support found.\n    renamed_from: [⟦Old]\n", "kebab-case"),
    b("promotion of a rule set", "name", POLICIES, "extends: main", "extends: main\n    experimental: [⟦grounding]", "`ruleset/rule`"),
    b("promotion of nothing", "unknown-rule", POLICIES, "extends: main", "extends: main\n    experimental: [⟦grounding/mising]", "did you mean `grounding/missing`?"),
    b("rule both ways", "conflict", POLICIES, "disable: [admission]", "enable: [grounding/missing]\n    disable: [admission, ⟦grounding/missing]", "both enabled and disabled"),
    b("rule twice", "duplicate", POLICIES, "disable: [admission]", "disable: [grounding/missing, ⟦grounding/missing]", "stands twice"),
    b("rule of an unknown set", "unknown-rule", POLICIES, "disable: [admission]", "disable: [⟦nothing/missing]", "no rule `nothing/missing`"),
]
# fmt: on

TABLE = [*YAML, *SHAPE, *MEANING, *LEXICON, *BUNDLES, *LIVES]


def _broken(case: Broken, files: Mapping[str, str]) -> tuple[str, int, int]:
    """Return the broken text and the line and column of its mark, both 0 where the place is that of the field before."""
    assert files[case.file].count(case.old) >= 1, case.note
    marked = files[case.file].replace(case.old, case.new, 1)
    before, mark, after = marked.partition(MARK)
    lines = before.split("\n")
    return (before + after, len(lines), len(lines[-1]) + 1) if mark else (before, 0, 0)


@pytest.mark.parametrize("case", TABLE, ids=[f"{case.code}: {case.note}" for case in TABLE])
def test_broken_policy(case: Broken, policy_files: Mapping[str, str], write_policies: Callable[..., Path]) -> None:
    """One fault is one error, with its code, its place and what would help."""
    text, line, column = _broken(case, policy_files)
    policies = write_policies({case.file: text})
    with pytest.raises(ReflectGateError) as caught:
        load_bundle("child", policies=policies, as_of="2026-01-01")
    (error,) = caught.value.errors
    assert error.code == case.code
    assert error.source is not None
    assert error.source.file == str(policies.parent / case.file)
    if line:
        assert (error.source.line, error.source.column) == (line, column)
    assert case.says in error.message


def test_every_code_is_in_the_table() -> None:
    """No code is without an example, and no example has a code that is not declared."""
    elsewhere = {"policy-expired", "policy-unused-file", "policy-file", "policy-too-large"}
    elsewhere |= {"policy-deprecated", "policy-not-experimental", "policy-old-name"}
    of_tools = {"policy-confluence", "policy-format", "policy-scaffold", "policy-shipped"}
    assert {case.code for case in TABLE} == set(POLICY_CODES) - elsewhere - of_tools


def test_codes_in_the_source_are_declared() -> None:
    """Every `policy-…` code in the text of the loader and the tools beside it is declared."""
    package = Path(policy.__file__).parent
    written = {code for path in package.glob("*.py") for code in re.findall(r'"(policy-[a-z-]+)"', path.read_text("utf-8"))}
    assert written == set(POLICY_CODES)


def test_messages_keep_the_house_style(policy_files: Mapping[str, str], write_policies: Callable[..., Path]) -> None:
    """Messages are one line, lower case, without a full stop."""
    text = policy_files[GROUNDING].replace("version: 1.2.3", "version: x").replace("cite as e", "cites as e")
    with pytest.raises(ReflectGateError) as caught:
        load_bundle(policies=write_policies({GROUNDING: text}))
    for error in caught.value.errors:
        assert re.fullmatch(r"[a-z`][^\n]*[^.\n]", error.message)


def test_all_faults_of_all_files_at_once(policy_files: Mapping[str, str], write_policies: Callable[..., Path]) -> None:
    """Faults of YAML, shape and meaning in four files are one report, in the order of their places."""
    policies = write_policies(
        {
            POLICIES: policy_files[POLICIES].replace("to: 0.6", "to: 7"),
            GROUNDING: policy_files[GROUNDING]
            .replace("{exists: false}", "{exist: false}")
            .replace("doc: Test.", "doc: !x Test."),
            ADMISSION: policy_files[ADMISSION].replace("verdict: admit,", "verdict: admitted,"),
            BLAME: policy_files[BLAME].replace("[bad luck]", "['(']"),
        }
    )
    with pytest.raises(ReflectGateError) as caught:
        load_bundle(policies=policies)
    found = [(Path(error.source.file).name, error.code) for error in caught.value.errors if error.source]
    assert found == [
        ("blame.yaml", "policy-lexicon-pattern"),
        ("policies.yaml", "policy-setting-range"),
        ("admission.yaml", "policy-unknown-verdict"),
        ("grounding.yaml", "policy-yaml-feature"),
        ("grounding.yaml", "policy-unknown-field"),
    ]


def test_rule_set_that_is_off_is_still_checked(policy_files: Mapping[str, str], write_policies: Callable[..., Path]) -> None:
    """A broken rule set does not pass by being switched off."""
    policies = write_policies({ADMISSION: policy_files[ADMISSION].replace("conclusion:", "conclusions:")})
    with pytest.raises(ReflectGateError, match="policy-unknown-type"):
        load_bundle("child", policies=policies)


@pytest.mark.parametrize("name", [GROUNDING, POLICIES])
def test_missing_file(name: str, write_policies: Callable[..., Path]) -> None:
    """A file that is not there is an error, never an empty policy."""
    policies = write_policies({name: None})
    with pytest.raises(ReflectGateError) as caught:
        load_bundle(policies=policies)
    assert caught.value.code == ("policy-file" if name == POLICIES else "policy-unknown-ruleset")


def test_missing_folder_of_lexicons(policy_files: Mapping[str, str], write_policies: Callable[..., Path]) -> None:
    """A folder of lexicons that is named must be there."""
    policies = write_policies({POLICIES: policy_files[POLICIES].replace("lexicons: lexicons", "lexicons: words")})
    with pytest.raises(ReflectGateError) as caught:
        load_bundle(policies=policies)
    assert "policy-file" in {error.code for error in caught.value.errors}


def test_large_file(write_policies: Callable[..., Path]) -> None:
    """A file above one mebibyte is refused before it is parsed."""
    policies = write_policies({GROUNDING: "#" * 1_048_577})
    with pytest.raises(ReflectGateError, match="policy-too-large"):
        load_bundle(policies=policies)


@pytest.mark.parametrize(
    ("data", "line", "column"), [(b"\xff", 1, 1), ("doc: é\nx: ".encode() + b"\xe9\n", 2, 4), (b"a: b\r\nc: \xc3", 2, 4)]
)
def test_not_utf8(data: bytes, line: int, column: int, write_policies: Callable[..., Path]) -> None:
    """A byte that is not UTF-8 is named with its place."""
    policies = write_policies({GROUNDING: data})
    with pytest.raises(ReflectGateError) as caught:
        load_bundle(policies=policies)
    assert caught.value.code == "policy-encoding"
    assert caught.value.source is not None
    assert caught.value.source[1:3] == (line, column)


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_empty_file(text: str, write_policies: Callable[..., Path]) -> None:
    """A file without content is no rule set."""
    with pytest.raises(ReflectGateError, match=r"policy-shape|policy-value"):
        load_bundle(policies=write_policies({GROUNDING: text}))


def test_too_many_rules(policy_files: Mapping[str, str], write_policies: Callable[..., Path]) -> None:
    """A bundle holds at most 400 rules."""
    rule = "  - id: r{}\n    doc: D.\n    when: [record: {{}}]\n    then: [finding: {{verdict: grounded, reason: x}}]\n"
    text = policy_files[GROUNDING] + "".join(rule.format(number) for number in range(395))
    with pytest.raises(ReflectGateError, match="401 rules"):
        load_bundle(policies=write_policies({GROUNDING: text}))


def test_too_many_rows(policy_files: Mapping[str, str], write_policies: Callable[..., Path]) -> None:
    """The tables of a bundle hold at most 2,000 rows."""
    rows = "".join(f"      - {{by: x{number}}}\n" for number in range(1_999))
    text = policy_files[GROUNDING].replace(
        "tables:\n", f"tables:\n  many:\n    doc: D.\n    columns: {{by: id}}\n    rows:\n{rows}"
    )
    with pytest.raises(ReflectGateError, match="2001 rows"):
        load_bundle(policies=write_policies({GROUNDING: text}))


def test_unknown_bundle(write_policies: Callable[..., Path]) -> None:
    """A misspelt bundle names the nearest one."""
    with pytest.raises(ReflectGateError, match="there is no bundle `chld`, did you mean `child`"):
        load_bundle("chld", policies=write_policies())


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"set_": ["grounding.min_overlap"]}, "policy-name"),
        ({"set_": ["grounding.min=0.5"]}, "policy-unknown-setting"),
        ({"set_": ["grounding.min_overlap=1.5"]}, "policy-setting-range"),
        ({"set_": ["grounding.min_overlap=high"]}, "policy-setting-kind"),
        ({"set_": ["grounding.min_overlap="]}, "policy-value"),
        ({"set_": ["grounding.min_overlap=0.5", "grounding.min_overlap=0.6"]}, "policy-conflict"),
        ({"enable": ["calibration"]}, "policy-unknown-ruleset"),
        ({"enable": ["grounding@2"]}, "policy-version"),
        ({"disable": ["groundin"]}, "policy-unknown-ruleset"),
        ({"disable": ["grounding@1"]}, "policy-name"),
        ({"enable": ["grounding"], "disable": ["grounding"]}, "policy-conflict"),
        ({"as_of": "2026-13-01"}, "policy-date"),
        ({"as_of": "today"}, "policy-date"),
    ],
)
def test_broken_options(options: dict[str, object], code: str, write_policies: Callable[..., Path]) -> None:
    """What is given beside the files is held to the same rules."""
    with pytest.raises(ReflectGateError) as caught:
        load_bundle(policies=write_policies(), **options)  # type: ignore[arg-type]
    assert {error.code for error in caught.value.errors} == {code}
