"""Time reflect-gate beside its peers and hold it to the budgets of docs/architecture.md; one table.

usage: bench.py [--rounds N] [--quick] [--json] [--only SECTION]…

Peers that are not installed are left out with their budgets: `pip install 'reflect-gate[bench]'`. Before anything is timed, the
engines must agree on what they conclude. All contenders take turns in every round, and a budget is held to the median of the
rounds' ratios, so that what disturbs the machine for a while disturbs both sides. Exit 1 if a budget is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

if __package__:
    from . import inference, judging
    from .table import Section, as_json, as_text
    from .texts import texts
else:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from tests.bench import inference, judging
    from tests.bench.table import Section, as_json, as_text
    from tests.bench.texts import texts

__all__ = ["SECTIONS", "main"]

SECTIONS: Final[Mapping[str, Callable[[int, float], Section]]] = {
    "forty": inference.forty,
    "grounding": inference.grounding,
    "whole": lambda rounds, seconds: judging.whole(rounds, seconds, texts()),
    "start": lambda rounds, _: judging.process_start(rounds, texts()),
    "lexicons": lambda rounds, seconds: judging.lexicons(rounds, seconds, texts()),
}
"""The sections by the name that `--only` takes; each gets the rounds and about the seconds of a task in a round."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; return 1 where a budget is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15, help="alternating rounds (default: 15)")
    parser.add_argument("--quick", action="store_true", help="5 short rounds, for a first look")
    parser.add_argument("--json", action="store_true", help="print JSON, times in seconds")
    parser.add_argument(
        "--only", action="append", choices=list(SECTIONS), metavar="SECTION", help=f"one of {', '.join(SECTIONS)}"
    )
    given = parser.parse_args(arguments)
    rounds, seconds = (5, 0.03) if given.quick else (given.rounds, 0.1)
    found = []
    for name in given.only or SECTIONS:
        sys.stderr.write(f"timing {name} …\n")
        found.append(SECTIONS[name](rounds, seconds))
    sys.stdout.write((as_json(found) if given.json else as_text(found)) + "\n")
    missed = [budget.what for section in found for budget in section.budgets if not budget.kept]
    if missed:
        sys.stderr.write(f"missed: {'; '.join(missed)}\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
