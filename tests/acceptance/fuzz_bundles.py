"""Break the shipped policies in thousands of ways and count what the loader does with them.

usage: fuzz_bundles.py [--bundles N] [--seed S]

Each round copies `policies.yaml`, the rule sets and the lexicons, and damages one to three of the files: lines lost, doubled,
swapped or cut off, words misspelt, values replaced, bytes thrown in. A bundle that is refused must be refused with errors that
name a file; one that still loads judges a request that the sound policies admit and one that they refuse. Exit 1 on a crash, an
engine disagreement, or an error without a place.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from reflect_gate import ReflectGateError, evaluate, load_bundle
from reflect_gate.resources import data_path

__all__ = ["damage", "run"]

WORDS = [
    "$",
    "{",
    "}",
    "[",
    "- ",
    ": ",
    "not ",
    "~",
    "yes",
    "1e9",
    "0x10",
    "''",
    "&a",
    "*a",
    "!!python/name:os",
    "\t",
    "\u202e",
    "\0",
]
VALUES = "null true -1 0.005 99999999999999999999 [] {} grounded $nothing $c.nothing nothing".split()


def _lines(rng: random.Random, text: str) -> str:
    lines = text.splitlines(keepends=True)
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    action = rng.randrange(4)
    if action == 0:
        del lines[first]
    elif action == 1:
        lines.insert(first, lines[second])
    elif action == 2:
        lines[first], lines[second] = lines[second], lines[first]
    else:
        del lines[first:]
    return "".join(lines)


def _word(rng: random.Random, text: str) -> str:
    place = rng.randrange(len(text))
    action = rng.randrange(3)
    if action == 0:
        return text[:place] + text[place + 1 :]
    if action == 1:
        return text[:place] + rng.choice(WORDS) + text[place:]
    colon = text.find(": ", place)
    end = text.find("\n", colon)
    return text if colon < 0 or end < 0 else text[: colon + 2] + rng.choice(VALUES) + text[end:]


def damage(rng: random.Random, folder: Path) -> list[str]:
    """Damage some files of a policies folder; return their names."""
    files = [folder / "policies.yaml", *sorted(folder.rglob("rules/*.yaml")), *sorted(folder.rglob("lexicons/*.yaml"))]
    sound = [path for path in files if not path.name.endswith(".cases.yaml")]
    chosen = rng.sample(sound, k=rng.randrange(1, 4))
    for path in chosen:
        text = path.read_text(encoding="utf-8")
        changed = _lines(rng, text) if rng.random() < 0.4 else _word(rng, text)
        path.write_bytes(changed.encode() if rng.random() < 0.98 else changed.encode("utf-16"))
    return [path.name for path in chosen]


def _round(rng: random.Random, requests: list[dict[str, Any]], counts: Counter[str], wrong: list[str], number: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(data_path("rules"), folder / "rules")
        text = data_path("policies.yaml").read_text(encoding="utf-8")
        named = text.replace("default: structured", "default: structured\nrules: rules\nlexicons: rules/lexicons")
        (folder / "policies.yaml").write_text(named, encoding="utf-8")
        files = damage(rng, folder)
        try:
            bundle = load_bundle("structured", policies=folder / "policies.yaml", cache=False)
            counts["bundles loaded"] += 1
            for request in requests:
                counts[f"requests {evaluate(request, bundle).status}"] += 1
        except ReflectGateError as error:
            counts["bundles refused"] += 1
            counts[error.code] += 1
            if error.code.startswith("engine-") or not all(each.source for each in error.errors):
                wrong.append(f"round {number}, {files}: {error}")
        except Exception as error:  # noqa: BLE001 -- any other exception is what this looks for
            counts["crashes"] += 1
            wrong.append(f"round {number}, {files}: {type(error).__name__}: {error}")


def run(rounds: int, seed: int, requests: list[dict[str, Any]]) -> tuple[Counter[str], list[str]]:
    """Return what happened, and the first of everything that must not happen."""
    counts: Counter[str] = Counter(crashes=0)
    wrong: list[str] = []
    for number in range(rounds):
        _round(random.Random(f"{seed}/{number}"), requests, counts, wrong, number)
    return counts, wrong


def examples() -> list[dict[str, Any]]:
    """Return a request that the shipped policies admit, and one that they refuse."""
    folder = Path(__file__).resolve().parents[2] / "docs" / "examples"
    return [json.loads((folder / f"{name}.json").read_bytes()) for name in ("admitted", "refused")]


def main() -> int:
    """Print the counts as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundles", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=15)
    options = parser.parse_args()
    counts, wrong = run(options.bundles, options.seed, examples())
    sys.stdout.write(json.dumps({"bundles": options.bundles, **counts, "wrong": wrong[:20]}, indent=2) + "\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
