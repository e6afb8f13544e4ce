"""The table of webhooks, beside those of the registry."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Integer, String, Table

from gem_hub.registry.tables import METADATA

__all__ = ["webhooks"]

webhooks = Table(
    "webhooks",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("package", String(64), nullable=False, index=True),
    Column("url", String(500), nullable=False),
    Column("secret", String(100), nullable=False),
    Column("account_id", ForeignKey("accounts.id"), nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False, default=0),
    Column("given_up", Integer, nullable=False, default=0),
    Column("due", BigInteger, nullable=False, default=0),
    Column("enabled", Boolean, nullable=False, default=True),
    Column("message", String(300), nullable=False, default=""),
)
"""``package`` is empty for all packages of the hub. ``position`` is the serial of the last change that was delivered or
given up, ``due`` the time before which nothing is sent, ``given_up`` the number of changes in a row that were."""
