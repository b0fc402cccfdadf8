"""A corpus in two parts, drawn by the group that a record belongs to: all records of a group are on one side."""

from __future__ import annotations

import hashlib
from typing import Final, Literal, TypeAlias

__all__ = ["Part", "part_of"]

Part: TypeAlias = Literal["train", "test"]

_BITS: Final = 53
"""Bits of the digest that are read as a number from 0 to 1: all that a double holds."""


def part_of(group: str, share: float, seed: int) -> Part:
    """Return the part that a group is in. It follows from the name, the seed and the share alone.

    Records that are added later move no group, and a larger share only adds groups to `test`.
    """
    digest = hashlib.sha256(f"split:{seed}:{group}".encode("utf-8", "surrogatepass")).digest()
    drawn = int.from_bytes(digest[:8], "big") >> (64 - _BITS)
    return "test" if drawn < share * 2**_BITS else "train"
