"""`reflect-gate policy try`: judge a request again on each save of it or of what judges it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from .._canonical import canonical_bytes
from ..errors import ReflectGateError, ReflectGateErrors, Source
from ..report._paint import Paint
from ._options import BundleChoice, bundle_options, examples, format_option
from ._output import INTERRUPTED, Sink, error_document, exit_code_of, open_output, report

if TYPE_CHECKING:
    from ..policy import Bundle
    from ..trying import Attempt

__all__ = ["try_"]

_PERIOD = 0.2
"""Seconds between two looks at the files: an author waits for it."""


@click.command("try")
@click.argument("request", metavar="REQUEST", type=click.Path(dir_okay=False))
@click.option(
    "--rules",
    "rules",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="A rule set to try: it is on, and stands in for the one of its name.",
)
@bundle_options
@click.option("--once", is_flag=True, help="Judge once and end, with the exit code of `evaluate`.")
@format_option("text", "json")
@examples(
    "reflect-gate policy try request.json --policies ./policies.yaml",
    "reflect-gate policy try request.json --rules drafts/hedging.yaml",
    "reflect-gate policy try request.json --policies ./policies.yaml --once --format json",
)
def try_(request: str, rules: str | None, choice: BundleChoice, once: bool, format_: str) -> int:
    """Judge a request on each save, and say what the save changed.

    REQUEST is a file with one request. It is judged at once, and again whenever it, the policies file, a rule set or a lexicon is
    saved, until interrupted. Shown are the decision with the texts that lexicons found, why it came out so, and what differs from
    the decision before. Where a file is broken, its errors are told with their places, and the last decision stands. As JSON,
    each attempt is one line.
    """
    from ..policy.watching import changes, snapshot
    from ..trying import Attempts

    if request == "-":
        raise click.UsageError("REQUEST is a file that can be saved, not stdin")
    bundles = _Bundles(choice, rules)
    attempts = Attempts(bundles.load, lambda: _request(request))

    def watched() -> list[str | Path]:
        return [request, *([rules] if rules else []), *_policy_files(choice)]

    with open_output(None) as sink:
        try:
            seen = snapshot(watched())
            code = _show(attempts.make(), format_, sink)
            if once:
                return code
            for files in changes(watched, period=_PERIOD, seen=seen):
                _show(attempts.make(files), format_, sink)
        except KeyboardInterrupt:
            # Asked for: whoever watches ends it so.
            return INTERRUPTED
    return INTERRUPTED


class _Bundles:
    """Loads the bundle anew, and warns of old names on the command line once."""

    def __init__(self, choice: BundleChoice, rules: str | None) -> None:
        self._choice = choice
        self._rules = rules

    def load(self) -> Bundle:
        """Return the bundle as its files are now."""
        found = self._choice.load(cache=False, rules=self._rules)
        self._choice = self._choice._replace(told=True)
        return found


def _request(path: str) -> dict[str, Any]:
    """Return the one request of the file."""
    from ..config import Limits
    from ..documents import read_documents
    from ._input import open_input

    with open_input(path) as (stream, name):
        entries = read_documents(stream, name, Limits())
        document = next(entries)[1]
        if isinstance(document, ReflectGateError):
            raise document
        if next(entries, None) is not None:
            raise ReflectGateError("document-many", "holds more than one request; try one at a time", Source(name))
    return cast("dict[str, Any]", document)


def _policy_files(choice: BundleChoice) -> list[str | Path]:
    """Return the policies file with the rule sets and lexicons that it names, as far as it can be read just now."""
    from ..config import choose_policies
    from ..policy.build import lexicon_files, ruleset_files
    from ._policies import declared_policies

    policies = choose_policies(choice.policies, choice.require_signature).path
    try:
        declared = declared_policies(choice.policies)
    except ReflectGateError:
        return [policies, policies.parent]
    return [policies, *ruleset_files(declared), *lexicon_files(declared)[1]]


def _show(attempt: Attempt, format_: str, sink: Sink) -> int:
    """Write one attempt; return the exit code that it alone would have."""
    from ..report.trying import attempt_document, attempt_text

    if attempt.errors:
        report(_joined(attempt))
    if format_ == "json":
        sink.json(canonical_bytes(attempt_document(attempt, error_document)) + b"\n")
    else:
        sink.text(attempt_text(attempt, Paint(sink.coloured)))
    sink.flush()
    return exit_code_of(_joined(attempt)) if attempt.errors else int(attempt.exit_code or 0)


def _joined(attempt: Attempt) -> ReflectGateError:
    return ReflectGateErrors(attempt.errors) if len(attempt.errors) > 1 else attempt.errors[0]
