"""The tables of organisations, beside those of the registry. An organisation has a row in ``accounts`` for its name."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, String, Table

from gem_hub.registry.tables import METADATA

__all__ = ["invitations", "memberships", "organisations"]

organisations = Table(
    "organisations",
    METADATA,
    Column("account_id", ForeignKey("accounts.id"), primary_key=True),
    Column("created", BigInteger, nullable=False),
    Column("created_by", ForeignKey("accounts.id"), nullable=False),
)

memberships = Table(
    "memberships",
    METADATA,
    Column("organisation_id", ForeignKey("organisations.account_id"), primary_key=True),
    Column("account_id", ForeignKey("accounts.id"), primary_key=True, index=True),
    Column("role", String(20), nullable=False),
    Column("since", BigInteger, nullable=False),
)

invitations = Table(
    "organisation_invitations",
    METADATA,
    Column("organisation_id", ForeignKey("organisations.account_id"), primary_key=True),
    Column("account_id", ForeignKey("accounts.id"), primary_key=True, index=True),
    Column("role", String(20), nullable=False),
    Column("invited_by", ForeignKey("accounts.id"), nullable=False),
    Column("expires", BigInteger, nullable=False),
)
"""``expires`` is the first second in which it can no longer be accepted."""
