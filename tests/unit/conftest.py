"""A small set of policies that is sound, for tests that change one thing in it; the shipped bundle, and an empty store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from reflect_gate import Bundle
from reflect_store import EventStore, memory_store

POLICIES = """\
policies: 1
default: main
rules: rules
lexicons: lexicons
engine: {mode: compiled, cross_check: false}
limits: {facts: 1000}
bundles:
  main:
    doc: Both on.
    rulesets: [grounding@1, admission]
    settings:
      - {set: grounding.min_overlap, to: 0.6, reason: Stricter, owner: qa, expires: 2030-01-01}
    lexicons:
      - {lexicon: blame, group: outward, append: [flaky], reason: Seen, owner: qa}
  child:
    doc: One off.
    extends: main
    disable: [admission]
"""

GROUNDING = """\
ruleset: grounding
version: 1.2.3
stage: ground
doc: Test.
neutral: grounded
settings:
  min_overlap:
    default: 0.5
    doc: Share.
    minimum: 0
    maximum: 1
  weight: {default: 3, doc: For Python., use: python}
tables:
  wanted:
    doc: Kinds.
    columns: {field: field, kind: kind}
    rows:
      - {field: strategy_error, kind: plan}
      - {field: violated_invariant, kind: spec}
derive:
  supported: {field: field}
rules:
  - id: missing
    doc: Cited ids exist.
    when:
      - cite as e: {exists: false}
    then:
      - finding: {verdict: speculative, reason: missing, about: $e.item}
  - id: supported
    doc: Support.
    when:
      - claim as c: {populated: true}
      - wanted as k: {field: $c.field}
      - support: {field: $c.field, kind: $k.kind, anchor_overlap: {gte: $min_overlap}, oracle: {in: [none, self_written]}}
    then:
      - supported: {field: $c.field}
  - id: unsupported
    doc: No support.
    when:
      - claim as c: {populated: true}
      - hits: {lexicon: blame, n: {gt: 1}}
      - not supported: {field: $c.field}
    then:
      - finding: {verdict: speculative, reason: unsupported, about: $c.field}
  - id: grounded
    doc: Support found.
    when:
      - supported: {}
    then:
      - finding: {verdict: grounded, reason: supported}
"""

ADMISSION = """\
ruleset: admission
version: 0.3.0
stage: admit
doc: Test.
neutral: admit
derive:
  earned: {by: id}
rules:
  - id: earned
    doc: Earned.
    when:
      - conclusion: {stage: ground, verdict: grounded}
    then:
      - earned: {by: evidence}
  - id: admit
    doc: Admitted.
    when:
      - earned: {}
    then:
      - finding: {verdict: admit, reason: earned}
"""

BLAME = """\
lexicon: blame
version: 1.0.0
doc: Outward blame.
groups:
  - id: outward
    doc: The world is at fault.
    patterns: [blame, 'the (?:tests|framework)']
    cases: {hit: [the tests], miss: [my plan]}
  - id: luck
    doc: Chance.
    patterns: [bad luck]
"""

FILES = {
    "policies.yaml": POLICIES,
    "rules/grounding.yaml": GROUNDING,
    "rules/admission.yaml": ADMISSION,
    "lexicons/blame.yaml": BLAME,
}

WritePolicies = Callable[..., Path]


@pytest.fixture
def policy_files() -> Mapping[str, str]:
    """The sound policies, by path."""
    return FILES


@pytest.fixture
def write_policies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WritePolicies:
    """Write the sound policies, with some files replaced (`None`: left out), and return the path of `policies.yaml`."""
    monkeypatch.setenv("REFLECT_GATE_CACHE", str(tmp_path / "cache"))

    def write(files: Mapping[str, str | bytes | None] | None = None) -> Path:
        folder = tmp_path / "policies"
        for name, text in {**FILES, **(files or {})}.items():
            if text is None:
                continue
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode() if isinstance(text, str) else text)
        return folder / "policies.yaml"

    return write


@pytest.fixture(scope="session")
def bundle(structured: Bundle) -> Bundle:
    """The bundle with every mechanism on, on the faster engine alone: the rules' own cases hold both to each other."""
    return structured._replace(engine="compiled", cross_check=False)


@pytest.fixture
def store() -> EventStore:
    """An empty store."""
    return memory_store()
