"""Reading JSON that this package wrote: with orjson where the process has it, else with what Python brings.

A hook reads a few rows. Importing orjson for that would cost it more than everything else of the store does together, since it
takes `dataclasses`, `inspect` and `uuid` with it. Of canonical JSON both readers make the same.
"""

from __future__ import annotations

import json
import sys
from typing import Any

__all__ = ["loads"]


def loads(data: bytes | str) -> Any:
    """Return what canonical JSON says; `ValueError` where it is none."""
    orjson = sys.modules.get("orjson")
    return json.loads(data) if orjson is None else orjson.loads(data)
