"""What a hook reports, whatever the harness calls it."""

# Annotations are evaluated here: as texts, each field of the tuple would be compiled at every start.
from typing import Final, Literal, NamedTuple, TypeAlias

__all__ = ["LINE", "TEXT", "Event", "Kind", "Payload"]

Payload: TypeAlias = dict[str, object]
"""The JSON object that a harness hands to a hook."""

Kind: TypeAlias = Literal[
    "failure", "tool_result", "session_start", "prompt", "turn_end", "snapshot", "session_end", "other"
]  # fmt: skip
"""A tool or the turn failed; a tool returned; a session began; a prompt was given; a turn ended; the context is about to be
compacted; a session ended; anything else, which is ignored."""

LINE: Final = 4_096
TEXT: Final = 16_384
"""Characters that are kept of a name or a path, and of a text."""


class Event(NamedTuple):
    """One event of one session; what the payload does not say is empty, or None where empty would say something.

    `action` is the command, or else the arguments of the tool; `output` what came back, or the error; `said` the prompt, or what
    the agent said last; `source` why a session began or ended; `failed` whether the harness calls the session's end a failure.
    """

    dialect: str
    name: str
    kind: Kind
    session: str = ""
    cwd: str = ""
    agent: str = ""
    turn: str = ""
    call: str = ""
    tool: str = ""
    action: str = ""
    path: str = ""
    output: str = ""
    exit_code: int | None = None
    error_class: str = ""
    transcript: str = ""
    said: str = ""
    source: str = ""
    failed: bool | None = None

    @property
    def key(self) -> str:
        """Return 32 hexadecimal digits that are the same for the same event, however often and by whomever it is delivered."""
        from .._hashing import sha256

        parts = "\0".join(str(part) for part in self)
        return sha256(parts.encode("utf-8", "replace")).hex()[:32]
