"""Mutation testing of a bundle: which small mistakes in the rules would the cases, or a corpus, not notice.

A mutant is killed by the first case that fails with it, else by the first request of the corpus of which a stage then says
something else. It survives where nothing differs. What a mutant's run cannot finish kills it too. Results are kept by a digest of
everything that they follow from, so that only what changed is tried again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .. import __version__
from .._canonical import canonical_bytes, digest
from ..config import cache_dir
from ..errors import ReflectGateError, did_you_mean
from .bench import Bench, Shelf
from .bundle import Bundle
from .case_files import CASES_SUFFIX
from .cases import case_files, is_lexicon, read_cases, run_case
from .codec import encode_program
from .judging import Corpus, Judge
from .lexicon_hits import pattern_hits
from .loading import load_bundle
from .mutants import Mutant, mutants

__all__ = ["Result", "Subject", "mutate", "subjects"]

_FORM = 1
"""Version of what is kept; results of another version are tried again."""

Progress = Callable[[int, int], None]


class Result(NamedTuple):
    """What became of a mutant: what killed it (`case …` or `corpus …`), empty where it survived."""

    mutant: Mutant
    killed_by: str


class Subject(NamedTuple):
    """One file to mutate: the cases of a rule set, or a lexicon; `name` is the rule set or lexicon."""

    name: str
    path: str
    lexicon: bool


def subjects(paths: Iterable[str | Path], only: Sequence[str] = ()) -> list[Subject]:
    """Return what there is to mutate at `paths`; `only` names rule sets and lexicons, `mutate-unknown` where one is not there."""
    found = []
    for path in case_files(paths):
        lexicon = is_lexicon(path.read_bytes())
        if lexicon or path.name.endswith(CASES_SUFFIX):
            found.append(Subject(path.name.removesuffix(CASES_SUFFIX).removesuffix(".yaml"), str(path), lexicon))
    names = [subject.name for subject in found]
    for name in only:
        if name not in names:
            raise ReflectGateError("mutate-unknown", f"no rule set or lexicon `{name}` with cases{did_you_mean(name, names)}")
    if not found:
        raise ReflectGateError("mutate-nothing", "no cases were found, so there is nothing to judge a mutant by")
    return [subject for subject in found if not only or subject.name in only]


def mutate(
    chosen: Sequence[Subject],
    policies: str | Path | None,
    corpus: Sequence[Mapping[str, Any]] = (),
    *,
    jobs: int = 1,
    keep: bool = True,
    progress: Progress | None = None,
) -> list[Result]:
    """Return what became of every mutant of the chosen files, in the order of the files.

    Args:
        chosen: from `subjects`.
        policies: the policies file, as for `load_bundle`.
        corpus: requests that judge what no case kills, by the default bundle.
        jobs: worker processes.
        keep: use and keep results in the cache folder.
        progress: told how many mutants of how many are done.

    Raises:
        ReflectGateError: a policy is broken, or `mutate-baseline` where a case fails without any mutant.
    """
    shelf = Shelf(policies)
    plans = [_Plan(subject, policies, corpus, keep, shelf) for subject in chosen]
    total = sum(len(plan.mutants) for plan in plans)
    done = sum(len(plan.known) for plan in plans)
    if progress is not None:
        progress(done, total)
    todo = [(plan, mutant) for plan in plans for mutant in plan.mutants if mutant.id not in plan.known]
    for number, ((plan, mutant), killed_by) in enumerate(zip(todo, _judged(todo, policies, corpus, jobs), strict=True), 1):
        plan.known[mutant.id] = killed_by
        if progress is not None:
            progress(done + number, total)
    for plan in plans:
        plan.keep()
    return [Result(mutant, plan.known[mutant.id]) for plan in plans for mutant in plan.mutants]


class _Plan:
    """The mutants of one file, and what is known of them."""

    def __init__(
        self, subject: Subject, policies: str | Path | None, corpus: Sequence[Mapping[str, Any]], keep: bool, shelf: Shelf
    ) -> None:
        self.subject = subject
        self.bench: Bench | None = None
        data = Path(subject.path).read_bytes()
        self.mutants: list[Mutant] = _lexicon_mutants(data, subject, policies) if subject.lexicon else []
        meaning: list[Any] = [_FORM, __version__, hashlib.sha256(data).hexdigest(), digest(list(corpus)) if corpus else ""]
        if subject.lexicon or corpus:
            meaning.append(load_bundle(policies=policies, cache=False).digest)
        if not subject.lexicon:
            bench = Bench(read_cases(data, subject.path), policies, shelf)
            own = bench.every_rule()
            ruleset = own.ruleset(bench.cases.ruleset)
            self.mutants = mutants(own.program, ruleset.name, ruleset.file)
            _check_baseline(bench)
            self.bench = bench
            meaning += [Path(ruleset.file).read_text(encoding="utf-8"), *_bundles(bench)]
        self._path = cache_dir() / "mutants" / f"{subject.name}-{digest(meaning)}.json" if keep else None
        self.known = self._kept()

    def _kept(self) -> dict[str, str]:
        """Return what an earlier run kept; anything odd about the file is as if it were not there."""
        if self._path is None:
            return {}
        try:
            found = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return {}
        ids = {mutant.id for mutant in self.mutants}
        if not isinstance(found, dict):
            return {}
        return {key: value for key, value in found.items() if key in ids and isinstance(value, str)}

    def keep(self) -> None:
        """Write what is known now, whole or not at all; a cache that cannot be written is done without."""
        if self._path is None:
            return
        draft = self._path.with_name(f"{self._path.name}.{os.getpid()}.tmp")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            draft.write_bytes(canonical_bytes(self.known))
            draft.replace(self._path)
        except OSError:
            draft.unlink(missing_ok=True)


def _bundles(bench: Bench) -> list[object]:
    """Return what the cases' bundles mean for the rule set: its program for cases of facts, all of it for those of requests."""
    alone = {bench.gate(case).bundle.digest: bench.gate(case).program for case in bench.cases.cases if case.request is None}
    whole = {bench.whole(case).digest for case in bench.cases.cases if case.request is not None}
    programs: list[object] = [encode_program(alone[key], meaning_only=True) for key in sorted(alone)]
    return [*programs, *sorted(whole)]


