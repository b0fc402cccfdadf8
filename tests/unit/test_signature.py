"""The failure signature: the same failure in another checkout, user or line is one; different failures are not (R-b1)."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_gate._canonical import digest
from reflect_gate.measure._errortext import exception_class, read_error
from reflect_gate.stages._signature import TEMPLATE_LIMIT, signature, site, template

PYTHON = """Traceback (most recent call last):
  File "{root}/shop/cart.py", line {line}, in total
    return price["amount"] * 3
  File "/usr/lib/python3.11/json/decoder.py", line 337, in decode
    obj, end = self.raw_decode(s)
ValueError: cannot read {root}/data/prices-{number}.json for user {user}
"""
PYTEST = """    def test_total():
>       assert total([{number}]) == 0
E       assert {number} == 0

{root}/tests/test_cart.py:{line}: AssertionError
"""
PYTEST_RAISED = """{root}/shop/cart.py:{line}: in total
    return helper(basket)
E       TypeError: 'NoneType' object is not iterable

{root}/shop/helper.py:{line}: TypeError
"""
NODE = """{root}/src/router.js:{line}
TypeError: Cannot read properties of undefined (reading 'handler')
    at next (node:internal/router:{line}:11)
    at dispatch ({root}/src/router.js:{line}:25)
"""
NODE_MODULE = """Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'left-pad' imported from {root}/index.mjs
    at packageResolve (node:internal/modules/esm/resolve:{line}:9)
    at file://{root}/index.mjs:{line}:1
"""
TYPESCRIPT = "{root}/src/user.ts({line},7): error TS2322: Type 'string' is not assignable to type 'number'.\n"
GO = """panic: runtime error: index out of range [{number}] with length 3

goroutine 1 [running]:
runtime.gopanic(0xc0000{number})
\t/usr/local/go/src/runtime/panic.go:884 +0x212
main.pick(0xc00001c0a8, 0x3)
\t{root}/pick.go:{line} +0x1d
"""
GO_TEST = "--- FAIL: TestPick (0.0{number}s)\n    pick_test.go:{line}: got {number}, want 4\nFAIL\n"
GO_BUILD = "# example.com/pick\n./pick.go:{line}:2: undefined: frobnicate\n"
RUST = "thread 'main' panicked at {root}/src/lib.rs:{line}:10:\nindex out of bounds: the len is 3 but the index is {number}\n"
RUST_OLD = "thread 'main' panicked at 'called `Option::unwrap()` on a `None` value', {root}/src/lib.rs:{line}:10\n"
RUSTC = "error[E0308]: mismatched types\n  --> {root}/src/main.rs:{line}:18\n"
JAVA = """Exception in thread "main" java.lang.IllegalStateException: order {number} is closed
\tat java.base/java.util.Objects.check(Objects.java:9)
\tat com.acme.Orders.close(Orders.java:{line})
\tat com.acme.Main.main(Main.java:12)
"""
GCC = (
    "{root}/src/main.c: In function 'main':\n"
    "{root}/src/main.c:{line}:5: error: 'retrun' undeclared (first use in this function)\n"
)
CLANG = "{root}/src/mesh.cpp:{line}:3: fatal error: no member named 'size' in 'Mesh'\n"

TEXTS = {
    "python": (PYTHON, "ValueError", "cart.py:total"),
    "pytest": (PYTEST, "AssertionError", "test_cart.py"),
    "pytest-raised": (PYTEST_RAISED, "TypeError", "helper.py"),
    "node": (NODE, "TypeError", "router.js:dispatch"),
    "node-module": (NODE_MODULE, "ERR_MODULE_NOT_FOUND", "index.mjs"),
    "typescript": (TYPESCRIPT, "TS2322", "user.ts"),
    "go": (GO, "panic", "pick.go:main.pick"),
    "go-test": (GO_TEST, "test-failed", "pick_test.go:TestPick"),
    "go-build": (GO_BUILD, "error", "pick.go"),
    "rust": (RUST, "panic", "lib.rs"),
    "rust-old": (RUST_OLD, "panic", "lib.rs"),
    "rustc": (RUSTC, "E0308", "main.rs"),
    "java": (JAVA, "IllegalStateException", "Orders.java:com.acme.Orders.close"),
    "gcc": (GCC, "error", "main.c"),
    "clang": (CLANG, "error", "mesh.cpp"),
}
HERE = {"root": "/home/ana/code/shop", "line": 41, "number": 7, "user": "ana"}
THERE = {"root": "/builds/ci-runner-9/4711/shop", "line": 1203, "number": 5512, "user": "runner"}

roots = st.lists(st.text(string.ascii_lowercase + string.digits + "-_", min_size=1, max_size=12), min_size=1, max_size=5).map(
    lambda parts: "/" + "/".join(parts)
)
users = st.from_regex(r"[a-z][a-z0-9_-]{0,11}", fullmatch=True)


def _signed(text: str) -> str:
    found = read_error(text)
    return signature(found.error_class, found.message, text)["signature"]


@pytest.mark.parametrize("name", TEXTS)
def test_same_failure_same_signature(name: str) -> None:
    """R-b1: another checkout, user, line and value give the same signature."""
    text = TEXTS[name][0]
    assert _signed(text.format(**HERE)) == _signed(text.format(**THERE))


@pytest.mark.parametrize("name", TEXTS)
def test_class_and_site_are_read(name: str) -> None:
    """The class is what the tool prints, the site the innermost frame that is no library's."""
    text, error_class, place = TEXTS[name]
    context = signature(read_error(text.format(**HERE)).error_class, "", text.format(**HERE))
    assert (context["class"], context["site"]) == (error_class, place)


