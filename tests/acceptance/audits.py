"""Audit real lesson files, put together again from a corpus, and the six planted stores; print what was found.

usage: audits.py [--bundle NAME] [--corpora DIR] [--read]

Each source of the corpus `lessons_md` is written to a temporary folder as one Markdown file: a heading and its entries in order.
Printed are entries of the corpus, entries found in the file, findings by reason, entries that a pruned file does without, and,
for each planted store, whether the audit that it is meant for fails. `--read` prints each finding, for a person to read.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

if __package__:
    from .corpora import folder, rows
else:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from tests.acceptance.corpora import folder, rows

from tests.audit.planted import PLANTED, Shelf
from tests.conftest import REQUEST

from reflect_gate import Bundle, load_bundle
from reflect_gate.auditing import Audit, audit, read_memory
from reflect_gate.auditing.stores import audit_store

__all__ = ["audited", "planted"]

NAME = "lessons_md"


def audited(base: Path, bundle: Bundle) -> dict[str, tuple[int, Audit]]:
    """Return, by source, how many entries the corpus has and what the audit of the rebuilt file found."""
    sources: dict[str, list[str]] = defaultdict(list)
    for row in rows(NAME, base):
        sources[str(row["source"])].append(str(row["reflection_text"]).strip())
    found = {}
    with tempfile.TemporaryDirectory() as place:
        for number, (source, texts) in enumerate(sources.items()):
            file = Path(place) / str(number) / "lessons.md"
            file.parent.mkdir()
            file.write_text("\n\n".join(["# Lessons learned", *texts]) + "\n", encoding="utf-8")
            found[source] = (len(texts), audit(read_memory(str(file), bundle.limits), bundle))
    return found


def planted(bundle: Bundle) -> dict[str, dict[str, Any]]:
    """Return, by audit, what it says of the store that is meant to trip it."""
    naive = load_bundle("introspect", cache=False)
    said = {}
    for name, plant in PLANTED.items():
        shelf = Shelf(bundle, REQUEST)
        plant(shelf, naive)
        check = next(each for each in audit_store(shelf.store, bundle).checks if each.name == name)
        said[name] = {"failed": check.failed, "rules": list(check.rules), "measured": dict(check.measured)}
    return said


def main() -> int:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", default="structured")
    parser.add_argument("--corpora", type=Path, default=folder())
    parser.add_argument("--read", action="store_true")
    chosen = parser.parse_args()
    bundle = load_bundle(chosen.bundle, cache=False)
    files = audited(chosen.corpora, bundle)
    figures = {
        source: {
            "corpus_entries": count,
            "entries": len(found.memory.entries),
            "findings": found.counts(),
            "removable": len(found.removed()),
        }
        for source, (count, found) in files.items()
    }
    sys.stdout.write(json.dumps({"files": figures, "planted": planted(bundle)}, indent=2) + "\n")
    if chosen.read:
        for source, (_, found) in files.items():
            for each in found.findings:
                other = f" (line {each.other.line})" if each.other else ""
                place = f"{source}:{each.line}: {each.reason}{other} {each.rule} {each.match!r}"
                sys.stdout.write(f"{place}\n    {each.entry.text[:300]!r}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
