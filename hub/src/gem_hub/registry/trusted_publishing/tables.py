"""The tables of trusted publishing, beside those of the registry."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Column, ForeignKey, Index, Integer, String, Table, UniqueConstraint

from gem_hub.registry.tables import METADATA

__all__ = ["minted_rights", "publishers", "used_tokens"]

publishers = Table(
    "trusted_publishers",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("package", String(64), nullable=False, index=True),
    Column("account_id", ForeignKey("accounts.id"), nullable=False),
    Column("issuer", String(64), nullable=False),
    Column("place", String(255), nullable=False),
    Column("configuration", JSON, nullable=False),
    Column("fingerprint", String(64), nullable=False),
    Column("pinned", JSON, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("used", BigInteger),
    UniqueConstraint("package", "fingerprint"),
    Index("trusted_publishers_place", "issuer", "place"),
)
"""``place`` is the repository, project or subject in one case, by which an identity finds its publishers."""

used_tokens = Table(
    "used_identity_tokens",
    METADATA,
    Column("sha256", String(64), primary_key=True),
    Column("expires", BigInteger, nullable=False, index=True),
)
"""Digests of issuer and ``jti`` of exchanged identity tokens, until these would be refused for their age."""

minted_rights = Table(
    "minted_rights",
    METADATA,
    Column("token_id", ForeignKey("tokens.id"), primary_key=True),
    Column("package", String(64), primary_key=True),
    Column("account_id", ForeignKey("accounts.id"), nullable=False),
    Column("publisher_id", Integer, nullable=False, index=True),
    Column("publisher", String(200), nullable=False),
)
"""For which account a minted token publishes a package: the one that has added the publisher."""
