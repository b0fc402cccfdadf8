"""Settings files as people have them, for each harness: written by hand, by the harness, by other tools, on other systems."""

from __future__ import annotations

import json
from typing import Any, Final

from reflect_gate.installing.harnesses import HARNESSES, Harness, Where
from reflect_gate.installing.parts import Entries

__all__ = ["CASES", "MARKED", "of"]

MARKED: Final = "dark"
"""A value that every file with other settings has, for a user to change."""

_YAML: Final[dict[str, str | None]] = {
    "absent": None,
    "empty": "",
    "others": "model: local\ntheme: dark\n",
    "no line break at the end": "model: local\ntheme: dark",
    "comments": "# mine\nmodel: local   # fast\n\ntheme: dark\n\n# -- end\n",
    "hooks of others": (
        "theme: dark\nhooks:\n  # tell me\n  pre_llm_call:\n    - command: notify --quiet  # often\n      timeout: 3\n\n"
        "  on_session_end:\n  - command: ~/bin/log.sh\n\nterminal: {shell: bash}\n"
    ),
    "hooks at the end": "theme: dark\nhooks:\n    pre_tool_call:\n        - {command: check, matcher: terminal}\n",
    "hooks at the end, no line break": "theme: dark\nhooks:\n  pre_tool_call:\n    - command: check",
    "empty hooks": "theme: dark\nhooks: {}   # none yet\n",
    "hooks of nothing": "hooks:\ntheme: dark\n",
    "an empty event": "theme: dark\nhooks:\n  pre_llm_call: []\n  post_tool_call:\n",
    "folded text": "theme: dark\nhooks:\n  pre_llm_call:\n    - command: >-\n        notify\n        --quiet\n\n\nlast: 1\n",
    "windows": "theme: dark\r\nhooks:\r\n  pre_llm_call:\r\n    - command: notify\r\n",
    "unicode": "\ufefftheme: dark\nname: Žofie ☃ 中文 \U0001f600\nhooks:\n  pre_llm_call:\n    - command: 'größe'\n",
}


def _handler(part: Entries) -> dict[str, Any]:
    own = {"type": "command", "command": "~/bin/notify.sh --größe '☃'", "timeout": 30}
    return {"matcher": "*", "hooks": [own]} if part.grouped else own


def _document(part: Entries) -> dict[str, Any]:
    events = {part.entries[0].event: [_handler(part)], part.entries[-1].event: [_handler(part), _handler(part)], "Others": []}
    hooks = events if part.bare else {"hooks": events}
    return {**part.defaults, "theme": "dark", "env": {"PATH_EXTRA": "/opt/bin"}, **hooks, "list": [1, [], {}, "ünï"]}


def _commented(part: Entries) -> str:
    handler = json.dumps(_handler(part))
    event, last = part.entries[0].event, part.entries[-1].event
    events = (
        f'    "{event}": [ // why not\n      {handler} // the only one\n      /* nothing more */\n    ],\n'
        f'    /* at the end */ "{last}": [\n      {handler},\n      {handler}, // twice\n    ], // all\n'
    )
    opened, closed = ("", "") if part.bare else ('  "hooks": {\n', "  }, // hooks\n")
    defaults = "".join(f'  "{name}": {value}, // needed\n' for name, value in part.defaults.items())
    first, last = '  /* a\n     b */ "theme": "dark",\n', '  "x": "//, no /* remark"\n'
    return f"// settings\n{{\n{defaults}{first}{opened}{events}{closed}{last}}}\n// end\n"


def _json(part: Entries) -> dict[str, str | None]:
    document = _document(part)
    plain = json.dumps(document, indent=2, ensure_ascii=False)
    others = {name: value for name, value in document.items() if name not in {"hooks", *(part.defaults)}}
    if part.bare:
        others = {name: others[name] for name in ("theme", "env", "list")}
    empty_list: dict[str, list[object]] = {part.entries[0].event: []}
    return {
        "absent": None,
        "empty": "",
        "blank": "\n",
        "an empty object": "{}",
        "an empty object on two lines": "{\n}\n",
        "an object of spaces": "{ }\n",
        "other settings": json.dumps(others, indent=2) + "\n",
        "hooks of others": plain + "\n",
        "no line break at the end": plain,
        "four spaces": json.dumps(document, indent=4) + "\n",
        "tabs": json.dumps(document, indent="\t", ensure_ascii=False) + "\n",
        "on one line": json.dumps(document) + "\n",
        "without a space": json.dumps(document, separators=(",", ":")),
        "windows": plain.replace("\n", "\r\n") + "\r\n",
        "a mark of byte order": "\ufeff" + plain + "\n",
        "comments": _commented(part),
        "comments, windows": _commented(part).replace("\n", "\r\n"),
        "empty hooks": '{"theme": "dark",\n "hooks": { }}\n',
        "an empty event": json.dumps({"theme": "dark", **({"hooks": empty_list} if not part.bare else empty_list)}, indent=2)
        + "\n",
        "brackets close by": '{"theme": "dark", "hooks": {"Others": [{\n  "a": 1\n}, {\n  "b": 2\n}]\n}}\n',
        "a remark alone": "{\n  // nothing yet\n}\n",
    }


def of(harness: Harness, where: Where) -> dict[str, str | None]:
    """Return the texts of a harness's settings file by what they are like, None for none; empty where it has no such file."""
    for part in harness.parts(harness, where):
        if isinstance(part, Entries):
            return _YAML if part.yaml else _json(part)
    return {"absent": None}


_NAMES: Final = (
    "absent, empty, blank, an empty object, an empty object on two lines, an object of spaces, other settings, hooks of others, "
    "no line break at the end, four spaces, tabs, on one line, without a space, windows, a mark of byte order, comments, "
    "empty hooks, an empty event, brackets close by, a remark alone"
).split(", ")

CASES: Final = [
    (harness.name, name)
    for harness in HARNESSES
    for name in (
        _YAML if harness.name == "hermes" else [*_NAMES, "comments, windows"] if harness.scopes[0] == "user" else ["absent"]
    )
    if harness.name not in {"cline", "opencode"} or name == "absent"
]
"""Every harness with every text that its file may have."""
