"""Reading error texts: a pattern is only tried where the text holds what it needs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_gate.measure import _errortext
from reflect_gate.measure._errortext import read_error

PIECES = st.sampled_from(
    [
        *"\n :()/".replace("\n", "\n\n"),
        *(
            "ValueError",
            "Error",
            "error",
            "fatal error",
            "panic",
            "E0308",
            "TS2304",
            "bad thing",
            "assert x == 1",
            "self.assertEqual(",
        ),
        *(
            "Caused by: java.io.IOException: gone",
            'Exception in thread "main" a.B: c',
            "TypeError [ERR_X]: y",
            "error[E0308]: no",
        ),
        *(
            "thread 'main' panicked at 'x', src/a.rs:1",
            "thread 'main' panicked at src/a.rs:1:2:\nno",
            "--- FAIL: T\n  a.go:3: no",
        ),
        *(
            '  File "a.py", line 3, in f',
            "    at f (a.js:1:2)",
            "    at a.B.c(D.java:3)",
            "main.f(0x1)\n\t/a/b.go:3",
            " --> a.rs:1:2",
        ),
        *(
            "FAILED a.py::f",
            "a.py:3: ValueError",
            "a.py:3: in f",
            "assert_eq!(f(1)",
            "a.c:3:4: error: no ",
            "E   assert 1\n\na.py:1: KeyError",
        ),
        *(
            "a.go:1:2: no",
            "error: no",
            "a.ts(1,2): error TS2304: no",
            "Uncaught Error: no",
            "Uncaught (in promise) TypeError: no",
        ),
    ]
)


@pytest.mark.parametrize("form", [*_errortext._FORMS, *_errortext._FRAMES], ids=lambda form: form.needs or "none")
@given(text=st.lists(PIECES, max_size=6).map("\n".join) | st.lists(PIECES, max_size=6).map("".join))
def test_what_a_pattern_finds_holds_what_it_needs(form: _errortext._Form, text: str) -> None:
    """Else a text would be read as less than it says."""
    if form.pattern.search(text):
        assert form.needs in text


def test_a_pattern_without_need_is_still_tried() -> None:
    """A class that stands alone is read."""
    assert read_error("it broke\nValueError\n").error_class == "ValueError"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Exit code 2\nmake: *** No rule to make target 'foo'.  Stop.", "make: *** No rule to make target 'foo'.  Stop."),
        ("\nCommand exited with code 1.\n\n  got 2, want 3", "got 2, want 3"),
        ("exit status: -1\nbroken pipe", "broken pipe"),
        ("Exit code 1", "Exit code 1"),
        ("exit code 1 is an answer of grep", "exit code 1 is an answer of grep"),
    ],
)
def test_an_exit_code_above_the_output_is_no_message(text: str, message: str) -> None:
    """Claude Code begins every failing command's error with it: without this, all that name no class were one failure."""
    assert read_error(text).message == message
