"""The stand-in for the mail package while jsonschema-rs is imported."""

from __future__ import annotations

import subprocess
import sys

LEAN = """
import sys
from reflect_gate import schemas
assert schemas._fast("request") is not None
print("email.utils" in sys.modules, "socket" in sys.modules)
import email.utils
print(email.utils.parsedate_to_datetime("Thu, 12 Nov 2026 07:50:16 +0000").year, email.utils.quote("x"))
"""

ASKED = """
import sys
from reflect_gate._validator import _BuildDate
sys.modules["email.utils"] = _BuildDate("email.utils")
from email.utils import parseaddr
print(parseaddr("A <a@example.org>")[1], type(sys.modules["email.utils"]).__name__)
"""


def _run(code: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_validator_brings_no_mail_package() -> None:
    """The validator is imported without `email.utils`, which is whole for whoever wants it later."""
    assert _run(LEAN) == ["False False", "2026 x"]


def test_whoever_asks_meanwhile_gets_the_real_module() -> None:
    """An import of `email.utils` that meets the stand-in is answered by the module itself."""
    assert _run(ASKED) == ["a@example.org module"]
