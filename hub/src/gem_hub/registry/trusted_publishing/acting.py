"""The account for which a minted token publishes.

Minted tokens belong to an account that owns nothing, and that nobody can log in to. So a token has no right but those
that were written down for it, and nobody whose publisher names a foreign repository can list or revoke the tokens of
that repository's jobs.
"""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus

from packaging.utils import canonicalize_name
from sqlalchemy import select

from gem_hub.registry.problems import Problem
from gem_hub.registry.services import RegistryServices
from gem_hub.registry.tables import accounts
from gem_hub.registry.tokens import Credential
from gem_hub.registry.trusted_publishing.tables import minted_rights

__all__ = ["acting_credential", "holder_of_minted_tokens"]

_HOLDER = "system"
"""A name that no stranger can register; see :mod:`gem_hub.registry.accounts`."""


def holder_of_minted_tokens(services: RegistryServices) -> int:
    """Return the number of the account that minted tokens belong to."""
    row = services.accounts.find(_HOLDER)
    if row is not None:
        return row.id
    try:
        return services.accounts.create(_HOLDER)
    except Problem:
        row = services.accounts.find(_HOLDER)  # another request has just created it
        if row is None:
            raise
        return row.id


def acting_credential(services: RegistryServices, credential: Credential, package: str) -> Credential:
    """Return the credential with which a package is uploaded: for a minted token, that of the publisher's account.

    Args:
        services: the registry.
        credential: what the request comes with.
        package: the name that the upload announces, in any spelling; the wheel is compared with it later.

    Raises:
        Problem: 403 if a minted token is not for this package.
    """
    if not credential.is_minted:
        return credential
    name = canonicalize_name(package)
    query = (
        select(accounts.c.id, accounts.c.name, accounts.c.disabled, minted_rights.c.publisher)
        .join(minted_rights, minted_rights.c.account_id == accounts.c.id)
        .where(minted_rights.c.token_id == credential.token_id, minted_rights.c.package == name)
    )
    with services.database.read() as connection:
        row = connection.execute(query).one_or_none()
    if row is None or row.disabled is not None:
        raise Problem(HTTPStatus.FORBIDDEN, f"this token is for other packages than {name[:80]!a}; use another one")
    return replace(credential, account=row.name, account_id=row.id, origin=row.publisher)
