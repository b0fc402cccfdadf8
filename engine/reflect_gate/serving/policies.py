"""The policies of a running server: loaded anew when their files or the day change, and refused while they are broken."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from ..errors import ReflectGateError, ReflectGateErrors

if TYPE_CHECKING:
    from ..policy import Bundle

__all__ = ["CHECK_SECONDS", "PolicyBrokenError", "WatchedPolicies"]

CHECK_SECONDS: Final = 2.0
"""How long a change of the files or of the day may go unseen."""


class PolicyBrokenError(ReflectGateErrors):
    """The policies in force do not load: nothing can be judged until they do. Its errors are those of the loader."""


class WatchedPolicies:
    """What is judged by at this moment; safe to use from several threads.

    `load` returns the bundle as the files say it now. Loading reads every file, and compiles only what changed.
    """

    def __init__(
        self, load: Callable[[], Bundle], every: float = CHECK_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._load = load
        self._every = every
        self._clock = clock
        self._lock = threading.Lock()
        self._state: Bundle | PolicyBrokenError | None = None
        self._looked = 0.0

    def bundle(self) -> Bundle:
        """Return the bundle in force.

        Raises:
            PolicyBrokenError: it does not load. One that loaded before is not used instead.
        """
        with self._lock:
            if self._state is None or self._clock() - self._looked >= self._every:
                self._state = self._read()
                self._looked = self._clock()
            state = self._state
        if isinstance(state, PolicyBrokenError):
            raise PolicyBrokenError(state.errors)
        return state

    def _read(self) -> Bundle | PolicyBrokenError:
        try:
            return self._load()
        except ReflectGateError as error:
            return PolicyBrokenError(error.errors)
        except OSError as error:
            return PolicyBrokenError([ReflectGateError("cannot-read", f"cannot read the policies: {error.strerror}")])
