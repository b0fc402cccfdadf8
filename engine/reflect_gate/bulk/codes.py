"""Why a bulk replay is refused or ends: the stable codes, each with what it means. `docs/bulk.md` shows the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["BULK_CODES"]

BULK_CODES: Final[Mapping[str, str]] = {
    "bulk-extra": "the extra `scale` is not installed",
    "bulk-input": "what is to be judged is no Parquet, holds no `request` column of text, or changed during the run",
    "bulk-row": "a row holds no request",
    "bulk-out": "the folder of the outcome is, or lies in, that of the requests, or holds what no replay of these wrote",
    "bulk-part": "a finished part is not what its worker wrote",
    "bulk-unfinished": "the outcome of a replay that did not come to its end is asked for",
    "bulk-scheduler": "the scheduler cannot be reached, or was lost",
    "bulk-worker": "a worker runs another version of reflect-gate or Python, or reads other content than was shipped",
    "bulk-lost": "one and the same row group ended its worker again and again",
}
"""Tools may rely on these, so a code is never renamed."""