def test_different_failures_differ() -> None:
    """R-b1: fifteen failures of as many kinds have fifteen signatures."""
    signed = {_signed(text.format(**HERE)) for text, _, _ in TEXTS.values()}
    assert len(signed) == len(TEXTS)


@pytest.mark.parametrize(
    "part",
    [
        ("KeyError", "amount is missing", "cart.py:total"),
        ("ValueError", "amount is negative", "cart.py:total"),
        ("ValueError", "amount is missing", "cart.py:refund"),
        ("ValueError", "amount is missing", "order.py:total"),
    ],
)
def test_each_part_counts(part: tuple[str, str, str]) -> None:
    """R-b1: class, message and site each tell failures apart."""
    assert signature(*part)["signature"] != signature("ValueError", "amount is missing", "cart.py:total")["signature"]


def test_hash_is_over_the_three_parts() -> None:
    """R-b1: anyone can recompute a signature from the context's own fields."""
    context = signature("shop.errors.PriceError", "no price for '7'", "/srv/shop/cart.py:9 in total")
    assert context["signature"] == digest([context["class"], context["template"], context["site"]])
    assert (context["class"], context["site"]) == ("PriceError", "cart.py:total")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("name 'math' is not defined", "name 'math' is not defined"),
        ("No module named 'shop.cart'", "No module named 'shop.cart'"),
        ("'[' was never closed (<string>, line 3)", "'[' was never closed (<string>, line <n>)"),
        ("expected ';' before '}' token", "expected ';' before '}' token"),
        ("\u2018total\u2019 was not declared in this scope", "'total' was not declared in this scope"),
        ("mismatched types: expected `i32`, found `&str`", "mismatched types: expected `i32`, found `&str`"),
        ("int() can't convert non-string with explicit base", "int() can't convert non-string with explicit base"),
        ("KeyError: 'ana'", "KeyError: <str>"),
        ('expected "a", "b" or "c"', "expected <str> or <str>"),
        ("No such file: /home/ana/shop/cart.py:12:5", "No such file: cart.py"),
        ("No such file: C:\\Users\\ana\\shop\\cart.py", "No such file: cart.py"),
        ("cannot import /srv/shop/cart/__init__.py", "cannot import cart/__init__.py"),
        ("cannot write /tmp/tmpx81k2q/out", "cannot write <tmp>"),
        ("cannot write /var/folders/zz/k8/T/tmp81kq.json", "cannot write <tmp>.json"),
        ("cannot enter /home/ana", "cannot enter <home>"),
        ("object at 0x7f3bd0 is gone", "object at <hex> is gone"),
        ("commit a7f5f35426b9 not found", "commit <hex> not found"),
        ("job 6f1c2a34-9b1e-4c0d-8a77-0d1e2f3a4b5c died", "job <uuid> died"),
        ("at 2026-03-01T10:11:12Z after 1,204.5 ms", "at <time> after <n> ms"),
        ("GET https://ana:secret@example.com/v1?q=3 failed", "GET <url> failed"),
        ("permission denied for user ana", "permission denied for user <user>"),
        ("mail to ana@example.com bounced", "mail to <email> bounced"),
        ("needs react@18.2.0", "needs react@<n>"),
        ("either read and/or write", "either read and/or write"),
        ("sizes [1, 2, 3] and [9]", "sizes [<n>] and [<n>]"),
        ("\x1b[31mfailed\x1b[0m  twice\n", "failed twice"),
    ],
)
def test_template(message: str, expected: str) -> None:
    """R-b1: what varies between runs is replaced, what identifies the failure stays."""
    assert template(message) == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("list index out of range", "IndexError"),
        ("name 'x' is not defined", "NameError"),
        ("'(' was never closed (<string>, line 2)", "SyntaxError"),
        ("total() missing 1 required positional argument: 'tax'", "TypeError"),
        ("'int' object has no attribute 'append'", "AttributeError"),
        ("division by zero", "ZeroDivisionError"),
        ("maximum recursion depth exceeded in comparison", "RecursionError"),
        ("could not convert string to float: 'x'", "ValueError"),
        ("requests.exceptions.ConnectionError: refused", "requests.exceptions.ConnectionError"),
        ("[1, 2, 3]", ""),
        ("the list is out of order", ""),
    ],
)
def test_exception_class_of_a_bare_message(message: str, expected: str) -> None:
    """A message that was logged without its class still says which it is; a value says none."""
    assert exception_class(message) == expected


