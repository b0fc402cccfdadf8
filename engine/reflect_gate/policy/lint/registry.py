"""Every lint rule, in the order in which the documentation lists them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from . import hidden, phrases, reach, unused, upkeep
from .model import LintRule

__all__ = ["BY_ID", "RULES"]

RULES: Final[tuple[LintRule, ...]] = (
    LintRule(
        "unreachable-rule",
        "error",
        "No facts make the rule fire: its tests exclude each other, or it waits for what nothing derives, holds or concludes.",
        "Correct the conditions, or delete the rule.",
        reach.unreachable_rule,
    ),
    LintRule(
        "shadowed-rule",
        "error",
        "Whenever the rule fires, another rule of the stage has derived the same, or says a more severe verdict.",
        "Delete the rule, or make the other one narrower.",
        reach.shadowed_rule,
    ),
    LintRule(
        "contradictory-findings",
        "error",
        "Two verdicts are said of the same thing at once, by one rule or by two of exactly the same conditions.",
        "Keep one of the findings, or give the rules conditions that exclude each other.",
        reach.contradictory_findings,
    ),
    LintRule(
        "unreachable-threshold",
        "error",
        "No value that the measure can come to passes the comparison.",
        "Move the threshold into the range that the message names.",
        reach.unreachable_threshold,
    ),
    LintRule(
        "idle-condition",
        "warning",
        "Every value that the measure can come to passes the comparison.",
        "Move the threshold, or leave the condition out.",
        reach.idle_condition,
    ),
    LintRule(
        "unused-lexicon",
        "warning",
        "No rule asks for hits of the lexicon, and no measure reads it by name.",
        "Add a rule that reads `hits` of it, or delete the lexicon.",
        unused.unused_lexicon,
    ),
    LintRule(
        "unused-setting",
        "error",
        "The setting says `use: python`, and no measure reads it.",
        "Read it in a rule as `$name`, or delete it.",
        unused.unused_setting,
    ),
    LintRule(
        "inert-override",
        "warning",
        "A bundle sets a setting to the value that it has already.",
        "Delete the override.",
        unused.inert_override,
    ),
    LintRule("unused-table", "error", "No rule reads the table.", "Read it in a rule, or delete it.", unused.unused_table),
    LintRule(
        "unused-derived-type",
        "error",
        "Rules derive the type, and none reads it.",
        "Read it in a rule, or delete it with the heads that derive it.",
        unused.unused_derived_type,
    ),
    LintRule(
        "unused-field",
        "warning",
        "No rule reads the column or field, though the type has others that are read.",
        "Read it in a rule, or leave it out of the type.",
        unused.unused_field,
    ),
    LintRule(
        "unused-alias",
        "warning",
        "A pattern has a name that nothing refers to.",
        "Leave the name out; `--fix` does.",
        unused.unused_alias,
    ),
    LintRule(
        "unread-fact",
        "off",
        "A fact type is measured, and no rule of these policies reads it.",
        "Nothing, unless a rule was meant to read it.",
        unused.unread_fact,
    ),
    LintRule(
        "redundant-pattern",
        "warning",
        "Every text of the pattern is found by another pattern of its group.",
        "Delete the pattern.",
        phrases.redundant_pattern,
    ),
    LintRule(
        "overlapping-patterns",
        "warning",
        "Three quarters of the texts of a pattern, or more, are matched whole by a pattern of another group of the lexicon.",
        "Narrow one of the patterns by the text that the message shows.",
        phrases.overlapping_patterns,
    ),
    LintRule(
        "missing-doc",
        "warning",
        "A doc is a placeholder, repeats the name, or has fewer than three words.",
        "Say in a sentence what it is for.",
        upkeep.missing_doc,
    ),
    LintRule(
        "missing-cases",
        "error",
        "The rule set has no case file.",
        "Write one beside it; `policy new` shows how.",
        upkeep.missing_cases,
    ),
    LintRule(
        "missing-firing-case",
        "error",
        "No case expects the rule to fire.",
        "Write a case that names it under `fires` or `findings`.",
        upkeep.missing_firing_case,
    ),
    LintRule(
        "missing-silent-case",
        "error",
        "No case expects the rule to stay silent.",
        "Write a case that names it under `silent`.",
        upkeep.missing_silent_case,
    ),
    LintRule(
        "missing-near-miss-case",
        "warning",
        "The rule is silent only in cases that are far from firing it.",
        "Write a case whose facts fail one condition of it, and name it under `silent`.",
        upkeep.missing_near_miss_case,
    ),
    LintRule(
        "missing-group-case",
        "error",
        "A group of a lexicon has no text that it finds, or none that it must not find.",
        "Add texts under `hit` and `miss`.",
        upkeep.missing_group_case,
    ),
    LintRule(
        "expired-override",
        "error",
        "An override is past its last day and no longer applied.",
        "Delete it, or give it a later day and a reason for that.",
        upkeep.expired_override,
    ),
    LintRule(
        "deprecated-rule",
        "warning",
        "The rule is deprecated, and a bundle still has it on.",
        "Use the rule that the message names, and switch this one off or delete it.",
        upkeep.deprecated_rule,
    ),
    LintRule(
        "renamed-rule",
        "warning",
        "A bundle, a case or an exception of lint uses a name that a rule had before.",
        "Write the name that the message says; `--fix` does in bundles and cases.",
        upkeep.renamed_rule,
    ),
    LintRule(
        "missing-toggle",
        "warning",
        "No bundle switches the rule set off, so that nothing shows what its rules change.",
        "Add a bundle that extends the default one and disables the rule set.",
        upkeep.missing_toggle,
    ),
    LintRule(
        "unnamed-ruleset",
        "error",
        "No bundle names the rule set, so that no toggle reaches its rules.",
        "Name it in a bundle, or delete the file.",
        upkeep.unnamed_ruleset,
    ),
    LintRule(
        "bidi-control",
        "error",
        "A control character shows a line in another order than it is read.",
        "Remove it; `--fix` does where nothing changes by it.",
        hidden.bidi_control,
    ),
    LintRule(
        "invisible-character",
        "error",
        "A character without width stands where no script needs one.",
        "Remove it, or write it as an escape; `--fix` removes it where nothing changes by it.",
        hidden.invisible_character,
    ),
    LintRule(
        "confusable-word",
        "error",
        "A letter of another script stands among ASCII letters and looks like one of them.",
        "Write the letter that it looks like.",
        hidden.confusable_word,
    ),
    LintRule(
        "missing-header",
        "warning",
        "The first line does not name the schema by which editors complete and check the file.",
        "Run `policy fmt`, or lint with `--fix`.",
        upkeep.missing_header,
    ),
)
"""The registry; ids are stable, and the configuration uses them as they are printed."""

BY_ID: Final[Mapping[str, LintRule]] = {rule.id: rule for rule in RULES}
