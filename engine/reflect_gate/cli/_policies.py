"""The policies file as a whole: its bundles by name, and what `policy check` finds in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..config import choose_policies
from ..errors import ReflectGateError, Source

if TYPE_CHECKING:
    from ..policy import Bundle
    from ..policy.parsed import PoliciesFile

__all__ = ["Checked", "bundle_docs", "case_folders", "check_policies", "declared_policies", "policy_files", "renamed_rules"]


class Checked(NamedTuple):
    """What was found: the bundles that load, every error once, and what works but was probably not meant."""

    file: str
    bundles: tuple[Bundle, ...]
    errors: tuple[ReflectGateError, ...]
    warnings: tuple[ReflectGateError, ...]


def bundle_docs(policies: str | None) -> Mapping[str, str]:
    """Return the bundles of the policies file with their docs."""
    return {name: declared.doc for name, declared in declared_policies(policies).bundles.items()}


def renamed_rules(policies: str | None) -> Mapping[str, str]:
    """Return the live name of every old one of the policies' rule sets, as `ruleset/rule`; raises what cannot be read."""
    from ..policy.build import ruleset_files
    from ..policy.load import load_ruleset
    from ..policy.problems import Problems
    from ..policy.roles import old_names

    problems = Problems()
    read = [load_ruleset(path.read_bytes(), str(path), problems) for path in ruleset_files(declared_policies(policies))]
    problems.stop_if_any()
    return old_names(file for file in read if file is not None)


def case_folders(policies: str | None) -> list[Path]:
    """Return the folders of the policies' rule sets and lexicons, in which their cases stand."""
    from ..policy.build import lexicon_files, ruleset_folder

    declared = declared_policies(policies)
    rules, lexicons = ruleset_folder(declared), lexicon_files(declared)[0]
    return [rules] if lexicons.is_relative_to(rules) else [rules, lexicons]


def policy_files(paths: Iterable[str | Path], policies: str | None) -> list[Path]:
    """Return the policy files at `paths` (files, or folders of them), each once; those in force without a path.

    In a folder, other YAML is passed over; a file that is named is returned whatever it is.
    """
    from ..policy.headers import kind_of_path

    given: list[str | Path] = list(paths)
    if not given:
        declared = declared_policies(policies)
        given = [declared.file, *case_folders(policies)]
    found: dict[Path, Path] = {}
    for path in map(Path, given):
        inside = sorted(path.rglob("*.yaml")) if path.is_dir() else []
        listed = [file for file in inside if kind_of_path(file, file.read_bytes().decode("utf-8", "replace"))]
        found.update({file.resolve(): file for file in (listed if path.is_dir() else [path])})
    return list(found.values())


def check_policies(policies: str | None, as_of: str | None) -> Checked:
    """Load every bundle of the policies file and collect all that is wrong or odd."""
    from ..policy import load_bundle

    declared = declared_policies(policies)
    bundles, errors = [], {}
    for name in declared.bundles:
        try:
            bundles.append(load_bundle(name, policies=policies, as_of=as_of, cache=False))
        except ReflectGateError as error:
            # Bundles share files, so one fault shows in several of them.
            errors.update({str(leaf): leaf for leaf in error.errors})
    warnings = {str(found): found for found in (*_unnamed(declared), *_expired(bundles), *_noticed(bundles))}
    return Checked(declared.file, tuple(bundles), tuple(errors.values()), tuple(warnings.values()))


def declared_policies(policies: str | None) -> PoliciesFile:
    from ..policy.build import Inputs, read_policies
    from ..policy.problems import Problems

    problems = Problems()
    path = choose_policies(policies).path.absolute()
    declared = read_policies(path, Inputs(), problems)
    problems.stop_if_any()
    if declared is None:
        raise ReflectGateError("policy-file", "the policies could not be read", Source(str(path)))
    return declared


def _unnamed(declared: PoliciesFile) -> list[ReflectGateError]:
    from ..policy.build import ruleset_files

    named = {ref.name for bundle in declared.bundles.values() for ref in (*bundle.rulesets, *bundle.enable)}
    return [
        ReflectGateError("policy-unused-file", f"no bundle names the rule set `{path.stem}`", Source(str(path)))
        for path in ruleset_files(declared)
        if path.stem not in named
    ]


def _noticed(bundles: list[Bundle]) -> list[ReflectGateError]:
    """Return what is said of deprecated rules and of old names."""
    return [ReflectGateError(*notice) for bundle in bundles for notice in bundle.notices]


def _expired(bundles: list[Bundle]) -> list[ReflectGateError]:
    return [
        ReflectGateError(
            "policy-expired",
            f"the override of {change.kind} `{change.target}` by `{change.owner}` expired on {change.expires} and is not applied",
            change.origin,
        )
        for bundle in bundles
        for change in bundle.changes
        if not change.applied
    ]
