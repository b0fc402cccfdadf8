"""Building a bundle from its files: read, resolve, check, compile, digest. All faults of all files are raised together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeVar

from .._canonical import digest
from .._hashing import fingerprint
from ..errors import ReflectGateError, Source, did_you_mean
from ..facts import Vocabulary, load_vocabulary
from ..resources import data_path
from .bundle import Bundle, Change, Lexicon, LoadRequest, RuleSet, Setting, Trial
from .check import check_ruleset
from .checked import CheckedSet, known
from .codec import encode_program
from .compile import compile_program
from .load import load_ruleset
from .load_lexicon import load_lexicon
from .load_policies import load_policies
from .model import Program
from .parsed import BundleDecl, LexiconFile, PoliciesFile, RuleFile
from .problems import Problems
from .resolve import Choice, resolve_chain, resolve_lexicons, resolve_rulesets, resolve_settings
from .roles import Roles, beside, deciding, deprecations, resolve_roles
from .source import MAX_BYTES
from .values import parse_date, show

__all__ = [
    "Inputs",
    "Parts",
    "Resolved",
    "assemble",
    "build_bundle",
    "durable_available",
    "lexicon_files",
    "meaning",
    "read_parts",
    "read_policies",
    "resolve",
    "ruleset_files",
    "ruleset_folder",
]

_DIGEST_FORM: Final = 1
_CASES: Final = ".cases.yaml"

T = TypeVar("T")


@dataclass(slots=True)
class Inputs:
    """What a bundle was built from: the digest of each file's bytes, and the names in each folder that was listed."""

    files: dict[str, str] = field(default_factory=dict)
    folders: dict[str, list[str]] = field(default_factory=dict)

    def read(self, path: Path, problems: Problems, source: Source | None = None) -> bytes | None:
        """Return the bytes of a file, `None` with a problem at `source` where it cannot be read."""
        try:
            with path.open("rb") as stream:
                data = stream.read(MAX_BYTES + 1)
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            problems.add("policy-file", f"`{path}` cannot be read: {reason}", source)
            return None
        self.files[str(path)] = fingerprint(data)
        return data


@dataclass(frozen=True, slots=True)
class Parts:
    """The files of one bundle, read; `unread` names those that could not be."""

    policies: PoliciesFile
    chain: tuple[BundleDecl, ...]
    choices: Mapping[str, Choice]
    rulesets: Mapping[str, RuleFile]
    lexicons: Mapping[str, LexiconFile]
    unread_rulesets: frozenset[str]
    unread_lexicons: frozenset[str]
    roles: Roles = field(default_factory=Roles)


@dataclass(frozen=True, slots=True)
class Resolved:
    """What is in force."""

    settings: Mapping[str, Setting]
    lexicons: Mapping[str, Lexicon]
    changes: tuple[Change, ...]


def build_bundle(request: LoadRequest, rules: Path | None = None) -> tuple[Bundle, Inputs]:
    """Return the bundle and what it was built from; raises `ReflectGateError` with every fault of every file.

    The rule set in the file `rules` is on, and stands in for the one of its name where the bundle has it.
    """
    problems, inputs = Problems(), Inputs()
    instead = None if rules is None else _lone_ruleset(rules, inputs, problems)
    parts = read_parts(request, inputs, problems, instead)
    resolved = resolve(parts, request, problems)
    inputs.read(data_path("schemas", "facts.json"), problems)
    return assemble(request, parts, resolved, problems), inputs


def assemble(request: LoadRequest, parts: Parts, resolved: Resolved, problems: Problems) -> Bundle:
    """Return the bundle that parts and what is in force make: checked, compiled, digested.

    Raises:
        ReflectGateError: with every fault, those already in `problems` included.
    """
    vocabulary = load_vocabulary()
    checked = _check(parts, resolved, vocabulary, problems)
    names = known(vocabulary, sorted(parts.lexicons), resolved.settings, {})
    sets = [deciding(part, parts.roles) for part in checked]
    program = compile_program(_on(sets, parts), names, problems)
    problems.stop_if_any()
    if program is None:
        raise _raised(problems)
    bundle = _bundle(request, parts, resolved, sets, program)
    looking = [beside(part, parts.roles) for part in checked]
    if _on(looking, parts) == _on(sets, parts):
        return bundle
    tried = compile_program(_on(looking, parts), names, problems)
    problems.stop_if_any()
    return bundle if tried is None else _with_trial(bundle, parts, looking, tried)


def _on(sets: Sequence[CheckedSet], parts: Parts) -> list[CheckedSet]:
    return [part for part in sets if parts.choices[part.name].on]


