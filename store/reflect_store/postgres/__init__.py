"""A store on a PostgreSQL server: the same events, chain and projections, for many machines and tenants (extra `postgres`)."""

from __future__ import annotations

from importlib import resources

__all__ = ["roles"]


def roles() -> str:
    """Return the SQL by which an administrator makes the roles of a store; needs no driver."""
    return resources.files(__package__).joinpath("roles.sql").read_text(encoding="utf-8")
