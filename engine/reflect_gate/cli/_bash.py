"""Completion for bash that says what each candidate is, where bash lists candidates instead of inserting one.

Bash knows no descriptions. A list that is only looked at (a second TAB) may hold more than the word itself, though, and bash
tells the script which of both it wants; so the description follows the candidate there, and never where it could be inserted.
"""

from __future__ import annotations

import os
from typing import Any, Final

from click.shell_completion import BashComplete, CompletionItem, add_completion_class

__all__ = ["BashWithHelp", "use"]

_LISTS: Final = frozenset({"63", "33"})
"""`COMP_TYPE` of a list after a second TAB (`?`), and of one that is shown at once where candidates differ (`!`)."""
_LEAST: Final = 40
_WIDTH: Final = 80

_SOURCE: Final = """\
%(complete_func)s() {
    local IFS=$'\\n'
    local response completion type value

    response=$(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD="$COMP_CWORD" COMP_TYPE="$COMP_TYPE" COLUMNS="${COLUMNS:-80}" \\
        %(complete_var)s=bash_complete "$1")

    for completion in $response; do
        IFS=',' read -r type value <<< "$completion"
        if [[ $type == 'dir' ]]; then
            COMPREPLY=()
            compopt -o dirnames
        elif [[ $type == 'file' ]]; then
            COMPREPLY=()
            compopt -o default
        elif [[ $type == 'plain' ]]; then
            COMPREPLY+=("$value")
        fi
    done

    return 0
}

%(complete_func)s_setup() {
    complete -o nosort -F %(complete_func)s %(prog_name)s
}

%(complete_func)s_setup;
"""


class BashWithHelp(BashComplete):
    """The program's completion for bash."""

    source_template = _SOURCE

    def complete(self) -> str:
        """Return the candidates, one a line, each with its description where bash only lists them."""
        items = self.get_completions(*self.get_completion_args())
        # A single candidate is inserted, whatever bash calls it.
        listed = os.environ.get("COMP_TYPE") in _LISTS and len(items) > 1
        return "\n".join(self._line(item, listed=listed) for item in items)

    def _line(self, item: CompletionItem, *, listed: bool) -> str:
        value = str(item.value)
        room = _columns() - len(value) - 4
        if not listed or not item.help or room < 8:
            return self.format_completion(item)
        text = " ".join(item.help.split())
        text = text if len(text) <= room else text[: room - 3] + "..."
        return f"{item.type},{value}  ({text})"


def _columns() -> int:
    told: Any = os.environ.get("COLUMNS", "")
    return max(int(told), _LEAST) if told.isdecimal() and len(told) < 6 else _WIDTH


def use() -> None:
    """Let `bash` mean this class."""
    add_completion_class(BashWithHelp)