def test_site_of_a_diagnosis_is_its_own() -> None:
    """R-b1: a diagnosis' site counts before its text."""
    assert site({"site": "/srv/shop/cart.py:41:total", "text": "at order.py:3"}) == "cart.py:total"


def test_site_of_prose_is_empty() -> None:
    """A text that names no place has no site."""
    assert site("the total was wrong") == ""


@given(roots, users, st.integers(1, 10**6), st.integers(0, 10**9))
def test_checkout_user_line_and_values_do_not_count(root: str, user: str, line: int, number: int) -> None:
    """R-b1: property over checkouts, users, lines and values."""
    there = PYTHON.format(root=root, user=user, line=line, number=number)
    # A number in a file's name is part of the name.
    here = PYTHON.format(**{**HERE, "number": number})
    assert _signed(there) == _signed(here)


VARYING = """17|-3.5|1,204|0x7f3bd0|a7f5f35426b9|'ana'|"a b"|`i32`|name 'math'|/home/ana/shop/cart.py:12|v1.2.3
C:\\Users\\ana\\cart.py|/tmp/tmpx81k2q|2026-03-01T10:11:12Z|10:11:12|https://example.com/a?b=1|ana@example.com|6f1c2a34-9b1e-4c0d-8a77-0d1e2f3a4b5c
[1, 2, 3]|user ana|cannot|read:|(|)|and/or|';'""".replace("\n", "|").split("|")


@given(st.lists(st.sampled_from(VARYING), max_size=12).map(" ".join))
def test_template_of_a_template_is_itself(message: str) -> None:
    """R-b1: a template is its own template, so that a stored one can be signed again."""
    once = template(message)
    assert template(once) == once


@given(st.text(max_size=3000))
def test_template_is_bounded(message: str) -> None:
    """A template never exceeds its limit and holds no control characters of the terminal."""
    found = template(message)
    assert len(found) <= TEMPLATE_LIMIT
    assert "\n" not in found


@given(st.text(string.printable, max_size=400))
def test_reading_never_fails(text: str) -> None:
    """Whatever the text, its class, message and site are texts without a line break."""
    found = read_error(text)
    assert "\n" not in found.message
    assert "\n" not in site(text)


@given(st.integers(), st.integers())
def test_values_do_not_count(one: int, other: int) -> None:
    """R-b1: two runs that differ in a number are one failure."""
    assert template(f"expected 4, got {one}") == template(f"expected 4, got {other}")


@given(st.text(string.ascii_letters + " ", max_size=30), st.text(string.ascii_letters + " ", max_size=30))
def test_quoted_data_does_not_count(one: str, other: str) -> None:
    """R-b1: two runs that differ in a quoted string are one failure."""
    assert template(f'cannot parse "{one}" here') == template(f'cannot parse "{other}" here')


def test_hostile_text_is_linear() -> None:
    """A text made to blow up a backtracking matcher is read like any other (RE2), up to the limit."""
    text = "/a" * 50_000 + "'" * 50_000 + "\\" * 50_000
    assert len(template(text)) <= TEMPLATE_LIMIT
    assert read_error(text).error_class == ""