def _check_baseline(bench: Bench) -> None:
    for case in bench.cases.cases:
        result = run_case(bench, case)
        if not result.passed:
            message = f"case `{bench.cases.ruleset}/{case.id}` fails without a mutant: {result.message}"
            raise ReflectGateError("mutate-baseline", message, case.source)


def _lexicon_mutants(data: bytes, subject: Subject, policies: str | Path | None) -> list[Mutant]:
    """Return a mutant for each pattern; `detail` is how many texts of its group no other pattern finds."""
    return [
        Mutant(
            "drop-lexicon-pattern",
            f"{found.lexicon}/{found.group}",
            -1,
            -1,
            found.alone,
            f"drop `{found.pattern}`",
            found.source,
        )
        for found in pattern_hits(data, subject.path, policies)
    ]


# -- in this process or in several ---------------------------------------------------------------------------------------

_Todo = Sequence[tuple["_Plan", Mutant]]


def _judged(todo: _Todo, policies: str | Path | None, corpus: Sequence[Mapping[str, Any]], jobs: int) -> Iterator[str]:
    """Yield what kills each mutant, in order."""
    work = [(plan.subject, mutant) for plan, mutant in todo]
    if jobs == 1 or len(work) < _CHUNK:
        worker = _Worker(policies, corpus, {plan.subject.path: plan.bench for plan, _ in todo if plan.bench is not None})
        yield from (worker.judge(subject, mutant) for subject, mutant in work)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    chunks = [work[start : start + _CHUNK] for start in range(0, len(work), _CHUNK)]
    with ProcessPoolExecutor(jobs, get_context("spawn"), _start, (policies, list(corpus))) as pool:
        for found in pool.map(_work, chunks):
            yield from found


_CHUNK = 24
_worker: list[_Worker] = []


class _Worker:
    """Judges mutants; what a file needs is made ready at its first mutant."""

    def __init__(
        self, policies: str | Path | None, corpus: Sequence[Mapping[str, Any]], benches: Mapping[str, Bench] | None = None
    ) -> None:
        self._policies = policies
        self._benches = benches or {}
        self._requests = corpus
        self._judges: dict[str, Judge] = {}
        self._corpus: Corpus | None = None

    def judge(self, subject: Subject, mutant: Mutant) -> str:
        """Return what kills `mutant`, empty where nothing does."""
        if subject.lexicon:
            killed = f"case {mutant.rule}/hit" if mutant.detail else ""
        else:
            killed = self._judge(subject).killer(mutant)
        if killed or not self._requests:
            return killed
        if self._corpus is None:
            self._corpus = Corpus(self._bundle(), self._requests)
        return self._corpus.killer(mutant)

    def _bundle(self) -> Bundle:
        return load_bundle(policies=self._policies, cache=False)

    def _judge(self, subject: Subject) -> Judge:
        if subject.path not in self._judges:
            bench = self._benches.get(subject.path)
            if bench is None:
                bench = Bench(read_cases(Path(subject.path).read_bytes(), subject.path), self._policies)
            self._judges[subject.path] = Judge(bench)
        return self._judges[subject.path]


def _start(policies: str | Path | None, corpus: Sequence[Mapping[str, Any]]) -> None:
    import signal

    # The parent hears the interrupt and ends the pool.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _worker[:] = [_Worker(policies, corpus)]


def _work(chunk: Sequence[tuple[Subject, Mutant]]) -> list[str]:
    return [_worker[0].judge(subject, mutant) for subject, mutant in chunk]