def _with_trial(bundle: Bundle, parts: Parts, sets: Sequence[CheckedSet], program: Program) -> Bundle:
    """Return a bundle with what it would be if the rules that look on decided."""
    from ..infer.generate import generate

    # Asked of the engine here, as for the rules that decide: what no evaluation could use is refused at load.
    _engine(parts.policies, program)
    own = {rule.name for rule in bundle.program.rules}
    looking = tuple(sorted(rule.name for rule in program.rules if rule.name not in own))
    trial = Trial(looking, "", program, _rulesets(parts, sets), generate(program))
    promoted = bundle._replace(program=program, rulesets=trial.rulesets, trial=None)
    bundle = bundle._replace(trial=trial._replace(digest=digest(meaning(promoted))))
    return bundle._replace(digest=digest(meaning(bundle)))


def _raised(problems: Problems) -> ReflectGateError:
    """Return what `problems` raises; whoever calls this has noted at least one."""
    try:
        problems.stop_if_any()
    except ReflectGateError as error:
        return error
    return ReflectGateError("policy-file", "the policies could not be read")


def read_policies(path: Path, inputs: Inputs, problems: Problems) -> PoliciesFile | None:
    """Return the policies file at `path`, `None` with a problem where it cannot be read."""
    data = inputs.read(path, problems)
    return None if data is None else load_policies(data, str(path), problems)


def ruleset_folder(policies: PoliciesFile) -> Path:
    """Return the folder that the policies take rule sets from."""
    return Path(policies.file).parent / policies.rules if policies.rules else data_path("rules")


def ruleset_files(policies: PoliciesFile) -> list[Path]:
    """Return every rule-set file of that folder, sorted."""
    return sorted(path for path in ruleset_folder(policies).glob("*.yaml") if not path.name.endswith(_CASES))


def lexicon_files(policies: PoliciesFile) -> tuple[Path, list[Path]]:
    """Return the folder that the policies take lexicons from, and its files, sorted; all of them are in every bundle."""
    folder = Path(policies.file).parent / policies.lexicons if policies.lexicons else data_path("rules").joinpath("lexicons")
    return folder, sorted(path for path in folder.glob("*.yaml") if not path.name.endswith(_CASES))


def _lone_ruleset(path: Path, inputs: Inputs, problems: Problems) -> RuleFile:
    data = inputs.read(path, problems)
    file = None if data is None else load_ruleset(data, str(path), problems)
    if file is None:
        raise _raised(problems)
    return file


def read_parts(request: LoadRequest, inputs: Inputs, problems: Problems, instead: RuleFile | None = None) -> Parts:
    """Return the files of a bundle; faults that leave nothing to go on with are raised, the others go to `problems`.

    `instead` is a rule set that stands in for the file of its name, and is on.
    """
    if not parse_date(request.as_of):
        raise ReflectGateError("policy-date", f"`as_of` must be a date `YYYY-MM-DD`, not `{request.as_of[:40]}`")
    policies = read_policies(request.policies, inputs, problems)
    if policies is None:
        raise _raised(problems)
    chain = resolve_chain(policies, request.name, problems)
    choices = resolve_rulesets(chain, request.enable, request.disable, problems)
    if instead is not None:
        choices = dict(sorted({**choices, instead.name: Choice(True, "", instead.source)}.items()))
    rulesets = {
        name: instead if instead and instead.name == name else _read_ruleset(name, choice, policies, inputs, problems)
        for name, choice in choices.items()
    }
    folder, paths = lexicon_files(policies)
    inputs.folders[str(folder)] = [path.name for path in paths]
    if policies.lexicons and not folder.is_dir():
        problems.add("policy-file", f"`{folder}` is no folder of lexicons", Source(policies.file))
    read, unread = _present(rulesets), frozenset(name for name, file in rulesets.items() if file is None)
    roles = resolve_roles(chain, read, unread, request.enable, request.disable, request.experimental, problems)
    lexicons: dict[str, LexiconFile | None] = {}
    for path in paths:
        data = inputs.read(path, problems)
        lexicon = None if data is None else load_lexicon(data, str(path), problems)
        lexicons[path.stem] = lexicon if lexicon and lexicon.name == path.stem else None
    return Parts(
        policies,
        chain,
        choices,
        read,
        _present(lexicons),
        unread,
        frozenset(name for name, file in lexicons.items() if file is None),
        roles,
    )


def _present(files: Mapping[str, T | None]) -> dict[str, T]:
    return {name: file for name, file in files.items() if file is not None}


def _read_ruleset(name: str, choice: Choice, policies: PoliciesFile, inputs: Inputs, problems: Problems) -> RuleFile | None:
    path = ruleset_folder(policies) / f"{name}.yaml"
    if not path.is_file():
        near = did_you_mean(name, [known_path.stem for known_path in ruleset_files(policies)])
        problems.add("policy-unknown-ruleset", f"there is no rule set `{name}` in `{path.parent}`{near}", choice.origin)
        return None
    data = inputs.read(path, problems, choice.origin)
    file = None if data is None else load_ruleset(data, str(path), problems)
    if file is None or file.name != name:
        return None
    if choice.pin and file.version and not f"{file.version}.".startswith(f"{choice.pin}."):
        message = f"rule set `{name}` is pinned to version {choice.pin}, and `{path}` is {file.version}"
        problems.add("policy-version", message, choice.origin)
    return file


