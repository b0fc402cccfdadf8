"""The forward chainer durable_rules behind a protocol in which it cannot answer wrongly without being noticed.

The library is used by its C module alone, and only in ways that were found to be sound:

- every value is an integer, keys come from a short list, and every fact carries a number of ours as its `id`: the library would
  else tell facts apart by a 32-bit hash of their content;
- every batch ends in a numbered sentinel that must fire, since a batch is cut silently at the first fact that cannot be read;
  a few facts are asserted one by one instead, where the library reports on each;
- `not` is right only when everything it speaks of came first: each negated rule also waits for a gate, a fact that is asserted
  when the facts and rules below it have come to rest;
- nothing is asserted while an action is open; a state is started before it may be deleted, and always deleted; each session has a
  ruleset of its own, so that no two share a state.

Regular expressions, arithmetic, `$or`, timers, events and the Python layer with its threads are never used.
"""

from __future__ import annotations

import importlib
import re
import sys
import threading
import weakref
from collections.abc import Container, Sequence
from itertools import chain
from operator import itemgetter
from types import TracebackType
from typing import Any, Final, Self

from orjson import loads

from ..config import Limits
from ..errors import ReflectGateError
from ..policy.model import EncodedFact, Firing, Program
from ._emit import Encode, Taker, Wanted, encoders_of, plain_taker, takers_of, wanted_of
from ._network import ALIASES, END, GATE, ID_LIMIT, KEYS, NUMBER_LIMIT, OPEN, Level, build
from .protocol import StageOrder, failed, over_limit

__all__ = ["Durable", "durable_missing"]

_SID: Final = "0"
_BATCH = 512
_SINGLY = 4
_OBSERVED = 2
_LIVE = 256
_TUNE_AT = 3
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_LARGE_NEGATIVE = re.compile(r"-\d{16}")


def durable_missing() -> str:
    """Return why durable_rules cannot be used here, or the empty string."""
    try:
        importlib.import_module("durable_rules_engine")
    except ImportError as error:
        return str(error)
    return ""


