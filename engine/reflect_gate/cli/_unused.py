"""A policies file that lies in the working directory and is not in force: whoever expects it to be is told so."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

__all__ = ["tell_unused"]

_NAME: Final = "policies.yaml"
_OPTION: Final = "--policies"


def tell_unused(argv: Sequence[str]) -> None:
    """Print a remark after a `policy` verb that failed by other policies than those of the folder in which it was typed.

    The working directory never decides (a checkout may hold anything), and is only looked at once something has failed.
    """
    from ..config import choose_policies
    from ..errors import ReflectGateError
    from ._output import note

    here = Path(_NAME)
    if any(word == _OPTION or word.startswith(f"{_OPTION}=") for word in argv) or not here.is_file():
        return
    try:
        choice = choose_policies()
        if choice.path.is_file() and here.samefile(choice.path):
            return
    except (OSError, ReflectGateError):
        return
    note(f"`{_NAME}` of this folder is not in force: give `{_OPTION} .` to use it", {"unused": _NAME})