def resolve(parts: Parts, request: LoadRequest, problems: Problems) -> Resolved:
    """Return what is in force of `parts` on the day and with the options of the request."""
    settings, set_changes = resolve_settings(
        parts.chain, parts.rulesets, parts.unread_rulesets, request.set_, request.as_of, problems
    )
    lexicons, lexicon_changes = resolve_lexicons(parts.chain, parts.lexicons, parts.unread_lexicons, request.as_of, problems)
    changes = sorted((*set_changes, *lexicon_changes), key=lambda change: (change.kind, change.target, change.origin))
    return Resolved(settings, lexicons, tuple(changes))


def _check(parts: Parts, resolved: Resolved, vocabulary: Vocabulary, problems: Problems) -> list[CheckedSet]:
    """Check every rule set, also those that are off: a broken one never passes by being switched off."""
    private = {name: file.name for file in parts.rulesets.values() for name in (*file.tables, *file.derive)}
    lexicons = sorted({*parts.lexicons, *parts.unread_lexicons})
    names = known(vocabulary, lexicons, resolved.settings, private)
    found = (check_ruleset(file, names, problems) for file in parts.rulesets.values())
    return [checked for checked in found if checked]


def _bundle(request: LoadRequest, parts: Parts, resolved: Resolved, checked: Sequence[CheckedSet], program: Program) -> Bundle:
    from ..infer.generate import generate
    from ..measure import MEASURES

    leaf = parts.chain[-1]
    on = [parts.rulesets[name] for name, choice in parts.choices.items() if choice.on]
    engine, cross_check = _engine(parts.policies, program)
    bundle = Bundle(
        name=leaf.name,
        digest="",
        as_of=request.as_of,
        doc=leaf.doc,
        file=parts.policies.file,
        program=program,
        rulesets=_rulesets(parts, checked),
        lexicons=resolved.lexicons,
        settings=resolved.settings,
        changes=resolved.changes,
        limits=parts.policies.limits,
        engine=engine,
        cross_check=cross_check,
        measures=dict(sorted(MEASURES.items())),
        generated=generate(program),
        renamed=parts.roles.renamed,
        notices=(*parts.roles.notices, *deprecations(on, parts.roles.off)),
    )
    return bundle._replace(digest=digest(meaning(bundle)))


def meaning(bundle: Bundle) -> dict[str, object]:
    """Return what decides in a bundle or looks on, which is what its digest is of; a rule that is simply stable adds nothing."""
    program = bundle.trial.program if bundle.trial else bundle.program
    maturity = {rule.name: rule.maturity for rule in program.rules if rule.maturity != "stable"}
    return {
        **({"maturity": maturity} if maturity else {}),
        **({"trial": encode_program(program, meaning_only=True)} if bundle.trial else {}),
        "form": _DIGEST_FORM,
        "as_of": bundle.as_of,
        "engine": {"mode": bundle.engine, "cross_check": bundle.cross_check},
        "limits": bundle.limits._asdict(),
        "measures": bundle.measures,
        "vocabulary": load_vocabulary().version,
        "rulesets": [[rs.name, rs.version, rs.stage, rs.on, rs.neutral, rs.decides] for rs in bundle.rulesets],
        "settings": {key: {"value": show(setting.value)} for key, setting in bundle.settings.items()},
        "lexicons": {
            name: {"version": lexicon.version, "groups": {group.id: list(group.patterns) for group in lexicon.groups}}
            for name, lexicon in bundle.lexicons.items()
        },
        "program": encode_program(bundle.program, meaning_only=True),
    }


def _rulesets(parts: Parts, checked: Sequence[CheckedSet]) -> tuple[RuleSet, ...]:
    found = {part.name: part for part in checked}
    return tuple(_ruleset(parts.rulesets[name], choice, found[name]) for name, choice in parts.choices.items())


def _ruleset(file: RuleFile, choice: Choice, checked: CheckedSet) -> RuleSet:
    neutral, decides = checked.neutral, checked.decides
    return RuleSet(file.name, file.version, checked.stage, choice.on, neutral, file.doc, file.file, choice.origin, decides)


def durable_available() -> bool:
    """Whether the C module of durable-rules can be imported here; it cannot on Python 3.13 and later."""
    from ..infer.durable import durable_missing

    return not durable_missing()


def _engine(policies: PoliciesFile, program: Program) -> tuple[Literal["durable", "compiled"], bool]:
    """Return the engine that runs here and whether the other one is run beside it.

    Where durable-rules cannot be imported (Python 3.13 and later) the compiled engine runs alone. Where it can, it is asked now
    whether it can hold the program: a bundle that no evaluation could use is refused at load.
    """
    if policies.mode == "compiled":
        return "compiled", policies.cross_check
    if not durable_available():
        return "compiled", False
    from ..infer._network import build

    build(program)
    return "durable", policies.cross_check
