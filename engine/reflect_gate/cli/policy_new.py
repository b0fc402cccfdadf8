"""`reflect-gate policy new`: a rule, rule set or lexicon to begin with."""

from __future__ import annotations

import click

from ..report._places import relative
from ._files import diff_text, write_text
from ._options import examples, format_option, policies_option
from ._output import OK, open_output
from ._summary import change, files_document, summarise

__all__ = ["new"]


@click.command
@click.argument("rule", required=False, metavar="[RULESET/RULE]")
@policies_option
@click.option("--ruleset", metavar="NAME", help="Make a rule set, with one rule that says what it looks at.")
@click.option("--lexicon", metavar="NAME", help="Make a lexicon; with a rule or rule set, the rule asks for it.")
@click.option("--stage", metavar="STAGE", help="The stage of a new rule set; else calibrate.")
@click.option("--dry-run", is_flag=True, help="Print what would be written as a diff, and write nothing.")
@format_option("text", "json")
@examples(
    "reflect-gate policy new tone/too-long --policies ./policies.yaml",
    "reflect-gate policy new --ruleset tone --lexicon slang --policies ./policies.yaml",
    "reflect-gate policy new --lexicon slang --policies ./policies.yaml --dry-run",
)
def new(
    rule: str | None,
    policies: str | None,
    ruleset: str | None,
    lexicon: str | None,
    stage: str | None,
    dry_run: bool,
    format_: str,
) -> int:
    """Make a rule, a rule set or a lexicon to begin with.

    What is made loads, passes its own cases and has no lint: a real rule on a measure of its stage, a case on each side of its
    threshold, the rule set named by the default bundle and switched off by another. The policies must have folders of their own.
    """
    from ..policy.scaffold import new_lexicon, new_rule

    if rule and ruleset:
        raise click.UsageError("give RULESET/RULE or --ruleset, not both")
    name, slash, rule_id = (rule or ruleset or "").partition("/")
    if rule and not (slash and rule_id):
        raise click.UsageError(f"a rule is named RULESET/RULE, not '{rule}'; a rule set is made by --ruleset")
    if name:
        texts = new_rule(policies, name, rule_id, stage or "", lexicon or "")
    elif lexicon:
        texts = new_lexicon(policies, lexicon)
    else:
        raise click.UsageError("give RULESET/RULE, --ruleset or --lexicon")
    changes = []
    with open_output(None) as sink:
        for path, text in texts.items():
            before = path.read_bytes().decode("utf-8") if path.is_file() else None
            changes.append(change(path, before, text))
            if not dry_run:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_text(path, text)
            elif format_ == "text":
                sink.text(diff_text(str(path), before or "", text))
    if format_ == "json" or not dry_run:
        names = [relative(str(path)) for path in texts]
        document = files_document("new", changes, len(texts), dry_run=dry_run)
        summarise(format_, f"written: {', '.join(names)}", {"written": names}, document)
    return OK