def _tune_allocator() -> None:
    """Keep freed memory: a session frees a megabyte, and glibc would give it back to the system each time (a factor of 2.7)."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, 256 << 20)
        mallopt(_MMAP_THRESHOLD, 32 << 20)


def _plain_encoder(lane: int, positions: tuple[int, ...]) -> Encode:
    """Return what writes a fact for a lane; only the fields that a rule reads are written."""
    form = f'{{"t{lane}":1,"id":%d' + "".join(f',"{KEYS[position]}":%d' for position in positions) + "}"
    if not positions:
        return lambda number, _: form % number
    if len(positions) == 1:
        (place,) = (position + 1 for position in positions)
        return lambda number, fact: form % (number, fact[place])
    take = itemgetter(*[position + 1 for position in positions])
    return lambda number, fact: form % (number, *take(fact))


def _unread(number: int, fact: EncodedFact) -> str:
    """Stand in the place of a type without lanes, whose facts are never written."""
    raise LookupError(number, fact)


def _delete(library: Any, handles: list[int]) -> None:
    while handles:
        library.delete_ruleset(handles.pop())


def _distinct(firings: list[Firing]) -> list[Firing]:
    """Return each firing once, sorted; there are seldom two of one."""
    once = set(firings)
    return sorted(firings if len(once) == len(firings) else once)


class Durable:
    """A program as durable_rules rulesets: one for each session open at a time, kept and used again."""

    name: Final = "durable"

    def __init__(self, program: Program, stages: Container[str] | None = None) -> None:
        try:
            self.library: Any = importlib.import_module("durable_rules_engine")
        except ImportError as error:
            raise failed(f"durable_rules cannot be imported: {error}") from error
        self.program = program
        self.network = build(program, stages)
        self.wanted: list[Wanted] = [bool(lanes) for lanes in self.network.lanes]
        self._encode_by([[_plain_encoder(lane, positions) for lane, positions in lanes] for lanes in self.network.lanes])
        self.one_lane = all(len(lanes) <= 1 for lanes in self.network.lanes)
        self.variants = self._variants([plain_taker(rule, ALIASES) for rule in program.rules])
        self._lock = threading.Lock()
        self._free: list[int] = []
        self._live = 0
        self._opened = 0
        weakref.finalize(self, _delete, self.library, self._free)

    def _encode_by(self, encoders: list[list[Encode]]) -> None:
        self.encoders = encoders
        self.first_lane = [lanes[0] if lanes else _unread for lanes in encoders]

    def _variants(self, takers: Sequence[Taker]) -> dict[str, tuple[Taker, str]]:
        rules = self.program.rules
        return {str(place): (takers[owner], rules[owner].stage) for place, owner in enumerate(self.network.owners)}

    def session(self, limits: Limits) -> DurableSession:
        """Open a session; it holds a ruleset of its own until it is left."""
        self._opened += 1
        if self._opened == _TUNE_AT:
            self._tune()
        return DurableSession(self, limits)

    def _tune(self) -> None:
        """Spend once what a process of one evaluation need not spend, and many evaluations soon have back."""
        _tune_allocator()
        self.variants = self._variants(takers_of(self.program, ALIASES))
        # A network of some stages alone has no lane for what only rules of others read.
        self.wanted = [want if lanes else False for want, lanes in zip(wanted_of(self.program), self.network.lanes, strict=True)]
        self._encode_by(encoders_of(self.network.lanes, KEYS))

    def take(self) -> int:
        """Return the handle of a ruleset that no other session uses."""
        with self._lock:
            if self._live >= _LIVE:
                raise over_limit("open sessions", _LIVE)
            self._live += 1
            if self._free:
                return self._free.pop()
        try:
            return int(self.library.create_ruleset("g", self.network.definition))
        except (self.library.error, MemoryError) as error:
            self.give(None)
            raise failed(f"durable_rules refuses the rules: {error}") from error

    def give(self, handle: int | None) -> None:
        """Take back a ruleset for the next session; `None` stands for one that can no longer be used."""
        with self._lock:
            self._live -= 1
            if handle is not None:
                self._free.append(handle)


class DurableSession:
    """One evaluation in a state of its own.

    `_known` maps the number of a message to the fact that it stands for; `_texts` are the messages to be asserted next and
    `_types` the types of the derived facts among them; `_fired` are the firings of each stage, `None` once the stage is closed.
    """

    def __init__(self, engine: Durable, limits: Limits) -> None:
        self._engine = engine
        self._limits = limits
        self._order = StageOrder(engine.program)
        self._known: list[EncodedFact] = [()]
        self._seen: set[EncodedFact] = set()
        self._fired: dict[str, list[Firing] | None] = {stage: [] for stage in engine.program.stages}
        self._count = 0
        self._texts: list[str] = []
        self._types: set[int] = set()
        self._sound = True
        self._handle: int | None = engine.take()
        self._state = self._open()
        try:
            self._add(engine.program.tables)
        except ReflectGateError:
            self.close()
            raise

    def _open(self) -> int:
        library, handle = self._engine.library, self._handle
        try:
            state = int(library.assert_fact(handle, f'{{"{OPEN}":1,"id":0}}')[1])
            # Deleting a state whose actions were never started frees what was never allocated.
            library.start_action_for_state(handle, state)
            library.complete_and_start_action(handle, state)
        except (library.error, MemoryError, TypeError) as error:
            # Without a started state there is nothing that could be deleted safely: the ruleset is given up.
            self._engine.give(None)
            raise failed(f"durable_rules cannot open a session: {error}") from error
        return state

    def _add(self, facts: Sequence[EncodedFact]) -> None:
        """Queue the measured facts that are new."""
        seen = self._seen
        new = [fact for fact in dict.fromkeys(facts) if fact not in seen]
        if new:
            seen.update(new)
            if max(chain.from_iterable(new)) >= NUMBER_LIMIT:
                raise failed("a fact holds a number above 2^53")
            self._queue(new)

    def _queue(self, facts: Sequence[EncodedFact]) -> None:
        """Write each fact once for every lane of its type; the usual single lane is the fast way."""
        known, engine = self._known, self._engine
        if engine.one_lane:
            wanted, first = engine.wanted, engine.first_lane
            kept = [fact for fact in facts if (want := wanted[fact[0]]) is True or (want and want(fact))]
            self._texts += [first[fact[0]](number, fact) for number, fact in enumerate(kept, len(known))]
            known += kept
        else:
            for fact in facts:
                for encode in engine.encoders[fact[0]]:
                    self._texts.append(encode(len(known), fact))
                    known.append(fact)
        if len(self._seen) > self._limits.facts:
            raise over_limit("facts", self._limits.facts)
        if len(known) > ID_LIMIT:
            raise over_limit("messages", ID_LIMIT)

    def _gates(self, gates: Sequence[int]) -> None:
        for gate in gates:
            self._texts.append(f'{{"{GATE}":{gate},"id":{len(self._known)}}}')
            self._known.append(())

    def _assert(self) -> None:
        """Assert what is queued and run what fires; what that derives is queued in turn."""
        texts, self._texts = self._texts, []
        self._types.clear()
        if len(texts) <= _SINGLY:
            self._singly(texts)
        else:
            for start in range(0, len(texts), _BATCH):
                self._batch(texts[start : start + _BATCH])

    def _singly(self, texts: list[str]) -> None:
        """Assert message by message: the library says of each what became of it, so no sentinel is needed."""
        library, handle = self._engine.library, self._handle
        for text in texts:
            if library.assert_fact(handle, text)[0] == _OBSERVED:
                raise failed("durable_rules takes two facts for one")
        self._dispatch(-1)

    def _batch(self, texts: list[str]) -> None:
        end = len(self._known)
        self._known.append(())
        texts.append(f'{{"{END}":1,"id":{end}}}')
        text = ",".join(texts)
        if "-" in text and _LARGE_NEGATIVE.search(text):
            raise failed("a fact holds a number below -2^53")
        self._engine.library.assert_facts(self._handle, f"[{text}]")
        if not self._dispatch(end):
            raise ReflectGateError("engine-truncated", f"durable_rules dropped facts of a batch of {len(texts)}")

    def _dispatch(self, end: int) -> bool:
        """Take every pending dispatch, queue what it derives; return whether the sentinel numbered `end` was among them."""
        engine, handle, state, known, seen = self._engine, self._handle, self._state, self._known, self._seen
        proceed, variants, fired = engine.library.complete_and_start_action, engine.variants, self._fired
        room = self._limits.firings - self._count
        started = engine.library.start_action_for_state(handle, state)
        text = started[1] if started else None
        ended = False
        derived: list[EncodedFact] = []
        while text is not None:
            ((name, frames),) = loads(text).items()
            if name == "E":
                ended = ended or frames[0]["A"]["id"] == end
            else:
                take, stage = variants[name]
                firings = fired[stage]
                if firings is not None:
                    take(known, frames, firings.append, seen, derived.append)
                    room -= len(frames)
                    if room < 0:
                        raise over_limit("firings", self._limits.firings)
            text = proceed(handle, state)
        self._count = self._limits.firings - room
        if derived:
            self._types.update([fact[0] for fact in derived])
            self._queue(derived)
        return ended

    def _run(self, levels: Sequence[Level]) -> None:
        """Assert until nothing is left, opening the gates of a level when all below has come to rest."""
        level = 0
        while level < len(levels) or self._texts:
            if level < len(levels) and (level == 0 or self._types.isdisjoint(levels[level].loud)):
                self._gates(levels[level].gates)
                level += 1
            if self._texts:
                self._assert()

    def advance(self, stage: str, facts: Sequence[EncodedFact]) -> list[Firing]:
        """See `protocol.Session`."""
        if not self._sound:
            raise failed("the session has failed or was left")
        self._sound = False
        self._order.enter(stage)
        library = self._engine.library
        try:
            self._add(facts)
            self._run(self._engine.network.levels.get(stage, ()))
        except (library.error, MemoryError, ValueError, LookupError, TypeError) as error:
            raise failed(f"durable_rules failed: {error}") from error
        self._sound = True
        firings = self._fired.get(stage)
        self._fired[stage] = None
        return _distinct(firings) if firings else []

    def close(self) -> None:
        """Delete the state and give the ruleset back; a ruleset in which a session failed is deleted with it."""
        handle, self._handle = self._handle, None
        if handle is None:
            return
        sound, self._sound = self._sound, False
        library = self._engine.library
        try:
            library.delete_state(handle, _SID)
            if not sound:
                library.delete_ruleset(handle)
        except library.error:
            sound = False
        self._engine.give(handle if sound else None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
